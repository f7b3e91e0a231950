"""Prediction of masked words by models with and without positions, and by n-grams.

    python benchmarks/masked_words.py TEXT WIKITEXT [-o FILE.jsonl] [--models FOLDER] [NAME...]

TEXT is a large corpus, WIKITEXT the folder of WikiText-2, whose test text is the measure: words alone, that is, neither
punctuation nor markup, without the paragraphs that share more than a fifth of their sequences of eight words with TEXT.
FILE.jsonl is results/benchmarks/masked-words.jsonl unless given. Runs that are in it are not repeated, and the table
beside it is written from all of them. NAME: only these runs.
"""

from __future__ import annotations

import argparse
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import posvec
from posvec.corpus.encoding import EncodedCorpus, encode
from posvec.evaluation import masked_words, pairs, sentence_scores
from posvec.query.contexts import PAD_WORD
from posvec.query.masked_tokens import factors_of_heads, log_priors, mask_tokens
from posvec.storage.calibration import Calibration
from reporting import RESULTS
from runs import Run, keep_run, read_runs

MASKED = {"preset": "masked", "model": "positional"}
RUNS: dict[str, dict[str, Any]] = {
    **{f"positional, seed {seed}": {**MASKED, "epochs": 1, "seed": seed} for seed in (1, 2, 3)},
    "without positions": {**MASKED, "model": "general", "epochs": 1},
    "positional, 5 epochs": MASKED,
    "positional, 20 negatives": {**MASKED, "epochs": 1, "negatives": 20},
    "positional, D = 400": {**MASKED, "epochs": 1, "dim": 400},
    "positional, window 8": {**MASKED, "epochs": 1, "window": 8},
    "two heads": {},
}
WITH_NGRAMS = "positional, seed 1"
WORDS = 5_000
_SHARED: dict[str, list[float]] = {}  # by vocabulary, of each test paragraph
CONFUSED = (
    "their there|to too two|than then|its it|affect effect|principal principle|lead led|whose who|weather whether|"
    "quiet quite|lose loose|accept except|peace piece|form from|trial trail|passed past|where were|of off"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("wikitext", type=Path)
    parser.add_argument("names", nargs="*", default=list(RUNS), metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "masked-words.jsonl")
    parser.add_argument("--models", type=Path, help="keep the models here, and use those that are here")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_intermixed_args()
    done = {run["name"] for run in read_runs(arguments.output)}
    for name in arguments.names:
        if name not in done:
            model = trained(name, arguments.corpus, arguments.models, arguments.threads)
            run = measure(name, model, arguments.corpus, arguments.wikitext)
            print(keep_run(arguments.output, run), flush=True)
    write_table(read_runs(arguments.output), arguments.output.with_suffix(".md"))


def trained(name: str, corpus: Path, folder: Path | None, threads: int) -> posvec.Model:
    """Train the model of a run, or open it."""
    path = folder / re.sub(r"\W+", "-", name) if folder else None
    if path and (path / "config.json").exists():
        return posvec.load(path)
    settings = dict(RUNS[name])
    return posvec.train(corpus, settings.pop("model", None), output=path, threads=threads, **settings)


def measure(name: str, model: posvec.Model, corpus: Path, wikitext: Path) -> Run:
    """Measure a model on the test text of WikiText-2."""
    report = model.report
    assert report is not None
    everything = paragraphs(model, wikitext / "wiki.test.tokens.xz")
    if model.vocabulary.digest not in _SHARED:
        with posvec.corpus.open_corpus(corpus, model.config.text) as opened:
            encoded = encode(opened, model.vocabulary)
        _SHARED[model.vocabulary.digest] = shared_sequences(model, everything, encoded)
    shared = _SHARED[model.vocabulary.digest]
    lines = [line for line, fraction in zip(everything, shared, strict=True) if fraction <= 0.2]
    baseline = corpus if name == WITH_NGRAMS else None
    found = masked_words.evaluate(model, lines, WORDS, baseline)
    fitted, model.calibration = model.calibration, None
    by_theory = masked_words.evaluate(model, lines, WORDS)
    model.calibration = fitted
    return {
        "name": name,
        "settings": RUNS.get(name),
        "seconds": report.seconds,
        "words_per_second": report.words_per_second,
        "paragraphs": len(everything),
        "left_out": len(everything) - len(lines),
        "calibration": (fitted or Calibration.of_theory(len(model.config.heads))).to_dict(),
        "accuracy": found.to_dict(),
        "perplexity_by_theory": by_theory.accuracies[0].perplexity.value,
        "calibration_error_by_theory": by_theory.calibration_error.value,
        "pairs": pairs.evaluate(model, "english").to_dict(),
        "spelling": choices(model, lines),
        "swapped": swaps(model, lines),
    }


def paragraphs(model: posvec.Model, path: Path) -> list[list[str]]:
    """Read a file of WikiText: its paragraphs without headings, in words of the model; <unk> is an empty position."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.strip().startswith("=")]
    return [
        [word for token in line for word in ([PAD_WORD] if token == "<unk>" else model.split(token))] for line in lines
    ]


def shared_sequences(
    model: posvec.Model, lines: list[list[str]], encoded: EncodedCorpus, length: int = 8
) -> list[float]:
    """Return the fraction of the sequences of so many words of each line that are in a corpus as well."""
    index, unknown = model.vocabulary.index, len(model.vocabulary)
    hashes = [_hashes(np.array([index.get(word, unknown) for word in line], np.uint64), length) for line in lines]
    wanted = np.unique(np.concatenate(hashes))
    found = np.zeros(len(wanted), np.bool_)
    for begin in range(0, len(encoded.ids), 1 << 22):
        of_corpus = _hashes(encoded.ids[begin : begin + (1 << 22) + length - 1].astype(np.uint64), length)
        found |= np.isin(wanted, of_corpus)
    return [float(found[np.searchsorted(wanted, each)].mean()) if len(each) else 0.0 for each in hashes]


def _hashes(ids: np.ndarray, length: int) -> np.ndarray:
    count = max(0, len(ids) - length + 1)
    total = np.zeros(count, np.uint64)
    for offset in range(length):
        total = (total ^ (ids[offset : offset + count] + np.uint64(1))) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total


def choices(model: posvec.Model, lines: list[list[str]]) -> Run:
    """Choose among words that are often confused in writing; by the model, and by frequency alone."""
    index = model.vocabulary.index
    groups = [[index[word] for word in group.split() if word in index] for group in CONFUSED.split("|")]
    group_of = {word: np.array(group) for group in groups for word in group if len(group) > 1}
    tokens = mask_tokens(model, lines)
    tokens = tokens.select(np.isin(tokens.ids, list(group_of)))
    factors = model.of_features(factors_of_heads(model.config, model.calibrated, tokens.lengths))
    priors = log_priors(model.vocabulary, model.calibrated)
    right = by_frequency = 0
    for word, context in zip(tokens.ids.tolist(), tokens.context_vectors * factors, strict=True):
        group = group_of[word]
        right += int(group[np.argmax(model.output_vectors[group] @ context + priors[group])]) == word
        by_frequency += int(group.min()) == word
    return {"gaps": len(tokens), "right": right / len(tokens), "by_frequency": by_frequency / len(tokens)}


def swaps(model: posvec.Model, lines: list[list[str]], most: int = 300) -> Run:
    """Compare passages of 15 words with the same after two neighbours were swapped."""
    random = np.random.default_rng(1)
    pieces = list(_passages(lines))
    changed, originals = [], []
    for number in random.permutation(len(pieces))[:most].tolist():
        words = pieces[number]
        i = int(random.integers(3, 11))
        if words[i] != words[i + 1]:
            originals.append(" ".join(words))
            changed.append(" ".join([*words[:i], words[i + 1], words[i], *words[i + 2 :]]))
    found = [sentence_scores.score(model, sentences).sentences for sentences in (originals, changed)]
    higher = [one.score > other.score for one, other in zip(*found, strict=True)]
    return {"passages": len(higher), "right": float(np.mean(higher))}


def _passages(lines: list[list[str]]) -> Iterator[list[str]]:
    for line in lines:
        for begin in range(0, len(line) - 14, 15):
            if PAD_WORD not in line[begin : begin + 15]:
                yield line[begin : begin + 15]


def write_table(runs: list[Run], path: Path) -> None:
    """Write the runs as a table."""
    rows = [
        ["run", "words/s", "top 1", "top 10", "median rank", "perplexity", "by theory", "calibration error", "pairs",
         "spelling", "word order"],
        ["---"] * 11,
    ]  # fmt: skip
    for run in runs:
        for number, each in enumerate(each for each in run["accuracy"]["accuracies"] if each["group"] == "all"):
            if each["predictor"] != "model" and run["name"] != WITH_NGRAMS:
                continue
            of_model = number == 0
            perplexity = each["perplexity"]
            rows.append([
                run["name"] if of_model else each["predictor"],
                f"{run['words_per_second']:,.0f}" if of_model else "",
                f"{each['top1']['value']:.1%}",
                f"{each['top10']['value']:.1%}",
                f"{each['median_rank']['value']:,.0f}",
                f"{perplexity['value']:.1f} ({perplexity['low']:.1f}–{perplexity['high']:.1f})",
                f"{run['perplexity_by_theory']:.1f}" if of_model else "",
                f"{run['accuracy']['calibration_error']['value']:.1%}" if of_model else "",
                f"{run['pairs']['categories'][0]['accuracy']['value']:.1%}" if of_model else "",
                f"{run['spelling']['right']:.1%} ({run['spelling']['by_frequency']:.1%})" if of_model else "",
                f"{run['swapped']['right']:.1%}" if of_model else "",
            ])  # fmt: skip
    first = runs[0]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    path.write_text(
        f"""# Masked words

{WORDS:,} words of WikiText-2's test text, drawn at random from {first["paragraphs"] - first["left_out"]:,} paragraphs;
{first["left_out"]:,} are left out that share more than a fifth of their sequences of eight words with the corpus.
Perplexity with 95 % intervals of the bootstrap; "by theory" without the calibration that was fitted to held-out lines
of the corpus. Pairs: minimal pairs that are right. Spelling: words that are often confused, chosen rightly (by
frequency alone). Word order: passages of 15 words that score higher than the same after two neighbours were swapped.
n-grams are those of the whole corpus.

{table}

Made by `python benchmarks/masked_words.py TEXT WIKITEXT`.
"""
    )


if __name__ == "__main__":
    main()
