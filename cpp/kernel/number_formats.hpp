// The numbers that the tables are stored in while they are trained, and those that the step computes with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "padding.hpp"

namespace posvec {

struct Float32 {
    using Stored = float;
    using Real = float;
};

struct Float64 {
    using Stored = double;
    using Real = double;
};

// Training waits for rows on their way through memory, and 16-bit rows are half as long. A feature is a whole number of
// units: within +-16 in the input table, and within +-4 in the output table, whose features are smaller.
struct Fixed16 {
    using Stored = std::int16_t;
    using Real = float;
};

constexpr float kInputUnit = 1.0f / 2048, kOutputUnit = 1.0f / 8192;
constexpr float kMinUnits = -32768, kMaxUnits = 32767;

// The index at which the k-th of kPad fixed16 numbers is stored: the second and the third quarter are exchanged.
// Instructions that interleave two rows, or pack two vectors into one, work on each 16 bytes separately; in this order
// they give the first and the second half of the numbers.
[[gnu::always_inline]] constexpr std::size_t fixed16_index(std::size_t k) {
    constexpr std::size_t quarter = kPad / 4;
    return k / quarter == 1 ? k + quarter : k / quarter == 2 ? k - quarter : k;
}

// Updates smaller than a unit must not get lost: each is rounded up as often as its fraction says. All rows of a word
// get the same update. They take turns with this many roundings of it, which add up to it more closely than one would.
constexpr std::size_t kRoundings = 4;

}  // namespace posvec
