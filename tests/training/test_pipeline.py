"""From any text to a model, further training, resuming, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import time

import numpy as np
import pytest

import posvec
from posvec import ConfigError, CorpusError, ModelError, StopTraining
from posvec.training.pipeline import count

TABLES = ("input_vectors", "output_vectors", "positional_vectors")


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in TABLES)


# ---- where text comes from ------------------------------------------------------------------------------------


def test_the_same_text_gives_the_same_model_wherever_it_comes_from(corpus, lines, small, tmp_path):
    expected = posvec.train(corpus, "constrained", **small)
    with gzip.open(tmp_path / "corpus.txt.gz", "wt") as file:
        file.write(corpus.read_text())
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text("\n".join(lines[number * 200 : (number + 1) * 200]) + "\n")
    sources = {
        "str": str(corpus),
        "gz": tmp_path / "corpus.txt.gz",
        "folder": folder,
        "pattern": str(folder / "*.txt"),
        "files": sorted(folder.iterdir()),
        "sentences": iter(lines),
        "list of sentences": lines,
        "tokens": (line.split() for line in lines),
        "list of tokens": [line.split() for line in lines],
    }
    for name, source in sources.items():
        assert same(posvec.train(source, "constrained", **small), expected), name


def test_a_tokenizer_may_be_a_name_or_a_function(tmp_path, small):
    (tmp_path / "text").write_text("One two, three\n" * 50)
    assert set(posvec.train(tmp_path / "text", "general", **small).vocabulary.words) == {"one", "two", "three"}
    by_space = posvec.train(tmp_path / "text", "general", tokenizer="whitespace", **small)
    assert set(by_space.vocabulary.words) == {"One", "two,", "three"}
    assert by_space.config.text.tokenizer == "whitespace"
    by_function = posvec.train(tmp_path / "text", "general", tokenizer=lambda line: line.split(","), **small)
    assert set(by_function.vocabulary.words) == {"One two", " three"}


def test_text_that_is_not_utf_8_is_refused_unless_it_is_to_be_replaced(tmp_path, small):
    (tmp_path / "text").write_bytes(b"one two three\n" * 9 + b"one t\xffwo three\n")
    with pytest.raises(CorpusError, match=r"text is not UTF-8 in line 10; .*errors='replace'"):
        posvec.train(tmp_path / "text", "general", **small)
    assert "wo" in posvec.train(tmp_path / "text", "general", errors="replace", **small).vocabulary


@pytest.mark.parametrize(
    ("corpus", "settings", "error", "message"),
    [
        ("nowhere.txt", {}, CorpusError, r"no such file or folder: nowhere.txt; check the spelling"),
        (["one two", "one two"], {"min_count": 3}, CorpusError, r"no word .* occurs 3 times.*lower min_count"),
        (["one two"], {"dim": 5, "positional_dim": 6}, ConfigError, r"positional_dim \(D' = 6\) is greater than dim"),
        (["one two"], {"window": 0}, ConfigError, r"window is 0, but must be at least 1"),
        (["one two"], {"windows": 5}, ConfigError, r"no setting 'windows' \(did you mean window\?\)"),
        (["one two"], {"threads": "2"}, ConfigError, r"threads is a whole number, not '2'"),
        (["one two"], {"model": "cbow"}, ConfigError, r"no model 'cbow'"),
        (["one two"], {"config": {"dim": 5}}, ConfigError, r"config is a posvec.Config, not a dict"),
        (["one two"], {"start": 5}, ConfigError, r"start is a Model or the path of a saved one, not a int"),
        (["one two"], {"vocabulary": ["one"]}, ConfigError, r"vocabulary is a Vocabulary or the path"),
        (["one two"], {"tokenizer": 5}, ConfigError, r"tokenizer is one of word, whitespace, not 5"),
        (["one", 5], {}, CorpusError, r"sentence 2 is a int; give all sentences as strings"),
        (5, {}, CorpusError, r"a corpus is a path or an iterable of sentences, not int"),
        ([], {}, CorpusError, r"it is empty"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(small, tmp_path, monkeypatch, corpus, settings, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        posvec.train(corpus, **{**small, "model": "general", "output": tmp_path / "model", **settings})
    assert not (tmp_path / "model").exists()


def test_output_is_checked_before_anything_is_read(tmp_path, small, corpus):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep me")

    def never():
        raise AssertionError("the corpus was read")
        yield

    for overwrite in (False, True):
        with pytest.raises(ModelError, match=r"notes is neither empty nor a posvec model, so it is not overwritten"):
            posvec.train(never(), "general", **small, output=tmp_path / "notes", overwrite=overwrite)
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["mine.txt"]


# ---- vocabularies ---------------------------------------------------------------------------------------------


def test_a_saved_vocabulary_is_used_as_it_is(corpus, small, tmp_path):
    config = posvec.make_config("general", **{**small, "min_count": 240, "max_words": 20})
    vocabulary = count(corpus, config)
    vocabulary.save(tmp_path / "words.txt")
    assert len(vocabulary) < 30
    counted = posvec.train(corpus, "general", config=config)
    for given in (vocabulary, tmp_path / "words.txt", str(tmp_path / "words.txt")):
        model = posvec.train(corpus, "general", vocabulary=given, **small)
        assert model.vocabulary.words == vocabulary.words
        assert (model.config.vocabulary.min_count, model.config.vocabulary.max_words) == (240, 20)
        assert same(model, counted)


def test_a_vocabulary_keeps_the_settings_of_the_training_that_uses_it(corpus, small):
    vocabulary = count(corpus, posvec.make_config("general", **small))
    model = posvec.train(corpus, "general", vocabulary=vocabulary, **{**small, "sample": 0.01})
    assert (model.vocabulary.keep_probabilities() < 1).any()
    assert (vocabulary.keep_probabilities() == 1).all()


def test_a_vocabulary_of_another_language_is_refused(small):
    vocabulary = count(iter(["eins zwei drei"]), posvec.make_config("general", min_count=1))
    with pytest.raises(CorpusError, match=r"no word of the sentences given is in the vocabulary"):
        posvec.train(iter(["one two three"]), "general", vocabulary=vocabulary, **small)


# ---- further training -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def base(corpus, small):
    return posvec.train(corpus, "constrained", **small)


MORE = ["karan purrs lotek", "purrs zooms miran"] * 20


def test_further_training_starts_from_what_was_learnt(base, small):
    more = posvec.train(iter(MORE), start=base, initial_lr=0.0)
    for word in base.vocabulary.words:
        old, new = base.vocabulary.index[word], more.vocabulary.index[word]
        assert np.array_equal(base.vectors[word], more.vectors[word])
        assert np.array_equal(base.output_vectors[old], more.output_vectors[new])
    assert np.array_equal(base.positional_vectors, more.positional_vectors)
    assert more.config.kind == "constrained"
    assert more.config == base.config.replace(initial_lr=0.0)


def test_further_training_adds_words_and_counts(base):
    more = posvec.train(iter(MORE), start=base, epochs=3)
    counts = dict(zip(more.vocabulary.words, more.vocabulary.counts.tolist(), strict=True))
    before = dict(zip(base.vocabulary.words, base.vocabulary.counts.tolist(), strict=True))
    assert set(counts) == {*before, "purrs", "zooms"}
    assert (counts["purrs"], counts["karan"], counts["sudun"]) == (40, before["karan"] + 20, before["sudun"])
    assert more.vocabulary.total_words == base.vocabulary.total_words + 120
    assert more.report.tokens == 120
    assert more.report.config.training.epochs == 3
    assert more.output_vectors[more.vocabulary.index["purrs"]].any()
    assert not np.array_equal(more.positional_vectors, base.positional_vectors)
    assert more.report.loss < more.report.epochs[0].loss


def test_the_model_that_training_starts_from_is_left_alone(base, tmp_path):
    base.save(tmp_path / "base")
    before = [getattr(base, name).copy() for name in TABLES]
    from_memory = posvec.train(iter(MORE), start=base)
    from_disk = posvec.train(iter(MORE), start=tmp_path / "base", output=tmp_path / "base", overwrite=True)
    assert same(from_memory, from_disk)
    assert same(posvec.load(tmp_path / "base", verify=True), from_disk)
    assert all(np.array_equal(getattr(base, name), table) for name, table in zip(TABLES, before, strict=True))


def test_settings_of_further_training_reach_the_vocabulary(base):
    more = posvec.train(iter(MORE), start=base, sample=0.001, min_count=30)
    assert more.config.vocabulary.sample == 0.001
    assert (more.vocabulary.keep_probabilities() < 1).any()
    assert "purrs" in more.vocabulary
    assert "zooms" not in more.vocabulary


def test_further_training_of_a_model_cannot_change_its_shape(base):
    with pytest.raises(ModelError, match=r"keeps its dim when it is trained further: it has 16, so leave out dim=20"):
        posvec.train(iter(MORE), start=base, dim=20)


def test_further_training_takes_no_second_vocabulary(base):
    with pytest.raises(ConfigError, match=r"has its own vocabulary; leave out vocabulary or start"):
        posvec.train(iter(MORE), start=base, vocabulary=base.vocabulary)


# ---- resuming -------------------------------------------------------------------------------------------------


class InterruptAtOnce:
    done = False

    def on_chunk(self, progress):
        if not self.done:
            os.kill(os.getpid(), signal.SIGINT)
        self.done = True

    def on_epoch(self, progress):
        pass


@pytest.fixture
def interrupted(tmp_path, lines, small):
    """Makes a folder with interrupted training of a corpus that can be changed."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    (tmp_path / "text").write_text("\n".join(lines))

    def make(source=tmp_path / "text", **settings):
        shutil.rmtree(tmp_path / "model", ignore_errors=True)
        with pytest.raises(KeyboardInterrupt):
            posvec.train(
                source,
                "constrained",
                **{**small, "epochs": 3, "output": tmp_path / "model", "callbacks": [InterruptAtOnce()], **settings},
            )
        return tmp_path / "model"

    yield make
    signal.signal(signal.SIGINT, before)


def test_training_that_was_interrupted_is_not_begun_anew_by_mistake(interrupted, lines, small):
    model = interrupted()
    with pytest.raises(ModelError, match=r"was interrupted; continue with posvec resume .*, or pass --overwrite"):
        posvec.train(lines, "subword", output=model, **small)
    assert posvec.resume(model).state is None


def test_what_did_not_come_from_files_is_given_again_to_resume(interrupted, lines, small):
    whole = posvec.train(iter(lines), "constrained", **{**small, "epochs": 3})
    model = interrupted(iter(lines))
    with pytest.raises(ModelError, match=r"did not come from files alone; give it again"):
        posvec.resume(model)
    with pytest.raises(ModelError, match=r"the corpus the sentences given has changed since training"):
        posvec.resume(model, iter(lines[1:]))
    assert same(posvec.resume(model, iter(lines)), whole)


def test_a_tokenizer_of_one_s_own_is_given_again_to_resume(interrupted, tmp_path, small):
    whole = posvec.train(tmp_path / "text", "constrained", tokenizer=str.split, **{**small, "epochs": 3})
    model = interrupted(tokenizer=str.split)
    assert same(posvec.resume(model, tmp_path / "text", tokenizer=str.split), whole)


def test_training_that_is_complete_is_not_resumed(base, tmp_path):
    base.save(tmp_path / "model")
    with pytest.raises(ModelError, match=r"is complete; .* posvec train --start"):
        posvec.resume(tmp_path / "model")


def test_a_corpus_that_changed_or_went_is_not_resumed(interrupted, tmp_path):
    model = interrupted()
    kept = {path.name: path.read_bytes() for path in model.iterdir()}
    text = (tmp_path / "text").read_text()
    (tmp_path / "text").write_text(text.replace("karan", "miran"))
    with pytest.raises(ModelError, match=r"text has changed since training of .*model was interrupted; restore it"):
        posvec.resume(model)
    (tmp_path / "text").unlink()
    with pytest.raises(ModelError, match=r"the corpus .*text that .*model was being trained on is gone; restore it"):
        posvec.resume(model)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == kept


def test_a_corpus_that_was_touched_moved_or_compressed_is_resumed(interrupted, tmp_path, small):
    text = tmp_path / "text"
    whole = posvec.train(text, "constrained", **{**small, "epochs": 3})
    for age in (-(10**9), 10**9):  # the past and the future
        model = interrupted()
        os.utime(text, (time.time() + age,) * 2)
        assert same(posvec.resume(model), whole)
    model = interrupted()
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(text.read_bytes()))
    text.unlink()
    with pytest.raises(
        ModelError, match=r"is gone; restore it, or name its present path: posvec resume .*model CORPUS"
    ):
        posvec.resume(model)
    (tmp_path / "other").write_text("karan tabis\n" * 600)
    with pytest.raises(ModelError, match=r"other has changed since training .*, name its present path"):
        posvec.resume(model, tmp_path / "other")
    assert same(posvec.resume(model, tmp_path / "packed.txt.gz"), whole)


def test_a_checkpoint_of_an_earlier_version_goes_by_the_file(interrupted, tmp_path):
    model = interrupted()
    config = json.loads((model / "config.json").read_text())
    del config["state"]["content"]
    (model / "config.json").write_text(json.dumps(config))
    os.utime(tmp_path / "text", (1e9, 1e9))
    with pytest.raises(ModelError, match="has changed since training"):
        posvec.resume(model)


def test_a_damaged_checkpoint_is_not_resumed(interrupted):
    model = interrupted()
    (tensors,) = model.glob("model-*.safetensors")
    whole = bytearray(tensors.read_bytes())
    whole[-5] ^= 1  # one bit of one number
    tensors.write_bytes(whole)
    with pytest.raises(ModelError, match=re.escape(tensors.name) + r" is missing or damaged: its checksum"):
        posvec.resume(model)
    tensors.write_bytes(whole[:-100])
    with pytest.raises(ModelError, match=r"is missing or damaged: it has \d+ bytes"):
        posvec.resume(model)


def test_a_checkpoint_whose_state_is_damaged_is_not_resumed(interrupted):
    model = interrupted()
    config = json.loads((model / "config.json").read_text())
    del config["state"]["blocks_done"]
    (model / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"config.json is damaged \(.*blocks_done.*\); restore it"):
        posvec.resume(model)


def test_a_folder_of_something_else_is_not_resumed(tmp_path):
    with pytest.raises(ModelError, match=r"there is no model at .*nowhere; check the path"):
        posvec.resume(tmp_path / "nowhere")
    (tmp_path / "config.json").write_text('{"name": "another program"}')
    with pytest.raises(ModelError, match=r"is not a posvec model: its config.json belongs to another program"):
        posvec.resume(tmp_path)


def test_an_interrupted_model_can_be_used_and_resumed_with_more_threads(interrupted):
    model = interrupted()
    assert posvec.load(model).vectors["karan"].any()
    resumed = posvec.resume(model, threads=2)
    assert resumed.report.threads == resumed.config.training.threads == 2
    assert len(resumed.report.epochs) == 3


def test_stopping_in_a_resumed_training_completes_it(interrupted):
    class Stop(InterruptAtOnce):
        def on_chunk(self, progress):
            raise StopTraining

    model = posvec.resume(interrupted(), callbacks=[Stop()])
    assert model.report.stopped_early
    assert model.state is None
