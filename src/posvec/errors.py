"""The exceptions of posvec. Each message is one sentence that names the problem and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from posvec.model import Model


class PosvecError(Exception):
    """A failure that the user can fix; the command line prints its message and exits with 1.

    Examples
    --------
    >>> import posvec
    >>> try:
    ...     posvec.load("no-such-model")
    ... except posvec.PosvecError as error:
    ...     print(error)
    there is no ...
    """


class ConfigError(PosvecError, ValueError):
    """An invalid setting or combination of settings.

    Examples
    --------
    >>> import posvec
    >>> try:
    ...     posvec.make_config(windw=5)
    ... except posvec.ConfigError as error:
    ...     print(error)
    there is no setting 'windw'...
    """


class CorpusError(PosvecError, ValueError):
    """Text that is missing, unreadable, empty or of an unexpected kind.

    Examples
    --------
    >>> import posvec
    >>> try:
    ...     posvec.train("missing.txt")
    ... except posvec.CorpusError as error:
    ...     print(error)
    no such file or folder: missing.txt; ...
    """


class ModelError(PosvecError, ValueError):
    """A model, vocabulary or checkpoint that is missing, damaged, of another program or too new, or cannot be saved.

    Examples
    --------
    >>> import posvec
    >>> try:
    ...     posvec.load("nowhere")
    ... except posvec.ModelError as error:
    ...     print(error)
    there is no model...
    """


class UnknownWordError(PosvecError, KeyError):
    """A word without a vector; also a KeyError, like the lookup of a missing key in a dictionary.

    Examples
    --------
    >>> import posvec
    >>> try:
    ...     posvec.load("model").vectors["ζ"]
    ... except posvec.UnknownWordError as error:
    ...     print(error)
    there is no vector for 'ζ': ...
    """

    __str__ = Exception.__str__  # KeyError.__str__ would put the sentence in quotes


class TrainingError(PosvecError, ArithmeticError):
    """Training that cannot continue because values overflowed, or because the loss has grown.

    Attributes
    ----------
    model : Model or None
        The model as it was when the loss was lowest, if there was such a moment and the tables were small enough to be
        copied. Its ``state`` says when that was, and ``posvec.train(..., start=model)`` trains it further.

    Examples
    --------
    >>> import posvec
    >>> try:
    ...     posvec.train("corpus.txt", dim=32, initial_lr=1e20, threads=1)
    ... except posvec.TrainingError as error:
    ...     print(error)
    the loss grew to ... in epoch 1 after 1,000 words, and training stopped: lower initial_lr ...
    """

    model: Model | None = None


class ThreadStartError(TrainingError):
    """The system starts no more threads.

    Examples
    --------
    >>> import posvec
    >>> issubclass(posvec.errors.ThreadStartError, posvec.TrainingError)
    True
    """


class DownloadError(PosvecError):
    """Data that cannot be downloaded, or whose size or checksum is not the expected one.

    Examples
    --------
    >>> import posvec
    >>> try:
    ...     posvec.dataset_path("wikipedia:cs:20200101", offline=True)
    ... except posvec.DownloadError as error:
    ...     print(error)
    wikipedia:cs:20200101 is not in the cache ...
    """
