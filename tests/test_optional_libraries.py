"""Without any optional library, the packages can be imported, listed and documented."""

from __future__ import annotations

import subprocess
import sys

import pytest

OPTIONAL = (
    "sklearn", "scipy", "matplotlib", "optuna", "torch", "transformers", "gensim", "spacy", "sentence_transformers",
    "tokenizers", "huggingface_hub", "usearch", "ot", "fastapi", "uvicorn", "ray", "fsspec", "wikitextparser",
)  # fmt: skip
PROGRAM = f"""
import sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))
import inspect, pydoc, posvec
from importlib import import_module
"""


def run(program):
    return subprocess.run([sys.executable, "-c", PROGRAM + program], capture_output=True, text=True)


@pytest.mark.parametrize(
    "program",
    [
        "from posvec import *; PosvecVectorizer, train",
        "assert hasattr(posvec, 'PosvecVectorizer')",
        "assert len(inspect.getmembers(posvec)) > 20",
        "assert 'PosvecVectorizer' in pydoc.render_doc(posvec)",
        "for name in ('corpus', 'training', 'datasets', 'language_model', 'interop', 'plots', 'tuning', 'distributed',"
        " 'evaluation', 'formats', 'query', 'reproduction', 'explorer'):\n"
        "    package = import_module(f'posvec.{name}')\n"
        "    inspect.getmembers(package), pydoc.render_doc(package)\n"
        "    exec(f'from posvec.{name} import *')",
    ],
    ids=["import *", "hasattr", "getmembers", "pydoc", "packages"],
)
def test_names_can_be_listed(program):
    ended = run(program)
    assert ended.returncode == 0, ended.stderr


def test_using_a_name_names_the_extra():
    for use, extra in {
        "posvec.PosvecVectorizer()": "sklearn",
        "posvec.language_model.load('run')": "lm",
        "posvec.language_model.train('model', 'data', 'run')": "lm",
    }.items():
        ended = run(f"import posvec.language_model\n{use}")
        assert f"PosvecError: this needs {'sklearn' if extra == 'sklearn' else 'torch'}" in ended.stderr, ended.stderr
        assert f'pip install "posvec[{extra}]"' in ended.stderr
