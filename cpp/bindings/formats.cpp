// Python's view of vector_files.hpp: checks of what comes in, the GIL released around the work, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "python.hpp"
#include "text/vector_files.hpp"

using namespace posvec;

namespace {

using Bytes = Input<uint8_t>;
using Table = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>;

std::string_view view(const Bytes &bytes) { return {reinterpret_cast<const char *>(bytes.data()), bytes.shape(0)}; }

nb::list to_list(const std::vector<std::string_view> &words) {
    nb::list list;
    for (const std::string_view word : words) list.append(to_str(word));
    return list;
}

std::tuple<nb::list, Output<float>, std::string> read_vector_lines(const nb::bytes &chunk, size_t dim, bool crlf) {
    const std::string_view text = posvec::view(chunk);
    Lines lines;
    {
        nb::gil_scoped_release release;
        lines = read_lines(text, dim, crlf);
    }
    return {to_list(lines.words), to_array(std::move(lines.values)), lines.wrong};
}

nb::bytes write_vector_lines(const nb::list &words, const Table &table) {
    if (table.shape(0) != words.size() || table.stride(1) != 1) throw std::invalid_argument("one row per word");
    const std::vector<std::string_view> texts = views(words);
    std::string text;
    {
        nb::gil_scoped_release release;
        text = write_lines(texts, table.data(), table.shape(1), table.stride(0));
    }
    return nb::bytes(text.data(), text.size());
}

std::tuple<nb::list, Output<uint64_t>, size_t, std::string>
find_vector_records(const Bytes &bytes, size_t begin, size_t count, uint8_t delimiter, size_t tail, bool lines) {
    Records records;
    {
        nb::gil_scoped_release release;
        records = find_records(view(bytes), begin, count, static_cast<char>(delimiter), tail, lines);
    }
    return {to_list(records.words), to_array(std::move(records.tails)), records.end, records.wrong};
}

// Copies the bytes behind each place into the table's rows begin..end.
void copy_records(const Bytes &bytes, const Input<uint64_t> &places, size_t begin, size_t end,
                  const nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> &table) {
    if (end > places.shape(0) || end > table.shape(0)) throw std::invalid_argument("no such rows");
    nb::gil_scoped_release release;
    const size_t width = table.shape(1) * sizeof(float);
    for (size_t i = begin; i < end; i++) {
        const uint64_t place = places.data()[i];
        if (place > bytes.shape(0) || bytes.shape(0) - place < width) throw std::invalid_argument("no such place");
        std::memcpy(table.data() + i * table.shape(1), bytes.data() + place, width);
    }
}

// The first row of begin..end that has a number that is not finite, or -1.
int64_t find_not_finite(const Table &table, size_t begin, size_t end) {
    if (end > table.shape(0) || table.stride(1) != 1) throw std::invalid_argument("no such rows");
    nb::gil_scoped_release release;
    for (size_t i = begin; i < end; i++) {
        if (!all_finite(table.data() + static_cast<int64_t>(i) * table.stride(0), table.shape(1)))
            return static_cast<int64_t>(i);
    }
    return -1;
}

}  // namespace

void bind_formats(nb::module_ &m) {
    using namespace nb::literals;

    m.def("read_vector_lines", &read_vector_lines, "chunk"_a, "dim"_a, "crlf"_a,
          "Words and numbers of whole lines, up to the first that is wrong, and what is wrong with it.");
    m.def("write_vector_lines", &write_vector_lines, "words"_a, "table"_a.noconvert());
    m.def("find_vector_records", &find_vector_records, "bytes"_a.noconvert(), "begin"_a, "count"_a, "delimiter"_a,
          "tail"_a, "lines"_a,
          "Words, where the bytes behind each begin, where the last of them ends, and what is wrong with the next.");
    m.def("copy_records", &copy_records, "bytes"_a.noconvert(), "places"_a, "begin"_a, "end"_a, "table"_a.noconvert());
    m.def("find_not_finite", &find_not_finite, "table"_a.noconvert(), "begin"_a, "end"_a);
}
