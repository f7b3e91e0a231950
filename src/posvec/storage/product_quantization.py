"""Product quantization (Jégou et al. 2011): sub-vectors replaced by the number of their nearest centroid.

A row is cut into sub-vectors of a few numbers. Each position of a sub-vector in the row has 256 centroids of its own,
found by k-means, and a sub-vector is stored as the number of the nearest one: a byte. The direction of a row is
quantized rather than the row itself, so that short rows have no larger relative error than long ones. The scale of a
row minimizes the distance between the row and its scaled decoded direction.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.storage.tables import QuantizedTable, VectorTable, finite_rows, row_blocks
from posvec.system.arrays import FloatArray, IndexArray, unit_rows
from posvec.system.threads import map_in_order

CENTROIDS = 256
SAMPLE = 16_384
"""The number of rows that k-means is given."""
ITERATIONS = 12
"""The number of iterations of k-means."""


class ProductTable(QuantizedTable):
    """Product quantization: one byte for each sub-vector and a scale for each row."""

    def decode(self, ids: IndexArray) -> FloatArray:
        scales: FloatArray = self.tensors["scales"][ids]
        return _decode_directions(self.tensors["codes"][ids], self.tensors["codebook"], self.shape[1]) * scales[:, None]

    @staticmethod
    def quantize(
        table: VectorTable, ids: IndexArray, advance: Callable[[int], None], sub_vector: int, seed: int
    ) -> ProductTable:
        dim = table.shape[1]
        sample = np.sort(np.random.default_rng(seed).permutation(len(ids))[:SAMPLE])
        codebook = train_codebook(_split(unit_rows(finite_rows(table, ids[sample])), sub_vector), seed)
        codes = np.empty((len(ids), len(codebook)), np.uint8)
        scales = np.empty(len(ids), np.float32)

        def quantize_block(block: slice) -> int:
            rows = finite_rows(table, ids[block])
            codes[block] = nearest_centroids(_split(unit_rows(rows), sub_vector), codebook)
            directions = _decode_directions(codes[block], codebook, dim)
            squares = np.einsum("ij,ij->i", directions, directions)
            scales[block] = np.einsum("ij,ij->i", rows, directions) / np.where(squares > 0, squares, 1)
            return len(rows)

        for done in map_in_order(quantize_block, row_blocks(len(ids))):
            advance(done)
        return ProductTable({"codes": codes, "scales": scales, "codebook": codebook}, len(ids), dim)


def train_codebook(rows: FloatArray, seed: int) -> FloatArray:
    """Find centroids by k-means.

    Parameters
    ----------
    rows
        Rows cut into sub-vectors, (n, positions, d).
    seed
        Selects the rows whose sub-vectors are the first centroids.

    Returns
    -------
    ndarray
        The centroids at each position, (positions, up to 256, d).
    """
    count, positions, width = rows.shape
    chosen = np.random.default_rng(seed).permutation(count)[:CENTROIDS]
    codebook = np.ascontiguousarray(rows[chosen].transpose(1, 0, 2))
    if not count:
        return np.zeros((positions, 1, width), np.float32)
    blocks = list(row_blocks(count))
    for _ in range(ITERATIONS if count > CENTROIDS else 0):
        codes = np.concatenate(list(map_in_order(lambda block: nearest_centroids(rows[block], codebook), blocks)))
        for position in range(positions):
            size = np.bincount(codes[:, position], minlength=CENTROIDS)
            used = size > 0  # a centroid without sub-vectors keeps its value
            for i in range(width):
                sums = np.bincount(codes[:, position], rows[:, position, i], CENTROIDS)
                codebook[position, used, i] = sums[used] / size[used]
    return codebook


def nearest_centroids(rows: FloatArray, codebook: FloatArray) -> NDArray[np.uint8]:
    """Return the number of the centroid nearest to each sub-vector, (n, positions), of rows (n, positions, d)."""
    codes = np.empty(rows.shape[:2], np.uint8)
    _kernel.nearest_centroids(rows, codebook, codes)
    return codes


def _split(rows: FloatArray, sub_vector: int) -> FloatArray:
    """Cut rows into sub-vectors, (n, positions, d); the last one is padded with zeros."""
    positions = -(-rows.shape[1] // sub_vector)
    padded = np.zeros((len(rows), positions * sub_vector), np.float32)
    padded[:, : rows.shape[1]] = rows
    return padded.reshape(len(rows), positions, sub_vector)


def _decode_directions(codes: NDArray[np.uint8], codebook: FloatArray, dim: int) -> FloatArray:
    positions, centroids, width = codebook.shape
    rows = codes + np.arange(positions) * centroids
    # Clipped rather than checked: a damaged code gives a wrong vector and never reads beyond the table.
    directions: FloatArray = codebook.reshape(-1, width).take(rows, axis=0, mode="clip")
    return directions.reshape(len(codes), positions * width)[:, :dim]
