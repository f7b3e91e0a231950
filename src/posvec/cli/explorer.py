"""posvec explore: models in the browser."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from posvec.cli.arguments import named_models
from posvec.errors import ConfigError
from posvec.system.extras import require_extra


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="listen at this address")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="listen at this port  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="print the address, open nothing")
def explore(models: tuple[Path, ...], host: str, port: int, no_browser: bool) -> None:
    """Show what MODELS have learnt on a local page in the browser: gaps, positions, words, training.

    Nothing but this machine reaches the page unless --host says otherwise. Ctrl-C ends it.
    """
    for module in ("fastapi", "uvicorn", "sklearn"):
        require_extra(module, "explorer")
    from posvec.explorer import application, loaded_models, security

    if len(set(models)) < len(models):
        raise ConfigError("a model is named twice; name each once")
    loaded = loaded_models.load_models(named_models(models))
    with application.listen(host, port) as listening, suppress(KeyboardInterrupt):  # however early it comes
        where = application.page_url(listening, host)
        click.echo(f"Exploring {', '.join(loaded)} at {where} (Ctrl-C ends it)")
        if not security.is_loopback(host):
            click.echo(
                f"Warning: everyone who reaches {host} over the network can use these models; leave out --host "
                "to keep them to this machine",
                err=True,
            )
        if not no_browser:
            click.launch(where)
        with loaded_models.warming_up(loaded):
            application.serve(loaded, listening, host)


COMMANDS = (explore,)
