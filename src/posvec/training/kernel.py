"""The adapter between a run and the compiled kernel: settings, tables and chunks in the kernel's terms."""

from __future__ import annotations

import queue

from posvec import _kernel
from posvec.config import Config
from posvec.model import Model
from posvec.system.cpu import cpu_level
from posvec.training.calibration import held_out_fraction
from posvec.training.chunks import ChunkedCorpus
from posvec.training.executor import ChunkResult
from posvec.training.schedule import chunk_index, chunk_seed, epochs_before, learning_rate
from posvec.training.tables import training_tables


class ChunkTrainer:
    """Trains a model on chunks of a corpus; chunks are numbered over all epochs."""

    def __init__(self, model: Model, corpus: ChunkedCorpus, threads: int = 1) -> None:
        self._model, self.corpus, self._threads = model, corpus, threads
        self._held_out_fraction = held_out_fraction(model.config, corpus)
        self.workspaces: queue.SimpleQueue[_kernel.Workspace] = queue.SimpleQueue()
        """Workspaces that no thread uses; they are kept because allocating new memory takes time."""
        self._create_trainer()

    @property
    def config(self) -> Config:
        """The present configuration of the model; its number of epochs may change while it is trained."""
        return self._model.config

    def use_float32(self) -> None:
        """Train on in float32, from the present values; the setting ``precision`` of the model changes."""
        self.tables.export()
        self._model.config = self.config.replace(precision="float32")
        self._create_trainer()

    def _create_trainer(self) -> None:
        model = self._model
        self.tables = training_tables(model)
        self._trainer = self.tables.trainer(
            model.vocabulary.keep_probabilities(),
            *model.vocabulary.alias_table(),
            kernel_options(self.config, self._threads),
            cpu_level(),
        )

    def train(self, number: int, workspace: _kernel.Workspace, held_out: bool) -> ChunkResult:
        """Train one chunk, or score its held-out lines."""
        chunks, config = self.corpus.chunks, self.config
        chunk = self.corpus.chunk(number % chunks if held_out else chunk_index(config, chunks, number))
        fraction = epochs_before(config, self.corpus, number, chunk) / config.training.total_epochs
        return ChunkResult(
            *self._trainer.train(
                workspace,
                chunk.ids,
                chunk.lines,
                chunk.begin,
                chunk.end,
                0.0 if held_out else learning_rate(config, fraction),
                chunk_seed(config.training.seed, -1 - number if held_out else number),
                self._held_out_fraction,
                held_out,
                chunk.first_line,
            )
        )


def kernel_options(config: Config, threads: int = 1) -> _kernel.KernelOptions:
    """Return the settings that the kernel needs, in its own terms."""
    model, training = config.model, config.training
    options = _kernel.KernelOptions()
    options.window = model.window
    options.negatives, options.negative_reuse = training.negatives, training.negative_reuse
    options.mean_over_words = model.context_mean == "words"
    options.exact_gradient = training.input_gradient == "exact"
    options.summed_positional = training.positional_gradient == "summed"
    options.train_positions = training.train_positions
    options.shrink = training.window_sampling == "shrink"
    options.text_positions = training.positions == "text"
    options.score_limit = training.score_limit
    options.threads = threads
    return options
