"""Every setting of posvec, declared once with its default, its bounds and its help, and grouped by concern.

The flags of the command line, the parameters of the scikit-learn vectorizer and the JSON in a saved model follow from
these fields. Names are unique over all groups, so that ``posvec.train(corpus, dim=100)`` needs no group.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from posvec.errors import ConfigError
from posvec.heads import Head, split_heads


def setting(default: Any, help: str, least: float = -math.inf, most: float = math.inf) -> Any:
    """Declare a setting: a field of a dataclass with its default, its help and its bounds."""
    return field(default=default, metadata={"help": help, "bounds": (least, most)})


@dataclass(frozen=True)
class TextConfig:
    """How lines become tokens."""

    tokenizer: Literal["word", "whitespace"] = setting(
        "word", 'word: re.findall(r"\\w+", line.lower()); whitespace: line.split()'
    )
    errors: Literal["strict", "replace"] = setting(
        "strict", "bytes that are not UTF-8: strict stops and names the line, replace reads them as U+FFFD"
    )


@dataclass(frozen=True)
class VocabularyConfig:
    """Which words get a vector, how often they are kept and how often they are drawn as negatives."""

    min_count: int = setting(5, "ignore words that occur less often", 1, 2**63 - 1)
    max_words: int | None = setting(
        None, "keep at most this many words, the most frequent ones; none: all", 1, 2**63 - 1
    )
    sample: float = setting(
        1e-5, "r, the subsampling threshold: words of higher frequency are dropped at random; 0: keep all", 0, 1
    )
    subsampling: Literal["word2vec", "paper"] = setting(
        "word2vec", "keep a word of frequency f with probability sqrt(r/f) + r/f (word2vec) or sqrt(r/f) (paper)"
    )
    negative_exponent: float = setting(0.75, "negatives are drawn in proportion to count ** exponent", -10, 10)


@dataclass(frozen=True)
class SubwordConfig:
    """The character n-grams of fastText."""

    subwords: bool = setting(True, "learn vectors of character n-grams in addition to those of words")
    min_n: int = setting(3, "length of the shortest n-grams, in characters", 1, 100)
    max_n: int = setting(6, "length of the longest n-grams, in characters", 1, 100)
    buckets: int = setting(
        2_000_000, "n-grams are hashed into this many buckets; only buckets in use get a row", 1, 2**31 - 1
    )


@dataclass(frozen=True)
class ModelConfig:
    """The shape of the parameters and their initial values."""

    dim: int = setting(300, "D, the number of features of a vector", 1, 2**16)
    positional_dim: int = setting(
        0, "D', the number of features that are reweighted by position: 0 none, dim all", 0, 2**16
    )
    word_dim: int = setting(
        0,
        "W, the number of features that come from a word's own row alone, a multiple of 16; the others come from its "
        "n-grams, too",
        0,
        2**16,
    )
    window: int = setting(5, "c, the number of context words on each side of the masked word", 1, 2**16)
    initializer: Literal["sqrt_normal", "sqrt_normal_as_run", "identity", "vanilla", "uniform"] = setting(
        "sqrt_normal_as_run", "initial values of positional features and positional vectors"
    )
    context_mean: Literal["rows", "words"] = setting(
        "rows",
        "N, by which the context vector is divided: the number of rows of all context words (each has its own and its "
        "n-grams') or the number of context words",
    )


@dataclass(frozen=True)
class TrainingConfig:
    """One run of stochastic gradient descent."""

    epochs: int = setting(5, "passes over the corpus", 1, 2**31 - 1)
    last_epoch: float = setting(
        1.0,
        "fraction of the last epoch to train, on chunks spread over the corpus; posvec train --time sets it",
        1e-9,
        1,
    )
    initial_lr: float = setting(
        0.05,
        "learning rate at the start, 0.025 to 0.1; at most 0.05 with context_mean=words, at least 0.05 with "
        "initializer=vanilla",
        0,
    )
    spelling_rate: float = setting(
        0.5,
        "learning rate of the spelling head as a fraction of that of the word head, in models with both (word_dim)",
        0,
        10,
    )
    final_lr_ratio: float = setting(0.0, "final learning rate as a fraction of initial_lr, reached linearly", 0, 1)
    negatives: int = setting(10, "number of negative examples per masked word", 1, 10_000)
    window_sampling: Literal["shrink", "fixed"] = setting(
        "shrink", "shrink: each masked word draws its window from 1..c; fixed: always c"
    )
    positions: Literal["kept", "text"] = setting(
        "kept",
        "count positions among the words that remain after dropping rare and subsampled ones (kept) or in the text as "
        "written (text)",
    )
    input_gradient: Literal["undivided", "exact"] = setting(
        "undivided",
        "gradient of the context's rows: not divided by N, as in word2vec (undivided), or divided by N (exact; use a "
        "larger initial_lr); only exact with positional_gradient=summed is the gradient of the loss",
    )
    positional_gradient: Literal["averaged", "summed"] = setting(
        "averaged",
        "gradient of a positional vector: averaged or summed over the rows of the context word; the "
        "gradient of the loss is summed, with input_gradient=exact",
    )
    train_positions: bool = setting(True, "learn the positional vectors; otherwise they keep their initial values")
    score_limit: float = setting(
        0.0,
        "skip the update of an example whose score lies outside +-limit, as gensim 3.8 does beyond 6 (in gensim 4, "
        "FastText with CBOW and negatives updates beyond 8 as if the probability were 0 or 1); 0: no limit",
        0,
    )
    precision: Literal["float32", "fixed16"] = setting(
        "fixed16",
        "number format of the vectors during training; fixed16: 16-bit fixed point, faster; input vectors in steps of "
        "1/2048 up to 16, output vectors in steps of 1/8192 up to 4",
    )
    negative_reuse: int = setting(
        1,
        "how many masked words each drawn negative is used for; 4: slightly faster and slightly less accurate",
        1,
        2**16,
    )
    seed: int = setting(1, "seed of all random numbers", 0, 2**63 - 1)
    threads: int = setting(
        0, "number of threads; 0: one per core. With 1, the same seed gives the same bytes", 0, 2**10
    )
    validation: float = setting(
        0.0, "fraction of lines held out of training to measure a validation loss after each epoch", 0, 0.5
    )
    calibrate: bool = setting(
        True,
        "after training, fit the probabilities of masked words to held-out lines: up to 1,000 and 2 % of corpora of at "
        "least 10,000 lines, or else those of validation, if any",
    )
    patience: int = setting(0, "stop after this many epochs without a lower validation loss; 0: never", 0, 2**31 - 1)
    checkpoint_minutes: float = setting(10.0, "minutes between checkpoints; 0: only on Ctrl-C", 0)

    @property
    def total_epochs(self) -> float:
        """The number of epochs, of which the last one may be a part."""
        return self.epochs - 1 + self.last_epoch


ALIASES = {"final_lr_share": "final_lr_ratio"}
"""Earlier names of settings, which files, flags and keyword arguments may still use."""


@dataclass(frozen=True)
class Config:
    """All settings of a model: how its text is read, what is counted, what is trained and how.

    Attributes
    ----------
    text, vocabulary, subwords, model, training
        The groups of settings.

    Examples
    --------
    >>> import posvec
    >>> config = posvec.Config().replace(dim=100, window=10)
    >>> config.model.dim, config.kind
    (100, 'subword')
    """

    text: TextConfig = field(default_factory=TextConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    subwords: SubwordConfig = field(default_factory=SubwordConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def replace(self, **settings: Any) -> Config:
        """Return the same configuration with some settings changed.

        Parameters
        ----------
        **settings
            New values, each under the name of its setting, without its group.

        Raises
        ------
        ConfigError
            If there is no such setting, or if a value or a combination of values is not allowed.
        """
        groups = {group: getattr(self, group) for group in GROUPS}
        for name, value in canonical_names(settings).items():
            setting = find_setting(name)
            groups[setting.group] = dataclasses.replace(groups[setting.group], **{name: setting.check(value)})
        if groups["model"].word_dim == groups["model"].dim:
            groups["subwords"] = dataclasses.replace(groups["subwords"], subwords=False)
        if not groups["subwords"].subwords:  # all features come from words' own rows in any case
            groups["model"] = dataclasses.replace(groups["model"], word_dim=0)
        return _check(Config(**groups))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the settings as plain values, by group."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Mapping[str, Any]]) -> Config:
        """Read what :meth:`to_dict` wrote, or a part of it; absent settings take their defaults."""
        flat: dict[str, Any] = {}
        for group, settings in values.items():
            if group not in GROUPS or not isinstance(settings, Mapping):
                raise ConfigError(f"a configuration has the groups {', '.join(GROUPS)}, not {group!r}")
            settings = canonical_names(settings)
            for name in settings:
                if name in SETTINGS and SETTINGS[name].group != group:
                    raise ConfigError(f"{name} belongs to the group {SETTINGS[name].group}, not to {group}; move it")
            flat.update(settings)
        return Config().replace(**flat)

    @property
    def heads(self) -> tuple[Head, ...]:
        """The heads of the model, the word head first; see :mod:`posvec.heads`."""
        return split_heads(self.model.dim, self.model.word_dim, self.model.positional_dim, self.subwords.subwords)

    @property
    def kind(self) -> str:
        """``two-heads``, or which of the paper's four models this is; for display only."""
        if self.model.word_dim:
            return "two-heads"
        if self.model.positional_dim == 0:
            return "subword" if self.subwords.subwords else "general"
        return "positional" if self.model.positional_dim == self.model.dim else "constrained"

    @property
    def kind_in_text(self) -> str:
        """The kind as a part of sentences: ``model with two heads``, or for example ``subword model``."""
        return "model with two heads" if self.model.word_dim else f"{self.kind} model"


@dataclass(frozen=True)
class Setting:
    """One setting, as the command line and the documentation need it."""

    name: str
    group: str
    type: type
    choices: tuple[str, ...]
    optional: bool
    default: Any
    help: str
    bounds: tuple[float, float]

    def check(self, value: Any) -> Any:
        """Return the value in the setting's own type; raise ConfigError if it has another."""
        if value is None and self.optional:
            return None
        if self.choices:
            if value not in self.choices:
                raise ConfigError(f"{self.name} is one of {', '.join(self.choices)}, not {value!r}")
            return value
        if self.type is bool:
            if not isinstance(value, bool):
                raise ConfigError(f"{self.name} is true or false, not {value!r}")
            return value
        try:
            number = self.type(value)
        except (TypeError, ValueError, OverflowError):
            number = None
        # Not math.isfinite, which cannot take whole numbers of hundreds of digits.
        if number is None or isinstance(value, bool) or number != value or number in (math.inf, -math.inf):
            kind = "a whole number" if self.type is int else "a number"
            raise ConfigError(f"{self.name} is {kind}, not {value!r}")
        return number

    def check_bounds(self, value: Any) -> None:
        """Raise ConfigError if the value lies outside the bounds of the setting."""
        if self.bounds != (-math.inf, math.inf):
            check_bounds(self.name, value, *self.bounds)


def find_setting(name: str) -> Setting:
    """Return the setting of a name; raise ConfigError with the most similar name if there is none."""
    name = ALIASES.get(name, name)
    if name not in SETTINGS:
        raise ConfigError(
            f"there is no setting {name!r}{nearest(name, SETTINGS)}; posvec train --help lists all of them"
        )
    return SETTINGS[name]


def format_setting(name: str, value: Any) -> str:
    """Return a value for people to read: ``last_epoch`` with three digits, as --time sets it, all others as they are.

    Examples
    --------
    >>> format_setting("last_epoch", 3 / 7), format_setting("sample", 1e-5)
    ('0.429', '1e-05')
    """
    return f"{value:.3g}" if name == "last_epoch" else f"{value}"


def setting_values(config: Config) -> dict[str, Any]:
    """Return the value of every setting by its name.

    Examples
    --------
    >>> setting_values(Config())["dim"]
    300
    """
    return {name: getattr(getattr(config, each.group), name) for name, each in SETTINGS.items()}


def settings_of(groups: Mapping[str, type]) -> Iterator[Setting]:
    """Yield every setting of some dataclasses of settings, given by the names of their groups."""
    for group, config in groups.items():
        hints = get_type_hints(config)
        for entry in dataclasses.fields(config):
            hint = hints[entry.name]
            optional = type(None) in get_args(hint)
            if optional:
                hint = next(each for each in get_args(hint) if each is not type(None))
            choices = get_args(hint) if get_origin(hint) is Literal else ()
            kind = str if choices else hint
            metadata = entry.metadata
            yield Setting(
                entry.name, group, kind, choices, optional, entry.default, metadata["help"], metadata["bounds"]
            )


def canonical_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Replace earlier names of settings by the present ones; raise ConfigError if both are given."""
    for alias, name in ALIASES.items():
        if alias in settings and name in settings:
            raise ConfigError(f"{alias} is an earlier name of {name}; give {name} only")
    return {ALIASES.get(name, name): value for name, value in settings.items()}


GROUPS: dict[str, type] = {
    "text": TextConfig,
    "vocabulary": VocabularyConfig,
    "subwords": SubwordConfig,
    "model": ModelConfig,
    "training": TrainingConfig,
}
SETTINGS: dict[str, Setting] = {setting.name: setting for setting in settings_of(GROUPS)}


def check_bounds(name: str, value: float | None, low: float, high: float) -> None:
    """Raise ConfigError if a value that is given lies outside its bounds."""
    if value is not None and not low <= value <= high:
        limit = f"at least {low:,}" if value < low else f"at most {high:,}"
        raise ConfigError(f"{name} is {value}, but must be {limit}")


def _check(config: Config) -> Config:
    for setting in SETTINGS.values():
        setting.check_bounds(getattr(getattr(config, setting.group), setting.name))
    model, subwords, training = config.model, config.subwords, config.training
    if model.positional_dim > model.dim:
        raise ConfigError(
            f"positional_dim (D' = {model.positional_dim}) is greater than dim (D = {model.dim}); lower positional_dim "
            f"or raise dim"
        )
    if model.word_dim > model.dim:
        raise ConfigError(f"word_dim ({model.word_dim}) is greater than dim ({model.dim}); lower word_dim or raise dim")
    if model.word_dim % 16 and model.word_dim != model.dim:
        raise ConfigError(f"word_dim is {model.word_dim}, but must be a multiple of 16, or dim for no n-grams at all")
    if subwords.subwords and subwords.min_n > subwords.max_n:
        raise ConfigError(f"min_n ({subwords.min_n}) is greater than max_n ({subwords.max_n}); swap them")
    if training.patience and not training.validation:
        raise ConfigError("patience needs a validation loss; set validation, for example to 0.01")
    return config


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean ...?)" with the most similar known name, or an empty string."""
    import difflib

    close = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {close[0]}?)" if close else ""
