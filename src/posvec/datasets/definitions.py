"""The description of a dataset: where to download it, its licence and citation, and how to unpack it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DatasetKind = Literal["corpus", "language model", "analogies", "similarity"]

DownloadLayout = Literal["file", "archive", "member", "sections", "dump"]
"""How a download becomes a dataset: the file as it is; an archive, unpacked; one member of an archive; or text with one
paragraph per line, extracted from gensim-data's articles in JSON lines ("sections") or from a Wikipedia dump."""


@dataclass(frozen=True)
class Download:
    """A file to download. The checksum names its algorithm: ``md5:...``, ``sha1:...`` or ``sha256:...``.

    Examples
    --------
    >>> from posvec.datasets import Download
    >>> download = Download("https://example.org/pairs.txt", size=1000)
    >>> download.filename, download.limit
    ('pairs.txt', 2000)
    """

    url: str
    size: int | None = None
    checksum: str | None = None
    at_most: int = 64 << 20
    """The largest acceptable number of bytes if the size is unknown."""

    @property
    def limit(self) -> int:
        """The largest acceptable number of bytes; without a checksum, the file may have grown since it was listed."""
        if self.size is None:
            return self.at_most
        return self.size if self.checksum else 2 * self.size

    @property
    def filename(self) -> str:
        """The last component of the URL."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Dataset:
    """A dataset that can be downloaded.

    Examples
    --------
    >>> from posvec.datasets import Dataset, Download
    >>> downloads = (Download("https://example.org/pairs.txt", size=1000),)
    >>> dataset = Dataset("my-pairs", "similarity", "Pairs of animals.", downloads, "CC0", "None.")
    >>> dataset.size
    1000
    """

    name: str
    kind: DatasetKind
    about: str
    downloads: tuple[Download, ...]
    licence: str
    citation: str
    layout: DownloadLayout = "file"
    member: str = ""
    """The member of the archive to use, for the layout "member"."""
    published_size: int | None = None
    """The size of all downloads together, if only that is known."""

    @property
    def size(self) -> int | None:
        """The number of bytes to download, if known."""
        sizes = [each.size for each in self.downloads if each.size is not None]
        return sum(sizes) if len(sizes) == len(self.downloads) else self.published_size
