// What replicas of a model exchange (distributed/replica.py), row by row, each read and written once. Rows are of
// floats, or of whole units in 16 bits (problem.hpp), which are kept from going beyond what these can hold.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernel/problem.hpp"
#include "python.hpp"

using namespace posvec;

namespace {

template <class Number> using Rows = nb::ndarray<Number, nb::ndim<2>, nb::device::cpu>;  // may lie in wider ones
using Places = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReadPlaces = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Number> Number *at(const Rows<Number> &rows, std::size_t r) { return rows.data() + r * rows.stride(0); }

// Lanes of 16 bytes, which every x86-64 has: what is done here waits for memory on wider ones, too.
template <class Number> struct Lanes {
    typedef Number Vector __attribute__((vector_size(16), aligned(alignof(Number)), may_alias));
    static constexpr std::size_t size = 16 / sizeof(Number);
};
using Shorts = Lanes<Narrow>::Vector;

template <class Value> inline Value sum(Value a, Value b) { return a + b; }
template <class Value> inline Value difference(Value a, Value b) { return a - b; }
template <> inline Narrow sum(Narrow a, Narrow b) { return static_cast<Narrow>(std::clamp(a + b, -32768, 32767)); }
template <> inline Narrow difference(Narrow a, Narrow b) {
    return static_cast<Narrow>(std::clamp(a - b, -32768, 32767));
}
#if defined(__SSE2__)
template <> inline Shorts sum(Shorts a, Shorts b) { return Shorts(_mm_adds_epi16(__m128i(a), __m128i(b))); }
template <> inline Shorts difference(Shorts a, Shorts b) { return Shorts(_mm_subs_epi16(__m128i(a), __m128i(b))); }
constexpr bool has_saturated_lanes = true;
#else
constexpr bool has_saturated_lanes = false;
#endif

// to[j] = function(a[j], b[j], ...) for j < n
template <class Number, class Function, class... From>
void each(std::size_t n, Number *to, Function function, const From *...from) {
    std::size_t j = 0;
    if constexpr (has_saturated_lanes || !std::is_same_v<Number, Narrow>) {
        using Vector = typename Lanes<Number>::Vector;
        for (; j + Lanes<Number>::size <= n; j += Lanes<Number>::size)
            *reinterpret_cast<Vector *>(to + j) = function(*reinterpret_cast<const Vector *>(from + j)...);
    }
    for (; j < n; j++) to[j] = function(from[j]...);
}

template <class Number, class... Others> void require_alike(const Rows<Number> &rows, const Others &...others) {
    require(((others.shape(0) == rows.shape(0) && others.shape(1) == rows.shape(1)) && ...) && rows.stride(1) == 1 &&
                ((others.stride(1) == 1) && ...),
            "rows of different shapes");
}

// How far rows have moved since they were `since`, for those that have, one after the other from `count` on, and where
// these are; `now` becomes a copy of all. Returns how many have moved, with those before.
template <class Number>
std::size_t hand_over(const Rows<Number> &rows, const Rows<const Number> &since, const Rows<Number> &now,
                      const Rows<Number> &moved, const Places &places, std::size_t first, std::size_t count) {
    require_alike(rows, since, now);
    const std::size_t most = std::min(moved.shape(0), places.shape(0)), width = rows.shape(1);
    require(moved.shape(1) == width && moved.stride(1) == 1 && count <= most && rows.shape(0) <= most - count,
            "no room for all changes");
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < rows.shape(0); r++) {
        const Number *row = at(rows, r), *before = at(since, r);
        Number *copy = at(now, r), *change = at(moved, count);
        each(width, change, [](auto now, auto then) { return difference(now, then); }, row, before);
        std::copy_n(row, width, copy);
        places.data()[count] = static_cast<std::uint32_t>(first + r);
        count += std::any_of(change, change + width, [](Number x) { return x != 0; });
    }
    return count;
}

// Rows that were `handed_over` and have moved since then move as far from `values`.
template <class Number>
void take_over(const Rows<Number> &rows, const Rows<const Number> &handed_over, const Rows<const Number> &values) {
    require_alike(rows, handed_over, values);
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < rows.shape(0); r++) {
        const auto moved = [](auto now, auto then, auto value) { return sum(value, difference(now, then)); };
        each(rows.shape(1), at(rows, r), moved, at(rows, r), at(handed_over, r), at(values, r));
    }
}

// Every row is moved by each of the changes that has one for it: places are in ascending order.
template <class Number>
void add_up(const Rows<Number> &rows, const std::vector<ReadPlaces> &places,
            const std::vector<Rows<const Number>> &moved) {
    require(rows.stride(1) == 1 && places.size() == moved.size(), "as many places as changes");
    for (std::size_t i = 0; i < moved.size(); i++)
        require(moved[i].shape(1) == rows.shape(1) && moved[i].stride(1) == 1 &&
                    moved[i].shape(0) == places[i].shape(0),
                "rows of different shapes");
    nb::gil_scoped_release release;
    std::vector<std::size_t> next(moved.size());
    for (std::size_t r = 0; r < rows.shape(0); r++)
        for (std::size_t i = 0; i < moved.size(); i++)
            if (next[i] < places[i].shape(0) && places[i].data()[next[i]] == r) {
                const auto add = [](auto a, auto b) { return sum(a, b); };
                each(rows.shape(1), at(rows, r), add, at(rows, r), at(moved[i], next[i]++));
            }
}

template <class Number> void bind_rows_of(nb::module_ &m) {
    m.def("hand_over", &hand_over<Number>, nb::arg("rows").noconvert(), nb::arg("since").noconvert(),
          nb::arg("now").noconvert(), nb::arg("moved").noconvert(), nb::arg("places").noconvert(), nb::arg("first"),
          nb::arg("count"));
    m.def("take_over", &take_over<Number>, nb::arg("rows").noconvert(), nb::arg("handed_over").noconvert(),
          nb::arg("values").noconvert());
    m.def("add_up", &add_up<Number>, nb::arg("rows").noconvert(), nb::arg("places"), nb::arg("moved"));
}

}  // namespace

void bind_exchanges(nb::module_ &m) {
    bind_rows_of<float>(m);
    bind_rows_of<Narrow>(m);
}
