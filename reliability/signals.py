"""Send signals to commands of posvec at random moments and check that work is saved and messages are true.

    python reliability/signals.py [--minutes M] [--seed S] [COMMAND...]

Each run creates its inputs, starts the command and sends it one signal of SIGINT, SIGTERM, SIGHUP, SIGXCPU and SIGUSR1,
sometimes several times in a row, as a closed terminal and impatient people do: at a random CPU time, or immediately
before one of its file operations, half of the latter among the last ones, which belong to the final save. Afterwards,
the output must be absent, old, partial or new; what was trained when the signal arrived must be saved; the message must
say which of these it is; the exit code must fit; no temporary file may be left; and the command, given again, or posvec
resume must give the result of a run that was never interrupted. SIGPIPE, which a reader that has gone causes, must be
ignored. Writes results/reliability/signals.md if all commands ran.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from actions import Action, Fault, Inputs, missing_module
from actions.commands import COMMANDS
from killing import Ended, Moment, mark, run
from posvec.system.atomic import TEMPORARY
from posvec.system.signals import STOP_SIGNALS

RESULT = Path(__file__).parents[1] / "results" / "reliability" / "signals.md"
INTERRUPTED, BROKEN_PIPE = 130, 141
MESSAGES = {
    r"Interrupted\. The model so far is in .*continue with: posvec (lm )?resume": {"partial"},
    r"Interrupted after training was complete; the model is in": {"new"},
    r"Interrupted before the first checkpoint; nothing was saved": {"absent", "old"},
    r"Interrupted before the first trial; nothing was saved": {"absent"},
    r"Interrupted\. The trials so far are in": {"absent", "partial", "new"},
}
"""What each message says about the output."""
SIGNALS: tuple[int, ...] = (*STOP_SIGNALS, signal.SIGPIPE)


@dataclass
class Outcome:
    """What the runs of one command led to."""

    runs: int = 0
    signals: Counter[int] = field(default_factory=Counter)
    in_time: int = 0
    states: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Campaign:
    """Runs of one command."""

    def __init__(self, action: Action, seed: int) -> None:
        self.action, self.seed = action, seed
        self.outcome = Outcome()
        self._log = action.folder.with_name("log")
        self._undisturbed: dict[str, tuple[Ended, object]] = {}

    def run_once(self) -> None:
        """Send signals to one run and check what it left."""
        number, outcome = self.outcome.runs, self.outcome
        draw = random.Random(f"{type(self.action).__name__} {self.seed} {number}")
        complete, expected = self._prepare(draw.random())
        moment = _draw_moment(draw, complete)
        outcome.runs += 1
        outcome.signals[moment.signals[0]] += 1
        try:
            ended = run(self.action.command, self._log, moment)
            state = self.action.state()
            outcome.in_time += ended.code != 0
            outcome.states[state] += 1
            outcome.codes[ended.code] += 1
            self._check(ended, state, moment)
            if self._result(run(partial(self.action.recover, state), self._log)) != expected:
                raise Fault("the result is not that of a run that was never interrupted")
        except Exception:
            outcome.faults.append(f"run {number}, {moment}: {traceback.format_exc().strip().splitlines()[-1]}")
            print(f"FAULT {type(self.action).__name__} {outcome.faults[-1]}", flush=True)

    def _prepare(self, variant_seed: float) -> tuple[Ended, object]:
        """Create the inputs of a run; return how its variant ends, and its result, if it is not interrupted."""
        variant = self._inputs(variant_seed)
        if variant not in self._undisturbed:
            # The first run also imports what is imported late; only the second one is timed.
            expected = self._result(run(self.action.command, self._log))
            self._inputs(variant_seed)
            self._undisturbed[variant] = run(self.action.command, self._log), expected
            self._inputs(variant_seed)
        return self._undisturbed[variant]

    def _inputs(self, variant_seed: float) -> str:
        shutil.rmtree(self.action.folder, ignore_errors=True)
        self.action.folder.mkdir()
        return self.action.prepare(random.Random(variant_seed))

    def _check(self, ended: Ended, state: str, moment: Moment) -> None:
        """Raise Fault unless the exit code, the message and the output agree."""
        first, before_start = moment.signals[0], ended.mark == ""
        allowed = {0, INTERRUPTED, BROKEN_PIPE if first == signal.SIGPIPE else INTERRUPTED}
        if before_start or state in ("new", "done"):  # before handlers are installed, and after they are restored
            allowed |= {-first}
        if ended.code not in allowed:
            raise Fault(f"exit code {ended.code}: {ended.output[-300:]}")
        if "Traceback" in ended.output or "Exception ignored" in ended.output:
            raise Fault(f"a traceback: {ended.output[-300:]}")
        if ended.code == 0 and state not in ("new", "done"):
            raise Fault(f"exit code 0, and the output is {state}")
        if ended.mark == "training" and state in ("absent", "old"):
            raise Fault(f"training had begun and is lost: {ended.output[-300:]}")
        for message, states in MESSAGES.items():
            if re.search(message, ended.output) and state not in states:
                raise Fault(f"the output is {state}, but the message is {ended.output[-300:]}")
        self._check_temporary(ended)

    def _check_temporary(self, ended: Ended) -> None:
        left = [path for path in self.action.folder.rglob("*") if TEMPORARY.fullmatch(path.name)]
        if left and ended.code >= 0:
            raise Fault(f"{len(left)} temporary files were left, for example {left[0].name}")

    def _result(self, ended: Ended) -> object:
        if ended.code:
            raise Fault(f"the command failed: {ended.output[-300:]}")
        self._check_temporary(ended)
        return self.action.result()


def _draw_moment(draw: random.Random, complete: Ended) -> Moment:
    first = draw.choice(SIGNALS)
    times = draw.choice([1, 1, 2, 3])
    # A second Ctrl-C means that its sender does not want to wait, so the work may be lost then.
    signals = (first,) * (1 if first == signal.SIGINT else times)
    kind = draw.random()
    if kind < 0.5:
        return Moment(cpu_seconds=draw.random() * complete.cpu_seconds, signals=signals)
    begin = 1 if kind < 0.75 else max(1, complete.operations - 8)
    return Moment(operation=draw.randint(begin, max(begin, complete.operations)), signals=signals)


@contextmanager
def _marking() -> Iterator[None]:
    """Note when commands and training begin, in the processes that are forked within."""
    from posvec.cli import commands
    from posvec.training.threads import ThreadedJob

    invoke, results = commands.invoke, ThreadedJob.results

    def marked_results(job: ThreadedJob) -> Iterator[object]:
        for result in results(job):
            mark("training")
            yield result

    def marked_invoke(context: object) -> object:
        mark("command")
        return invoke(context)  # type: ignore[arg-type]

    ThreadedJob.results = marked_results  # type: ignore[assignment,method-assign]
    commands.invoke = marked_invoke  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        ThreadedJob.results, commands.invoke = results, invoke  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=", ".join(COMMANDS), default=[])
    parser.add_argument("--minutes", type=float, default=6, help="the time of all runs (default 6)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if unknown := set(options.commands) - set(COMMANDS):
        parser.error(f"unknown command {', '.join(sorted(unknown))}; choose from {', '.join(COMMANDS)}")
    sys.dont_write_bytecode = True
    os.environ["OMP_NUM_THREADS"] = "1"  # every run is a fork, which must not have threads
    for number in STOP_SIGNALS:  # under nohup, some are ignored
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    names = options.commands or [*COMMANDS]
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="posvec-signals-") as temporary, _marking():
        folder = Path(temporary) / "run"
        os.environ["POSVEC_CACHE"] = str(folder / "cache")
        inputs = Inputs(Path(temporary) / "inputs")
        absent = {name: missing for name in names if (missing := missing_module(COMMANDS[name]))}
        present = [name for name in names if name not in absent]
        campaigns = {name: Campaign(COMMANDS[name](inputs, folder), options.seed) for name in present}
        while time.monotonic() < end:
            for campaign in campaigns.values():
                campaign.run_once()
    rows = [_row(name, campaign.outcome) for name, campaign in campaigns.items()]
    faults = [f"- {name}, {fault}" for name, campaign in campaigns.items() for fault in campaign.outcome.faults]
    skipped = (f"{name}: skipped, {module} is not installed" for name, module in absent.items())
    print(*(" | ".join(row) for row in rows), *skipped, sep="\n")
    if not options.commands:
        _write_report(rows, faults, options, [campaign.outcome for campaign in campaigns.values()])
    sys.exit(bool(faults))


def _row(name: str, outcome: Outcome) -> list[str]:
    states = ", ".join(f"{state} {count}" for state, count in sorted(outcome.states.items()))
    codes = ", ".join(f"{code} {count}×" for code, count in sorted(outcome.codes.items(), reverse=True))
    return [name, str(outcome.runs), states, codes, str(len(outcome.faults))]


def _write_report(
    rows: list[list[str]], faults: list[str], options: argparse.Namespace, outcomes: list[Outcome]
) -> None:
    head = ["command", "runs", "output afterwards", "exit codes", "faults"]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    sent: Counter[int] = sum((outcome.signals for outcome in outcomes), Counter())
    found = f"{len(faults)} faults:\n\n" + "\n".join(faults) if faults else "no fault."
    kinds = ", ".join(f"{signal.Signals(number).name} {count}" for number, count in sorted(sent.items()))
    RESULT.write_text(f"""# Signals at random moments

Made by `python reliability/signals.py --minutes {options.minutes:g} --seed {options.seed}`
on {time.strftime("%Y-%m-%d")}. Inputs: a corpus of 42,000 words, models with D = 20. Half of the signals arrive at a
CPU time, drawn uniformly from that of an undisturbed run; a quarter before any of its file operations (open for
writing, rename, remove, lock, create a folder); a quarter before one of the last eight of them, which belong to the
final save. SIGTERM, SIGHUP, SIGXCPU, SIGUSR1 and SIGPIPE are sent one to three times in a row.

After each run: the output was absent, old, partial or complete (new); what posvec train and resume had trained when
the signal arrived was saved (not checked for lm train); no message contradicted the output; no temporary file was left;
and the command, given again, or posvec resume gave the result of an uninterrupted run. Exit codes: 130
interrupted; 0 the signal was ignored (SIGPIPE) or came after the work; a negative number: ended by the signal's
default action before the command began or after its end.

{table}

{kinds}: {sum(sent.values())} runs in total, {found}
""")


if __name__ == "__main__":
    main()
