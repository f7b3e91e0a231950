"""Tables that commands print: training report, settings, vocabulary, neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posvec.config import Config, format_setting, setting_values
from posvec.presets import default_settings
from posvec.system.console import format_size, make_table, plural

if TYPE_CHECKING:
    from rich.console import Console

    from posvec.model import Model
    from posvec.storage.records import ClusterReport


def format_learning_rate(config: Config) -> str:
    """Return the initial and the final learning rate, for example "0.07 to 0.0105"."""
    rate = config.training.initial_lr
    return f"{rate:g} to {rate * config.training.final_lr_ratio:g}"


def print_report(console: Console, model: Model, output: Path) -> None:
    """Print how a model was trained."""
    report = model.report
    assert report is not None
    table = make_table("training report", "", numbers=False)
    for name, value in [
        ("model", f"{model.config.kind}, {_shape(model)}"),
        ("vocabulary", f"{report.vocabulary:,} words, {len(model.rows.bucket_ids):,} n-gram rows"),
        ("corpus", f"{report.tokens:,} words in {report.lines:,} lines"),
        ("counting, encoding", f"{report.before.counting:.1f} s, {report.before.encoding:.1f} s"),
        ("initializing", f"{report.before.initializing:.1f} s"),
        ("training", f"{report.seconds:.1f} s on {plural(report.threads, 'thread')}"),
        *_cluster_rows(report.cluster),
        ("speed", f"{report.words_per_second:,.0f} words/s"),
        ("learning rate", format_learning_rate(model.config)),
        *([] if report.float32_after is None else [("float32", f"after {report.float32_after:,} words")]),
        ("loss", f"{report.loss:.4f}"),
        *([] if report.validation_loss is None else [("validation loss", f"{report.validation_loss:.4f}")]),
        *([("stopped early", f"after {plural(len(report.epochs), 'epoch')}")] if report.stopped_early else []),
        *([("calibration", format_calibration(model))] if model.calibration else []),
        ("saved in", str(output)),
    ]:  # fmt: skip
        table.add_row(name, value)
    console.print(table)


def format_calibration(model: Model) -> str:
    """Return how scores become probabilities, in one line."""
    found = model.calibrated
    factors = ", ".join(
        f"{head.name} head × {factor:.2f}" if len(found.factors) > 1 else f"score × {factor:.2f}"
        for head, factor in zip(model.config.heads, found.factors, strict=True)
    )
    source = f"fitted to {found.masked_words:,} masked words" if found.masked_words else "from theory"
    return f"{factors}, prior × {found.prior:.2f}; {source}"


def _shape(model: Model) -> str:
    shape = model.config.model
    word_dim = f"W = {shape.word_dim}, " if shape.word_dim else ""
    return f"D = {shape.dim}, {word_dim}D' = {shape.positional_dim}, c = {shape.window}"


def _cluster_rows(cluster: ClusterReport | None) -> list[tuple[str, str]]:
    if cluster is None:
        return []
    low, high = cluster.staleness
    return [
        ("workers", f"{cluster.workers}" + (f", {cluster.replaced} replaced" if cluster.replaced else "")),
        ("exchanged", f"{format_size(cluster.bytes_sent)} in {plural(cluster.rounds, 'round')}"),
        ("waited", f"{cluster.seconds_waited:.1f} s"),
        ("staleness", f"{low:,} to {high:,} words"),
    ]


def print_info(console: Console, model: Model, path: Path) -> None:
    """Print the settings of a model and how it was trained."""
    from rich.text import Text

    size = sum(file.stat().st_size for file in path.iterdir() if file.is_file())
    console.print(f"{model!r}, {format_size(size)}")
    table = make_table("setting", "value", numbers=False)
    defaults = default_settings(model.config)
    for name, value in setting_values(model.config).items():
        if name == "last_epoch" and value == defaults[name]:  # the last epoch is whole, as it nearly always is
            continue
        table.add_row(name, Text(describe_setting(model, name), "" if value == defaults[name] else "bold"))
    console.print(table)
    if model.state or not model.report:
        console.print(f"learning rate {format_learning_rate(model.config)}")
    if model.state and model.state.float32_after is not None:
        console.print(f"Training went on in float32 after {model.state.float32_after:,} words.")
    if model.state:
        console.print(f"Training was interrupted; continue with: posvec resume {path}")
    elif model.report:
        print_report(console, model, path)


def describe_setting(model: Model, name: str) -> str:
    """Return the value of a setting of a model, and what it was chosen by if it was not given."""
    origin = model.setting_origin(name)
    return format_setting(name, setting_values(model.config)[name]) + (f" ({origin})" if origin else "")


def print_vocabulary(console: Console, vocabulary: Any, top: int) -> None:
    """Print the size and the coverage of a vocabulary, and its most frequent words."""
    kept, total = int(vocabulary.counts.sum()), vocabulary.total_words
    keep = vocabulary.keep_probabilities()
    expected = float((vocabulary.counts * keep).sum())
    console.print(
        f"{len(vocabulary):,} words that cover {kept:,} of {total:,} tokens ({kept / max(total, 1):.1%}); about "
        f"{expected / max(total, 1):.1%} of tokens survive subsampling"
    )
    table = make_table("word", "count", "kept")
    for word, count, probability in zip(vocabulary.words[:top], vocabulary.counts, keep, strict=False):
        table.add_row(word, f"{count:,}", f"{probability:.1%}")
    console.print(table)


def print_neighbors(console: Console, found: Mapping[str, Any]) -> None:
    """Print the neighbours of each word side by side."""
    from rich.columns import Columns

    tables = []
    for title, near in found.items():
        table = make_table(title, "")
        for neighbor in near:
            table.add_row(neighbor.word, f"{neighbor.similarity:.3f}")
        tables.append(table)
    console.print(Columns(tables))
