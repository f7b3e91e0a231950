// The compiler's own vector types: one source for SSE, AVX2, AVX-512 and NEON.
// Included by kernel.hpp inside the namespace of one instruction-set level.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "problem.hpp"

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
// al. 2011). An update may be lost; a torn float cannot be. All such accesses, and no others, go through these four,
// and two in narrow.hpp, which is how ThreadSanitizer is told of them.
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

template <class Real> inline Vec<Real> numbers_from_zero() {
    Vec<Real> numbers;
    for (std::size_t i = 0; i < Vector<Real>::lanes; i++) numbers[i] = static_cast<Real>(i);
    return numbers;
}

// All lanes made one by a function of two, half of them with the other half at a time.
template <class Vector, class Function> inline auto folded(Vector v, Function function) {
    constexpr std::size_t count = sizeof v / sizeof v[0];
    std::remove_reference_t<decltype(v[0])> lanes[count];
    __builtin_memcpy(lanes, &v, sizeof v);
    for (std::size_t width = count / 2; width > 0; width /= 2)
        for (std::size_t i = 0; i < width; i++) lanes[i] = function(lanes[i], lanes[i + width]);
    return lanes[0];
}

template <class Vector> inline auto sum_of(Vector v) {
    return folded(v, [](auto a, auto b) { return a + b; });
}

// The largest of all |x|.
template <class Real> inline Real peak_of(const Real *x, std::size_t n) {
    Vec<Real> most = {};
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) {
        const Vec<Real> value = load(x + j), size = value < 0 ? -value : value;
        most = size > most ? size : most;
    }
    return folded(most, [](Real a, Real b) { return a > b ? a : b; });
}

// e^x, x being cut to +-60. Of floats 2^n e^r, where |r| <= log(2) / 2 and e^r is a polynomial: right to 3e-7 of it.
template <class Real> inline Vec<Real> exp_of(Vec<Real> x) {
    x = x > 60 ? Vec<Real>{} + 60 : x;
    x = x < -60 ? Vec<Real>{} - 60 : x;
    if constexpr (sizeof(Real) == sizeof(float)) {
        typedef std::int32_t Bits __attribute__((vector_size(POSVEC_VECTOR_BYTES)));
        constexpr float rounder = 0x1.8p23f;  // leaves no digits behind the point
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

// Calls body.operator()<C>(j) for consecutive stretches of C vectors that cover features begin .. end - 1, eight at a
// time, which is as many as every level has registers for, then four, two, one.
template <class Real, int C = 8, class Body> inline void for_chunks(std::size_t begin, std::size_t end, Body body) {
    constexpr std::size_t lanes = Vector<Real>::lanes;
    for (; begin + C * lanes <= end; begin += C * lanes) body.template operator()<C>(begin);
    if constexpr (C > 1) for_chunks<Real, C / 2>(begin, end, body);
}

// Rows of n numbers. The length comes by value: as a member it would be read again after every store.

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

// Calls body.operator()<T>(k) for consecutive k .. k + T - 1 that cover 0 .. count - 1, T being Most until fewer are
// left. Rows are worked on T at a time: what they share is loaded once, and T streams of cache misses are in flight, T
// chains of additions that do not wait for each other, rather than one.
template <int Most, class Body> inline void in_groups(std::size_t count, Body body) {
    std::size_t k = 0;
    for (; k + Most <= count; k += Most) body.template operator()<Most>(k);
    if constexpr (Most > 1)
        [&]<int... T>(std::integer_sequence<int, T...>) {
            ((count - k == T + 1 ? body.template operator()<T + 1>(k) : void()), ...);
        }(std::make_integer_sequence<int, Most - 1>());
}

// Some rows, to be worked on together.
template <class T, int Count> struct Rows {
    T *row[Count];
};

// y += all rows
template <class Real, int T> inline void add_rows(Real *y, const Rows<Real, T> &rows, std::size_t n) {
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) {
        Vec<Real> total = load(y + j);
        for (int i = 0; i < T; i++) total += load_shared(rows.row[i] + j);
        store(y + j, total);
    }
}

// each row += x; a row may be among them twice
template <class Real, int T> inline void add_to_rows(const Rows<Real, T> &rows, const Real *x, std::size_t n) {
    for (std::size_t j = 0; j < n; j += Vector<Real>::lanes) {
        const Vec<Real> value = load(x + j);
        for (int i = 0; i < T; i++) move_shared(rows.row[i] + j, value);
    }
}

// Rows that are needed soon, to be brought to the second-level cache (the first would overflow from a single word's
// rows). Not all at once: the queue of fetches is short, and a core that fills it waits. They ride along, a cache line
// at a time, with passes over rows that are here, so that memory and arithmetic are busy together. They are fetched to
// be read although they will be written: many more such fetches can be on their way at a time.
class Fetches {
  public:
    struct Passengers {
        const void *const *row;
        std::uint32_t count;

        // The cache line that bytes begin .. begin + size - 1 of each row reach first, if any. Always inlined: to the
        // compiler, a function that does nothing but fetch does nothing.
        [[gnu::always_inline]] void fetch(std::size_t begin, std::size_t size) const {
            if (begin % 64 >= size) return;
            for (std::uint32_t i = 0; i < count; i++)
                __builtin_prefetch(static_cast<const unsigned char *>(row[i]) + begin, 0, 2);
        }
    };

    void restart() { size = taken = 0; }

    // Rows of a table by their numbers.
    template <class Table> void add(const Table table, const std::uint32_t *numbers, std::uint64_t count) {
        const auto end = static_cast<std::uint32_t>(size + count < kMost ? size + count : kMost);
        for (std::uint32_t k = size; k < end; k++) row[k] = table[*numbers++];
        size = end;
    }

    Passengers take_half() { return take((size - taken) / 2); }
    Passengers take_rest() { return take(size - taken); }

  private:
    static constexpr std::uint32_t kMost = 256;  // rows beyond are read without having been fetched
    const void *row[kMost];
    std::uint32_t size = 0, taken = 0;

    Passengers take(std::uint32_t count) {
        taken += count;
        return {row + taken - count, count};
    }
};

}  // namespace posvec::POSVEC_LEVEL
