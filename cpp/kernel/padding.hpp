// Rows are padded so that no loop over features has a ragged end.
#pragma once

#include <cstddef>

namespace posvec {

// Rows of every table, and the positional part of a row, are padded to a multiple of this many numbers: 64 bytes of
// float.
constexpr std::size_t kPad = 16;

[[gnu::always_inline]] constexpr std::size_t padded(std::size_t n) { return (n + kPad - 1) / kPad * kPad; }

}  // namespace posvec
