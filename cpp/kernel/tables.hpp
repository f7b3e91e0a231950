// The parameters of a model, as plain pointers.
//
// A model has one or two heads, whose features stand side by side in a word's vectors: a word head, in which a word has
// a single row, and a spelling head, in which it has its own row and those of its n-grams. Each head has tables of its
// own and is trained on its own; both see the same masked words, contexts and negatives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace posvec {

// The tables of a head with D features, of which the first D' are weighted by position. Shared by all threads and
// updated without locks.
template <class Format> struct Tables {
    std::uint32_t dim, positional_dim;  // D, D'
    typename Format::Stored *input;     // (words + ngram_rows, padded(D)): words, then n-grams, the most frequent first
    std::uint32_t ngram_rows;
    typename Format::Stored *output;  // (words, padded(D)), rows `output_stride` apart
    std::size_t output_stride;
    std::uint32_t words;
    typename Format::Real *positional;  // (2c, D'), rows `positional_stride` apart
    std::size_t positional_stride;
};

// Rows of the input table that make up each word: rows[begin[w]] .. rows[begin[w + 1] - 1].
struct WordRows {
    const std::uint64_t *begin;
    const std::uint32_t *rows;
};

template <class Format> struct Head {
    Tables<Format> tables;
    WordRows rows;
    double rate;  // of the learning rate
};

}  // namespace posvec
