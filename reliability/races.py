"""Two threads that train one model: python races.py own|shared, under ThreadSanitizer.

With their ``own`` workspaces, the threads race only for the rows of the model. These races are deliberate (HogWild) and
declared, so nothing is reported. With a ``shared`` workspace, which is an error, the sanitizer must report a race.
"""

from __future__ import annotations

import sys
import threading

import numpy as np

from posvec import _kernel
from posvec.system.arrays import kernel_view, padded_table

WORDS, DIM, LINES, LENGTH = 50, 16, 1000, 20


def main() -> None:
    options = _kernel.KernelOptions()
    options.window, options.negatives = 3, 3
    tables = [padded_table(WORDS, DIM) for _ in range(2)]
    for table in tables:
        table[:] = 0.1
    every, ones = np.arange(WORDS, dtype=np.uint32), np.ones(WORDS, np.float32)
    rows = np.arange(WORDS + 1, dtype=np.uint64), every
    head = _kernel.Float32Head(*map(kernel_view, tables), np.ones((6, 8), np.float32), *rows, DIM)
    trainer = _kernel.Float32Trainer([head], ones, ones, every, options, "")
    ids = np.random.default_rng(1).integers(0, WORDS, LINES * LENGTH).astype(np.uint32)
    lines = np.arange(0, LINES * LENGTH + 1, LENGTH, dtype=np.uint64)

    def train(workspace: _kernel.Workspace) -> None:
        for seed in range(5):
            trainer.train(workspace, ids, lines, 0, LINES, 0.01, seed)

    shared = _kernel.Workspace()
    workspaces = [shared, shared] if sys.argv[1] == "shared" else [_kernel.Workspace() for _ in range(2)]
    threads = [threading.Thread(target=train, args=(workspace,)) for workspace in workspaces]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
