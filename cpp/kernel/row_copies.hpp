// A table whose rows all threads update, and this thread's own copies of its busiest rows.
// Included by kernel.hpp inside the namespace of one instruction-set level.
//
// A row that two threads write travels from cache to cache at every step, and whoever writes waits for it. Few rows are
// so busy: a thread works on copies of those, and adds what it learnt to the table every so often (problem.hpp).
// Updates of other threads are seen that much later, and fewer get lost.
#pragma once

#include "fixed16.hpp"
#include "simd.hpp"

namespace posvec::POSVEC_LEVEL {

class SharedTable {
  public:
    // Rows `first` .. first + count - 1 have copies; there is memory for two of each.
    SharedTable(void *rows, std::size_t row_bytes, std::uint32_t first, std::uint32_t count, unsigned char *copies)
        : row_bytes(row_bytes), first(first), count(count), rows(static_cast<unsigned char *>(rows)), copies(copies),
          as_fetched(copies + count * row_bytes) {}

    // To be trained: a row's copy, if it has one. Without a branch, for which it will be cannot be foreseen.
    unsigned char *operator[](std::uint32_t row) const {
        return shared(row) + (-static_cast<std::ptrdiff_t>(has_copy(row)) & to_copy);
    }

    bool has_copy(std::uint32_t row) const { return row - first < count; }
    unsigned char *shared(std::uint32_t row) const { return rows + row * row_bytes; }

    // Copies what the table has.
    template <class Number> void fetch() const {
        each<Number>([](const Number *shared, Number *copy, Number *before) {
            const auto values = load_shared(shared);
            store(copy, values);
            store(before, values);
        });
    }

    // Adds to the table what the copies have learnt.
    template <class Number> void merge() const {
        each<Number>([](Number *shared, const Number *copy, const Number *before) {
            move_shared(shared, load(copy) - load(before));
        });
    }

  private:
    template <class Number, class Body> void each(Body body) const {
        Number *shared = reinterpret_cast<Number *>(rows + first * row_bytes);
        Number *copy = reinterpret_cast<Number *>(copies), *before = reinterpret_cast<Number *>(as_fetched);
        constexpr std::size_t lanes = sizeof(load(copy)) / sizeof(Number);
        for (std::size_t j = 0, size = count * row_bytes / sizeof(Number); j < size; j += lanes)
            body(shared + j, copy + j, before + j);
    }

    const std::size_t row_bytes;
    const std::uint32_t first, count;
    unsigned char *const rows, *const copies, *const as_fetched;
    const std::ptrdiff_t to_copy = copies - rows - static_cast<std::ptrdiff_t>(first * row_bytes);  // of a row
};

}  // namespace posvec::POSVEC_LEVEL
