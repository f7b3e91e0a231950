"""The reproduction of the paper with one command, ``posvec reproduce``, or one function, :func:`reproduce`.

``experiments`` lists the tables and figures of the paper, ``scales`` the sizes of a reproduction. ``measures`` has what
is measured of each experiment, ``findings`` the files that keep it, and ``presentation`` its tables and figures.
``paper``, ``positional_claims`` and ``quality_claims`` have the published numbers and claims, ``claims`` compares them
with the findings, and ``report`` writes everything as Markdown and HTML.
"""

from posvec.reproduction.running import reproduce

__all__ = ["reproduce"]
