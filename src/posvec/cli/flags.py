"""Settings as the command line takes them: a flag for each, or a file of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from posvec.config import MODELS, SETTINGS, Config, Setting
from posvec.errors import ConfigError


def settings(*groups: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command one option for every setting of the groups: --positional-dim for positional_dim."""

    return options(setting for setting in SETTINGS.values() if setting.group in groups)


def options(settings: Iterable[Setting]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command one option for each of some settings."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed(list(settings)):
            command = _option(setting)(command)
        return command

    return decorate


def given_settings(values: Mapping[str, Any], known: Container[str] = SETTINGS) -> dict[str, Any]:
    """The settings that were given on the command line."""
    return {name: value for name, value in values.items() if name in known and value is not None}


def read_config(path: Path) -> tuple[Config | None, dict[str, Any]]:
    """A whole configuration, as in a model's config.json, or single settings."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no configuration {path}; check the spelling") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is not a configuration in JSON ({error}); mend it or name another file") from error
    if isinstance(values, dict) and isinstance(values.get("settings"), dict):
        values = values["settings"]
    if not isinstance(values, dict):
        raise ConfigError(f'{path} is not a configuration; write settings into it, such as {{"dim": 100}}')
    if any(isinstance(value, dict) for value in values.values()):
        return Config.from_dict(values), {}
    Config().replace(**{name: value for name, value in values.items() if name not in SETTINGS})  # names the unknown
    return None, values


def _option(setting: Setting) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    flag = "--" + setting.name.replace("_", "-")
    arguments: dict[str, Any] = {"default": None, "help": f"{setting.help}  [{_default(setting)}]"}
    if setting.type is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", setting.name, **arguments)
    kind = click.Choice(setting.choices) if setting.choices else setting.type
    return click.option(flag, setting.name, type=kind, **arguments)


def _default(setting: Setting) -> str:
    if len({settings[setting.name] for settings in MODELS.values() if setting.name in settings}) > 1:
        return "depends on --model"
    if isinstance(setting.default, bool):
        return "yes" if setting.default else "no"
    return "none" if setting.default is None else f"{setting.default}"
