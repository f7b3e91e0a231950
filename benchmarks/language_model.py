"""Tokens per second of training a language model, compared with PyTorch's word_language_model example.

    python benchmarks/language_model.py [--words 10000 33278] [--rounds 5] [-o results/benchmarks/language-model.md]

The example (“recipe”): an embedding tied to the linear layer, dropout, two LSTM layers, log_softmax and NLLLoss,
gradient clipping, and plain SGD. All have the same shapes: 300 features and units, batch 40, 35 steps. They alternate
on the same random tokens in one process, on one thread; ratios of CPU time and of wall-clock time are computed within a
round. The recipe trains its embedding and is therefore comparable with posvec's --no-freeze; with frozen vectors, which
is the paper's task, posvec has less to compute.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from posvec.language_model.batches import BatchedText
from posvec.language_model.config import LanguageModelConfig
from posvec.language_model.data import Texts
from posvec.language_model.lookup import Coverage
from posvec.language_model.network import Network
from posvec.language_model.report import LanguageModelReport
from posvec.language_model.training import LanguageModelTraining
from reporting import RESULTS, commit, cpu

DIM, BATCH, STEPS = 300, 40, 35
LR, CLIP, DROPOUT = 20.0, 0.25, 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, nargs="+", default=[10_000, 33_278], help="sizes of the vocabulary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=1, help="steps of training in a round")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "language-model.md")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    tables = []
    for words in arguments.words:
        ids = np.random.default_rng(1).integers(0, words, BATCH * STEPS * arguments.blocks)
        contestants = {
            "recipe": recipe(words, ids),
            "posvec --no-freeze": posvec(words, ids, freeze=False),
            "posvec": posvec(words, ids),
            "posvec --softmax sampled": posvec(words, ids, softmax="sampled"),
        }
        for train in contestants.values():
            train()  # warm-up: memory is allocated, threads are started
        rounds = []
        for number in range(arguments.rounds):
            rounds.append({name: len(ids) / seconds(train) for name, train in contestants.items()})
            print(words, number, {name: speed.round().tolist() for name, speed in rounds[-1].items()}, flush=True)
        tables.append(table(words, rounds))
    arguments.output.write_text(report(tables, arguments))


class Recipe(nn.Module):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.drop = nn.Dropout(DROPOUT)
        self.encoder = nn.Embedding(words, DIM)
        self.rnn = nn.LSTM(DIM, DIM, 2, dropout=DROPOUT)
        self.decoder = nn.Linear(DIM, words)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, ids: Tensor, state: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        output, state = self.rnn(self.drop(self.encoder(ids)), state)
        decoded = self.decoder(self.drop(output))
        return nn.functional.log_softmax(decoded.view(-1, decoded.size(-1)), 1), state


def recipe(words: int, ids: np.ndarray) -> Callable[[], None]:
    torch.manual_seed(1)
    model, criterion = Recipe(words), nn.NLLLoss()
    model.train()
    text = BatchedText.of(ids, BATCH, 0)

    def train() -> None:
        state, total = None, 0.0
        for segment in text.segments(STEPS, torch.device("cpu")):
            model.zero_grad()
            if state is not None:
                state = state[0].detach(), state[1].detach()
            output, state = model(segment.inputs, state)
            loss = criterion(output, segment.targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            for weight in model.parameters():
                weight.data.add_(weight.grad, alpha=-LR)
            total += loss.item()

    return train


def posvec(words: int, ids: np.ndarray, **settings: object) -> Callable[[], None]:
    config = LanguageModelConfig().replace(**settings)
    assert (config.batch, config.steps, config.hidden, config.layers) == (BATCH, STEPS, DIM, 2)
    names = ["<eos>", *map(str, range(1, words))]
    counts = np.bincount(ids, minlength=words)
    texts = Texts(names, counts, ids, ids[:BATCH], ids[:BATCH])
    described = LanguageModelReport(
        "", "", "", None, None, words, (len(ids), BATCH, BATCH), "", Coverage(0, 0, words), config
    )
    torch.manual_seed(1)
    table = np.random.default_rng(1).uniform(-0.1, 0.1, (words, DIM)).astype(np.float32)
    network = Network.create(config, table, counts)
    training = LanguageModelTraining(network, texts, described, None, torch.device("cpu"), lambda _: None)

    def train() -> None:
        training.steps_done, training.state = 0, None
        training.train_epoch()

    return train


def seconds(train: Callable[[], None]) -> np.ndarray:
    """CPU time, which hardly depends on other programs, and wall-clock time."""
    began = np.array([time.process_time(), time.perf_counter()])
    train()
    return np.array([time.process_time(), time.perf_counter()]) - began


def table(words: int, rounds: list[dict[str, np.ndarray]]) -> str:
    lines = [
        f"| {words:,} words | tokens per CPU second, median | over the recipe's, median | lowest | highest "
        "| by wall-clock time, median | lowest | highest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in rounds[0]:
        speed = statistics.median(each[name][0] for each in rounds)
        ratios = np.array([each[name] / each["recipe"] for each in rounds])
        summed = [f"{f(ratios[:, clock]):.2f}" for clock in range(2) for f in (np.median, np.min, np.max)]
        lines.append(f"| {' | '.join([name, f'{speed:,.0f}', *summed])} |")
    return "\n".join(lines)


def report(tables: list[str], arguments: argparse.Namespace) -> str:
    sizes = " ".join(map(str, arguments.words))
    return f"""# Speed of training a language model

    python benchmarks/language_model.py --words {sizes} --rounds {arguments.rounds} --blocks {arguments.blocks}

{cpu()}, one thread, PyTorch {torch.__version__}, commit {commit()}. {arguments.rounds} rounds, contestants
alternating; each round is {arguments.blocks} steps of {BATCH} x {STEPS} tokens. The recipe trains its
vectors, as posvec does with --no-freeze; by default posvec keeps them frozen, as the paper does.

{(chr(10) * 2).join(tables)}
"""


if __name__ == "__main__":
    main()
