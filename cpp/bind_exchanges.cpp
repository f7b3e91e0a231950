// What replicas of a model exchange (distributed/replica.py), row by row, each read and written once. Rows are of
// floats, or of whole units in 16 bits (problem.hpp), which are kept from going beyond what these can hold.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "problem.hpp"
#include "python.hpp"

using namespace posvec;

namespace {

template <class Number> using Rows = nb::ndarray<Number, nb::ndim<2>, nb::device::cpu>;  // may lie in wider ones
using Places = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReadPlaces = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Number> Number *at(const Rows<Number> &rows, std::size_t r) { return rows.data() + r * rows.stride(0); }

inline float sum(float a, float b) { return a + b; }
inline float difference(float a, float b) { return a - b; }
inline Narrow held(int units) {
    constexpr int most = static_cast<int>(kMostUnits);
    return static_cast<Narrow>(std::clamp(units, -most, most));
}
inline Narrow sum(Narrow a, Narrow b) { return held(a + b); }
inline Narrow difference(Narrow a, Narrow b) { return held(a - b); }

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
        bool has_moved = false;
        for (std::size_t j = 0; j < width; j++) {
            change[j] = difference(row[j], before[j]);
            copy[j] = row[j];
            has_moved |= change[j] != 0;
        }
        places.data()[count] = static_cast<std::uint32_t>(first + r);
        count += has_moved;
    }
    return count;
}

// Rows that were `handed_over` and have moved since then move as far from `values`.
template <class Number>
void take_over(const Rows<Number> &rows, const Rows<const Number> &handed_over, const Rows<const Number> &values) {
    require_alike(rows, handed_over, values);
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < rows.shape(0); r++) {
        const Number *before = at(handed_over, r), *value = at(values, r);
        Number *row = at(rows, r);
        for (std::size_t j = 0; j < rows.shape(1); j++) row[j] = sum(value[j], difference(row[j], before[j]));
    }
}

// `out` becomes the rows of `base`, each moved by every change that has one for it: places in ascending order.
template <class Number>
void add_up(const Rows<const Number> &base, const std::vector<ReadPlaces> &places,
            const std::vector<Rows<const Number>> &moved, const Rows<Number> &out) {
    require_alike(out, base);
    require(places.size() == moved.size(), "as many places as changes");
    for (std::size_t i = 0; i < moved.size(); i++)
        require(moved[i].shape(1) == out.shape(1) && moved[i].stride(1) == 1 && moved[i].shape(0) == places[i].shape(0),
                "rows of different shapes");
    nb::gil_scoped_release release;
    std::vector<std::size_t> next(moved.size());
    for (std::size_t r = 0; r < out.shape(0); r++) {
        Number *row = at(out, r);
        std::copy_n(at(base, r), out.shape(1), row);
        for (std::size_t i = 0; i < moved.size(); i++)
            if (next[i] < places[i].shape(0) && places[i].data()[next[i]] == r) {
                const Number *change = at(moved[i], next[i]++);
                for (std::size_t j = 0; j < out.shape(1); j++) row[j] = sum(row[j], change[j]);
            }
    }
}

template <class Number> void bind_rows_of(nb::module_ &m) {
    m.def("hand_over", &hand_over<Number>, nb::arg("rows").noconvert(), nb::arg("since").noconvert(),
          nb::arg("now").noconvert(), nb::arg("moved").noconvert(), nb::arg("places").noconvert(), nb::arg("first"),
          nb::arg("count"));
    m.def("take_over", &take_over<Number>, nb::arg("rows").noconvert(), nb::arg("handed_over").noconvert(),
          nb::arg("values").noconvert());
    m.def("add_up", &add_up<Number>, nb::arg("base").noconvert(), nb::arg("places"), nb::arg("moved"),
          nb::arg("out").noconvert());
}

}  // namespace

void bind_exchanges(nb::module_ &m) {
    bind_rows_of<float>(m);
    bind_rows_of<Narrow>(m);
}
