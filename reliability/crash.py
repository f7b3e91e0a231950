"""Kill commands of posvec at random moments, and see that nothing is lost.

    python reliability/crash.py [--runs N] [--seed S] [ACTION...]

Each run makes its inputs, kills the command in the midst (SIGKILL, its whole process group), and then asks: is every
output absent, the old complete version or the new one? Does the command succeed when it is given again (or posvec
resume)? Is the result that of a run which was never killed? Is every temporary file gone? Several times over, so that
also what goes on after a crash is killed. Writes results/reliability/crash.md if all actions were run.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from actions import ACTIONS, Action, Fault, Inputs, missing, serving
from killing import NEVER, Ended, Moment, run
from posvec.system.atomic import TEMPORARY

HERE = Path(__file__).parent
RUNS = {"search": 30, "reproduce": 12, "lm": 6}  # at most: they take longer
STATES = ("absent", "old", "begun", "new")


@dataclass
class Tally:
    """What came of the runs of one action."""

    runs: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    recovered: int = 0
    faults: list[str] = field(default_factory=list)


def crash(action: Action, runs: int, seed: int) -> Tally:
    """Kill an action so many times."""
    tally = Tally()
    log = action.place.with_name("log")
    undisturbed: dict[str, tuple[Ended, object]] = {}
    for number in range(runs):
        draw = random.Random(f"{type(action).__name__} {seed} {number}")
        chosen = draw.random()
        variant = _begin(action, chosen)
        if variant not in undisturbed:
            wanted = _after(action, run(action.command, log))  # which imports what is imported late; now it is timed
            _begin(action, chosen)
            undisturbed[variant] = run(action.command, log), wanted
            _begin(action, chosen)
        whole, wanted = undisturbed[variant]
        tally.runs += 1
        command: Callable[[], object] = action.command
        moment = NEVER
        try:
            for _ in range(draw.choice([1, 1, 2])):
                moment = _moment(draw, whole)
                ended = run(command, log, moment)
                if not ended.killed and ended.code:
                    raise Fault(f"it failed: {ended.said}")
                tally.killed["time" if moment.operation < 0 else "operation"] += ended.killed
                state = action.state()
                tally.states[state] += 1
                command = partial(action.go_on, state)
            if _after(action, run(command, log)) != wanted:
                raise Fault("the result is not that of a run that was never killed")
            tally.recovered += 1
        except Exception:
            tally.faults.append(f"run {number}, {moment}: {traceback.format_exc().strip().splitlines()[-1]}")
            print(f"FAULT {type(action).__name__} {tally.faults[-1]}", flush=True)
    return tally


def _begin(action: Action, chosen: float) -> str:
    shutil.rmtree(action.place, ignore_errors=True)
    action.place.mkdir()
    return action.before(random.Random(chosen))


def _moment(draw: random.Random, whole: Ended) -> Moment:
    """Of the time of an undisturbed run, or before one of its operations on files."""
    if draw.random() < 0.5:
        return Moment(seconds=draw.random() * whole.seconds)
    return Moment(operation=draw.randint(1, whole.operations))


def _after(action: Action, ended: Ended) -> object:
    """The result of a command that was not killed."""
    if ended.code:
        raise Fault(f"it failed: {ended.said}")
    left = [path for path in action.place.rglob("*") if TEMPORARY.fullmatch(path.name)]
    if left:
        raise Fault(f"{len(left)} temporary files were left, such as {left[0]}")
    return action.result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("actions", nargs="*", metavar="ACTION", help=", ".join(ACTIONS), default=[])
    parser.add_argument("--runs", type=int, default=50, help="of each action (default 50; of slow ones less)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    unknown = set(given.actions) - set(ACTIONS)
    if unknown:
        parser.error(f"there is no action {', '.join(sorted(unknown))}; choose from {', '.join(ACTIONS)}")
    sys.dont_write_bytecode = True
    os.environ["OMP_NUM_THREADS"] = "1"  # the copies are many
    began, rows, faults = time.monotonic(), [], []
    with tempfile.TemporaryDirectory(prefix="posvec-crash-") as folder, serving():
        place = Path(folder) / "place"
        os.environ["POSVEC_CACHE"] = str(place / "cache")
        inputs = Inputs(Path(folder) / "inputs")
        for name in given.actions or ACTIONS:
            if absent := missing(ACTIONS[name]):
                print(f"{name}: skipped, {absent} is not installed", flush=True)
                rows.append([name, "0", "–", "–", "–", f"skipped: no {absent}"])
                continue
            tally = crash(ACTIONS[name](inputs, place), min(given.runs, RUNS.get(name, given.runs)), given.seed)
            faults += [f"- {name}, {fault}" for fault in tally.faults]
            states = ", ".join(f"{state} {tally.states[state]}" for state in STATES if tally.states[state])
            killed = f"{tally.killed['time']} + {tally.killed['operation']}"
            rows.append([name, str(tally.runs), killed, states, str(tally.recovered), str(len(tally.faults))])
            print(" | ".join(rows[-1]), f"| {time.monotonic() - began:.0f} s", flush=True)
    if not given.actions:
        _write(rows, faults, given.runs, given.seed)
    sys.exit(bool(faults))


def _write(rows: list[list[str]], faults: list[str], runs: int, seed: int) -> None:
    head = ["action", "runs", "killed (moment + operation)", "found afterwards", "went on to the same result", "faults"]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    (HERE.parent / "results" / "reliability" / "crash.md").write_text(
        f"# Commands killed at random moments\n\nMade by `python reliability/crash.py --runs {runs} --seed {seed}` on "
        f"{time.strftime('%Y-%m-%d')}.\nInputs: a corpus of 42,000 words, models of D = 20. A moment is one of CPU "
        "time, uniform over that of an\nundisturbed run; an operation is one on files (open to write, rename, remove, "
        "lock, make a folder).\nSome runs are killed twice, the second time while they recover.\n\n"
        f"{table}\n\nIn all {sum(int(row[1]) for row in rows)} runs, "
        + (f"{len(faults)} faults:\n\n" + "\n".join(faults) + "\n" if faults else "no fault.\n")
    )


if __name__ == "__main__":
    main()
