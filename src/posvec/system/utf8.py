r"""JSON, and text that may contain bytes that are not UTF-8, for example the names of files.

Python represents such a byte by a lone surrogate: the byte 0xff by ``"\udcff"``, which UTF-8 cannot encode. Everything
that is written for people or other programs has the six characters ``\udcff`` in its place. In JSON they are the
escape of this surrogate, so that what is read again is what was written, and a name refers to the same file.
"""

from __future__ import annotations

import json
from typing import Any


def encode_text(text: str) -> bytes:
    r"""Encode text as UTF-8, with an escape for each lone surrogate.

    Examples
    --------
    >>> encode_text("caf\udce9")
    b'caf\\udce9'
    """
    return text.encode("utf-8", "backslashreplace")


def printable_text(text: str) -> str:
    r"""Return text that UTF-8 can encode, with an escape for each lone surrogate.

    Examples
    --------
    >>> print(printable_text("caf\udce9"))
    caf\udce9
    """
    return encode_text(text).decode()


def encode_json(value: Any, indent: int | None = None) -> bytes:
    r"""Encode a value as JSON in UTF-8, from which the same value can be read again.

    Examples
    --------
    >>> json.loads(encode_json({"path": "caf\udce9"})) == {"path": "caf\udce9"}
    True
    """
    return encode_text(json.dumps(value, ensure_ascii=False, indent=indent))


def decode_json(text: str | bytes) -> Any:
    """Parse JSON; raise ValueError if it is invalid, also if it is nested more deeply than Python can parse.

    Examples
    --------
    >>> decode_json("[1, 2]")
    [1, 2]
    >>> decode_json("[" * 1_000_000)
    Traceback (most recent call last):
    ValueError: it is nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def has_utf8(text: str) -> bool:
    r"""Return whether text can be encoded as UTF-8: it has no lone surrogates.

    Examples
    --------
    >>> has_utf8("café"), has_utf8("caf\udce9")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
