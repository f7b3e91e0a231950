// What replicas of a model exchange (distributed/replica.py), row by row, each read and written once.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "python.hpp"

using namespace posvec;

namespace {

using Rows = nb::ndarray<float, nb::ndim<2>, nb::device::cpu>;  // rows may be wider than their features
using ReadRows = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>;

template <class... Others> void require_alike(const Rows &rows, const Others &...others) {
    const bool alike = ((others.shape(0) >= rows.shape(0) && others.shape(1) == rows.shape(1)) && ...);
    if (!alike || rows.stride(1) != 1 || ((others.stride(1) != 1) || ...))
        throw std::invalid_argument("rows of different shapes");
}

// How far rows have moved since they were `since`, for those that have, one after the other from `count` on, and where
// these are; `now` becomes a copy of all. Returns how many have moved, with those before.
std::size_t hand_over(const Rows &rows, const ReadRows &since, const Rows &now, const Rows &moved,
                      const nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> &places,
                      std::size_t first, std::size_t count) {
    require_alike(rows, since, now);
    const std::size_t most = std::min(moved.shape(0), places.shape(0)), dim = rows.shape(1);
    if (moved.shape(1) != dim || moved.stride(1) != 1 || count > most || rows.shape(0) > most - count)
        throw std::invalid_argument("no room for all changes");
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < rows.shape(0); r++) {
        const float *row = rows.data() + r * rows.stride(0), *before = since.data() + r * since.stride(0);
        float *copy = now.data() + r * now.stride(0), *change = moved.data() + count * moved.stride(0);
        bool has_moved = false;
        for (std::size_t j = 0; j < dim; j++) {
            change[j] = row[j] - before[j];
            copy[j] = row[j];
            has_moved |= change[j] != 0;
        }
        places.data()[count] = static_cast<std::uint32_t>(first + r);
        count += has_moved;
    }
    return count;
}

// Rows that were `handed_over` and have moved since then move as far from `values`.
void take_over(const Rows &rows, const ReadRows &handed_over, const ReadRows &values) {
    require_alike(rows, handed_over, values);
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < rows.shape(0); r++) {
        const float *before = handed_over.data() + r * handed_over.stride(0);
        const float *value = values.data() + r * values.stride(0);
        float *row = rows.data() + r * rows.stride(0);
        for (std::size_t j = 0; j < rows.shape(1); j++) row[j] = value[j] + (row[j] - before[j]);
    }
}

}  // namespace

void bind_exchanges(nb::module_ &m) {
    m.def("hand_over", &hand_over, nb::arg("rows").noconvert(), nb::arg("since").noconvert(),
          nb::arg("now").noconvert(), nb::arg("moved").noconvert(), nb::arg("places").noconvert(), nb::arg("first"),
          nb::arg("count"));
    m.def("take_over", &take_over, nb::arg("rows").noconvert(), nb::arg("handed_over").noconvert(),
          nb::arg("values").noconvert());
}
