// The parameters of a model, as plain pointers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace posvec {

// Shared by all threads and updated without locks.
template <class Format> struct Tables {
    typename Format::Stored *input;  // (words + ngram_rows, padded(D)): words, then n-grams, the most frequent first
    std::uint32_t ngram_rows;
    typename Format::Stored *output;  // (words, padded(D))
    std::uint32_t words;
    typename Format::Real *positional;  // (2c, D'), rows `positional_stride` apart
    std::size_t positional_stride;
};

// Rows of the input table that make up each word: rows[begin[w]] .. rows[begin[w + 1] - 1].
struct WordRows {
    const std::uint64_t *begin;
    const std::uint32_t *rows;
};

}  // namespace posvec
