"""posvec explore: explore models in the browser."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from posvec.cli.arguments import PATH, named_models
from posvec.errors import ConfigError
from posvec.system.console import echo, say
from posvec.system.extras import require_extra


@click.command()
@click.argument("models", nargs=-1, required=True, type=PATH)
@click.option("--host", default="127.0.0.1", show_default=True, help="listen at this address")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="listen at this port  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="print the address without opening the browser")
def explore(models: tuple[Path, ...], host: str, port: int, no_browser: bool) -> None:
    """Explore MODELS in the browser.

    The page shows masked words, positions, neighbours and training. It can only be reached from this machine unless
    --host is given. Ctrl-C stops the server.
    """
    for module in ("fastapi", "uvicorn", "sklearn"):
        require_extra(module, "explorer")
    from posvec.explorer import application, loaded_models, security

    if len(set(models)) < len(models):
        raise ConfigError("a model is given twice; give each once")
    loaded = loaded_models.load_models(named_models(models))
    with application.listen(host, port) as listening, suppress(KeyboardInterrupt):  # also while the models are loaded
        url = application.page_url(listening, host)
        echo(f"Exploring {', '.join(loaded)} at {url} (Ctrl-C stops the server)")
        if not security.is_loopback(host):
            say(
                f"Warning: everyone who can reach {host} over the network can use these models; leave out --host "
                "to allow only this machine"
            )
        if not no_browser:
            click.launch(url)
        with loaded_models.warming_up(loaded):
            application.serve(loaded, listening, host)


COMMANDS = (explore,)
