"""Wikipedia's dumps: ``wikipedia:cs`` is the newest one in Czech, ``wikipedia:cs:20260101`` that of a day."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posvec.datasets.catalogue import Download, Entry
from posvec.datasets.downloads import download_text
from posvec.errors import DownloadError

SITE = "https://dumps.wikimedia.org"
LICENCE = "CC BY-SA, https://dumps.wikimedia.org/legal.html"
CITATION = "Wikimedia Foundation, Wikimedia Downloads, https://dumps.wikimedia.org"
NAME = re.compile(r"wikipedia:(?P<language>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?::(?P<date>\d{8}))?")


def find_dump(language: str, date: str | None, folder: Path, note: Callable[[str], None] = lambda text: None) -> Entry:
    """The dump of a language and day, or the newest one, with the sizes and checksums that its site gives.

    ``folder`` takes what has to be fetched to find out, for a moment.
    """
    wiki = f"{language.replace('-', '_')}wiki"
    asked = f"wikipedia:{language}" + (f":{date}" if date else "")

    def text_of(url: str) -> str:
        return download_text(url, folder, note, asked)

    if date is None:
        date = _newest(wiki, asked, text_of)
    url = f"{SITE}/{wiki}/{date}/dumpstatus.json"
    try:
        files = _files(json.loads(text_of(url)))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise DownloadError(f"{url} is not the list of files that was expected ({error}); try another date") from error
    whole = f"{wiki}-{date}-pages-articles.xml.bz2"
    names = [whole] if whole in files else _pieces(files, f"{wiki}-{date}-pages-articles")
    if not names:
        raise DownloadError(
            f"there are no articles in the dump {SITE}/{wiki}/{date}/ yet, or no longer; try another date: "
            f"wikipedia:{language}:YYYYMMDD"
        )
    return Entry(
        f"wikipedia:{language}:{date}",
        "corpus",
        f"the Wikipedia {wiki} of {date}",
        tuple(_download(f"{SITE}/{wiki}/{date}/{name}", files[name]) for name in names),
        LICENCE,
        CITATION,
        "dump",
    )


def _newest(wiki: str, asked: str, text_of: Callable[[str], str]) -> str:
    """The date in the names of the files that the list of the newest ones has."""
    url = f"{SITE}/{wiki}/latest/{wiki}-latest-sha1sums.txt"
    found = re.search(rf"\b{wiki}-(\d{{8}})-pages-articles", text_of(url))
    if not found:
        raise DownloadError(f"{url} names no file of articles; give a date: {asked}:YYYYMMDD")
    return found[1]


def _files(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """All files of jobs that are done."""
    return {
        name: dict(about)
        for job in status["jobs"].values()
        if job.get("status") == "done"
        for name, about in job.get("files", {}).items()
    }


def _pieces(files: dict[str, dict[str, Any]], stem: str) -> list[str]:
    """The files that make up a large dump, in the order of its pages."""
    pattern = re.compile(re.escape(stem) + r"\d+\.xml-p(\d+)p\d+\.bz2")
    found = [(int(match[1]), name) for name in files if (match := pattern.fullmatch(name))]
    return [name for _, name in sorted(found)]


def _download(url: str, about: dict[str, Any]) -> Download:
    checksums = [f"{kind}:{about[kind]}" for kind in ("sha1", "md5") if about.get(kind)]
    return Download(url, int(about["size"]), checksums[0] if checksums else None)
