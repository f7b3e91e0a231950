"""Options for settings: one flag for each setting, or a file of settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from posvec.automatic import AUTOMATIC
from posvec.config import ALIASES, SETTINGS, Config, Setting, canonical_names
from posvec.distributed.options import SETTINGS as CLUSTER_SETTINGS
from posvec.errors import ConfigError
from posvec.presets import DEFAULT_PRESET, MODELS, PRESETS
from posvec.system.utf8 import decode_json


def settings(*groups: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option for each setting of the groups, for example --positional-dim for positional_dim."""
    return options(setting for setting in SETTINGS.values() if setting.group in groups)


def options(settings: Iterable[Setting]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option for each of the settings, and hidden options for their earlier names."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed(list(settings)):
            command = _option(setting)(command)
            for alias in (alias for alias, name in ALIASES.items() if name == setting.name):
                command = _option(dataclasses.replace(setting, name=alias), hidden=True)(command)
        return command

    return decorate


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --model, --preset and --config, which are passed to :func:`configuration`."""
    for option in (
        click.option(
            "--config",
            "config_file",
            type=click.Path(path_type=Path),
            help='JSON file with settings: {"dim": 100, ...}, or the config.json of a model',
        ),
        click.option(
            "--preset",
            type=click.Choice(list(PRESETS)),
            default=DEFAULT_PRESET,
            show_default=True,
            help="set of defaults; the settings below show those of posvec",
        ),
        click.option(
            "--model",
            type=click.Choice(list(MODELS)),
            help="two heads, or one of the paper's four models  [default: that of the preset; posvec: two-heads]",
        ),
    ):
        command = option(command)
    return command


def cluster_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --cluster and its options, or those with the given names, which are passed to :func:`on_cluster`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        chosen = [each for name, each in CLUSTER_SETTINGS.items() if not names or name in names]
        return click.option(
            "--cluster",
            metavar="auto|ADDRESS",
            help='use a Ray cluster; auto: the one of this machine, or else a new one (pip install "posvec'
            '[distributed]")',
        )(options(chosen)(command))

    return decorate


def on_cluster(cluster: str | None, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the address of the cluster and its options, or an empty dict without --cluster."""
    given = given_settings(values, CLUSTER_SETTINGS)
    if cluster:
        return {"cluster": cluster, **given}
    for name in given:
        raise click.UsageError(f"--{name.replace('_', '-')} is an option of --cluster; add --cluster auto")
    return {}


def configuration(config_file: Path | None, values: Mapping[str, Any]) -> tuple[Config | None, dict[str, Any]]:
    """Return the configuration of --config, if it is complete, and the single settings of the file and the flags."""
    config, given = read_config(config_file) if config_file else (None, {})
    if config:
        refuse_model_and_preset("--config")
    return config, given | given_settings(values)


def refuse_model_and_preset(option: str) -> None:
    """Raise an error if --model or --preset are given although ``option`` already decides all settings."""
    context = click.get_current_context()
    for name in ("model", "preset"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} already has the kind of the model and all settings; leave out --{name}")


def given_settings(values: Mapping[str, Any], known: Container[str] = SETTINGS) -> dict[str, Any]:
    """Return the settings that were given on the command line."""
    given = {name: value for name, value in values.items() if value is not None}
    return {name: value for name, value in canonical_names(given).items() if name in known}


def read_config(path: Path) -> tuple[Config | None, dict[str, Any]]:
    """Read a complete configuration, as in the config.json of a model, or single settings."""
    try:
        values = decode_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no configuration {path}; check the spelling") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is not a JSON configuration ({error}); fix it or give another file") from error
    if isinstance(values, dict) and isinstance(values.get("settings"), dict):
        values = values["settings"]
    if not isinstance(values, dict):
        raise ConfigError(f'{path} is not a configuration; it must contain settings, for example {{"dim": 100}}')
    if any(isinstance(value, dict) for value in values.values()):
        return Config.from_dict(values), {}
    values = canonical_names(values)
    Config().replace(
        **{name: value for name, value in values.items() if name not in SETTINGS}
    )  # raises an error for unknown names
    return None, values


def _option(setting: Setting, hidden: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    flag = "--" + setting.name.replace("_", "-")
    arguments: dict[str, Any] = {
        "default": None,
        "hidden": hidden,
        "help": f"{setting.help}  [{_default_text(setting)}]",
    }
    if setting.type is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", setting.name, **arguments)
    kind = click.Choice(setting.choices) if setting.choices else setting.type
    return click.option(flag, setting.name, type=kind, **arguments)


def _default_text(setting: Setting) -> str:
    by_model = {settings.get(setting.name, setting.default) for settings in MODELS.values()}
    if setting.name in AUTOMATIC:
        return "follows the corpus" + (" with two heads, else depends on --model" if len(by_model) > 1 else "")
    if len(by_model) > 1:
        return "depends on --model"
    if isinstance(setting.default, bool):
        return "yes" if setting.default else "no"
    return "none" if setting.default is None else f"{setting.default}"
