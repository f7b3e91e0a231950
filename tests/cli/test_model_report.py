"""posvec report: the page of HTML about a model."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import posvec
from posvec.cli.model_report import render_model_report
from posvec.evaluation.positions import importance

VOID = {"meta", "br", "hr", "img", "link", "input"}


class PageParser(HTMLParser):
    """Fails on tags that are not closed; collects headings, anchors, links and URLs that the page would load."""

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.fetched, self.anchors, self.links = [], [], [], set(), set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.fetched += [values[name] for name in ("src", "href", "xlink:href") if name in values]
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a":
            self.links.add(values["href"].removeprefix("#"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


@pytest.fixture(scope="module")
def trained(corpus, small):
    def train(kind, **settings):
        return posvec.train(corpus, kind, **{**small, "epochs": 2, "validation": 0.1, **settings})

    return train


def test_a_report_has_all_sections_and_loads_nothing_from_the_network(trained, corpus):
    model = trained("positional")
    sentence = f"{model.vocabulary.words[0]} [MASK] <b>"
    page = render_model_report(model, "a & b", {"Another measure": importance(model)}, [sentence], corpus)
    parsed = PageParser(page)
    assert parsed.headings == [
        "Settings", "Training", "Another measure", "Masked words", "Positions", "Clusters", "Context words", "Examples",
    ]  # fmt: skip
    assert all(each.startswith(("#", "data:")) for each in parsed.fetched)
    assert parsed.links <= parsed.anchors
    assert not re.search(r"@import|url\((?!['\"]?(#|data:))", page)
    assert "a &amp; b" in page
    assert "Learning rate 0.05 to 0." in page
    assert "<b>" not in page
    assert page.count("<svg") == 5
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_the_report_of_a_model_without_positional_vectors(trained):
    parsed = PageParser(page := render_model_report(trained("subword", epochs=1)))
    assert parsed.headings == ["Settings", "Training", "Positions"]
    assert "This subword model has no positional vectors" in page
    assert "<svg" not in page  # one epoch makes no curve


def test_a_model_that_was_never_trained_has_a_report(build_model):
    model = build_model({"a": [1.0]}, [[1.0]], [[], []])
    assert "has no training report" in render_model_report(model)


@pytest.mark.parametrize("kind", ["general", "subword", "positional", "constrained"])
def test_a_report_names_the_settings_that_differ_from_the_defaults_of_the_kind(kind):
    def settings_section(**settings):
        config = posvec.make_config(kind, min_count=1, **settings)
        model = posvec.Model.create(config, posvec.Vocabulary.from_counts({"cat": 1}, config.vocabulary))
        section = render_model_report(model).partition("<h2>Training")[0]
        return section.partition("<details")[0]

    assert f"The table shows the settings that differ from the defaults of a {kind} model." in settings_section()
    assert re.findall(r"<tr><td>(\w+)", settings_section()) == ["min_count"]
    assert re.findall(r"<tr><td>(\w+)", settings_section(window=3)) == ["min_count", "window"]


def test_a_report_names_what_followed_the_corpus_and_the_part_of_the_last_epoch(corpus):
    model = posvec.train(corpus, dim=32, buckets=1000, threads=1, sample=0.01, epochs=2, last_epoch=3 / 7)
    page = " ".join(re.sub(r"<[^>]*>", " ", render_model_report(model)).split())
    assert "the settings that differ from the defaults of a model with two heads." in page
    assert "min_count 3 (follows the corpus)" in page
    assert "last_epoch 0.429 " in page
    assert "1.43 epochs over" in page
