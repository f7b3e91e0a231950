// The fixed-point arithmetic of the training step on given arrays, for a test that compares it bit for bit with an
// exact reference (src/posvec/training/reference_fixed16.py). The functions call those of the trainer and compute
// nothing themselves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace posvec {

// One masked word's output rows. Arrays are aligned to 64 bytes; rows and contexts have `size` numbers, a multiple of
// kPad, and what belongs to the rows is padded to a multiple of kPad, too.
struct Fixed16Outputs {
    std::size_t size, count;
    const float *context;             // u
    const float *step_sizes;          // g (count, padded with zeros)
    std::int16_t *const *rows;        // (count), updated in place
    std::uint64_t seed;               // of the random rounding
    float *scores;                    // (count), written
    float *error;                     // e, updated in place
    std::int16_t *quantized_context;  // written, as are the quantized step sizes
    std::int32_t *weights, *moves;
};

// The input rows of one word, `size` numbers each; aligned likewise.
struct Fixed16Inputs {
    std::size_t size, count;
    std::int16_t *const *rows;  // (count)
};

// The functions of one CPU level.
struct Fixed16Probe {
    std::size_t lanes;  // 32-bit numbers added up side by side
    void (*train_outputs)(const Fixed16Outputs &);
    void (*sum_inputs)(const Fixed16Inputs &, float *sum);
    // Adds (sum - before) / count to each row, rounded at random; `roundings` (kRoundings, size) is working memory.
    void (*update_inputs)(const Fixed16Inputs &, const float *sum, const float *before, std::uint64_t seed,
                          std::int16_t *roundings);
    float (*multiply_add)(float a, float b, float c);  // a b + c, rounded once where the CPU level has FMA
};

}  // namespace posvec
