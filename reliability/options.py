"""Hostile values for every option and argument of every command.

    python reliability/options.py [COMMAND ...] [--every 1] [-o results/reliability/options.md]

The options are those that the command line itself lists. A run must end within a minute and 3 GB, with success or with
an error of a few lines, never with a traceback. Numbers that no option can mean (not finite, of 31 digits) must be
refused.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from datetime import datetime, timezone
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import click

import posvec
from posvec.cli import commands
from posvec.cli import main as run_command

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from reporting import made_by, table, write

RESULT = Path(__file__).parents[1] / "results" / "reliability" / "options.md"
TEXTS = (
    "", " ", "\udcff", "a\u0000", "\x1b[31m", "x" * 100_000, "../..", "~nouser/x", "/dev/null", "/", "-", "=", "a=b=c",
    "[MASK]", "{", "http://[", "nofile*.txt",
)  # fmt: skip
LARGE = ("1" + 30 * "0", "9" * 5000)
NONSENSE = ("-1" + 30 * "0", "nan", "inf", "-inf", "1e400")
NUMBERS = (
    *LARGE,
    *NONSENSE,
    "-1",
    "0",
    "-0.5",
    "1e-320",
    "",
    "0x10",
    "１２",
    "1_0",
    "\udcff",
    "2147483648",
    "4294967296",
)
QUICK = ("1" + 30 * "0", "nan", "-1", "", "\udcff")
"""The values that `make test` tries."""
UNLIMITED = (
    "--a", "--buckets", "--checkpoint-minutes", "--clip", "--count", "--lr-divisor", "--neighbors",
    "--restrict-vocab", "--score-limit", "--seed", "--sentences", "--spelling", "--sync-updates", "--sync-words",
    "--top", "--topn", "--trials", "--warmup-words", "--words",
)  # fmt: skip
"""Options of which any large number has a meaning: a limit that is never reached, a weight, a divisor, or a seed."""
LENGTHS = ("--trials", "--epochs")
"""Options that decide how long a command runs, which may be forever."""
SECONDS = 60

SMALL = "--dim 4 --epochs 1 --min-count 1 --threads 1 --sample 0 -q"
COMMANDS = {
    "analogy": "model cat dog cow",
    "calibrate": "model corpus.txt -q",
    "cache clear": "",
    "cache list": "",
    "clusters": "model",
    "compare": "model other --questions questions.txt --samples 10",
    "compress": "model out --method pq",
    "context-words": "model",
    "convert": "model out.txt",
    "data list": "",
    "data fetch": "nodata --offline",
    "data path": "nodata --offline",
    "evaluate analogy": "model questions.txt",
    "evaluate classification": "model --train labels.tsv",
    "evaluate masked": "model corpus.txt --words 20 --samples 10",
    "evaluate pairs": "model --language english",
    "evaluate similarity": "model pairs.txt",
    "examples": "model",
    "export": "model --to hub -o out",
    "index": "model --overwrite -q",
    "info": "model",
    "lm compare": "language-model",
    "lm generate": "language-model the --length 3",
    "lm resume": "language-model -q",
    "lm score": "language-model the",
    "lm train": "model --data data -o out --hidden 20 --epochs 1 --batch 2 --steps 5 -q",
    "mask": "model [MASK]^cat",
    "neighbors": "model cat",
    "positions": "model",
    "report": "model -o out.html",
    "resume": "model -q",
    "score": "model cat^dog^cow",
    "search": f"corpus.txt -o out --trials 1 --objective seconds --space window=1..2 {SMALL}",
    "sentence-vectors": "model corpus.txt",
    "similarity": "model cat dog",
    "study": "study",
    "train": f"corpus.txt -o out {SMALL}",
    "vector": "model cat",
    "vocab": "corpus.txt",
}
"""A command line for each command to which a hostile option is added; ^ stands for a space."""
SKIPPED = ("explore", "reproduce")
"""Commands that serve until they are stopped, or take minutes whatever their options are."""


class Attempt(NamedTuple):
    """One option or argument of one command, with one value."""

    command: str
    option: str
    value: str
    arguments: list[str]
    is_number: bool


class Outcome(NamedTuple):
    """How a command has ended."""

    code: int
    text: str

    def fault(self, attempt: Attempt) -> str:
        """Return what is wrong with it; an empty string if nothing is."""
        if self.code == -signal.SIGALRM and attempt.arguments[-2] in LENGTHS:
            return ""
        if "Traceback (most recent call last)" in self.text or self.code not in (0, 1, 2):
            return f"exit code {self.code}: {self.text.strip().splitlines()[-1][:200] if self.text.strip() else ''}"
        refused = NONSENSE if attempt.arguments[-2] in UNLIMITED else (*LARGE, *NONSENSE)
        if self.code == 0 and attempt.is_number and attempt.value in refused:
            return "accepted"
        if self.code and not re.search(r"^(Error|Usage): ", self.text, re.MULTILINE):
            return f"exit code {self.code} without a message"
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help="only commands that begin with this word")
    parser.add_argument("--every", type=int, default=1, help="try every n-th value")
    parser.add_argument("-o", "--output", type=Path, help="default with all commands: results/reliability/options.md")
    given = parser.parse_args()
    output = given.output or (None if given.commands else RESULT)
    os.environ["OMP_NUM_THREADS"] = "1"  # every run is a fork; PyTorch reads it when it is imported
    chosen = [name for name in COMMANDS if not given.commands or name.split()[0] in given.commands]
    tried: Counter[str] = Counter()
    faults: list[tuple[str, str, str, str]] = []
    for library in ("torch._dynamo", "sklearn.model_selection", "scipy.stats", "matplotlib.figure", "optuna"):
        with suppress(ImportError):
            import_module(library)  # once, instead of in every child
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        prepare_slow(Path(folder))
        for attempt in islice((each for name in chosen for each in attempts(name)), 0, None, given.every):
            tried[attempt.command] += 1
            if fault := attempt_in(Path(folder), attempt).fault(attempt):
                faults.append((attempt.command, attempt.option, ascii(attempt.value[:40]), fault))
                print(*faults[-1], sep=" · ", flush=True)
    print(f"{tried.total():,} command lines, {len(faults)} faults")
    if output:
        rows = [[name, f"{number:,}", str(sum(fault[0] == name for fault in faults))] for name, number in tried.items()]
        command = f"python reliability/options.py --every {given.every}"
        write(output, report(rows, faults, f"{datetime.now(timezone.utc):%Y-%m-%d}. {made_by(command)}"))
    sys.exit(bool(faults))


def report(rows: list[list[str]], faults: list[tuple[str, str, str, str]], made: str) -> str:
    """Return the result as Markdown."""
    runs, found = sum(int(row[1].replace(",", "")) for row in rows), "; ".join(" · ".join(fault) for fault in faults)
    return f"""# Hostile values for every option

{runs:,} command lines of {len(rows)} commands, each with one hostile value of one option or argument:
{len(NUMBERS)} for numbers, {len(TEXTS) + len(QUICK) - 1} for texts, of which every n-th is tried (--every). A command
must end within {SECONDS} s and 3 GB, with a result or with an error message, without a traceback; numbers that an
option cannot mean (not finite, of 31 digits) must be refused. Of --trials and --epochs, which decide how long a
command runs, a large number may run longer.

{table(["command", "command lines", "faults"], rows)}

Faults: {found or "none"}.

{made}"""


def attempts(name: str, values: Sequence[str] | None = None) -> Iterator[Attempt]:
    """Yield all attempts for a command, or those with some values only."""
    base = [part.replace("^", " ") for part in COMMANDS[name].split()]
    for parameter in find_command(name).params:
        if isinstance(parameter, click.Option) and parameter.is_flag:
            continue
        is_number = isinstance(parameter.type, (click.types.IntParamType, click.types.FloatParamType))
        for value in values or (NUMBERS if is_number else (*TEXTS, *QUICK)):
            if "\0" in value:
                continue  # the system does not pass it
            if isinstance(parameter, click.Option):
                arguments = [*base, max(parameter.opts, key=len), value]
            elif base:
                arguments = [value, *base[1:]] if parameter is first_argument(name) else [*base, value]
            else:
                arguments = ["--", value]
            yield Attempt(name, parameter.opts[0], value, [*name.split(), *arguments], is_number)


def find_command(name: str) -> click.Command:
    """Return a command by its words."""
    found: click.Command = commands
    for word in name.split():
        assert isinstance(found, click.Group)
        found = found.commands[word]
    return found


def first_argument(name: str) -> click.Parameter:
    """Return the first positional parameter of a command."""
    return next(each for each in find_command(name).params if isinstance(each, click.Argument))


def all_commands(group: click.Group = commands, prefix: str = "") -> Iterator[str]:
    """Yield the names of all commands."""
    for name, each in group.commands.items():
        if isinstance(each, click.Group):
            yield from all_commands(each, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}"


def prepare(folder: Path) -> None:
    """Write a corpus, models of two heads and of one, and evaluation data, which attempts begin with."""
    words = ["cat", "dog", "cow", "hen", "owl", "fox", "bee", "ant", "elk", "emu"]
    lines = [" ".join(words[(i * step) % 10] for i in range(1, 9)) for step in range(1, 40)]
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n")
    (folder / "questions.txt").write_text(": one\ncat dog cow hen\nowl fox bee ant\n")
    (folder / "pairs.txt").write_text("cat\tdog\t3\ncow\then\t2\nowl\tfox\t1\n")
    (folder / "labels.tsv").write_text("".join(f"{'ab'[i % 2]}\t{line}\n" for i, line in enumerate(lines)))
    (folder / "data").mkdir()
    for name in ("train", "valid", "test"):
        (folder / "data" / f"{name}.txt").write_text("\n".join(lines[:5]) + "\n")
    settings = {"min_count": 1, "sample": 0.0, "threads": 1}
    for name, heads in (("model", {"dim": 20, "word_dim": 16}), ("other", {"dim": 4})):
        posvec.train(folder / "corpus.txt", "constrained", **settings, **heads, output=folder / name)


def prepare_slow(folder: Path) -> None:
    """Train a language model and search, which begin with slow imports."""
    if find_spec("torch"):
        _posvec(folder, "lm", "train", *COMMANDS["lm train"].replace("-o out", "-o language-model").split())
    if find_spec("optuna"):
        _posvec(folder, "search", *COMMANDS["search"].replace("-o out", "-o study").split())


def _posvec(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "posvec", *arguments], cwd=folder, check=True, capture_output=True)


def attempt_in(folder: Path, attempt: Attempt) -> Outcome:
    """Run a command in a child process, in a copy of the prepared folder."""
    with tempfile.TemporaryDirectory() as copy, tempfile.TemporaryFile() as output:
        work = Path(copy, "one", "two")  # ../.. has nothing else
        shutil.copytree(folder, work)
        child = os.fork()
        if not child:
            _run_and_exit(work, attempt.arguments, output.fileno())
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return Outcome(os.waitstatus_to_exitcode(status), output.read().decode(errors="replace"))


def _run_and_exit(work: Path, arguments: list[str], output: int) -> None:
    """In the child: run the command within the limits, write what it prints, and end with its exit code."""
    code = 70
    try:
        signal.alarm(SECONDS)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 3 * 10**9,) * 2)
        os.chdir(work)
        os.environ.update(POSVEC_CACHE=str(work / "cache"), POSVEC_OFFLINE="1")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - a descriptor
        sys.argv = ["posvec", *arguments]
        printed = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="strict", write_through=True)
        errors = io.TextIOWrapper(open(output, "wb", 0, closefd=False), "utf-8", errors="backslashreplace")  # noqa: SIM115
        with redirect_stdout(printed), redirect_stderr(errors):
            try:
                run_command()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
            except BaseException:
                import traceback

                traceback.print_exc()
            errors.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
