// What replicas of a model exchange (distributed/replica.py): how far rows have moved, extracted, added and applied in
// one pass over memory. Rows hold float32 numbers or fixed16 units; the latter saturate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "saturating.hpp"

namespace posvec {

// Rows of `width` numbers that may be parts of wider rows: they begin `stride` numbers apart.
template <class Number> struct RowBlock {
    Number *data;
    std::int64_t stride;
    std::size_t rows, width;

    Number *operator[](std::size_t r) const { return data + static_cast<std::int64_t>(r) * stride; }
};

// Some of the rows of a block: which ones, in ascending order, and how far each has moved.
template <class Number> struct Deltas {
    const std::uint32_t *indices;
    RowBlock<const Number> rows;
};

template <class Value> inline Value sum(Value a, Value b) { return a + b; }
template <class Value> inline Value difference(Value a, Value b) { return a - b; }

// Vectors of 16 bytes, which every x86-64 has: this work waits for memory, so that wider ones would not be faster.
template <class Number> struct Lanes {
    typedef Number Vector __attribute__((vector_size(16), aligned(alignof(Number)), may_alias));
    static constexpr std::size_t kCount = 16 / sizeof(Number);
};
using UnitLanes = Lanes<std::int16_t>::Vector;

template <> inline std::int16_t sum(std::int16_t a, std::int16_t b) { return add_saturating(a, b); }
template <> inline std::int16_t difference(std::int16_t a, std::int16_t b) { return subtract_saturating(a, b); }
template <> inline UnitLanes sum(UnitLanes a, UnitLanes b) { return add_saturating(a, b); }
template <> inline UnitLanes difference(UnitLanes a, UnitLanes b) { return subtract_saturating(a, b); }

// to[j] = function(from[j]...) for j < n
template <class Number, class Function, class... From>
void transform_row(std::size_t n, Number *to, Function function, const From *...from) {
    using Vector = typename Lanes<Number>::Vector;
    std::size_t j = 0;
    for (; j + Lanes<Number>::kCount <= n; j += Lanes<Number>::kCount)
        *reinterpret_cast<Vector *>(to + j) = function(*reinterpret_cast<const Vector *>(from + j)...);
    for (; j < n; j++) to[j] = function(from[j]...);
}

// Copies `rows` to `snapshot` and appends the differences rows - base that are not zero to the `count` in `deltas`,
// which has room for all rows; row r of the block has the index first + r. Returns the new count.
template <class Number>
std::size_t extract_deltas(const RowBlock<Number> &rows, const RowBlock<const Number> &base,
                           const RowBlock<Number> &snapshot, const RowBlock<Number> &deltas, std::uint32_t *indices,
                           std::size_t first, std::size_t count) {
    for (std::size_t r = 0; r < rows.rows; r++) {
        Number *delta = deltas[count];
        const Number *row = rows[r];
        transform_row(rows.width, delta, [](auto now, auto then) { return difference(now, then); }, row, base[r]);
        std::copy_n(row, rows.width, snapshot[r]);
        indices[count] = static_cast<std::uint32_t>(first + r);
        count += std::any_of(delta, delta + rows.width, [](Number x) { return x != 0; });
    }
    return count;
}

// Replaces the base of rows by new values and keeps what was added to it: rows = values + (rows - base).
template <class Number>
void rebase(const RowBlock<Number> &rows, const RowBlock<const Number> &base, const RowBlock<const Number> &values) {
    for (std::size_t r = 0; r < rows.rows; r++)
        transform_row(
            rows.width, rows[r], [](auto now, auto then, auto value) { return sum(value, difference(now, then)); },
            rows[r], base[r], values[r]);
}

// Adds all deltas to the rows, row by row, so that each row is read and written once.
template <class Number> void apply_deltas(const RowBlock<Number> &rows, const std::vector<Deltas<Number>> &deltas) {
    std::vector<std::size_t> next(deltas.size());  // of each of the deltas, the first that is not applied yet
    for (std::size_t r = 0; r < rows.rows; r++)
        for (std::size_t i = 0; i < deltas.size(); i++)
            if (next[i] < deltas[i].rows.rows && deltas[i].indices[next[i]] == r)
                transform_row(
                    rows.width, rows[r], [](auto a, auto b) { return sum(a, b); }, rows[r], deltas[i].rows[next[i]++]);
}

}  // namespace posvec
