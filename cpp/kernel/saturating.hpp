// Sums and differences of 16-bit numbers that stop at the bounds of the type instead of wrapping around: of single
// numbers and of vectors. Always inlined, so that every instruction-set level gets its own instructions.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace posvec {

template <class Value> [[gnu::always_inline]] inline Value add_saturating(Value a, Value b) {
    if constexpr (std::is_same_v<Value, std::int16_t>) {
        const int sum = a + b;
        return static_cast<std::int16_t>(sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum);
    } else {
        static_assert(std::is_same_v<std::remove_reference_t<decltype(a[0])>, std::int16_t>);
#if defined(__AVX2__)
        if constexpr (sizeof(Value) == 32) return Value(_mm256_adds_epi16(__m256i(a), __m256i(b)));
#endif
#if defined(__SSE2__)
        if constexpr (sizeof(Value) == 16) return Value(_mm_adds_epi16(__m128i(a), __m128i(b)));
#endif
        typedef std::uint16_t Unsigned __attribute__((vector_size(sizeof(Value))));
        const Value sum = Value(Unsigned(a) + Unsigned(b)), overflow = ((a ^ sum) & (b ^ sum)) >> 15;
        return (sum & ~overflow) | (((a >> 15) ^ 0x7fff) & overflow);
    }
}

template <class Value> [[gnu::always_inline]] inline Value subtract_saturating(Value a, Value b) {
    if constexpr (std::is_same_v<Value, std::int16_t>) {
        const int difference = a - b;
        return static_cast<std::int16_t>(difference > 32767 ? 32767 : difference < -32768 ? -32768 : difference);
    } else {
        static_assert(std::is_same_v<std::remove_reference_t<decltype(a[0])>, std::int16_t>);
#if defined(__AVX2__)
        if constexpr (sizeof(Value) == 32) return Value(_mm256_subs_epi16(__m256i(a), __m256i(b)));
#endif
#if defined(__SSE2__)
        if constexpr (sizeof(Value) == 16) return Value(_mm_subs_epi16(__m128i(a), __m128i(b)));
#endif
        typedef std::uint16_t Unsigned __attribute__((vector_size(sizeof(Value))));
        const Value difference = Value(Unsigned(a) - Unsigned(b)), overflow = ((a ^ b) & (a ^ difference)) >> 15;
        return (difference & ~overflow) | (((a >> 15) ^ 0x7fff) & overflow);
    }
}

}  // namespace posvec
