"""Every setting of posvec, grouped by concern: the one place where a default is written.

Flags of the command line, the JSON inside a saved model and the tables of the documentation are generated from these
fields; the names are unique over all groups, so that ``posvec.train(corpus, dim=100)`` needs no group.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from posvec.errors import ConfigError


def setting(default: Any, help: str) -> Any:
    """A field of a dataclass of settings."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class TextConfig:
    """How lines become tokens."""

    tokenizer: Literal["word", "whitespace"] = setting(
        "word", 'word: re.findall(r"\\w+", line.lower()); whitespace: line.split()'
    )
    errors: Literal["strict", "replace"] = setting(
        "strict", "bytes that are not UTF-8: strict stops and names the line, replace goes on with U+FFFD"
    )


@dataclass(frozen=True)
class VocabularyConfig:
    """Which words get a vector, how often they are kept and how often drawn as negatives."""

    min_count: int = setting(5, "words that occur less often are dropped")
    max_words: int | None = setting(None, "at most this many words, the most frequent ones; none: all")
    sample: float = setting(1e-5, "r, the frequency above which words are randomly dropped; 0: keep all")
    subsampling: Literal["word2vec", "paper"] = setting(
        "word2vec", "keep a word of frequency f with probability sqrt(r/f) + r/f (word2vec) or sqrt(r/f) (paper)"
    )
    negative_exponent: float = setting(0.75, "negatives are drawn from count ** exponent")


@dataclass(frozen=True)
class SubwordConfig:
    """The character n-grams of fastText."""

    subwords: bool = setting(True, "learn vectors of character n-grams beside those of words")
    min_n: int = setting(3, "shortest n-gram, in characters")
    max_n: int = setting(6, "longest n-gram, in characters")
    buckets: int = setting(2_000_000, "n-grams are hashed into this many buckets; only buckets in use get a row")


@dataclass(frozen=True)
class ModelConfig:
    """The shape of the parameters and their initial values."""

    dim: int = setting(300, "D, features of a vector")
    positional_dim: int = setting(0, "D', features that are reweighted by position: 0 none, dim all")
    window: int = setting(5, "c, context words on each side of the masked word")
    initializer: Literal["sqrt_normal", "sqrt_normal_as_run", "identity", "vanilla", "uniform"] = setting(
        "sqrt_normal_as_run", "initial values of positional features and positional vectors"
    )
    context_mean: Literal["rows", "words"] = setting(
        "rows",
        "N of the context vector's 1/N: rows counts every word's rows (its own and its n-grams'), words the words",
    )


@dataclass(frozen=True)
class TrainingConfig:
    """One run of stochastic gradient descent."""

    epochs: int = setting(1, "passes over the corpus")
    initial_lr: float = setting(
        0.07,
        "learning rate at the start, 0.025 to 0.1; with context_mean=words to 0.05, with initializer=vanilla from 0.05",
    )
    final_lr_share: float = setting(
        0.25,
        "share of initial_lr that is left at the end, reached in a straight line; over several epochs 0.1 is better",
    )
    negatives: int = setting(10, "negative examples per masked word")
    window_sampling: Literal["shrink", "fixed"] = setting(
        "shrink", "shrink: each masked word draws its window from 1..c; fixed: always c"
    )
    positions: Literal["kept", "text"] = setting(
        "kept", "positions counted after dropping rare and subsampled words (kept) or in the text as written (text)"
    )
    input_gradient: Literal["undivided", "exact"] = setting(
        "undivided", "undivided: not divided by N, as word2vec does; exact: the true gradient (use a larger initial_lr)"
    )
    positional_gradient: Literal["averaged", "summed"] = setting(
        "averaged", "gradient of a positional vector averaged or summed over the rows of the context word"
    )
    train_positions: bool = setting(True, "learn the positional vectors; otherwise they keep their initial values")
    score_limit: float = setting(
        0.0, "an example whose score lies outside +-limit gives no update, as gensim does at 6; 0: no limit"
    )
    precision: Literal["float32", "fixed16"] = setting(
        "fixed16",
        "vectors in training; fixed16: faster, in steps of 1/2048 to 16, of output vectors 1/8192 to 4",
    )
    negative_reuse: int = setting(
        1, "how many masked words one draw of a negative serves; 4: a little faster, and a little less accurate"
    )
    seed: int = setting(1, "seed of every random draw")
    threads: int = setting(0, "worker threads; 0: one per core. With 1, the same seed gives the same bytes")
    validation: float = setting(0.0, "share of lines held out of training to measure a validation loss per epoch")
    patience: int = setting(0, "stop after this many epochs without a lower validation loss; 0: never")
    checkpoint_minutes: float = setting(10.0, "minutes between checkpoints; 0: only on Ctrl-C")


@dataclass(frozen=True)
class Config:
    """All settings of a model: how the text was read, what was counted, what was trained and how."""

    text: TextConfig = field(default_factory=TextConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    subwords: SubwordConfig = field(default_factory=SubwordConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def replace(self, **settings: Any) -> Config:
        """The same configuration with some settings changed, each named without its group; checked as a whole."""
        groups = {group: getattr(self, group) for group in GROUPS}
        for name, value in settings.items():
            setting = find_setting(name)
            group = setting.group
            groups[group] = dataclasses.replace(groups[group], **{name: setting.check(value)})
        return _check(Config(**groups))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Mapping[str, Any]]) -> Config:
        """Read what ``to_dict`` wrote, or a part of it: what is absent takes its default."""
        flat: dict[str, Any] = {}
        for group, settings in values.items():
            if group not in GROUPS or not isinstance(settings, Mapping):
                raise ConfigError(f"a configuration has the groups {', '.join(GROUPS)}, not {group!r}")
            for name in settings:
                if name in SETTINGS and SETTINGS[name].group != group:
                    raise ConfigError(f"{name} belongs to the group {SETTINGS[name].group}, not to {group}; move it")
            flat.update(settings)
        return Config().replace(**flat)

    @property
    def kind(self) -> str:
        """Which of the paper's four models this is. Nothing branches on it: it is for people."""
        if self.model.positional_dim == 0:
            return "subword" if self.subwords.subwords else "general"
        return "positional" if self.model.positional_dim == self.model.dim else "constrained"


@dataclass(frozen=True)
class Setting:
    """One field of one group, as the command line and the documentation see it."""

    name: str
    group: str
    type: type
    choices: tuple[str, ...]
    optional: bool
    default: Any
    help: str

    def check(self, value: Any) -> Any:
        """The value in the field's own type, or a ConfigError that says what is expected."""
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
        """Raises unless the value, in the field's own type, is one that the setting can take by itself."""
        if self.name in _BOUNDS:
            check_bounds(self.name, value, *_BOUNDS[self.name])


def find_setting(name: str) -> Setting:
    """The setting of a name, or a ConfigError that names the nearest one."""
    if name not in SETTINGS:
        raise ConfigError(
            f"there is no setting {name!r}{nearest(name, SETTINGS)}; posvec train --help lists all of them"
        )
    return SETTINGS[name]


def settings_of(groups: Mapping[str, type]) -> Iterator[Setting]:
    """Every setting of some dataclasses, each under the name of its group."""
    for group, config in groups.items():
        hints = get_type_hints(config)
        for entry in dataclasses.fields(config):
            hint = hints[entry.name]
            optional = type(None) in get_args(hint)
            if optional:
                hint = next(each for each in get_args(hint) if each is not type(None))
            choices = get_args(hint) if get_origin(hint) is Literal else ()
            yield Setting(
                entry.name, group, str if choices else hint, choices, optional, entry.default, entry.metadata["help"]
            )


GROUPS: dict[str, type] = {
    "text": TextConfig,
    "vocabulary": VocabularyConfig,
    "subwords": SubwordConfig,
    "model": ModelConfig,
    "training": TrainingConfig,
}
SETTINGS: dict[str, Setting] = {setting.name: setting for setting in settings_of(GROUPS)}

# Lowest and highest value that a setting can take; what a pair of settings must satisfy is in _check.
_BOUNDS: dict[str, tuple[float, float]] = {
    "min_count": (1, math.inf),
    "max_words": (1, math.inf),
    "sample": (0, 1),
    "negative_exponent": (-10, 10),
    "min_n": (1, 100),
    "max_n": (1, 100),
    "buckets": (1, 2**31 - 1),
    "dim": (1, 2**16),
    "positional_dim": (0, 2**16),
    "window": (1, 2**16),
    "epochs": (1, math.inf),
    "initial_lr": (0, math.inf),
    "final_lr_share": (0, 1),
    "negatives": (1, 10_000),
    "score_limit": (0, math.inf),
    "negative_reuse": (1, 2**16),
    "seed": (0, 2**63 - 1),
    "threads": (0, 2**10),
    "validation": (0, 0.5),
    "patience": (0, math.inf),
    "checkpoint_minutes": (0, math.inf),
}


def check_bounds(name: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low <= value <= high:
        limit = f"at least {low:,}" if value < low else f"at most {high:,}"
        raise ConfigError(f"{name} is {value}, but must be {limit}")


def _check(config: Config) -> Config:
    for setting in SETTINGS.values():
        setting.check_bounds(getattr(getattr(config, setting.group), setting.name))
    model, subwords, training = config.model, config.subwords, config.training
    if model.positional_dim > model.dim:
        raise ConfigError(
            f"positional_dim (D' = {model.positional_dim}) is more than dim (D = {model.dim}): only features that "
            f"exist can be reweighted; lower positional_dim or raise dim"
        )
    if subwords.subwords and subwords.min_n > subwords.max_n:
        raise ConfigError(f"min_n ({subwords.min_n}) is more than max_n ({subwords.max_n}); swap them")
    if training.patience and not training.validation:
        raise ConfigError("patience needs a validation loss to watch; set validation, such as 0.01")
    return config


def nearest(name: str, known: Iterable[str]) -> str:
    """A question after a name that is like the given one, or nothing."""
    import difflib

    close = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {close[0]}?)" if close else ""
