"""What a search varies: ranges and choices of settings, checked against the fields of :mod:`posvec.config`.

window=1..50                  whole numbers
positional_dim=10..300:10     every tenth
initial_lr=0.01..0.1:log      as many trials below as above the geometric mean
initializer=identity,vanilla  one of several; numbers, true and false, none too
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from posvec.config import Config, Setting, find_setting
from posvec.errors import ConfigError

if TYPE_CHECKING:
    import optuna

_WORDS: dict[str, Any] = {"true": True, "yes": True, "false": False, "no": False, "none": None}


@dataclass(frozen=True)
class Dimension:
    """One setting and the values that it may take: either a range or choices."""

    setting: Setting
    low: float = 0
    high: float = 0
    step: float | None = None
    log: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        return self.setting.name

    @staticmethod
    def parse(text: str) -> Dimension:
        """Read ``name=low..high[:step|:log]`` or ``name=a,b,c``."""
        name, separator, values = (part.strip() for part in text.partition("="))
        if not separator or not values:
            raise ConfigError(f"--space {text} should be a setting and its values, such as window=1..50 or dim=100,300")
        setting = find_setting(name.replace("-", "_"))
        dimension = _parse_range(setting, values, text) if ".." in values else _parse_choices(setting, values, text)
        for value in dimension.choices or (dimension.low, dimension.high):
            setting.check_bounds(value)
        return dimension

    def suggest(self, trial: optuna.Trial) -> Any:
        """The value that a trial is to try."""
        if self.choices:
            return trial.suggest_categorical(self.name, self.choices)
        # Optuna wants a range that ends at a step; where this one does not, the last step before it is the end.
        high = self.low + self._steps(self.high) * self.step if self.step else self.high
        if self.setting.type is int:
            return trial.suggest_int(self.name, int(self.low), int(high), step=int(self.step or 1), log=self.log)
        return trial.suggest_float(self.name, self.low, high, step=self.step, log=self.log)

    def has(self, value: Any) -> bool:
        """Whether a search can come upon the value."""
        if self.choices:
            return value in self.choices
        if value is None or not self.low <= value <= self.high:
            return False
        return self.step is None or math.isclose(self.low + self._steps(value) * self.step, value)

    def _steps(self, value: float) -> int:
        assert self.step
        return math.floor((value - self.low) / self.step + 1e-9)

    def __str__(self) -> str:
        if self.choices:
            return f"{self.name}={','.join(_written(choice) for choice in self.choices)}"
        step = ":log" if self.log else f":{self.step:g}" if self.step else ""
        return f"{self.name}={self.low:.17g}..{self.high:.17g}{step}"


def parse_space(space: Iterable[str]) -> tuple[Dimension, ...]:
    """Several dimensions, each of another setting."""
    dimensions = tuple(map(Dimension.parse, space))
    names = [dimension.name for dimension in dimensions]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--space {name} is given twice; give it once")
    return dimensions


def paper_space(config: Config) -> tuple[Dimension, ...]:
    """What the paper searches for each kind of model: c, and for the constrained model D' in thirtieths of D."""
    space = ["window=1..50"]
    if config.kind == "constrained":
        step = max(1, config.model.dim // 30)
        space.append(f"positional_dim={step}..{config.model.dim}:{step}")
    return parse_space(space)


def configured(base: Config, values: dict[str, Any]) -> Config:
    """A configuration with the values of a trial; D' keeps its share of D where D alone is searched."""
    if "dim" in values and "positional_dim" not in values:
        share = values["dim"] * base.model.positional_dim
        values = {**values, "positional_dim": -(-share // base.model.dim)}  # rounded up, as make_config does
    return base.replace(**values)


def value_in(config: Config, name: str) -> Any:
    """The value of a setting, named without its group."""
    return getattr(getattr(config, find_setting(name).group), name)


def _parse_range(setting: Setting, values: str, text: str) -> Dimension:
    if setting.choices or setting.type is bool:
        offered = ",".join(setting.choices) or "true,false"
        raise ConfigError(f"{setting.name} has no range; name its values, such as --space {setting.name}={offered}")
    bounds, _, step = values.partition(":")
    low, high = (_number(setting, part, text) for part in bounds.split("..", 1))
    log = step == "log"
    width = None if log or not step else _number(setting, step, text)
    if not low < high:
        raise ConfigError(f"the range {bounds} of --space {text} is empty; write the lower bound first")
    if log and not low > 0:
        raise ConfigError(f"the range of --space {text} cannot be logarithmic: it must begin above 0")
    if width is not None and not 0 < width <= high - low:
        raise ConfigError(f"the step of --space {text} should be more than 0 and fit into the range")
    return Dimension(setting, low, high, width, log)


def _parse_choices(setting: Setting, values: str, text: str) -> Dimension:
    choices = [setting.check(_value(setting, part.strip(), text)) for part in values.split(",")]
    if len(set(choices)) < 2:
        flag = "--" + setting.name.replace("_", "-")
        raise ConfigError(
            f"--space {text} has one value only; give a range (low..high) or several values, or set {flag}"
        )
    if len(set(choices)) < len(choices):
        raise ConfigError(f"--space {text} names a value twice; name it once")
    return Dimension(setting, choices=tuple(choices))


def _value(setting: Setting, part: str, text: str) -> Any:
    if setting.choices:
        return part
    word = part.lower()
    if word in _WORDS and (setting.type is bool or word == "none"):
        return _WORDS[word]
    return part if setting.type is bool else _number(setting, part, text)


def _number(setting: Setting, part: str, text: str) -> Any:
    try:
        return setting.check(float(part) if setting.type is float or not part.lstrip("+-").isdigit() else int(part))
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{part!r} in --space {text} is no number; write such as {setting.name}=1..50") from None


def _written(choice: Any) -> str:
    return str(choice).lower() if choice is None or isinstance(choice, bool) else str(choice)
