"""The report of benchmarks/quality.py: means over seeds, and posvec's differences to its peers."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from contestant import SIMILARITY
from development import GROUPS
from reporting import table
from runs import Run

ANALOGIES = ["analogies", "semantic", "syntactic", "correct of all"]
MEASURES = [*ANALOGIES, *SIMILARITY, *GROUPS.values()]
ALL_PAIRS = [f"{name} (all pairs)" for name in SIMILARITY]
COSTS = ["seconds", "training_seconds", "cpu_seconds", "peak_mb"]
OURS = "posvec"

Rows = dict[tuple[str, str], list[Run]]  # the runs of one size by trainer and name of settings


def report(runs: list[Run]) -> str:
    """The report of all finished runs in Markdown."""
    sizes = sorted({run["words"] for run in runs})
    parts = [_size([run for run in runs if run["words"] == words], words) for words in sizes]
    commits = sorted({f"{run['versions']} ({run['commit']})" for run in runs if run["trainer"] == OURS})
    peers = sorted({run["versions"].split(",")[0] for run in runs if run["trainer"] != OURS})
    return f"""# Quality of vectors

Mean over seeds, lowest and highest in parentheses. All programs have two threads and the same text; `defaults` are each
program's own, the others are in `SETTINGS` of `benchmarks/quality.py`, and every line of `quality.jsonl` has all
settings of its run. gensim is trained by iterator in one call, so that its learning rate falls to `min_alpha`.

All vectors are measured by `posvec.evaluation`. Analogies: percentage correct of Google's questions, 3CosAdd over the
200,000 most frequent words, of questions whose words all have vectors; "correct of all" counts the others as wrong.
{", ".join(SIMILARITY)}: Spearman's ρ × 100; out-of-vocabulary words have vectors from their n-grams where a program has
n-grams, and pairs with a word without a vector are left out, for all programs alike. "(all pairs)" gives such pairs the
cosine 0 instead. {", ".join(GROUPS.values())}: percentage correct on the [development
pairs](../../benchmarks/development), mean over relations.

Seconds are from the text to the vectors; seconds of training leave out counting words and allocating tables. posvec
reads the raw text, the others a tokenized copy. The runs were made in the background of other work, so that CPU seconds
compare better than seconds. Peak MB are those of training.

{"".join(parts)}Made by `python benchmarks/quality.py TEXT DATA --work FOLDER` and `python benchmarks/quality.py
--report` with {"; ".join([*commits, *peers])}, on {"; ".join(sorted({run["cpu"] for run in runs}))}.
"""


def _size(runs: list[Run], words: int) -> str:
    rows: Rows = {}
    for run in runs:
        rows.setdefault((run["trainer"], run["name"]), []).append(run)
    defaults = {key: found for key, found in rows.items() if key[1] == "defaults" and key[0] != OURS}
    peers = {key: found for key, found in rows.items() if key[0] != OURS}
    parts = [
        f"## {words:,} words\n\n",
        _table(rows, MEASURES),
        "Correlations over all pairs, and costs:\n\n",
        _table(rows, [*ALL_PAIRS, *COSTS]),
    ]
    for name in dict.fromkeys(name for trainer, name in rows if trainer == OURS):
        for title, others in (
            ("the best default of its peers", defaults),
            ("the best of all runs of its peers", peers),
        ):
            if others:
                parts += [
                    f"posvec {name} and {title}, by measure:\n\n",
                    _differences(rows[OURS, name], others),
                ]
    return "".join(parts)


def _table(rows: Rows, measures: list[str]) -> str:
    def lines() -> Iterable[list[str]]:
        for (trainer, name), runs in rows.items():
            yield [f"{trainer} {name}", str(len(runs)), *(_cell(runs, measure) for measure in measures)]

    return table(["run", "seeds", *(measure.replace("_", " ") for measure in measures)], lines()) + "\n\n"


def _differences(ours: list[Run], peers: Rows) -> str:
    """For each measure the peer with the highest mean, and the differences to it of runs with the same seed."""

    def lines() -> Iterable[list[str]]:
        for measure in [*MEASURES, *ALL_PAIRS]:
            means = {key: mean for key, runs in peers.items() if (mean := _mean(runs, measure)) is not None}
            if not means or _mean(ours, measure) is None:
                continue
            best = max(means, key=lambda key: means[key])
            by_seed = {run["seed"]: run for run in peers[best]}
            pairs = [(run, by_seed[run["seed"]]) for run in ours if run["seed"] in by_seed]
            differences = [one[measure] - other[measure] for one, other in pairs]
            yield [measure, " ".join(best), _cell(peers[best], measure), _cell(ours, measure),
                   _spread(differences, lambda x: f"{x:+.1f}"), str(len(pairs))]  # fmt: skip

    return table(["measure", "best peer", "peer", "posvec", "paired difference", "pairs"], lines()) + "\n\n"


def _mean(runs: list[Run], measure: str) -> float | None:
    values = [run[measure] for run in runs if run[measure] is not None]
    return statistics.mean(values) if values else None


def _cell(runs: list[Run], measure: str) -> str:
    form: Callable[[float], str] = (lambda x: f"{x:,.0f}") if measure in COSTS else (lambda x: f"{x:.1f}")
    return _spread([run[measure] for run in runs if run[measure] is not None], form)


def _spread(values: list[float], form: Callable[[float], str]) -> str:
    """Mean (lowest–highest), the mean alone of one value, or a dash if there are none."""
    if not values:
        return "–"
    mean = form(statistics.mean(values))
    return mean if len(values) == 1 else f"{mean} ({form(min(values))}–{form(max(values))})"
