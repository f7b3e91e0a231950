"""Text from models, files and arguments, made safe to show.

A word can have any characters. ESC begins sequences that move the cursor of a terminal, change its title or write to
the clipboard; XML, and so SVG, forbids control characters; and spreadsheets evaluate cells that begin with an equals
sign.
"""

from __future__ import annotations

import re

_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
_REPLACED = _PICTURES | dict.fromkeys([*range(0x80, 0xA0), 0xFFFE, 0xFFFF], 0xFFFD)

_FORMULA = re.compile(r"[=@+\-\t\r].", re.DOTALL)
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]inf|[+-]nan", re.ASCII)


def printable(text: str) -> str:
    """Replace control characters, except tabs and ends of lines, by visible ones.

    Examples
    --------
    >>> from posvec.system.printable import printable
    >>> printable("a\\x1b[31m b")
    'a␛[31m b'
    """
    # Looking first is five times as fast for the usual text.
    return text if text.isascii() and text.isprintable() else text.translate(_REPLACED)


def spreadsheet_cell(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would evaluate as a formula. Numbers are left as they are.

    Examples
    --------
    >>> from posvec.system.printable import spreadsheet_cell
    >>> [spreadsheet_cell(text) for text in ("=1+1", "@home", "-5.5", "-", "cat")]
    ["'=1+1", "'@home", '-5.5', '-', 'cat']
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
