"""Choose the settings that follow the size of the corpus, and say what was chosen."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Protocol

from posvec.automatic import automatic_settings
from posvec.config import Config

_logger = logging.getLogger("posvec")


class Notes(Protocol):
    """The part of a display that this module needs."""

    def note(self, text: str) -> None: ...


def follow_corpus(words: int, config: Config, given: Collection[str]) -> tuple[Config, tuple[str, ...]]:
    """Return the configuration that suits a corpus, and the names of the settings that were chosen.

    Parameters
    ----------
    words
        The number of words of the corpus.
    config
        The configuration, of the default preset.
    given
        The names of settings that the user has given, which are not chosen.
    """
    settings = automatic_settings(words)
    chosen = {name: value for name, value in settings.items() if name not in given}
    return config.replace(**chosen), tuple(chosen)


def announce(text: str, display: Notes) -> None:
    """Say what was chosen: on the display, and to the logger ``posvec`` at level INFO."""
    display.note(text)
    _logger.info(text)
