"""The exceptions of posvec. Each message is one sentence that names the problem and the remedy."""


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
    """An invalid setting or combination of settings."""


class CorpusError(PosvecError, ValueError):
    """Text that is missing, unreadable, empty or of an unexpected kind."""


class ModelError(PosvecError, ValueError):
    """A model, vocabulary or checkpoint that is missing, damaged, of another program or too new, or cannot be saved."""


class UnknownWordError(PosvecError, KeyError):
    """A word without a vector; also a KeyError, like the lookup of a missing key in a dictionary."""

    __str__ = Exception.__str__  # KeyError.__str__ would put the sentence in quotes


class TrainingError(PosvecError, ArithmeticError):
    """Training that cannot continue because values overflowed."""


class DownloadError(PosvecError):
    """Data that cannot be downloaded, or whose size or checksum is not the expected one."""
