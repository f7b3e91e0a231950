// What posvec._kernel does with whole tables: encode and decode them, average and quantize rows.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>

#include "arrays.hpp"
#include "kernel/fixed16_codec.hpp"
#include "kernel/mean_rows.hpp"
#include "kernel/number_formats.hpp"
#include "kernel/padding.hpp"
#include "kernel/product_quantization.hpp"
#include "python.hpp"

using namespace posvec;

namespace {

void require_alike(const nb::ndarray<> &table, const nb::ndarray<> &codes) {
    require(table.shape(0) == codes.shape(0) && table.shape(1) == codes.shape(1), "tables differ in shape");
    require(table.shape(1) % kPad == 0, "rows are not padded to a multiple of 16");
}

void encode(Array<const float, 2> table, float unit, Array<std::int16_t, 2> codes) {
    require_alike(nb::ndarray<>(table), nb::ndarray<>(codes));
    nb::gil_scoped_release release;
    encode_fixed16(table.data(), table.size(), unit, codes.data());
}

void decode(Array<const std::int16_t, 2> codes, float unit, Array<float, 2> table) {
    require_alike(nb::ndarray<>(table), nb::ndarray<>(codes));
    nb::gil_scoped_release release;
    decode_fixed16(codes.data(), codes.size(), unit, table.data());
}

void average(nb::ndarray<const float, nb::ndim<2>, nb::device::cpu> table, Input<std::uint64_t> row_begin,
             Input<std::uint32_t> rows, std::size_t begin, std::size_t end, Array<float, 2> means) {
    require(table.stride(1) == 1 && means.shape(1) == table.shape(1), "tables differ in their number of features");
    require(begin <= end && end <= means.shape(0) && end < row_begin.shape(0), "no such words");
    nb::gil_scoped_release release;
    mean_rows({table.data(), table.shape(0), table.shape(1), table.stride(0)}, {row_begin.data(), rows.data()},
              rows.shape(0), begin, end, means.data());
}

void quantize(Array<const float, 3> rows, Array<const float, 3> codebook, Array<std::uint8_t, 2> codes) {
    require(rows.shape(1) == codebook.shape(0) && rows.shape(2) == codebook.shape(2), "rows do not fit the codebook");
    require(codes.shape(0) == rows.shape(0) && codes.shape(1) == rows.shape(1), "codes do not fit rows");
    require(codebook.shape(1) >= 1 && codebook.shape(1) <= 256, "a codebook has 1 to 256 centroids");
    nb::gil_scoped_release release;
    nearest_centroids(rows.data(), rows.shape(0), codebook.data(), codebook.shape(0), codebook.shape(1),
                      codebook.shape(2), codes.data());
}

}  // namespace

void bind_tables(nb::module_ &m) {
    using namespace nb::literals;
    m.attr("INPUT_UNIT") = kInputUnit;
    m.attr("OUTPUT_UNIT") = kOutputUnit;
    m.attr("INPUT_BOUND") = kMaxUnits * kInputUnit;
    m.attr("OUTPUT_BOUND") = kMaxUnits * kOutputUnit;
    m.def("encode_fixed16", &encode, "table"_a.noconvert(), "unit"_a, "codes"_a.noconvert(),
          "Round a float32 table to multiples of unit. The codes may begin where the table does in memory.");
    m.def("decode_fixed16", &decode, "codes"_a.noconvert(), "unit"_a, "table"_a.noconvert(),
          "Write the features that codes stand for. The codes may begin where the table does in memory.");
    m.def("mean_rows", &average, "table"_a, "row_begin"_a, "rows"_a, "begin"_a, "end"_a, "means"_a.noconvert());
    m.def("nearest_centroids", &quantize, "rows"_a, "codebook"_a, "codes"_a.noconvert());
}
