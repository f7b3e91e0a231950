"""Figures: their values, their layout, and the files that they are saved to."""

from __future__ import annotations

import dataclasses
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from posvec import ConfigError, PosvecError, plots
from posvec.config import Config
from posvec.evaluation.bootstrap import Estimate
from posvec.evaluation.clusters import find
from posvec.evaluation.context_words import top
from posvec.evaluation.masked import explain
from posvec.evaluation.masked_words import CalibrationBin, MaskedWordAccuracy
from posvec.evaluation.positions import importance
from posvec.language_model import LanguageModelConfig, LanguageModelReport, PerplexityComparison
from posvec.language_model.lookup import Coverage
from posvec.language_model.report import Epoch
from posvec.storage.records import EpochReport, TrainingReport

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.backends.backend_agg")
WORDS = [one + two for one in ("in", "fortunately", "ag") for two in ("", "o", "else", "mation")]


@pytest.fixture(scope="module")
def model(build_model):
    """A positional model with the paper's window and features of all three clusters."""
    draw = np.random.default_rng(1)
    positional = draw.uniform(0, 0.3, (30, 40))
    positional[14, :8] += 8
    positional[15, 8:20] += 5
    positional[:, 20:] += 2
    inputs = {word: row.tolist() for word, row in zip(WORDS, draw.normal(size=(12, 40)), strict=True)}
    return build_model(inputs, draw.normal(size=(12, 40)), positional)


@pytest.fixture(scope="module")
def training_report():
    epochs = tuple(EpochReport(3 / (i + 1), 3.2 / (i + 1), 1.0) for i in range(30))
    return TrainingReport(Config(), 0.1, 30.0, 900, 900, 30, 30, 12, 1, epochs)


@pytest.fixture(scope="module")
def language_models():
    """Two runs with one name, and one with another name whose training was interrupted."""
    config, coverage = LanguageModelConfig(), Coverage(1, 0, 0)
    empty = LanguageModelReport("", "", "", None, None, 1, (1, 1, 1), "", coverage, config)
    losses = {"constrained": ((5.0, 4.0, 3.5), (4.8, 4.1, 3.6)), "a name as long as some folders have": ((5.5, 4.5),)}
    return PerplexityComparison(
        tuple(
            empty.replace(name=name, epochs=tuple(Epoch(0.0, loss, 20.0, 1.0) for loss in run))
            for name, runs in losses.items()
            for run in runs
        )
    )


@pytest.fixture(scope="module")
def figures(model, training_report, language_models):
    clusters = find(model)
    sentence = " ".join([*WORDS, "[MASK]", *WORDS])
    return {
        "positions": plots.positions(importance({"positional": model, "a name as long as some folders have": model})),
        "clusters": plots.clusters(clusters),
        "heat_map": plots.heat_map(clusters),
        "many clusters": plots.heat_map(find(model, 6)),
        "context_words": plots.context_words(top(model, clusters)),
        "contributions": plots.contributions(explain(model, sentence, "in")),
        "contributions to a score": plots.contributions(explain(model, sentence, "in", ranking="paper")),
        "calibration": plots.calibration(
            MaskedWordAccuracy(
                "text",
                30,
                (),
                "english",
                Estimate(0.02, 0.01, 0.03),
                tuple(CalibrationBin(3, i / 10 + 0.05, i / 11 + 0.06) for i in range(10)),
                2000.0,
            )
        ),
        "training": plots.training(training_report),
        "perplexities": plots.perplexities(language_models),
        "curves": plots.curves(
            {name: {x: (x + 1.0, x - 1.0, x + 2.0) for x in range(5, 55, 5)} for name in ("subword", "positional")},
            "window size c",
            "accuracy (%)",
        ),
        "densities": plots.densities(
            {
                f"initializer_{i}": {"values": [-1, 0, 1], "u": [1, 2, 1], "d": [0, 90, 0], "u·d": [1, 3, 1]}
                for i in range(5)
            }
        ),
    }


NAMES = (
    "positions",
    "clusters",
    "heat_map",
    "many clusters",
    "context_words",
    "contributions",
    "contributions to a score",
    "calibration",
    "training",
    "perplexities",
    "curves",
    "densities",
)


def drawn_texts(figure, monkeypatch):
    """The texts of a figure and their boxes, recorded while it is drawn: axes have labels that are not drawn."""
    found, draw = [], matplotlib.text.Text.draw

    def record(text, renderer):
        if text.get_visible() and text.get_text().strip():
            found.append((text, text.get_window_extent(renderer)))
        draw(text, renderer)

    monkeypatch.setattr(matplotlib.text.Text, "draw", record)
    canvas = matplotlib.backends.backend_agg.FigureCanvasAgg(figure)
    figure.draw_without_rendering()  # computes the layout
    found.clear()
    canvas.draw()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_large_enough_inside_the_figure_and_do_not_overlap(figures, name, monkeypatch):
    figure = figures[name]
    assert figure.get_figwidth() == 3.4
    texts = drawn_texts(figure, monkeypatch)
    assert len(texts) > 5
    for text, box in texts:
        assert text.get_fontsize() >= 7, text
        assert box.x0 >= -0.5, text
        assert box.y0 >= -0.5, text
        assert box.x1 <= figure.bbox.width + 0.5, text
        assert box.y1 <= figure.bbox.height + 0.5, text
    for i, (one, box) in enumerate(texts):
        for other, another in texts[i + 1 :]:
            assert not box.padded(-0.3).overlaps(another.padded(-0.3)), (one, other)


def test_curves_show_the_values_and_stop_at_the_masked_word(model, figures):
    line, *_ = figures["positions"].axes[0].get_lines()
    x, y = line.get_data()
    assert list(x) == list(range(-15, 16))
    assert np.isnan(y[15])
    assert np.delete(y, 15).tolist() == list(model.position_importance().values())
    labels = [text.get_text() for text in figures["clusters"].legends[0].get_texts()]
    assert labels == ["antepositional (8)", "postpositional (12)", "informational (20)"]


def test_bands_reach_from_the_lower_to_the_upper_end_of_each_interval(figures):
    axes = figures["curves"].axes[0]
    assert axes.get_lines()[0].get_ydata().tolist() == [x + 1.0 for x in range(5, 55, 5)]
    for band in axes.collections:
        outline = band.get_paths()[0].vertices
        assert sorted({y - x for x, y in outline.tolist()}) == [-1, 2]


def test_a_constant_does_not_hide_the_other_densities(figures):
    *panels, empty = figures["densities"].axes
    assert [axes.get_title("left") for axes in panels] == [f"initializer {i}" for i in range(5)]
    assert all(axes.get_ylim() == (0, 1.1 * 15) for axes in panels)
    assert not empty.axison


def test_the_heat_map_orders_features_by_cluster(model, figures):
    (image,) = figures["heat_map"].axes[0].get_images()
    shown = np.asarray(image.get_array())
    weights = np.abs(model.positional_vectors)
    assert sorted(map(tuple, shown[:, :8].T)) == sorted(map(tuple, weights[:, :8].T))
    assert sorted(map(tuple, shown[:, 20:].T)) == sorted(map(tuple, weights[:, 20:].T))
    assert (np.diff(shown[:, :8].max(0)) <= 0).all()


def test_bars_are_the_contributions(model, figures):
    sentence = " ".join([*WORDS, "[MASK]", *WORDS])
    explanation = explain(model, sentence, "in")
    expected = [explanation.prior, *(each.value for each in explanation.contributions)]
    assert [bar.get_width() for bar in figures["contributions"].axes[0].patches] == expected
    paper = [each.value for each in explain(model, sentence, "in", ranking="paper").contributions]
    assert [bar.get_width() for bar in figures["contributions to a score"].axes[0].patches] == paper


def test_the_calibration_curve_has_a_point_for_each_bin(figures):
    curve = figures["calibration"].axes[0].get_lines()[1]
    assert curve.get_xdata()[0] == pytest.approx(0.05)
    assert curve.get_ydata()[-1] == pytest.approx(9 / 11 + 0.06)


def test_language_models_have_a_line_of_means_and_a_band_of_extremes(language_models, figures):
    (axes,) = figures["perplexities"].axes
    lines = {line.get_label(): line.get_ydata().tolist() for line in axes.get_lines()}
    expected = [(np.exp(one) + np.exp(two)) / 2 for one, two in ((5.0, 4.8), (4.0, 4.1), (3.5, 3.6))]
    assert lines["constrained"] == pytest.approx(expected)
    assert lines["a name as long as some folders have"] == pytest.approx(np.exp([5.5, 4.5]))
    bands = dict(zip(lines, axes.collections, strict=True))
    edges = bands["constrained"].get_paths()[0].vertices
    assert edges[:, 1].max() == pytest.approx(np.exp(5.0))
    assert {round(y, 6) for x, y in edges if x == 3} == {round(np.exp(3.5), 6), round(np.exp(3.6), 6)}
    column = language_models.curves().names.index("a name as long as some folders have")
    assert language_models.curves().perplexities[2][column] is None


def test_a_class_without_words_has_no_panel(model):
    words = top(model)
    emptied = dataclasses.replace(words, top={**words.top, "informational": ()})
    assert [axes.get_title(loc="left") for axes in plots.context_words(emptied).axes] == [
        "antepositional",
        "postpositional",
    ]


@pytest.mark.parametrize("suffix", plots.FORMATS)
def test_files_are_written_in_the_format_of_their_extension_and_are_reproducible(figures, tmp_path, suffix):
    for name in ("one", "two"):
        plots.save(figures["clusters"], tmp_path / (name + suffix))
    one = (tmp_path / f"one{suffix}").read_bytes()
    assert one == (tmp_path / f"two{suffix}").read_bytes()
    assert one.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    if suffix == ".png":
        assert struct.unpack(">I", one[16:20])[0] == 1020  # 3.4 inches at 300 dots per inch


def test_an_unknown_file_extension_is_refused(figures, tmp_path):
    with pytest.raises(
        ConfigError, match=r"out.gif has no known figure format; use the file extension .png, .svg or .pdf"
    ):
        plots.save(figures["clusters"], tmp_path / "out.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_an_inline_figure_has_the_width_and_colour_of_the_page(figures, name):
    svg = plots.inline_svg(figures[name])
    root = ElementTree.fromstring(svg)
    assert root.get("viewBox")
    assert root.get("width") is None
    assert "currentColor" in svg
    assert "#1a1a1b" not in svg
    assert "DejaVu" not in svg


def test_settings_of_matplotlib_are_unchanged(figures, training_report):
    before = dict(matplotlib.rcParams)
    plots.inline_svg(plots.training(training_report))
    assert dict(matplotlib.rcParams) == before


def test_figures_do_not_import_pyplot():
    code = "import sys\nfrom posvec.plots import style\nstyle.new_axes(2)\nsys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_library_is_named_with_its_extra(training_report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PosvecError, match=r'pip install "posvec\[plots\]"'):
        plots.training(training_report)
