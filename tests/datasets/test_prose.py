"""What counts as a sentence of prose in a docstring."""

from __future__ import annotations

import pytest

from posvec.datasets.prose import sentences


def test_a_paragraph_is_joined_and_split_into_sentences() -> None:
    text = """Return the first element
    of a sequence. If there is none, e.g. Because it is empty, "an error" is raised! Is
    that all there is?  (It may be more.)  That is version 1.5 of the text."""
    assert list(sentences(text)) == [
        "Return the first element of a sequence.",
        'If there is none, e.g. Because it is empty, "an error" is raised!',
        "Is that all there is?",
        "(It may be more.)",
        "That is version 1.5 of the text.",
    ]


def test_headings_tables_code_and_doctests_are_dropped() -> None:
    text = """Compute the mean of an array.

    A Heading That Has Many Words
    -----------------------------
    axis : int or tuple of int, optional, which is not a sentence
        The axis along which to compute it.
    x, y : array_like

    .. math:: this is not really a sentence

    .. code-block:: python

        this is certainly not a sentence either

    .. note:: Ignored

        A note is made of plain sentences.

    For example, one could write this::

        it is code that looks like prose

        and more of the same code here

    Then the text goes on as before.

    >>> print("this is an input that is dropped")
    this is an output that is dropped

    ========  =============================
    expr_stmt ::= "a rule" of the grammar here
    if x == y: return [f(z) for z in range(10)]
    """
    assert list(sentences(text)) == [
        "Compute the mean of an array.",
        "The axis along which to compute it.",
        "A note is made of plain sentences.",
        "For example, one could write this",
        "Then the text goes on as before.",
    ]


def test_every_item_of_a_list_is_a_paragraph() -> None:
    text = """There are some kinds of them:
    - the first kind of these things,
      which goes on in a second line
    * the second kind of these things
    1. the third kind of these things
    :param name: the name of the file
    @return: the content of the file"""
    assert list(sentences(text)) == [
        "There are some kinds of them",
        "the first kind of these things, which goes on in a second line",
        "the second kind of these things",
        "the third kind of these things",
        "the name of the file",
        "the content of the file",
    ]


def test_a_sentence_continues_at_another_indent_but_a_term_is_not_joined_with_its_explanation() -> None:
    text = """The first line of this sentence is quite so long that it
        goes on in the second line, further to the right.
    some name that is explained
        this is how it is explained"""
    assert list(sentences(text)) == [
        "The first line of this sentence is quite so long that it goes on in the second line, further to the right.",
        "some name that is explained",
        "this is how it is explained",
    ]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("see the method :meth:`~Queue.put` for more of it.", "see the method Queue.put for more of it."),
        ("see `the manual <https://example.org>`_ for more of it.", "see the manual for more of it."),
        ("the value of ``x`` is *never* **negative** [1]_ here.", "the value of x is never negative here."),
        ("it calls the command `help' for this topic.", "it calls the command help for this topic."),
        ("an `~numpy.ndarray` of the same shape.", "an numpy.ndarray of the same shape."),
    ],
)
def test_markup_is_removed(marked: str, plain: str) -> None:
    assert list(sentences(marked)) == [plain]


@pytest.mark.parametrize(
    "text",
    ["", "\n", "Return it.", "Three small words.", "Don't use directly.", "A B C D E F", "x = foo(bar, baz, a=1)"],
)
def test_short_or_non_prose_text_is_dropped(text: str) -> None:
    assert list(sentences(text)) == []
