// Random numbers from a counter. Every instruction-set level draws the same: all functions are always inlined, so that
// the linker has no copy compiled for one machine to use on another.
#pragma once

#include <cstdint>

namespace posvec {

// SplitMix64's mix of the bits of a counter (Steele, Lea, Flood 2014).
[[gnu::always_inline]] constexpr std::uint64_t mix_bits(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
constexpr std::uint64_t kMixStep = 0x9e3779b97f4a7c15u;  // added to the counter for each number

// Random bits as a number in 0 .. n - 1, by multiplication rather than division (Lemire 2019); the bias is below
// n / 2^32.
[[gnu::always_inline]] constexpr std::uint32_t bounded(std::uint64_t bits, std::uint32_t n) {
    return static_cast<std::uint32_t>((bits >> 32) * n >> 32);
}

// Random bits as a number in [0, 1).
[[gnu::always_inline]] constexpr float uniform(std::uint64_t bits) {
    return static_cast<float>(static_cast<std::int32_t>(bits >> 40)) * 0x1p-24f;
}

}  // namespace posvec
