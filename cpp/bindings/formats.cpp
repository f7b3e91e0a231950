// Python's view of text/vector_files.hpp: array checks and GIL release, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "python.hpp"
#include "text/vector_files.hpp"

using namespace posvec;

namespace {

using Bytes = Input<std::uint8_t>;
using Table = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>;
using ContiguousTable = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::string_view as_text(const Bytes &bytes) { return {reinterpret_cast<const char *>(bytes.data()), bytes.shape(0)}; }

std::tuple<nb::list, Output<float>, std::string> read_lines(const nb::bytes &chunk, std::size_t dim, bool crlf) {
    const std::string_view text = view(chunk);
    VectorLines lines;
    {
        nb::gil_scoped_release release;
        lines = read_vector_lines(text, dim, crlf);
    }
    return {to_list(lines.words), to_array(std::move(lines.values)), lines.error};
}

nb::bytes write_lines(const nb::list &words, const Table &table) {
    require(table.shape(0) == words.size() && table.stride(1) == 1, "the table must have one row per word");
    const std::vector<std::string_view> texts = views(words);
    std::string text;
    {
        nb::gil_scoped_release release;
        text = write_vector_lines(texts, table.data(), table.shape(1), table.stride(0));
    }
    return nb::bytes(text.data(), text.size());
}

std::tuple<nb::list, Output<std::uint64_t>, std::size_t, std::string> find_records(const Bytes &bytes,
                                                                                   std::size_t begin, std::size_t count,
                                                                                   std::uint8_t delimiter,
                                                                                   std::size_t tail, bool line_feeds) {
    VectorRecords records;
    {
        nb::gil_scoped_release release;
        records = find_vector_records(as_text(bytes), begin, count, static_cast<char>(delimiter), tail, line_feeds);
    }
    return {to_list(records.words), to_array(std::move(records.offsets)), records.end, records.error};
}

void copy_rows(const Bytes &bytes, const Input<std::uint64_t> &offsets, std::size_t begin, std::size_t end,
               const ContiguousTable &table) {
    require(end <= offsets.shape(0) && end <= table.shape(0), "no such rows");
    nb::gil_scoped_release release;
    copy_records(as_text(bytes), offsets.data(), begin, end, table.data(), table.shape(1));
}

std::int64_t find_row_not_finite(const Table &table, std::size_t begin, std::size_t end) {
    require(end <= table.shape(0) && table.stride(1) == 1, "no such rows");
    nb::gil_scoped_release release;
    return find_not_finite(table.data(), table.shape(1), table.stride(0), begin, end);
}

}  // namespace

void bind_formats(nb::module_ &m) {
    using namespace nb::literals;

    m.def("read_vector_lines", &read_lines, "chunk"_a, "dim"_a, "crlf"_a,
          "Words and numbers of whole lines, up to the first invalid one, and what is wrong with that.");
    m.def("write_vector_lines", &write_lines, "words"_a, "table"_a.noconvert());
    m.def("find_vector_records", &find_records, "bytes"_a.noconvert(), "begin"_a, "count"_a, "delimiter"_a, "tail"_a,
          "line_feeds"_a,
          "Words, the offset of the bytes after each, the end of the last record, and what is wrong with the next.");
    m.def("copy_records", &copy_rows, "bytes"_a.noconvert(), "offsets"_a, "begin"_a, "end"_a, "table"_a.noconvert(),
          "Copy the bytes at each offset to the row of the same index.");
    m.def("find_not_finite", &find_row_not_finite, "table"_a.noconvert(), "begin"_a, "end"_a,
          "The first row that has a number that is not finite, or -1.");
}
