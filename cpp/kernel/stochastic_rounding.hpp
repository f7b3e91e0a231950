// Updates rounded to whole units at random, so that they are right on average however small they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fixed16_vectors.hpp"
#include "number_formats.hpp"
#include "random_bits.hpp"

namespace posvec::POSVEC_LEVEL {

// Random numbers are drawn for kPad features at a time, so that every level of the kernel draws the same.
class StochasticRounding {
  public:
    explicit StochasticRounding(std::uint64_t seed) {
        for (auto &state : states_) state = static_cast<std::uint32_t>(mix_bits(seed += kMixStep) >> 32) | 1;
    }

    // The first `Count` of kRoundings rows of n units, each of them (x - before) weight on average: rounded up where
    // the fraction is above a random threshold. The thresholds of different rows are evenly spaced.
    template <std::size_t Count = kRoundings>
    void round(std::int16_t *steps, const float *x, const float *before, float weight, std::size_t n) {
        const float to_parts = weight * (kParts / kInputUnit);
        for_fixed16_vectors(n, [&](std::size_t index, std::size_t lower, std::size_t upper) {
            const Int32s lower_parts = difference_in_parts(x + lower, before + lower, to_parts);
            const Int32s upper_parts = difference_in_parts(x + upper, before + upper, to_parts);
            const Int16s integer = pack(lower_parts >> 16, upper_parts >> 16);
            const Int16s fraction =
                pack(lower_parts << 16 >> 16, upper_parts << 16 >> 16) ^ kSignBit;  // compared as signed
            const Uint16s random = Uint16s(draw(index));
            for (std::size_t i = 0; i < Count; i++) {
                const Int16s threshold = Int16s(random + static_cast<std::uint16_t>(i * 65536 / kRoundings));
                store(steps + i * n + index, integer - (fraction > threshold));
            }
        });
    }

    // Random bits for the vector that begins at `index` of a row (xorshift).
    Uint32s draw(std::size_t index) {
        Uint32s *state = reinterpret_cast<Uint32s *>(states_ + index / 2 % (kPad / 2));
        Uint32s bits = *state;
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        return *state = bits;
    }

  private:
    static constexpr std::int16_t kSignBit = -32768;
    static constexpr float kParts = 65536;  // of a unit

    // x - before: whole units in the upper 16 bits, their fraction in the lower ones.
    static Int32s difference_in_parts(const float *x, const float *before, float to_parts) {
        constexpr float most = kMaxUnits * kParts, least = kMinUnits * kParts;
        Floats parts = (load_floats(x) - load_floats(before)) * to_parts;
        parts = parts > most ? Floats{} + most : parts;
        parts = parts < least ? Floats{} + least : parts;
        return __builtin_convertvector(parts, Int32s);
    }

    alignas(64) std::uint32_t states_[kPad / 2];
};

}  // namespace posvec::POSVEC_LEVEL
