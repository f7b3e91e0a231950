"""Accuracy after equal time: posvec trains for the time that gensim takes for one epoch; time to gensim's accuracy.

    python benchmarks/equal_time.py TOKENIZED_TEXT DATA [--models subword constrained] [--seed 1] [-o OUTPUT]

gensim trains its subword model for one epoch (contestant.py). posvec then trains each model for as many epochs as fit
into four fifths of gensim's training time at the speed of short runs before. The learning rate falls over these epochs,
to a lower value than by default. Training stops when gensim's time is over. posvec is evaluated after every epoch,
which does not count as training. DATA has analogy/ and similarity/ (see benchmarks/README.md). Runs that are in
OUTPUT.jsonl already are not repeated. Takes 10 to 20 minutes with 66M words.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from accuracy import MEASURES, run
from contestant import THREADS, accuracy, lookup_in
from one_epoch import one_epoch
from posvec import Model, StopTraining, make_config
from posvec.config import TextConfig
from posvec.corpus.encoding import encode
from posvec.corpus.sources import open_corpus
from posvec.storage.records import TrainingProgress
from posvec.training.loop import train
from reporting import RESULTS, made_by, table, write
from runs import keep_run, read_runs
from trainers import PosvecTrainer, Sample

PEER = "gensim-subword"
GOALS = ("analogies", "WS-353", "SimLex", "RW")
MARGIN = 0.8  # the fraction of gensim's time that epochs are planned for, because speeds vary
RATE = {"initial_lr": 0.05, "final_lr_ratio": 0.1}  # with several epochs, a lower final rate is better than with one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--models", nargs="+", choices=["subword", "constrained"], default=["subword", "constrained"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "equal-time")
    arguments = parser.parse_args()
    lines = arguments.output.with_suffix(".jsonl")
    runs = {each["trainer"]: each for each in read_runs(lines)}
    for trainer in (PEER, *(f"posvec-{kind}" for kind in arguments.models)):
        if trainer not in runs:
            new = (
                run(PEER, arguments.seed, arguments.corpus, arguments.data)
                if trainer == PEER
                else train_posvec(trainer, runs[PEER]["seconds"], arguments)
            )
            runs[trainer] = keep_run(lines, new)
    write(arguments.output.with_suffix(".md"), report(runs, arguments))


class Curve:
    """Evaluates a model after every epoch, and stops training when its time is over."""

    def __init__(self, model: Model, seconds: float, data: Path) -> None:
        self.model, self.seconds, self.data = model, seconds, data
        self.points: list[dict[str, float]] = []

    def on_chunk(self, progress: TrainingProgress) -> None:
        if progress.seconds >= self.seconds:
            raise StopTraining

    def on_epoch(self, progress: TrainingProgress) -> None:
        self.add(progress.seconds)

    def add(self, seconds: float) -> None:
        # Not model.vectors, which are made once: the model goes on learning.
        model = self.model
        fresh = model.with_tables(model.trained_tables(), model.positional_vectors)
        scores = accuracy(self.data, model.vocabulary.words, fresh.vectors.table, lookup_in(fresh))
        self.points.append({"seconds": seconds, **scores})
        print(self.points[-1], flush=True)


def train_posvec(trainer: str, budget: float, arguments: argparse.Namespace) -> dict[str, Any]:
    kind = trainer.split("-")[1]
    config = make_config(kind, seed=arguments.seed, threads=THREADS, **{**one_epoch(kind), **RATE})
    with tempfile.TemporaryDirectory() as name:
        sample = Sample(Path(name), arguments.corpus, 20)
        model = Model.create(config, sample.vocabulary)
        trainer_of_sample = PosvecTrainer(config, model, sample)
        speed = statistics.median(sample.words / trainer_of_sample.run().seconds for _ in range(3))
        corpus = open_corpus(arguments.corpus, TextConfig(tokenizer="whitespace"))
        encoded = encode(corpus, sample.vocabulary, cache=Path(name))
        epochs = max(1, int(MARGIN * budget * speed / encoded.tokens))
        print(f"{trainer}: {epochs} epochs fit {MARGIN * budget:.0f} s at {speed:,.0f} words/s", flush=True)
        model = Model.create(
            config.replace(epochs=epochs), sample.vocabulary
        )  # the short runs have trained the first one
        curve = Curve(model, budget, arguments.data)
        result = train(model, encoded, [curve])
    if result.stopped_early:
        curve.add(result.seconds)
    return {
        "trainer": trainer,
        "seed": arguments.seed,
        "epochs": result.words / encoded.tokens,
        "kept_tokens_per_line": result.masked_words * encoded.tokens / result.words / result.lines,
        "words_per_second": result.words_per_second,
        "curve": curve.points,
        **curve.points[-1],
    }


def report(runs: dict[str, dict[str, Any]], arguments: argparse.Namespace) -> str:
    peer, *ours = runs.values()
    points = [[each["trainer"], *row(point)[2:]] for each in ours for point in each["curve"]]
    soon = [[each["trainer"], *(reached(each, peer, measure) for measure in MEASURES)] for each in ours]
    command = f"python benchmarks/equal_time.py TOKENIZED_TEXT DATA --models {' '.join(arguments.models)}"
    return f"""# Accuracy at equal time

gensim trains a subword model (c = 5) for one epoch; posvec trains for no longer, in as many epochs as fit. D = 300,
3–6-grams, 2M buckets, 10 negatives, r = 1e-5, min_count 5, {THREADS} threads, one seed ({arguments.seed}); constrained:
c = 15, D′ = 60. posvec's learning rate ends at a tenth of its initial value. Seconds are training times. Analogies
in percent, others Spearman's ρ × 100.

{table(["", "epochs", "seconds", *MEASURES], [row(each) for each in runs.values()])}

{"".join(verdict(each, peer) for each in ours)}
## After every epoch

Except after the last epoch, the learning rate is still that of a longer training.

{table(["", "seconds", *MEASURES], points)}

When posvec was as accurate as gensim, in seconds of training and as a fraction of gensim's {peer["seconds"]:.0f} s:

{table(["", *MEASURES], soon)}

{made_by(command, "gensim", "numpy")}"""


def row(values: dict[str, Any]) -> list[str]:
    return [
        values.get("trainer", ""), f"{values.get('epochs', 1):.1f}", f"{values['seconds']:.0f}",
        *(f"{values[measure]:.1f}" for measure in MEASURES),
    ]  # fmt: skip


def verdict(ours: dict[str, Any], peer: dict[str, Any]) -> str:
    better = ", ".join(measure for measure in GOALS if ours[measure] > peer[measure])
    worse = ", ".join(measure for measure in GOALS if ours[measure] < peer[measure])
    return (
        f"- {ours['trainer']}: better than gensim on {better or 'none'}, worse on {worse or 'none'}, "
        f"of {', '.join(GOALS)}; the goal is to be worse on none and better on most.\n"
    )


def reached(ours: dict[str, Any], peer: dict[str, Any], measure: str) -> str:
    seconds = next((point["seconds"] for point in ours["curve"] if point[measure] >= peer[measure]), None)
    return "not in this time" if seconds is None else f"{seconds:.0f} ({seconds / peer['seconds']:.2f})"


if __name__ == "__main__":
    main()
