// The settings of the kernel, declared once: the struct and its Python binding follow from this list.
#pragma once

#include <cstdint>

// FIELD(type, name, default, description) for each setting.
#define POSVEC_KERNEL_OPTIONS(FIELD)                                                                                   \
    FIELD(std::uint32_t, window, 0, "c, the largest distance between a masked word and a context word")                \
    FIELD(std::uint32_t, negatives, 0, "negative examples per masked word")                                            \
    FIELD(std::uint32_t, negative_reuse, 1, "masked words that use one draw of a negative")                            \
    FIELD(bool, mean_over_words, false, "N counts the context words rather than their rows")                           \
    FIELD(bool, exact_gradient, false, "e is divided by N")                                                            \
    FIELD(bool, summed_positional, false, "the gradient of d_p is summed over a word's rows, not averaged")            \
    FIELD(bool, train_positions, true, "d is trained")                                                                 \
    FIELD(bool, shrink, true, "each window is drawn from 1 .. c")                                                      \
    FIELD(bool, text_positions, false, "positions count all tokens of the line, not only the kept words")              \
    FIELD(double, score_limit, 0, "scores beyond it give no update; 0: no limit")                                      \
    FIELD(std::uint32_t, threads, 1, "threads that train at the same time")

namespace posvec {

struct KernelOptions {
#define POSVEC_DECLARE_OPTION(type, name, value, description) type name = value;
    POSVEC_KERNEL_OPTIONS(POSVEC_DECLARE_OPTION)
#undef POSVEC_DECLARE_OPTION
};

}  // namespace posvec
