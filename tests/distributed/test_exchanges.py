"""What workers exchange: blocks of rows, the rules that combine their changes, replicas that train on meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from posvec.corpus.encoding import encode
from posvec.corpus.sources import open_corpus
from posvec.distributed.buffers import BufferPool
from posvec.distributed.combining import BlockDeltas, combine, combine_into, steady
from posvec.distributed.plan import RowBlock, make_plan
from posvec.distributed.replica import Replica
from posvec.model import Model
from posvec.presets import make_config
from posvec.training.tables import training_tables
from posvec.vocabulary import Vocabulary

SMALL = {"dim": 16, "window": 4, "buckets": 5000, "min_count": 1, "sample": 0.0, "negatives": 3, "threads": 1}


def test_rules_combine_changes_as_they_say():
    both = BlockDeltas(np.arange(3, dtype=np.uint32), np.array([[1, 0], [1, 0], [2, 0]], np.float32))
    some = BlockDeltas(np.array([0, 1], np.uint32), np.array([[1, 0], [0, 1]], np.float32))
    assert combine(3, [both, some], "sum").tolist() == [[2, 0], [1, 1], [2, 0]]
    assert combine(3, [both, some], "mean").tolist() == [[1, 0], [0.5, 0.5], [1, 0]]
    assert combine(3, [both, some], "touched").tolist() == [[1, 0], [0.5, 0.5], [2, 0]]
    assert combine(3, [both, some], "agreement").tolist() == [[1, 0], [1, 1], [2, 0]]


def test_steady_sums_go_once_along_the_direction_that_all_workers_took():
    draw = np.random.default_rng(3)
    direction = draw.normal(size=20)
    direction /= np.linalg.norm(direction)
    own = [draw.normal(size=(50, 20)) for _ in range(4)]
    own = [each - np.outer(each @ direction, direction) for each in own]
    alike = np.outer(draw.normal(40, 1, 50), direction)
    rows = np.arange(60, dtype=np.uint32)
    changes = [BlockDeltas(rows, np.vstack([alike + each, each[:10]]).astype(np.float32)) for each in own]
    moved = steady(changes, [slice(0, 50), slice(50, 60)])
    assert moved[:50] @ direction == pytest.approx(alike @ direction, rel=1e-3)
    across = moved[:50] - np.outer(moved[:50] @ direction, direction)
    assert across == pytest.approx(sum(own), abs=1)  # not exact: own ways turn the direction a little
    assert np.abs(across - sum(own)).mean() < 0.2
    nothing = [BlockDeltas(rows, np.zeros((60, 20), np.float32))] * 2
    assert not steady(nothing, [slice(0, 60)]).any()


def test_changes_of_fixed16_rows_add_up_to_what_16_bits_can_hold():
    base = np.array([[30000, -30000], [0, 5], [7, 7]], np.int16)
    some = BlockDeltas(np.array([0, 2], np.uint32), np.array([[2000, -2000], [1, 1]], np.int16))
    other = BlockDeltas(np.array([0, 1], np.uint32), np.array([[2000, -2000], [3, -3]], np.int16))
    cold, hot = (RowBlock(1, 0, hot, ((1, 0, 3),), 4) for hot in (False, True))
    for block, rule in ((cold, "steady"), (hot, "sum"), (hot, "agreement")):
        moved = base.copy()
        combine_into(block, moved, [some, other], rule)
        assert moved.dtype == np.int16
        expected = [[32767, -32768], [3, 2], [8, 8]] if rule != "agreement" else [[32000, -32000], [3, 2], [8, 8]]
        assert moved.tolist() == expected


@pytest.fixture
def prepared(corpus):
    """A function from settings to a model that is not trained yet, and an encoded corpus."""

    def make(**settings):
        with open_corpus(corpus) as opened:
            config = make_config("constrained", **(SMALL | settings))
            vocabulary = Vocabulary.count(opened, config.vocabulary)
            encoded = encode(opened, vocabulary)
        return Model.create(config, vocabulary), encoded

    return make


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("precision", ["fixed16", "float32"])
def test_every_row_is_in_one_block_and_busy_rows_have_short_periods(prepared, workers, precision):
    model, _ = prepared(precision=precision)
    owned = training_tables(model)
    owned.take()
    tables = owned.stored
    plan = make_plan(model, tables, 2000, 64, workers)
    seen = [np.zeros(len(table) if table.size else 0, int) for table in tables]
    for block in plan.blocks:
        for table, begin, end in block.ranges:
            seen[table][begin:end] += 1
        copied = block.read(tables)
        assert copied.nbytes == block.bytes
        block.write(tables, copied + 1)
        parts = list(block.parts(tables))
        assert [rows.start for rows, _ in parts] == [0, *(rows.stop for rows, _ in parts[:-1])]
        assert (block.read(tables) == copied + 1).all()
    assert all((count == 1).all() for count in seen)
    assert [number for group in plan.all() for number in group] == list(range(len(plan.blocks)))
    assert [block.period for block in plan.blocks] == sorted(block.period for block in plan.blocks)


@pytest.mark.parametrize("delay", [0, 1, 2])
@pytest.mark.parametrize("precision", ["fixed16", "float32"])
def test_changes_made_during_an_exchange_are_kept_and_counted_once(prepared, delay, precision):
    (model, encoded), (other, _) = prepared(precision=precision), prepared(precision=precision)
    plan = make_plan(model, training_tables(model).stored, 2000, 64, 2)
    replicas = [Replica(each, encoded, plan, 1) for each in (model, other)]
    tables = replicas[0].tables
    initial = [table.copy() for table in tables]
    values = {i: block.read(tables) for i, block in enumerate(plan.blocks)}
    for replica in replicas:
        replica.start(values)
    draw, in_progress = np.random.default_rng(1), []
    moved = [np.zeros_like(table) for table in initial]
    for number in (1, 2, 3, 4, 0, *[0] * delay):  # 0: nothing is trained, and all blocks are exchanged
        for replica in replicas if number else []:
            for table, by in zip(replica.tables, moved, strict=True):
                step = draw.integers(-8, 8, table.shape) * (draw.random((len(table), 1)) < 0.3)
                step = step.astype(np.int16) if table.dtype == np.int16 else (step / 8).astype(np.float32)
                table += step
                by += step
        for group in [plan.due(number)] if number else plan.all():
            extracted = [replica.deltas(group) for replica in replicas]
            for block, *deltas in zip(group, *extracted, strict=True):
                values[block] = values[block].copy()
                combine_into(plan.blocks[block], values[block], deltas, "sum")
            in_progress.append({block: values[block] for block in group})
        while len(in_progress) > (delay if number else 0):
            for replica in replicas:
                replica.receive(in_progress[0])
            in_progress.pop(0)
    for first, by, *after in zip(initial, moved, *(replica.tables for replica in replicas), strict=True):
        assert (after[0] == after[1]).all()
        assert after[0] == pytest.approx(first + by, abs=1e-5)


def test_buffers_are_used_again_by_what_fits_into_them():
    buffers = BufferPool()
    one, other = buffers.take((10, 3), np.float32), buffers.take((10, 3), np.float32)
    one[:], other[:] = 1, 2
    assert (one == 1).all()
    buffers.release([one])
    again = buffers.take((18, 3), np.int16)
    assert np.shares_memory(again, one)
    assert not np.shares_memory(buffers.take((9, 3), np.float32), one)
    assert not np.shares_memory(buffers.take((1000, 3), np.float32), one)
