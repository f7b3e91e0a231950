// How many rows each thread copies (row_copies.hpp), and how often it merges the copies into the shared tables.
#pragma once

#include <cstddef>
#include <cstdint>

#include "options.hpp"

namespace posvec {

// Masked words that a thread trains between two merges. The smaller the vocabulary, the fewer, because each word occurs
// more often. Two threads that move a row the same way at once overshoot by no more than that way, but four or more
// diverge, and must see the others' updates sooner (benchmarks/JOURNAL.md).
[[gnu::always_inline]] constexpr std::uint32_t words_between_merges(const KernelOptions &options,
                                                                    std::uint32_t vocabulary) {
    const std::uint64_t others = options.threads > 1 ? options.threads - 1 : 1;
    const std::uint32_t words = vocabulary / 32 < 8192 ? vocabulary / 32 : 8192;
    return static_cast<std::uint32_t>(words / (others * others * others));
}

// Masked words between two merges for each copied row. The more words, the less copying costs. Output rows get fewer
// copies, because an output row is less likely to be in the other threads' caches, too.
constexpr std::uint32_t kWordsPerInputCopy = 4, kWordsPerOutputCopy = 16;

// Rows of a table of `rows` that a thread copies while it trains a chunk of `size` words.
[[gnu::always_inline]] constexpr std::uint32_t copied_rows(const KernelOptions &options, std::uint32_t vocabulary,
                                                           std::uint32_t rows, std::size_t size,
                                                           std::uint32_t words_per_copy) {
    if (options.threads == 1) return 0;
    const std::size_t between_merges = words_between_merges(options, vocabulary);
    const std::size_t copies = (size < between_merges ? size : between_merges) / words_per_copy;
    return copies < rows ? static_cast<std::uint32_t>(copies) : rows;
}

}  // namespace posvec
