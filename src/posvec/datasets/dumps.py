"""Wikipedia dumps: ``wikipedia:cs`` is the newest Czech dump, ``wikipedia:cs:20260101`` the dump of that day."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posvec.datasets.definitions import Dataset, Download
from posvec.datasets.downloads import download_text
from posvec.errors import DownloadError
from posvec.system.utf8 import decode_json

SITE = "https://dumps.wikimedia.org"
LICENCE = "CC BY-SA, https://dumps.wikimedia.org/legal.html"
CITATION = "Wikimedia Foundation, Wikimedia Downloads, https://dumps.wikimedia.org"
DUMP_NAME = re.compile(r"wikipedia:(?P<language>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?::(?P<date>\d{8}))?")


def find_dump(
    language: str, date: str | None, folder: Path, note: Callable[[str], None] = lambda text: None
) -> Dataset:
    """Look up a Wikipedia dump on the site of the dumps.

    Parameters
    ----------
    language
        The language code of the Wikipedia, for example ``cs``.
    date
        The date of the dump as YYYYMMDD, or None for the newest one.
    folder
        A folder for temporary files.
    note
        Called with a message before each repeated attempt.

    Returns
    -------
    Dataset
        The files of the dump, with their published sizes and checksums.

    Raises
    ------
    DownloadError
        If there is no such dump, or if the site cannot be reached.
    """
    wiki = f"{language.replace('-', '_')}wiki"
    name = f"wikipedia:{language}" + (f":{date}" if date else "")

    def text_of(url: str) -> str:
        return download_text(url, folder, note, name)

    if date is None:
        date = _newest_date(wiki, name, text_of)
    url = f"{SITE}/{wiki}/{date}/dumpstatus.json"
    try:
        files = _files(decode_json(text_of(url)))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise DownloadError(f"{url} is not a list of files as expected ({error}); try another date") from error
    single = f"{wiki}-{date}-pages-articles.xml.bz2"
    filenames = [single] if single in files else _parts(files, f"{wiki}-{date}-pages-articles")
    if not filenames:
        raise DownloadError(
            f"the dump {SITE}/{wiki}/{date}/ has no articles yet, or not any more; try another date: "
            f"wikipedia:{language}:YYYYMMDD"
        )
    return Dataset(
        f"wikipedia:{language}:{date}",
        "corpus",
        f"the Wikipedia {wiki} of {date}",
        tuple(_download(f"{SITE}/{wiki}/{date}/{filename}", files[filename]) for filename in filenames),
        LICENCE,
        CITATION,
        "dump",
    )


def _newest_date(wiki: str, name: str, text_of: Callable[[str], str]) -> str:
    """The date in the file names of the newest dump."""
    url = f"{SITE}/{wiki}/latest/{wiki}-latest-sha1sums.txt"
    found = re.search(rf"\b{wiki}-(\d{{8}})-pages-articles", text_of(url))
    if not found:
        raise DownloadError(f"{url} lists no file of articles; give a date: {name}:YYYYMMDD")
    return found[1]


def _files(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The files of all finished jobs."""
    return {
        name: dict(about)
        for job in status["jobs"].values()
        if job.get("status") == "done"
        for name, about in job.get("files", {}).items()
    }


def _parts(files: dict[str, dict[str, Any]], stem: str) -> list[str]:
    """The files of a large dump, in the order of its pages."""
    pattern = re.compile(re.escape(stem) + r"\d+\.xml-p(\d+)p\d+\.bz2")
    found = [(int(match[1]), name) for name in files if (match := pattern.fullmatch(name))]
    return [name for _, name in sorted(found)]


def _download(url: str, about: dict[str, Any]) -> Download:
    checksums = [f"{kind}:{about[kind]}" for kind in ("sha1", "md5") if about.get(kind)]
    return Download(url, int(about["size"]), checksums[0] if checksums else None)
