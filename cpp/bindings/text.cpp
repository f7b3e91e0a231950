// Python's view of cpp/text and of the alias table: array checks, conversions and GIL release, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernel/alias_table.hpp"
#include "python.hpp"
#include "text/subwords.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"
#include "text/word_counter.hpp"
#include "text/word_ids.hpp"

using namespace posvec;

namespace {

// Must be called before Tokenizer::split, with or without the GIL.
void check_text(std::string_view text, Tokenizer &tokenizer) {
    const Utf8Check check = check_utf8(text);
    if (check.invalid >= 0) throw std::invalid_argument("not UTF-8 at byte " + std::to_string(check.invalid));
    if (!tokenizer.needs_casing(check)) return;
    // Made on first use: few texts have a capital sigma, and making the tables takes a moment.
    nb::gil_scoped_acquire gil;
    const nb::object tables = nb::module_::import_("posvec.corpus.tokenizers").attr("casing")();
    const auto [cased, ignorable] = nb::cast<std::pair<nb::bytes, nb::bytes>>(tables);
    tokenizer.set_casing(
        std::make_unique<const Casing>(Casing{CodePointSet(view(cased)), CodePointSet(view(ignorable))}));
}

// A counter and its tokenizer, which Python keeps alive.
struct BoundCounter {
    explicit BoundCounter(Tokenizer &tokenizer) : tokenizer(tokenizer), counter(tokenizer) {}

    Tokenizer &tokenizer;
    WordCounter counter;
};

void add(BoundCounter &self, const nb::bytes &chunk) {
    const std::string_view text = view(chunk);
    nb::gil_scoped_release release;
    check_text(text, self.tokenizer);
    self.counter.add(text);
}

std::tuple<nb::list, Output<std::int64_t>> most_common(const BoundCounter &self, std::uint64_t min_count,
                                                       std::optional<std::uint64_t> max_words) {
    std::vector<std::pair<std::string_view, std::uint64_t>> chosen;
    {
        nb::gil_scoped_release release;
        chosen = self.counter.most_common(min_count, max_words);
    }
    nb::list words;
    std::vector<std::int64_t> counts;
    counts.reserve(chosen.size());
    for (const auto &[word, count] : chosen) {
        words.append(to_str(word));
        counts.push_back(static_cast<std::int64_t>(count));
    }
    return {words, to_array(std::move(counts))};
}

std::tuple<Output<std::uint32_t>, Output<std::uint64_t>, std::uint64_t>
encode(const WordIds &self, Tokenizer &tokenizer, const nb::bytes &chunk) {
    const std::string_view text = view(chunk);
    EncodedLines encoded;
    {
        nb::gil_scoped_release release;
        check_text(text, tokenizer);
        encoded = self.encode(tokenizer, text);
    }
    return {to_array(std::move(encoded.ids)), to_array(std::move(encoded.lengths)), encoded.known};
}

nb::list split(Tokenizer &tokenizer, const nb::bytes &text) {
    check_text(view(text), tokenizer);
    std::vector<char> buffer;
    nb::list lines, line;
    tokenizer.split(
        view(text), buffer, [&](std::string_view word) { line.append(to_str(word)); },
        [&] {
            lines.append(line);
            line = nb::list();
        });
    return lines;
}

std::tuple<Output<float>, Output<std::uint32_t>> alias_table(const Input<double> &weights) {
    AliasTable table;
    {
        nb::gil_scoped_release release;
        table = build_alias_table(weights.data(), weights.shape(0));
    }
    return {to_array(std::move(table.probability)), to_array(std::move(table.alias))};
}

nb::list ngrams(const nb::str &word, int min_n, int max_n) {
    nb::list result;
    std::string marked;
    for_each_ngram(view(word), min_n, max_n, marked, [&](std::string_view ngram) { result.append(to_str(ngram)); });
    return result;
}

std::tuple<Output<std::uint64_t>, Output<std::uint32_t>, Output<std::uint32_t>>
subword_rows(const nb::list &words, const Input<double> &uses, int min_n, int max_n, std::uint32_t buckets,
             const Input<std::uint32_t> &known) {
    require(uses.shape(0) == words.size(), "uses must have one entry per word");
    const std::vector<std::string_view> texts = views(words);
    std::vector<std::uint32_t> kept(known.data(), known.data() + known.shape(0));
    for (const std::uint32_t bucket : kept) require(bucket < buckets, "a known bucket is out of range");
    RowTable table;
    {
        nb::gil_scoped_release release;
        table = build_row_table(texts, uses.data(), min_n, max_n, buckets, std::move(kept));
    }
    return {to_array(std::move(table.row_begin)), to_array(std::move(table.rows)),
            to_array(std::move(table.bucket_ids))};
}

}  // namespace

void bind_text(nb::module_ &m) {
    using namespace nb::literals;

    nb::class_<Tokenizer>(m, "Tokenizer",
                          "Cuts text into tokens by tables over code points; see posvec.corpus.tokenizers.")
        .def(
            "__init__",
            [](Tokenizer *self, const nb::bytes &token_bits, const LowerMap &lower) {
                new (self) Tokenizer(view(token_bits), lower);
            },
            "token_bits"_a, "lower"_a)
        .def("split", &split, "text"_a, "The tokens of each line.");

    nb::class_<BoundCounter>(m, "WordCounter", "Counts the tokens of text.")
        .def(nb::init<Tokenizer &>(), "tokenizer"_a, nb::keep_alive<1, 2>())
        .def("add", &add, "chunk"_a, "Count the tokens of whole lines.")
        .def(
            "merge", [](BoundCounter &self, const BoundCounter &other) { self.counter.merge(other.counter); },
            "other"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("most_common", &most_common, "min_count"_a, "max_words"_a.none())
        .def_prop_ro("tokens", [](const BoundCounter &self) { return self.counter.tokens(); })
        .def_prop_ro("distinct", [](const BoundCounter &self) { return self.counter.distinct(); });

    nb::class_<WordIds>(m, "WordIds", "Looks up the ids of a vocabulary's words.")
        .def(
            "__init__", [](WordIds *self, const nb::list &words) { new (self) WordIds(views(words)); }, "words"_a)
        .def("encode", &encode, "tokenizer"_a, "chunk"_a);

    m.def(
        "find_invalid_utf8",
        [](const nb::bytes &text) {
            const std::string_view bytes = view(text);
            nb::gil_scoped_release release;
            return check_utf8(bytes).invalid;
        },
        "text"_a, "Offset of the first byte that is not UTF-8, or -1.");
    m.def("alias_table", &alias_table, "weights"_a);
    m.def("ngrams", &ngrams, "word"_a, "min_n"_a, "max_n"_a);
    m.def(
        "ngram_buckets",
        [](const nb::str &word, int min_n, int max_n, std::uint32_t buckets) {
            return to_array(ngram_buckets(view(word), min_n, max_n, buckets));
        },
        "word"_a, "min_n"_a, "max_n"_a, "buckets"_a);
    m.def("subword_rows", &subword_rows, "words"_a, "uses"_a, "min_n"_a, "max_n"_a, "buckets"_a, "known"_a);
}
