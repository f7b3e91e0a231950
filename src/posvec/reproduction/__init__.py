"""The paper, reproduced with one command: ``posvec reproduce``.

``experiments`` is the list of what the paper shows, as data, ``scales`` says how large each of them is, ``running``
does what is missing, ``findings`` keeps what was measured, ``claims`` compares it with what the paper says, and
``report`` tells it all in Markdown and HTML.
"""
