// Python's view of kernel/fixed16_probe.hpp, for tests: array checks, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "kernel/fixed16_probe.hpp"
#include "kernel/levels.hpp"
#include "kernel/number_formats.hpp"
#include "kernel/padding.hpp"
#include "python.hpp"

using namespace posvec;

namespace {

using Table = Array<std::int16_t, 2>;
using RowNumbers = Array<const std::uint32_t, 1>;

template <class AnyArray> void require_aligned(const AnyArray &array) {
    require(is_aligned(array), "an array is not aligned to 64 bytes");
}

// Pointers to rows of a table.
std::vector<std::int16_t *> pointers(const Table &table, const RowNumbers &numbers) {
    require_aligned(table);
    require(table.shape(1) > 0 && table.shape(1) % kPad == 0, "rows are not padded to a multiple of 16");
    require(numbers.shape(0) > 0, "no rows");
    std::vector<std::int16_t *> rows;
    for (std::size_t k = 0; k < numbers.shape(0); k++) {
        require(numbers.data()[k] < table.shape(0), "no such row");
        rows.push_back(table.data() + numbers.data()[k] * table.shape(1));
    }
    return rows;
}

template <class T> T *features(const Array<T, 1> &array, const Table &table) {
    require_aligned(array);
    require(array.shape(0) == table.shape(1), "an array does not have as many numbers as a row");
    return array.data();
}

template <class T> T *one_per_row(const Array<T, 1> &array, const RowNumbers &numbers) {
    require_aligned(array);
    require(array.shape(0) == padded(numbers.shape(0)), "an array does not have a number per row, padded");
    return array.data();
}

void train_outputs(Table table, RowNumbers numbers, Array<const float, 1> context, Array<const float, 1> step_sizes,
                   std::uint64_t seed, Array<float, 1> scores, Array<float, 1> error,
                   Array<std::int16_t, 1> quantized_context, Array<std::int32_t, 1> weights,
                   Array<std::int32_t, 1> moves, const std::string &cpu) {
    const std::vector<std::int16_t *> rows = pointers(table, numbers);
    for (std::size_t k = numbers.shape(0); k < step_sizes.shape(0); k++)
        require(step_sizes.data()[k] == 0, "step sizes are not padded with zeros");
    choose_level(cpu).fixed16_probe->train_outputs(
        {table.shape(1), rows.size(), features(context, table), one_per_row(step_sizes, numbers), rows.data(), seed,
         one_per_row(scores, numbers), features(error, table), features(quantized_context, table),
         one_per_row(weights, numbers), one_per_row(moves, numbers)});
}

void sum_inputs(Table table, RowNumbers numbers, Array<float, 1> sum, const std::string &cpu) {
    const std::vector<std::int16_t *> rows = pointers(table, numbers);
    choose_level(cpu).fixed16_probe->sum_inputs({table.shape(1), rows.size(), rows.data()}, features(sum, table));
}

void update_inputs(Table table, RowNumbers numbers, Array<const float, 1> sum, Array<const float, 1> before,
                   std::uint64_t seed, Table roundings, const std::string &cpu) {
    const std::vector<std::int16_t *> rows = pointers(table, numbers);
    require_aligned(roundings);
    require(roundings.shape(0) == kRoundings && roundings.shape(1) == table.shape(1),
            "roundings do not have the shape (4, numbers of a row)");
    choose_level(cpu).fixed16_probe->update_inputs({table.shape(1), rows.size(), rows.data()}, features(sum, table),
                                                   features(before, table), seed, roundings.data());
}

}  // namespace

void bind_fixed16(nb::module_ &m) {
    using namespace nb::literals;

    m.def("fixed16_train_outputs", &train_outputs, "table"_a.noconvert(), "rows"_a, "context"_a.noconvert(),
          "step_sizes"_a.noconvert(), "seed"_a, "scores"_a.noconvert(), "error"_a.noconvert(),
          "quantized_context"_a.noconvert(), "weights"_a.noconvert(), "moves"_a.noconvert(), "cpu"_a);
    m.def("fixed16_sum_inputs", &sum_inputs, "table"_a.noconvert(), "rows"_a, "sum"_a.noconvert(), "cpu"_a);
    m.def("fixed16_update_inputs", &update_inputs, "table"_a.noconvert(), "rows"_a, "sum"_a.noconvert(),
          "before"_a.noconvert(), "seed"_a, "roundings"_a.noconvert(), "cpu"_a);
    m.def(
        "fixed16_multiply_add",
        [](float a, float b, float c, const std::string &cpu) {
            return choose_level(cpu).fixed16_probe->multiply_add(a, b, c);
        },
        "a"_a, "b"_a, "c"_a, "cpu"_a);
    m.def("fixed16_lanes", [](const std::string &cpu) { return choose_level(cpu).fixed16_probe->lanes; }, "cpu"_a);
}
