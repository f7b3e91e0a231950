// Rows of whole units in 16 bits (problem.hpp): added up, and moved by steps that are rounded at random.
// Included by kernel.hpp inside the namespace of one instruction-set level.
#pragma once

#include "simd.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace posvec::POSVEC_LEVEL {

constexpr std::size_t kPairBytes = POSVEC_VECTOR_BYTES < 32 ? POSVEC_VECTOR_BYTES : 32;
constexpr std::size_t kPairs = kPairBytes / 4;
typedef std::int32_t Ints __attribute__((vector_size(kPairBytes), may_alias));
typedef std::uint32_t Bits __attribute__((vector_size(kPairBytes), may_alias));
typedef float Floats __attribute__((vector_size(kPairBytes), may_alias));
typedef Narrow Shorts __attribute__((vector_size(kPairBytes), may_alias));
typedef std::uint16_t Unsigned __attribute__((vector_size(kPairBytes), may_alias));

inline Shorts add_saturated(Shorts a, Shorts b) {
#if defined(__AVX2__)
    return Shorts(_mm256_adds_epi16(__m256i(a), __m256i(b)));
#elif defined(__SSE2__)
    return Shorts(_mm_adds_epi16(__m128i(a), __m128i(b)));
#else
    const Shorts sum = Shorts(Unsigned(a) + Unsigned(b)), overflow = ((a ^ sum) & (b ^ sum)) >> 15;
    return (sum & ~overflow) | (((a >> 15) ^ 0x7fff) & overflow);
#endif
}

POSVEC_HOGWILD inline Ints load_shared_pairs(const Narrow *p) { return *reinterpret_cast<const Ints *>(p); }
POSVEC_HOGWILD inline void add_shared_units(Narrow *p, Shorts units) {
    Shorts *shared = reinterpret_cast<Shorts *>(p);
    *shared = add_saturated(*shared, units);
}

inline void add_units(float *y, Ints units) {
    *reinterpret_cast<Floats *>(y) += __builtin_convertvector(units, Floats) * kUnit;
}

// y += all rows
template <int T> inline void add_narrow_rows(float *y, const Rows<Narrow, T> &rows, std::size_t n) {
    for (std::size_t j = 0; j < n; j += kPad)
        for (std::size_t k = 0; k < kPad / 2; k += kPairs) {
            Ints lower{}, upper{};
            for (int i = 0; i < T; i++) {
                const Ints pairs = load_shared_pairs(rows.row[i] + j + 2 * k);
                lower += pairs << 16 >> 16;
                upper += pairs >> 16;
            }
            add_units(y + j + k, lower);
            add_units(y + j + kPad / 2 + k, upper);
        }
}

// each row += its own of `steps`, rows of n units
template <int T> inline void add_to_narrow_rows(const Rows<Narrow, T> &rows, const Narrow *steps, std::size_t n) {
    for (std::size_t j = 0; j < n; j += 2 * kPairs)
        for (int i = 0; i < T; i++)
            add_shared_units(rows.row[i] + j, *reinterpret_cast<const Shorts *>(steps + i * n + j));
}

// Steps rounded at random to whole units. Random numbers are drawn for kPad features at a time, so that every level of
// the kernel draws the same.
class Rounding {
  public:
    explicit Rounding(std::uint64_t seed) {
        for (auto &lane : lanes) lane = static_cast<std::uint32_t>(mixed(seed += kMixStep) >> 32) | 1;
    }

    // kRoundings rows of n units, each of them x on average: rounded up where the fraction is above a random threshold,
    // the thresholds of different rows lying evenly apart.
    void round(Narrow *steps, const float *x, std::size_t n) {
        for (std::size_t j = 0; j < n; j += kPad)
            for (std::size_t k = 0; k < kPad / 2; k += kPairs) {
                const Bits lower = parts_of_units(x + j + k), upper = parts_of_units(x + j + kPad / 2 + k);
                const Shorts whole = Shorts(lower >> 16 | (upper & 0xffff0000));
                const Shorts fraction = Shorts((lower & 0xffff) | upper << 16) ^ kSign;  // compared as signed numbers
                const Unsigned random = Unsigned(draw(k));
                for (std::size_t i = 0; i < kRoundings; i++) {
                    const Shorts threshold = Shorts(random + static_cast<std::uint16_t>(i * 65536 / kRoundings));
                    *reinterpret_cast<Shorts *>(steps + i * n + j + 2 * k) = whole - (fraction > threshold);
                }
            }
    }

  private:
    static constexpr Narrow kSign = -32768;

    // Whole units in the upper 16 bits, their fraction in the lower ones.
    static Bits parts_of_units(const float *x) {
        Floats units = *reinterpret_cast<const Floats *>(x) * (1 / kUnit);
        units = units > kMostUnits ? Floats{} + kMostUnits : units;
        units = units < kLeastUnits ? Floats{} + kLeastUnits : units;
        return Bits(__builtin_convertvector(units * 65536.0f, Ints));
    }

    Bits draw(std::size_t k) {
        Bits *lane = reinterpret_cast<Bits *>(lanes + k);
        Bits bits = *lane;  // xorshift
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        return *lane = bits;
    }

    alignas(64) std::uint32_t lanes[kPad / 2];
};

}  // namespace posvec::POSVEC_LEVEL
