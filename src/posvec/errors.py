"""What posvec raises. Each message is one sentence that names the thing and the remedy."""


class PosvecError(Exception):
    """Any failure that a user can mend; the command line prints its message and exits with 1."""


class ConfigError(PosvecError, ValueError):
    """A setting, or a pair of them, that cannot be."""


class CorpusError(PosvecError, ValueError):
    """Text that is missing, unreadable, empty or not what was expected."""


class ModelError(PosvecError, ValueError):
    """A saved model, vocabulary or checkpoint that is missing, damaged, foreign or too new."""


class UnknownWordError(PosvecError, KeyError):
    """A word without a vector; also a KeyError, as looking up a word in a dictionary gives."""

    __str__ = Exception.__str__  # KeyError's would put the sentence in quotes


class TrainingError(PosvecError, ArithmeticError):
    """Training that cannot go on: values overflowed."""


class DownloadError(PosvecError):
    """Data that cannot be fetched, or that is not what was announced."""
