// A chunk of lines, the unit of training: what is drawn for it beforehand (sampling.hpp), and what training it gives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace posvec {

// The context of masked word t is every kept word first[t] .. last[t] but t itself.
struct Draws {
    std::size_t size;             // kept words, each of which is masked once
    const std::uint32_t *word;    // id
    const std::uint32_t *offset;  // in its line; positions are differences of offsets
    const std::uint32_t *first;
    const std::uint32_t *last;
    const std::uint32_t *needed;     // (size + 1): the first word in the context of any masked word from t on
    const std::uint32_t *negatives;  // (size, options.negatives)
    std::uint64_t seed;              // of stochastic rounding
};

struct ChunkResult {
    std::uint64_t masked_words = 0;
    double loss = 0;  // sum over masked words
};

}  // namespace posvec
