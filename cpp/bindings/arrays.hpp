// Arrays of NumPy that the bindings of the kernel take.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "python.hpp"

namespace posvec {

template <class T, std::size_t Dimensions>
using Array = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

template <class AnyArray> bool is_aligned(const AnyArray &array, std::size_t bytes = 64) {
    return reinterpret_cast<std::uintptr_t>(array.data()) % bytes == 0;
}

// A NumPy array (n / columns, columns) that owns the n values.
inline nb::ndarray<nb::numpy, std::uint32_t> to_rows(std::vector<std::uint32_t> &&values, std::size_t columns) {
    auto *owner = new std::vector<std::uint32_t>(std::move(values));
    nb::capsule capsule(owner, [](void *p) noexcept { delete static_cast<std::vector<std::uint32_t> *>(p); });
    return nb::ndarray<nb::numpy, std::uint32_t>(owner->data(), {columns ? owner->size() / columns : 0, columns},
                                                 capsule);
}

}  // namespace posvec
