"""The embedded corpus: its size, its sentences, the same in every process, and made without imports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from posvec.datasets import EMBEDDED_CORPORA, embedded_corpus
from posvec.errors import CorpusError


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return list(embedded_corpus("python-docs"))


def test_the_corpus_is_large_enough_to_train_on(lines: list[str]) -> None:
    counts = Counter(word for line in lines for word in re.findall(r"\w+", line.lower()))
    assert sum(counts.values()) > 200_000
    assert sum(count >= 3 for count in counts.values()) > 3000


def test_it_holds_the_reference_the_library_and_numpy(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert "Assert statements are a convenient way to insert debugging assertions into a program" in text  # topics
    assert "Beautiful is better than ugly" not in text  # a string of a module, but not its documentation
    assert "Draw samples from a standard Gamma distribution" in text  # compiled into numpy.random
    assert "Evaluates the lowest cost contraction order for an einsum expression" in text  # numpy's sources
    assert "Push item onto heap, maintaining the heap invariant." in lines  # the library
    assert re.search(r"Trigonometric sine, element-wise|inverse of the exponential function", text)  # a ufunc


def test_every_line_is_one_sentence_of_some_words_and_none_occurs_twice(lines: list[str]) -> None:
    assert len(set(lines)) == len(lines)
    for line in lines:
        assert line == line.strip()
        assert "\n" not in line
        assert ">>>" not in line[:3]
        assert len(re.findall(r"[^\W\d_]+", line)) >= 4
    assert sum(line[-1] in ".!?)" for line in lines) > 0.6 * len(lines)
    assert not any(re.search(r"(?<!\w)(import|def|lambda) \w+(\.\w+)*[(:]|\breturn \w+\(", line[:20]) for line in lines)


def test_another_process_gets_the_same_lines_and_imports_nothing_for_it(lines: list[str], tmp_path: Path) -> None:
    code = """
import itertools, json, sys
import numpy.random, posvec.datasets.embedded
before = set(sys.modules)
lines = list(itertools.islice(posvec.datasets.embedded_corpus("python-docs"), 2000))
print(json.dumps([lines, sorted(set(sys.modules) - before)]))
"""
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "LC_ALL": "C"}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    found, imported = json.loads(result.stdout)
    assert found == lines[:2000]
    assert [name for name in imported if not name.startswith("_sysconfigdata")] == []


def test_an_error_for_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(CorpusError, match="there is no dataset 'wikipedia'; choose from python-docs"):
        embedded_corpus("wikipedia")
    assert "python-docs" in EMBEDDED_CORPORA
