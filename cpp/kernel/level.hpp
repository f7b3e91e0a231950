// What each build of the kernel, for one instruction-set level, offers to the plain build.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunk.hpp"
#include "number_formats.hpp"
#include "options.hpp"
#include "scratch.hpp"
#include "tables.hpp"

namespace posvec {

template <class Format>
using TrainFunction = ChunkResult (*)(const Tables<Format> &, const WordRows &, const Draws &, const KernelOptions &,
                                      double lr, const Scratch<Format> &);

// Walker's alias table of the negatives: draw a word, and keep it with its cell's probability, else take the other.
struct AliasCell {
    float probability;
    std::uint32_t other;
};

using DrawFunction = void (*)(std::uint32_t *drawn, std::size_t count, const AliasCell *cells, std::uint32_t words,
                              std::uint64_t state);

struct Fixed16Probe;

struct Level {
    const char *name;
    DrawFunction draw_words;
    TrainFunction<Float32> train_float32;
    TrainFunction<Float64> train_float64;
    TrainFunction<Fixed16> train_fixed16;
    const Fixed16Probe *fixed16_probe;  // for tests
};

}  // namespace posvec
