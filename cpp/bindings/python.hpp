// Conversions between Python and C++ that several files of bindings need: arrays, strings, lists of words.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace posvec {

template <class T> using Output = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T> using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char *message) {
    if (!condition) throw std::invalid_argument(message);
}

// A NumPy array that owns the vector.
template <class T> Output<T> to_array(std::vector<T> &&values) {
    auto *owner = new std::vector<T>(std::move(values));
    nb::capsule capsule(owner, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return Output<T>(owner->data(), {owner->size()}, capsule);
}

inline std::string_view view(const nb::bytes &bytes) { return {bytes.c_str(), bytes.size()}; }

// The UTF-8 of a str; valid as long as the str.
inline std::string_view view(nb::handle text) {
    Py_ssize_t size = 0;
    const char *data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!data) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
}

inline nb::object to_str(std::string_view text) {
    PyObject *object = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
    if (!object) throw nb::python_error();
    return nb::steal(object);
}

inline nb::list to_list(const std::vector<std::string_view> &words) {
    nb::list list;
    for (const std::string_view word : words) list.append(to_str(word));
    return list;
}

inline std::vector<std::string_view> views(const nb::list &words) {
    std::vector<std::string_view> result;
    result.reserve(words.size());
    for (nb::handle word : words) result.push_back(view(word));
    return result;
}

}  // namespace posvec
