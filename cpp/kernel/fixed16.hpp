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

// a b / 2^15, rounded
inline Shorts scaled(Shorts a, Shorts b) {
#if defined(__AVX2__)
    return Shorts(_mm256_mulhrs_epi16(__m256i(a), __m256i(b)));
#elif defined(__SSSE3__)
    return Shorts(_mm_mulhrs_epi16(__m128i(a), __m128i(b)));
#else
    for (std::size_t k = 0; k < 2 * kPairs; k++) a[k] = static_cast<Narrow>((a[k] * b[k] + (1 << 14)) >> 15);
    return a;
#endif
}

// Products of lanes, added up two by two.
inline Ints products(Shorts a, Shorts b) {
#if defined(__AVX2__)
    return Ints(_mm256_madd_epi16(__m256i(a), __m256i(b)));
#elif defined(__SSE2__)
    return Ints(_mm_madd_epi16(__m128i(a), __m128i(b)));
#else
    Ints sums;
    for (std::size_t k = 0; k < kPairs; k++) sums[k] = a[2 * k] * b[2 * k] + a[2 * k + 1] * b[2 * k + 1];
    return sums;
#endif
}

// Two rows, multiplied by their weights, which take turns, and added up in 32 bits: to `lower` what is in the first
// half of each 16 bytes, to `upper` the second.
inline void add_both(Ints &lower, Ints &upper, Shorts a, Shorts b, Shorts weights) {
#if defined(__AVX2__)
    lower += products(Shorts(_mm256_unpacklo_epi16(__m256i(a), __m256i(b))), weights);
    upper += products(Shorts(_mm256_unpackhi_epi16(__m256i(a), __m256i(b))), weights);
#elif defined(__SSE2__)
    lower += products(Shorts(_mm_unpacklo_epi16(__m128i(a), __m128i(b))), weights);
    upper += products(Shorts(_mm_unpackhi_epi16(__m128i(a), __m128i(b))), weights);
#else
    for (std::size_t k = 0; k < kPairs; k++) {
        lower[k] += a[k] * weights[0] + b[k] * weights[1];
        upper[k] += a[kPairs + k] * weights[0] + b[kPairs + k] * weights[1];
    }
#endif
}

// Numbers of at most 16 bits, as add_both takes them apart.
inline Shorts packed(Ints lower, Ints upper) {
#if defined(__AVX2__)
    return Shorts(_mm256_packs_epi32(__m256i(lower), __m256i(upper)));
#elif defined(__SSE2__)
    return Shorts(_mm_packs_epi32(__m128i(lower), __m128i(upper)));
#else
    Shorts both;
    for (std::size_t k = 0; k < kPairs; k++) {
        both[k] = static_cast<Narrow>(lower[k]);
        both[kPairs + k] = static_cast<Narrow>(upper[k]);
    }
    return both;
#endif
}

inline Shorts load(const Narrow *p) { return *reinterpret_cast<const Shorts *>(p); }
inline void store(Narrow *p, Shorts units) { *reinterpret_cast<Shorts *>(p) = units; }
POSVEC_HOGWILD inline Shorts load_shared(const Narrow *p) { return *reinterpret_cast<const Shorts *>(p); }
POSVEC_HOGWILD inline void move_shared(Narrow *p, Shorts by) {
    Shorts *shared = reinterpret_cast<Shorts *>(p);
    *shared = add_saturated(*shared, by);
}

inline void add_units(float *y, Ints units, float unit) {
    *reinterpret_cast<Floats *>(y) += __builtin_convertvector(units, Floats) * unit;
}

// Calls body(place, lower, upper) for each vector of a row of n units, which has the features from `lower` and from
// `upper` on.
template <class Body> [[gnu::always_inline]] inline void for_halves(std::size_t n, Body body) {
    for (std::size_t j = 0; j < n; j += kPad)
        for (std::size_t k = 0; k < kPad / 2; k += kPairs) body(j + 2 * k, j + k, j + kPad / 2 + k);
}

// y += all rows
template <int T> inline void add_narrow_rows(float *y, const Rows<Narrow, T> &rows, std::size_t n) {
    for_halves(n, [&](std::size_t place, std::size_t lower, std::size_t upper) {
        Ints lower_sum{}, upper_sum{};
        for (int i = 0; i < T; i += 2)
            add_both(lower_sum, upper_sum, load_shared(rows.row[i] + place),
                     i + 1 < T ? load_shared(rows.row[i + 1] + place) : Shorts{}, Shorts{} + Narrow(1));
        add_units(y + lower, lower_sum, kInputUnit);
        add_units(y + upper, upper_sum, kInputUnit);
    });
}

// each row += its own of `steps`, rows of n units
template <int T> inline void add_to_narrow_rows(const Rows<Narrow, T> &rows, const Narrow *steps, std::size_t n) {
    for (std::size_t j = 0; j < n; j += 2 * kPairs)
        for (int i = 0; i < T; i++) move_shared(rows.row[i] + j, load(steps + i * n + j));
}

// Steps rounded at random to whole units. Random numbers are drawn for kPad features at a time, so that every level of
// the kernel draws the same.
class Rounding {
  public:
    explicit Rounding(std::uint64_t seed) {
        for (auto &lane : lanes) lane = static_cast<std::uint32_t>(mixed(seed += kMixStep) >> 32) | 1;
    }

    // kRoundings rows of n units, each of them (x - before) share on average: rounded up where the fraction is above a
    // random threshold, the thresholds of different rows lying evenly apart.
    void round(Narrow *steps, const float *x, const float *before, float share, std::size_t n) {
        const float to_parts = share * (kParts / kInputUnit);
        for_halves(n, [&](std::size_t place, std::size_t lower, std::size_t upper) {
            const Ints lower_parts = parts_of_units(x + lower, before + lower, to_parts);
            const Ints upper_parts = parts_of_units(x + upper, before + upper, to_parts);
            const Shorts whole = packed(lower_parts >> 16, upper_parts >> 16);
            const Shorts fraction =
                packed(lower_parts << 16 >> 16, upper_parts << 16 >> 16) ^ kSign;  // compared as signed
            const Unsigned random = Unsigned(draw(place));
            for (std::size_t i = 0; i < kRoundings; i++) {
                const Shorts threshold = Shorts(random + static_cast<std::uint16_t>(i * 65536 / kRoundings));
                store(steps + i * n + place, whole - (fraction > threshold));
            }
        });
    }

    // Random bits for the vector at a place of a row.
    Bits draw(std::size_t place) {
        Bits *lane = reinterpret_cast<Bits *>(lanes + place / 2 % (kPad / 2));
        Bits bits = *lane;  // xorshift
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        return *lane = bits;
    }

  private:
    static constexpr Narrow kSign = -32768;
    static constexpr float kParts = 65536;  // of a unit

    // Whole units in the upper 16 bits, their fraction in the lower ones.
    static Ints parts_of_units(const float *x, const float *before, float to_parts) {
        constexpr float most = kMostUnits * kParts, least = kLeastUnits * kParts;
        Floats parts = (*reinterpret_cast<const Floats *>(x) - *reinterpret_cast<const Floats *>(before)) * to_parts;
        parts = parts > most ? Floats{} + most : parts;
        parts = parts < least ? Floats{} + least : parts;
        return __builtin_convertvector(parts, Ints);
    }

    alignas(64) std::uint32_t lanes[kPad / 2];
};

}  // namespace posvec::POSVEC_LEVEL
