// Vectors of 16-bit fixed-point numbers, and of the 32-bit numbers that their products are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "padding.hpp"
#include "saturating.hpp"
#include "simd.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace posvec::POSVEC_LEVEL {

constexpr std::size_t kIntegerBytes = POSVEC_VECTOR_BYTES < 32 ? POSVEC_VECTOR_BYTES : 32;
constexpr std::size_t kInt32Lanes = kIntegerBytes / 4, kInt16Lanes = kIntegerBytes / 2;
typedef std::int32_t Int32s __attribute__((vector_size(kIntegerBytes), may_alias));
typedef std::uint32_t Uint32s __attribute__((vector_size(kIntegerBytes), may_alias));
typedef float Floats __attribute__((vector_size(kIntegerBytes), may_alias));
typedef std::int16_t Int16s __attribute__((vector_size(kIntegerBytes), may_alias));
typedef std::uint16_t Uint16s __attribute__((vector_size(kIntegerBytes), may_alias));

// a b / 2^15, rounded
inline Int16s multiply_high(Int16s a, Int16s b) {
#if defined(__AVX2__)
    return Int16s(_mm256_mulhrs_epi16(__m256i(a), __m256i(b)));
#elif defined(__SSSE3__)
    return Int16s(_mm_mulhrs_epi16(__m128i(a), __m128i(b)));
#else
    for (std::size_t k = 0; k < kInt16Lanes; k++) a[k] = static_cast<std::int16_t>((a[k] * b[k] + (1 << 14)) >> 15);
    return a;
#endif
}

// Products of lanes, each two neighbours added up.
inline Int32s multiply_add(Int16s a, Int16s b) {
#if defined(__AVX2__)
    return Int32s(_mm256_madd_epi16(__m256i(a), __m256i(b)));
#elif defined(__SSE2__)
    return Int32s(_mm_madd_epi16(__m128i(a), __m128i(b)));
#else
    Int32s sums;
    for (std::size_t k = 0; k < kInt32Lanes; k++) sums[k] = a[2 * k] * b[2 * k] + a[2 * k + 1] * b[2 * k + 1];
    return sums;
#endif
}

// Two rows multiplied by their weights, which alternate in `weights`, and added up in 32 bits: the first half of each
// 16 bytes to `lower`, the second half to `upper`.
inline void add_weighted(Int32s &lower, Int32s &upper, Int16s a, Int16s b, Int16s weights) {
#if defined(__AVX2__)
    lower += multiply_add(Int16s(_mm256_unpacklo_epi16(__m256i(a), __m256i(b))), weights);
    upper += multiply_add(Int16s(_mm256_unpackhi_epi16(__m256i(a), __m256i(b))), weights);
#elif defined(__SSE2__)
    lower += multiply_add(Int16s(_mm_unpacklo_epi16(__m128i(a), __m128i(b))), weights);
    upper += multiply_add(Int16s(_mm_unpackhi_epi16(__m128i(a), __m128i(b))), weights);
#else
    for (std::size_t k = 0; k < kInt32Lanes; k++) {
        lower[k] += a[k] * weights[0] + b[k] * weights[1];
        upper[k] += a[kInt32Lanes + k] * weights[0] + b[kInt32Lanes + k] * weights[1];
    }
#endif
}

// Numbers of at most 16 bits in one vector, in the order in which add_weighted splits it.
inline Int16s pack(Int32s lower, Int32s upper) {
#if defined(__AVX2__)
    return Int16s(_mm256_packs_epi32(__m256i(lower), __m256i(upper)));
#elif defined(__SSE2__)
    return Int16s(_mm_packs_epi32(__m128i(lower), __m128i(upper)));
#else
    Int16s both;
    for (std::size_t k = 0; k < kInt32Lanes; k++) {
        both[k] = static_cast<std::int16_t>(lower[k]);
        both[kInt32Lanes + k] = static_cast<std::int16_t>(upper[k]);
    }
    return both;
#endif
}

// The nearest integers of numbers below 2^22.
inline Int32s round_to_int(Floats x) {
    constexpr float rounder = 0x1.8p23f;  // so large that adding it leaves no fraction
    return Int32s(x + rounder) - Int32s(Floats{} + rounder);
}

inline Int16s load(const std::int16_t *p) { return *reinterpret_cast<const Int16s *>(p); }
inline void store(std::int16_t *p, Int16s units) { *reinterpret_cast<Int16s *>(p) = units; }
POSVEC_HOGWILD inline Int16s load_shared(const std::int16_t *p) { return *reinterpret_cast<const Int16s *>(p); }
POSVEC_HOGWILD inline void move_shared(std::int16_t *p, Int16s by) {
    Int16s *shared = reinterpret_cast<Int16s *>(p);
    *shared = add_saturating(*shared, by);
}

inline Floats load_floats(const float *p) { return *reinterpret_cast<const Floats *>(p); }

// y += units, which are multiples of `unit`
inline void add_units(float *y, Int32s units, float unit) {
    *reinterpret_cast<Floats *>(y) += __builtin_convertvector(units, Floats) * unit;
}

// Calls body(index, lower, upper) for each vector of a row of n fixed16 numbers, which begins at `index` and holds the
// features from `lower` and from `upper` on (fixed16_index).
template <class Body> [[gnu::always_inline]] inline void for_fixed16_vectors(std::size_t n, Body body) {
    for (std::size_t j = 0; j < n; j += kPad)
        for (std::size_t k = 0; k < kPad / 2; k += kInt32Lanes) body(j + 2 * k, j + k, j + kPad / 2 + k);
}

}  // namespace posvec::POSVEC_LEVEL
