"""Search spaces: ranges and choices of settings, checked against the settings of :mod:`posvec.config`.

window=1..50                  integers
positional_dim=10..300:10     multiples of a step
initial_lr=0.01..0.1:log      a logarithmic scale: as many trials below the geometric mean as above it
initializer=identity,vanilla  a choice of values; numbers, true, false and none are allowed too
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

_LITERALS: dict[str, Any] = {"true": True, "yes": True, "false": False, "no": False, "none": None}


@dataclass(frozen=True)
class Dimension:
    """One setting of a search space with the values that it can have: a range, or a list of choices.

    Examples
    --------
    >>> from posvec.tuning.space import Dimension
    >>> dimension = Dimension.parse("window=1..50")
    >>> dimension.low, dimension.high, dimension.contains(51)
    (1, 50, False)
    """

    setting: Setting
    low: float = 0
    high: float = 0
    step: float | None = None
    log: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """The name of the setting."""
        return self.setting.name

    @staticmethod
    def parse(text: str) -> Dimension:
        """Read ``name=low..high[:step|:log]`` or ``name=a,b,c``."""
        name, separator, values = (part.strip() for part in text.partition("="))
        if not separator or not values:
            raise ConfigError(
                f"--space {text} is not a setting and its values; use for example window=1..50 or dim=100,300"
            )
        setting = find_setting(name.replace("-", "_"))
        dimension = _parse_range(setting, values, text) if ".." in values else _parse_choices(setting, values, text)
        for value in dimension.choices or (dimension.low, dimension.high):
            setting.check_bounds(value)
        return dimension

    def suggest(self, trial: optuna.Trial) -> Any:
        """Ask Optuna for the value that a trial should use."""
        if self.choices:
            return trial.suggest_categorical(self.name, self.choices)
        # Optuna expects the upper bound to be a whole number of steps away from the lower one.
        high = self.low + self._steps(self.high) * self.step if self.step else self.high
        if self.setting.type is int:
            return trial.suggest_int(self.name, int(self.low), int(high), step=int(self.step or 1), log=self.log)
        return trial.suggest_float(self.name, self.low, high, step=self.step, log=self.log)

    def contains(self, value: Any) -> bool:
        """Whether a trial can have this value."""
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
            return f"{self.name}={','.join(_format_choice(choice) for choice in self.choices)}"
        step = ":log" if self.log else f":{self.step:g}" if self.step else ""
        return f"{self.name}={self.low:.17g}..{self.high:.17g}{step}"


def parse_space(space: Iterable[str]) -> tuple[Dimension, ...]:
    """Read the dimensions of a search space, each of which is a different setting."""
    dimensions = tuple(map(Dimension.parse, space))
    names = [dimension.name for dimension in dimensions]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--space {name} is given twice; give it once")
    return dimensions


def paper_space(config: Config) -> tuple[Dimension, ...]:
    """Return the paper's search space: c, and for the constrained model D' in steps of D/30."""
    space = ["window=1..50"]
    if config.kind == "constrained":
        step = max(1, config.model.dim // 30)
        space.append(f"positional_dim={step}..{config.model.dim}:{step}")
    return parse_space(space)


def trial_config(base: Config, values: dict[str, Any]) -> Config:
    """Return the base configuration with the values of a trial; D'/D stays the same if only D is searched."""
    if "dim" in values and "positional_dim" not in values:
        product = values["dim"] * base.model.positional_dim
        values = {**values, "positional_dim": -(-product // base.model.dim)}  # rounded up, as in make_config
    return base.replace(**values)


def setting_value(config: Config, name: str) -> Any:
    """Return the value of a setting by its name alone, without its group."""
    return getattr(getattr(config, find_setting(name).group), name)


def _parse_range(setting: Setting, values: str, text: str) -> Dimension:
    if setting.choices or setting.type is bool:
        offered = ",".join(setting.choices) or "true,false"
        raise ConfigError(
            f"{setting.name} cannot have a range; list its values, for example --space {setting.name}={offered}"
        )
    bounds, _, step = values.partition(":")
    low, high = (_parse_number(setting, part, text) for part in bounds.split("..", 1))
    log = step == "log"
    width = None if log or not step else _parse_number(setting, step, text)
    if not low < high:
        raise ConfigError(f"the range {bounds} of --space {text} is empty; write the lower bound first")
    if log and not low > 0:
        raise ConfigError(f"the logarithmic range of --space {text} must start above 0; raise its lower bound")
    if width is not None and not 0 < width <= high - low:
        raise ConfigError(f"the step of --space {text} must be positive and no larger than the range")
    return Dimension(setting, low, high, width, log)


def _parse_choices(setting: Setting, values: str, text: str) -> Dimension:
    choices = [setting.check(_parse_choice(setting, part.strip(), text)) for part in values.split(",")]
    if len(set(choices)) < 2:
        flag = "--" + setting.name.replace("_", "-")
        raise ConfigError(
            f"--space {text} has only one value; give a range (low..high) or several values, or set {flag}"
        )
    if len(set(choices)) < len(choices):
        raise ConfigError(f"--space {text} lists a value twice; list each value once")
    return Dimension(setting, choices=tuple(choices))


def _parse_choice(setting: Setting, part: str, text: str) -> Any:
    if setting.choices:
        return part
    word = part.lower()
    if word in _LITERALS and (setting.type is bool or word == "none"):
        return _LITERALS[word]
    return part if setting.type is bool else _parse_number(setting, part, text)


def _parse_number(setting: Setting, part: str, text: str) -> Any:
    try:
        return setting.check(float(part) if setting.type is float or not part.lstrip("+-").isdigit() else int(part))
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{part!r} in --space {text} is not a number; use for example {setting.name}=1..50") from None


def _format_choice(choice: Any) -> str:
    return str(choice).lower() if choice is None or isinstance(choice, bool) else str(choice)
