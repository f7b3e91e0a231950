// Vectors of the compiler's own types: one source for SSE, AVX2, AVX-512 and NEON.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__AVX512F__)
#define POSVEC_VECTOR_BYTES 64
#elif defined(__AVX__)
#define POSVEC_VECTOR_BYTES 32
#else
#define POSVEC_VECTOR_BYTES 16
#endif

namespace posvec::POSVEC_LEVEL {

template <class Real> struct Vector {
    typedef Real type __attribute__((vector_size(POSVEC_VECTOR_BYTES), may_alias));
    static constexpr std::size_t lanes = POSVEC_VECTOR_BYTES / sizeof(Real);
};

template <class Real> using Vec = typename Vector<Real>::type;

template <class Real> inline Vec<Real> load(const Real *p) { return *reinterpret_cast<const Vec<Real> *>(p); }
template <class Real> inline void store(Real *p, Vec<Real> v) { *reinterpret_cast<Vec<Real> *>(p) = v; }

// HogWild: threads read and write the rows of a model's tables at the same time, on purpose and without locks (Recht et
// al. 2011). An update may be lost; a torn float cannot occur. All such accesses, and no others, go through these five
// functions and the two in fixed16_vectors.hpp, which exempt them from ThreadSanitizer.
#if defined(__SANITIZE_THREAD__)
#define POSVEC_HOGWILD __attribute__((no_sanitize("thread"), noinline))
#else
#define POSVEC_HOGWILD
#endif
template <class Real> POSVEC_HOGWILD inline Vec<Real> load_shared(const Real *p) {
    return *reinterpret_cast<const Vec<Real> *>(p);
}
template <class Real> POSVEC_HOGWILD inline void store_shared(Real *p, Vec<Real> v) {
    *reinterpret_cast<Vec<Real> *>(p) = v;
}
template <class Real> inline void move_shared(Real *p, Vec<Real> by) { store_shared(p, load_shared(p) + by); }
template <class Real> POSVEC_HOGWILD inline Real read_shared(const Real *p) { return *p; }
template <class Real> POSVEC_HOGWILD inline void add_shared(Real *p, Real value) { *p += value; }

// 0, 1, 2, ...
template <class Real> inline Vec<Real> iota() {
    Vec<Real> numbers;
    for (std::size_t i = 0; i < Vector<Real>::lanes; i++) numbers[i] = static_cast<Real>(i);
    return numbers;
}

// All lanes combined by a function of two: one half of them with the other half at a time.
template <class Vector, class Function> inline auto reduce(Vector v, Function function) {
    constexpr std::size_t count = sizeof v / sizeof v[0];
    std::remove_reference_t<decltype(v[0])> lanes[count];
    __builtin_memcpy(lanes, &v, sizeof v);
    for (std::size_t width = count / 2; width > 0; width /= 2)
        for (std::size_t i = 0; i < width; i++) lanes[i] = function(lanes[i], lanes[i + width]);
    return lanes[0];
}

template <class Vector> inline auto sum_lanes(Vector v) {
    return reduce(v, [](auto a, auto b) { return a + b; });
}

// The largest |x|.
template <class Real> inline Real max_abs(const Real *x, std::size_t n) {
    Vec<Real> most = {};
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) {
        const Vec<Real> value = load(x + j), size = value < 0 ? -value : value;
        most = size > most ? size : most;
    }
    return reduce(most, [](Real a, Real b) { return a > b ? a : b; });
}

// e^x, with x clamped to +-60. A float is computed as 2^n e^r, where |r| <= log(2) / 2 and e^r is a polynomial; the
// relative error is at most 3e-7.
template <class Real> inline Vec<Real> exp(Vec<Real> x) {
    x = x > 60 ? Vec<Real>{} + 60 : x;
    x = x < -60 ? Vec<Real>{} - 60 : x;
    if constexpr (sizeof(Real) == sizeof(float)) {
        typedef std::int32_t Bits __attribute__((vector_size(POSVEC_VECTOR_BYTES)));
        constexpr float rounder = 0x1.8p23f;  // so large that adding it leaves no fraction
        const Vec<Real> n = (x * 1.44269504f + rounder) - rounder;
        const Vec<Real> r = x - n * 0x1.62ep-1f - n * 0x1.0bfbe8p-15f;  // log(2) in two parts, to lose no digits
        Vec<Real> power = Vec<Real>{} + 1.0f / 720;
        for (const float factor : {1.0f / 120, 1.0f / 24, 1.0f / 6, 1.0f / 2, 1.0f, 1.0f}) power = power * r + factor;
        return power * Vec<Real>((__builtin_convertvector(n, Bits) + 127) << 23);
    } else {
        for (std::size_t i = 0; i < Vector<Real>::lanes; i++) x[i] = std::exp(x[i]);
        return x;
    }
}

// Calls body.operator()<C>(j) for consecutive groups of C vectors that cover features begin .. end - 1: eight vectors
// at a time, for which every level has enough registers, then four, two, one.
template <class Real, int C = 8, class Body> inline void for_vectors(std::size_t begin, std::size_t end, Body body) {
    constexpr std::size_t lanes = Vector<Real>::lanes;
    for (; begin + C * lanes <= end; begin += C * lanes) body.template operator()<C>(begin);
    if constexpr (C > 1) for_vectors<Real, C / 2>(begin, end, body);
}

// Operations on rows of n numbers. The length is passed by value: as a member it would be read again after every store.

template <class Real> inline void clear(Real *y, std::size_t n) {
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) store(y + j, Vec<Real>{});
}

template <class Real> inline void copy(Real *y, const Real *x, std::size_t n) {
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) store(y + j, load(x + j));
}

template <class Real> inline void add(Real *y, const Real *x, std::size_t n) {
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) store(y + j, load(y + j) + load(x + j));
}

template <class Real> inline void subtract(Real *y, const Real *x, std::size_t n) {
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) store(y + j, load(y + j) - load(x + j));
}

template <class Real> inline void scale(Real *y, Real factor, std::size_t n) {
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) store(y + j, load(y + j) * factor);
}

// y += factor x
template <class Real> inline void add_scaled(Real *y, const Real *x, Real factor, std::size_t n) {
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) store(y + j, load(y + j) + load(x + j) * factor);
}

}  // namespace posvec::POSVEC_LEVEL
