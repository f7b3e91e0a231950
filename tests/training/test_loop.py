"""The training loop: reproducibility, loss, validation, callbacks, interruption, overflow."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import threading

import numpy as np
import pytest

import posvec
from posvec import StopTraining, TrainingError
from posvec.presets import MODELS
from posvec.storage import locks
from posvec.storage.locks import locked_folder
from posvec.system.signals import STOP_SIGNALS
from posvec.training.divergence import check_parameters
from posvec.training.schedule import learning_rate

TABLES = ("input_vectors", "output_vectors", "positional_vectors")


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in TABLES)


class Recorder:
    """Remembers what it is told, and does something at the n-th block or epoch."""

    def __init__(self, act=lambda: None, block=None, epoch=None, when=lambda progress: False):
        self.blocks, self.epochs = [], []
        self.act, self.block, self.epoch, self.when = act, block, epoch, when

    def on_chunk(self, progress):
        self.blocks.append(progress)
        if len(self.blocks) == self.block or self.when(progress):
            self.act()

    def on_epoch(self, progress):
        self.epochs.append(progress)
        if len(self.epochs) == self.epoch:
            self.act()


def stop():
    raise StopTraining


@pytest.mark.parametrize("kind", MODELS)
def test_training_lowers_the_loss_and_reports_it(corpus, small, kind):
    model = posvec.train(corpus, kind, **{**small, "dim": 40, "epochs": 4})  # enough features for two heads
    report = model.report
    losses = [epoch.loss for epoch in report.epochs]
    assert len(losses) == 4
    assert losses == sorted(losses, reverse=True)
    assert report.loss == losses[-1] < 4 * np.log(2)  # of a model that knows nothing: log 2 for each of 1 + 3 words
    assert report.config == model.config
    assert report.config.kind == kind
    assert (report.tokens, report.lines, report.words, report.masked_words) == (7200, 600, 4 * 7200, 4 * 7200)
    assert report.seconds > 0
    assert report.words_per_second == pytest.approx(report.words / report.seconds)
    assert sum(epoch.seconds for epoch in report.epochs) == pytest.approx(report.seconds, rel=0.2)
    assert report.before.counting >= 0
    assert not report.stopped_early
    assert report.validation_loss is None


@pytest.mark.parametrize("kind", ["general", "constrained"])
def test_with_one_thread_a_seed_gives_the_same_model_and_another_seed_another(corpus, small, kind):
    settings = {**small, "sample": 0.01, "epochs": 2}
    one, again, other = (posvec.train(corpus, kind, **settings, seed=seed) for seed in (5, 5, 6))
    assert same(one, again)
    assert one.report.loss == again.report.loss
    assert not np.array_equal(one.input_vectors, other.input_vectors)
    assert not np.array_equal(one.output_vectors, other.output_vectors)


def test_several_threads_learn_as_much_as_one(corpus, small):
    one = posvec.train(corpus, "constrained", **{**small, "epochs": 4})
    several = posvec.train(corpus, "constrained", **{**{**small, "epochs": 4}, "threads": 3})
    assert several.report.threads == 3
    assert several.report.words == one.report.words
    assert several.report.loss == pytest.approx(one.report.loss, rel=0.2)


def test_the_learning_rate_falls_in_a_straight_line(corpus, small):
    config = posvec.make_config("general", initial_lr=0.4, final_lr_ratio=0.5)
    assert [learning_rate(config, share) for share in (0, 0.5, 1)] == pytest.approx([0.4, 0.3, 0.2])
    seen = Recorder()
    posvec.train(corpus, "general", **{**small, "epochs": 2}, initial_lr=0.4, final_lr_ratio=0.5, callbacks=[seen])
    rates = [progress.lr for progress in seen.blocks]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(0.2)


def test_callbacks_hear_of_every_block_and_epoch(corpus, small):
    seen = Recorder()
    model = posvec.train(corpus, "general", **{**small, "epochs": 3}, validation=0.2, callbacks=[seen])
    words = [progress.words for progress in seen.blocks]
    assert words == sorted(words)
    assert words[-1] == model.report.words
    assert seen.blocks[-1].fraction == pytest.approx(1, abs=0.02)
    assert seen.blocks[-1].share == seen.blocks[-1].fraction, "the name of 0.1.0"
    assert [progress.epoch for progress in seen.epochs] == [1, 2, 3]
    assert [progress.loss for progress in seen.epochs] == [epoch.loss for epoch in model.report.epochs]
    assert [p.validation_loss for p in seen.epochs] == [epoch.validation_loss for epoch in model.report.epochs]


def test_validation_lines_are_held_out_and_give_a_loss_for_each_epoch(corpus, small):
    plain = posvec.train(corpus, "general", **{**small, "epochs": 3})
    model = posvec.train(corpus, "general", **{**small, "epochs": 3}, validation=0.2)
    losses = [epoch.validation_loss for epoch in model.report.epochs]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == model.report.validation_loss == pytest.approx(model.report.loss, rel=0.1)
    assert model.report.words / plain.report.words == pytest.approx(0.8, abs=0.05)


def test_validation_trains_nothing(corpus, small):
    validated = Recorder()
    model = posvec.train(corpus, "constrained", **small, validation=0.5, callbacks=[validated])
    stop_before = Recorder(stop, block=len(validated.blocks))
    unvalidated = posvec.train(corpus, "constrained", **small, validation=0.5, callbacks=[stop_before])
    assert model.report.validation_loss is not None
    assert unvalidated.report.validation_loss is None
    assert same(model, unvalidated)


def test_validation_draws_the_same_every_time(corpus, small):
    model = posvec.train(corpus, "constrained", **{**small, "epochs": 2}, validation=0.5, initial_lr=0.0)
    first, second = (epoch.validation_loss for epoch in model.report.epochs)
    assert first == second


def test_patience_ends_training_when_the_validation_loss_no_longer_falls(corpus, small):
    settings = {**small, "epochs": 60, "validation": 0.3, "initial_lr": 0.1, "final_lr_ratio": 1.0, "dim": 32}
    model = posvec.train(corpus, "subword", **settings, patience=2)
    losses = [epoch.validation_loss for epoch in model.report.epochs]
    assert model.report.stopped_early
    assert 3 <= len(losses) < 60
    assert losses.index(min(losses)) == len(losses) - 3
    assert not posvec.train(corpus, "subword", **{**settings, "epochs": 2}, patience=2).report.stopped_early


def test_a_callback_can_stop_training(corpus, small):
    model = posvec.train(corpus, "general", **{**small, "epochs": 50}, callbacks=[Recorder(stop, epoch=2)])
    assert model.report.stopped_early
    assert len(model.report.epochs) == 2
    assert same(model, posvec.train(corpus, "general", **{**small, "epochs": 50}, callbacks=[Recorder(stop, epoch=2)]))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_callback_can_stop_training_within_an_epoch(corpus, small, threads, tmp_path):
    settings = {**small, "threads": threads, "epochs": 200, "output": tmp_path / "model"}
    model = posvec.train(corpus, "general", **settings, callbacks=[Recorder(stop, block=20)])
    assert model.report.stopped_early
    assert 0 < model.report.words < 100 * 7200
    assert np.isfinite(model.report.loss)
    assert same(posvec.load(tmp_path / "model"), model)
    assert posvec.load(tmp_path / "model").report == model.report


@pytest.mark.parametrize("threads", [1, 3])
def test_an_exception_of_a_callback_is_passed_on_and_the_threads_end(corpus, small, threads):
    def fail():
        raise ZeroDivisionError("mine")

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="mine"):
        posvec.train(
            corpus, "general", **{**{**small, "epochs": 100}, "threads": threads}, callbacks=[Recorder(fail, 5)]
        )
    assert threading.active_count() == before


@pytest.mark.parametrize("validation", [1e-9, 0.2])
def test_held_out_lines_without_words_are_noticed_before_training(small, validation):
    lines = ["one two three four"] * 50 if validation < 1e-6 else ["alone"] * 50
    seen = Recorder()
    with pytest.raises(
        posvec.CorpusError, match=r"the lines that validation=\S+ holds out have no words to predict; raise"
    ):
        posvec.train(iter(lines), "general", **{**small, "epochs": 5}, validation=validation, callbacks=[seen])
    assert seen.blocks == seen.epochs == []


@pytest.mark.usefixtures("_ctrl_c_as_usual")
def test_a_checkpoint_whose_held_out_lines_have_no_words_can_be_resumed(long_corpus, small, tmp_path):
    """Posvec 0.1.0 noticed it only at the end of the first epoch."""
    output = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        posvec.train(long_corpus, "general", **small, output=output, callbacks=[Recorder(interrupt, block=3)])
    config = json.loads((output / "config.json").read_text())
    config["settings"]["training"] |= {"validation": 1e-9, "patience": 1}
    (output / "config.json").write_text(json.dumps(config))
    shown = Recorder()
    shown.note = shown.blocks.append
    model = posvec.resume(output, callbacks=[shown])
    assert shown.blocks[0].startswith(
        "Training goes on without a validation loss, because the lines that validation=1e-09"
    )
    assert model.report.validation_loss is None
    assert same(model, posvec.train(long_corpus, "general", **small))


def test_training_works_outside_the_main_thread(corpus, small):
    made = []
    thread = threading.Thread(target=lambda: made.append(posvec.train(corpus, "general", **small)))
    thread.start()
    thread.join()
    assert same(made[0], posvec.train(corpus, "general", **small))


def test_lines_that_keep_no_pair_of_words_are_nothing_to_learn_from(small):
    sentence = r"^no line keeps two words after subsampling, so there is nothing to learn from; "
    for lines, settings, advice in (
        (["alone", "lonely"], {}, r"give a corpus with longer lines$"),
        (["alone", "alone"], {"min_count": 2}, r"lower min_count \(now 2\)$"),
        (["a b"] * 9, {"sample": 1e-12}, r"raise sample \(now 1e-12; 0 keeps all words\)$"),
        (
            ["a b"] * 9,
            {"preset": "small", "sample": 1e-12, "min_count": 3},
            r"raise .*\) or lower min_count \(now 3\)$",
        ),
    ):
        with pytest.raises(posvec.CorpusError, match=sentence + advice):
            posvec.train(iter(lines), "general", **{**small, **settings})


# ---- interruption ---------------------------------------------------------------------------------------------


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def _ctrl_c_as_usual():
    """The tests may run where SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c_as_usual")
@pytest.mark.parametrize("kind", ["general", "constrained"])
@pytest.mark.parametrize(
    ("validation", "when", "done"),
    [
        (0.0, {"block": 1}, range(1, 193)),
        (0.0, {"block": 300}, range(300, 385)),
        (0.2, {"block": 300}, range(300, 385)),
        (0.2, {"block": 384}, range(384, 385)),  # trained, but not validated
        (0.2, {"epoch": 2}, range(384, 385)),
    ],
)
def test_interrupted_and_resumed_equals_uninterrupted(long_corpus, small, tmp_path, kind, validation, when, done):
    settings = {**small, "sample": 0.01, "epochs": 3, "validation": validation}
    whole = posvec.train(long_corpus, kind, **settings)
    output = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        posvec.train(long_corpus, kind, **settings, output=output, callbacks=[Recorder(interrupt, **when)])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    checkpoint = posvec.load(output, verify=True)
    assert checkpoint.report is None
    assert checkpoint.state.blocks_done in done
    resumed = posvec.resume(output)
    assert same(resumed, whole)
    assert same(posvec.load(output, verify=True), whole)
    assert posvec.load(output).state is None
    assert resumed.report.loss == pytest.approx(whole.report.loss, rel=1e-12)
    assert resumed.report.validation_loss == whole.report.validation_loss
    assert [epoch.loss for epoch in resumed.report.epochs] == pytest.approx([e.loss for e in whole.report.epochs])
    assert (resumed.report.words, resumed.report.masked_words) == (whole.report.words, whole.report.masked_words)
    assert resumed.report.before == checkpoint.state.before


@pytest.mark.usefixtures("_ctrl_c_as_usual")
def test_training_can_be_interrupted_again_and_again(long_corpus, small, tmp_path):
    whole = posvec.train(long_corpus, "positional", **{**small, "epochs": 2})
    output = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        posvec.train(
            long_corpus, "positional", **{**small, "epochs": 2}, output=output, callbacks=[Recorder(interrupt, block=3)]
        )
    done = [posvec.load(output).state.blocks_done]
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            posvec.resume(output, callbacks=[Recorder(interrupt, block=3)])
        done.append(posvec.load(output).state.blocks_done)
    assert done[0] < done[1] < done[2]
    assert same(posvec.resume(output), whole)


@pytest.mark.usefixtures("_ctrl_c_as_usual")
def test_a_second_ctrl_c_does_not_wait_for_the_checkpoint(corpus, small, tmp_path):
    def twice():
        interrupt()
        interrupt()

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        posvec.train(corpus, "general", **small, output=tmp_path / "model", callbacks=[Recorder(twice, block=1)])
    assert not (tmp_path / "model").exists()
    assert threading.active_count() == before


@pytest.mark.usefixtures("_ctrl_c_as_usual")
@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_the_complete_model_is_saved_whatever_signals_arrive(corpus, small, tmp_path, monkeypatch, number):
    monkeypatch.setattr(posvec.Model, "save", interrupted_save(posvec.Model.save, number))
    with pytest.raises(KeyboardInterrupt):
        posvec.train(corpus, "general", **small, output=tmp_path / "model")
    assert posvec.load(tmp_path / "model", verify=True).state is None
    assert same(posvec.load(tmp_path / "model"), posvec.train(corpus, "general", **small))


@pytest.mark.usefixtures("_ctrl_c_as_usual")
@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_checkpoint_that_was_begun_is_saved_whatever_signals_arrive(
    long_corpus, small, tmp_path, monkeypatch, number
):
    output = tmp_path / "model"
    monkeypatch.setattr(posvec.Model, "save", interrupted_save(posvec.Model.save, number))
    with pytest.raises(KeyboardInterrupt):
        posvec.train(long_corpus, "general", **small, checkpoint_minutes=1e-6, output=output)
    monkeypatch.undo()
    assert 0 < posvec.load(output, verify=True).state.blocks_done < 192
    assert same(posvec.resume(output), posvec.train(long_corpus, "general", **small))


def interrupted_save(save, number):
    def interrupted(*arguments, **options):
        for _ in range(3):
            os.kill(os.getpid(), number)
        save(*arguments, **options)
        os.kill(os.getpid(), number)

    return interrupted


@pytest.mark.usefixtures("_ctrl_c_as_usual")
@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_a_signal_at_the_very_end_is_not_swallowed(corpus, small, tmp_path, validation):
    output = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        posvec.train(
            corpus, "general", **small, validation=validation, output=output, callbacks=[Recorder(interrupt, epoch=1)]
        )
    assert posvec.load(output).state is None


@pytest.mark.parametrize("minutes", [1e-6, 0.0])
def test_a_folder_that_is_removed_during_training_is_made_again(long_corpus, small, tmp_path, minutes):
    output = tmp_path / "deep" / "model"
    removed, refused = [], []

    def remove():
        shutil.rmtree(output.parent)
        removed.append(True)

    def look():
        if removed and output.exists():
            with pytest.raises(posvec.ModelError, match="another process"), in_another_context(), locked_folder(output):
                raise AssertionError("the new folder is not locked")
            refused.append(True)

    recorders = [Recorder(remove, block=20), Recorder(look, when=lambda _: len(refused) < 3)]
    settings = {**small, "checkpoint_minutes": minutes, "output": output}
    model = posvec.train(long_corpus, "general", **settings, callbacks=recorders)
    assert bool(refused) == (minutes > 0)
    assert same(posvec.load(output, verify=True), model)


@contextlib.contextmanager
def in_another_context():
    """As in another process: without the locks of this one."""
    held = locks._LOCKED.set({})
    try:
        yield
    finally:
        locks._LOCKED.reset(held)


def test_the_output_does_not_depend_on_the_working_folder_at_the_end(corpus, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    posvec.train(corpus, "general", **small, output="model", callbacks=[Recorder(lambda: os.chdir("other"), block=3)])
    assert posvec.load(tmp_path / "model").state is None


def test_timed_checkpoints_do_not_change_the_result(long_corpus, small, tmp_path):
    whole = posvec.train(long_corpus, "constrained", **{**small, "epochs": 2})
    saved, states = tmp_path / "model" / "config.json", set()

    def look():
        if saved.exists():
            states.add(json.loads(saved.read_text())["state"]["blocks_done"])

    settings = {**small, "epochs": 2, "checkpoint_minutes": 1e-4, "output": tmp_path / "model"}
    model = posvec.train(long_corpus, "constrained", **settings, callbacks=[Recorder(look, when=lambda _: True)])
    assert len(states) >= 2
    assert same(model, whole)
    assert posvec.load(tmp_path / "model").state is None


# ---- overflow -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "settings", "advice"),
    [
        ("general", {"initial_lr": 1e20}, r"lower initial_lr \(now 1e\+20\)$"),
        (
            "constrained",
            {"initial_lr": 1e20, "score_limit": 6.0},
            r"lower initial_lr \(now 1e\+20\) or set score_limit=0",
        ),
        ("constrained", {"initial_lr": 1e20}, r"lower initial_lr \(now 1e\+20\)$"),
        ("subword", {"initial_lr": 1e20, "context_mean": "words"}, r"or set context_mean=rows"),
        ("positional", {"initial_lr": 1e20, "positional_gradient": "summed"}, r"or set positional_gradient=averaged"),
        (
            "positional",
            {"initial_lr": 1e20, "initializer": "identity", "dim": 601},
            r"lower initial_lr .* or set initializer=sqrt_normal_as_run$",
        ),
    ],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_values_that_run_away_end_training_with_the_setting_to_change(corpus, small, kind, settings, advice, threads):
    before = threading.active_count()
    with pytest.raises(TrainingError, match=r"^(the parameters overflowed|the loss grew to) .*" + advice):
        posvec.train(corpus, kind, **{**small, **settings, "threads": threads})
    assert threading.active_count() == before


def test_a_word_so_long_that_steps_add_up_is_named(small):
    sentences = [["karan" * 2000, "lotek"]] * 50
    with pytest.raises(TrainingError, match=r"has a word of 10,000 characters, .*; raise min_count or take such words"):
        posvec.train(sentences, "subword", **small, initial_lr=1e20)
    with pytest.raises(TrainingError, match=r"lower initial_lr \(now 1e\+20\)$"):
        posvec.train(sentences, "general", **small, initial_lr=1e20)


@pytest.mark.parametrize("seed", range(5))
def test_a_learning_rate_far_too_high_never_passes_for_training(corpus, small, seed):
    for rate in (1e3, 1e5, 1e20):
        with pytest.raises(TrainingError, match=r"lower initial_lr"):
            posvec.train(corpus, "constrained", **small, initial_lr=rate, seed=seed)


def test_parameters_that_are_not_finite_are_never_saved(corpus, small):
    model = posvec.train(corpus, "constrained", **small)
    check_parameters(model)
    for name, value in zip(TABLES, (np.inf, -np.inf, np.nan), strict=True):
        table = getattr(model, name)
        before, table[-1, -1] = table[-1, -1], value
        with pytest.raises(TrainingError, match=r"have overflowed and were not saved: lower initial_lr \(now 0.05\)"):
            check_parameters(model)
        table[-1, -1] = before


def test_overflow_leaves_the_last_good_checkpoint(corpus, small, tmp_path):
    output = tmp_path / "model"
    before = posvec.train(corpus, "general", **small, output=output)
    with pytest.raises(TrainingError):
        posvec.train(corpus, "general", **small, initial_lr=1e20, output=output, overwrite=True)
    assert same(posvec.load(output, verify=True), before)
    with pytest.raises(TrainingError):
        posvec.train(corpus, "general", **small, initial_lr=1e20, output=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_callback_of_the_first_version_is_still_called(corpus, small):
    class Earlier:
        def __init__(self):
            self.fractions = []

        def on_block(self, progress):
            self.fractions.append(progress.share)

        def on_epoch(self, progress): ...

    earlier = Earlier()
    posvec.train(corpus, "general", **small, callbacks=[earlier])
    assert earlier.fractions
    assert earlier.fractions == sorted(earlier.fractions)
    assert earlier.fractions[-1] == 1
