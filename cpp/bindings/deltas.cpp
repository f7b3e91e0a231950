// Python's view of kernel/deltas.hpp: array checks and GIL release, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernel/deltas.hpp"
#include "python.hpp"

using namespace posvec;

namespace {

template <class Number> using Rows = nb::ndarray<Number, nb::ndim<2>, nb::device::cpu>;  // may be part of wider rows
using Indices = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstIndices = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Number> RowBlock<Number> block(const Rows<Number> &rows) {
    require(rows.stride(1) == 1, "the numbers of a row are not contiguous");
    return {rows.data(), rows.stride(0), rows.shape(0), rows.shape(1)};
}

template <class Number, class... Others> void require_same_shape(const Rows<Number> &rows, const Others &...others) {
    require(((others.shape(0) == rows.shape(0) && others.shape(1) == rows.shape(1)) && ...),
            "rows of different shapes");
}

template <class Number>
std::size_t extract(const Rows<Number> &rows, const Rows<const Number> &base, const Rows<Number> &snapshot,
                    const Rows<Number> &deltas, const Indices &indices, std::size_t first, std::size_t count) {
    require_same_shape(rows, base, snapshot);
    const std::size_t most = std::min(deltas.shape(0), indices.shape(0));
    require(deltas.shape(1) == rows.shape(1) && count <= most && rows.shape(0) <= most - count,
            "no room for all deltas");
    const auto rows_block = block(rows), snapshot_block = block(snapshot), deltas_block = block(deltas);
    const auto base_block = block(base);
    nb::gil_scoped_release release;
    return extract_deltas(rows_block, base_block, snapshot_block, deltas_block, indices.data(), first, count);
}

template <class Number>
void rebase_rows(const Rows<Number> &rows, const Rows<const Number> &base, const Rows<const Number> &values) {
    require_same_shape(rows, base, values);
    const auto rows_block = block(rows);
    const auto base_block = block(base), values_block = block(values);
    nb::gil_scoped_release release;
    rebase(rows_block, base_block, values_block);
}

template <class Number>
void apply(const Rows<Number> &rows, const std::vector<ConstIndices> &indices,
           const std::vector<Rows<const Number>> &deltas) {
    require(indices.size() == deltas.size(), "indices and deltas differ in number");
    std::vector<Deltas<Number>> all;
    for (std::size_t i = 0; i < deltas.size(); i++) {
        require(deltas[i].shape(1) == rows.shape(1) && deltas[i].shape(0) == indices[i].shape(0),
                "rows of different shapes");
        all.push_back({indices[i].data(), block(deltas[i])});
    }
    const auto rows_block = block(rows);
    nb::gil_scoped_release release;
    apply_deltas(rows_block, all);
}

template <class Number> void bind_deltas_of(nb::module_ &m) {
    using namespace nb::literals;

    m.def("extract_deltas", &extract<Number>, "rows"_a.noconvert(), "base"_a.noconvert(), "snapshot"_a.noconvert(),
          "deltas"_a.noconvert(), "indices"_a.noconvert(), "first"_a, "count"_a);
    m.def("rebase", &rebase_rows<Number>, "rows"_a.noconvert(), "base"_a.noconvert(), "values"_a.noconvert());
    m.def("apply_deltas", &apply<Number>, "rows"_a.noconvert(), "indices"_a, "deltas"_a);
}

}  // namespace

void bind_deltas(nb::module_ &m) {
    bind_deltas_of<float>(m);
    bind_deltas_of<std::int16_t>(m);
}
