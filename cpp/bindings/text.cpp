// Python's view of text.hpp, words.hpp and subwords.hpp: checks of what comes in, the GIL released around the work,
// nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "python.hpp"
#include "text/subwords.hpp"
#include "text/text.hpp"
#include "text/words.hpp"

namespace nb = nanobind;
using namespace posvec;

namespace {

// To be called before Tokenizer::split, with or without the GIL.
void check_text(std::string_view text, Tokenizer &tokenizer) {
    const Utf8Check check = check_utf8(text);
    if (check.bad >= 0) throw std::invalid_argument("not UTF-8 at byte " + std::to_string(check.bad));
    if (!tokenizer.needs_casing(check)) return;
    // Made only now: few texts have a capital sigma, and the table takes a moment.
    nb::gil_scoped_acquire gil;
    const nb::object tables = nb::module_::import_("posvec.corpus.tokenizers").attr("casing")();
    const auto [cased, ignorable] = nb::cast<std::pair<nb::bytes, nb::bytes>>(tables);
    tokenizer.set_casing(
        std::make_unique<const Casing>(Casing{CodePointSet(view(cased)), CodePointSet(view(ignorable))}));
}

// Counts words. One thread at a time; several counters are merged in the end.
class WordCounter {
  public:
    explicit WordCounter(Tokenizer &tokenizer) : tokenizer_(tokenizer) {}

    void add(const nb::bytes &chunk) {
        const std::string_view text = view(chunk);
        nb::gil_scoped_release release;
        check_text(text, tokenizer_);
        WordQueue queue;
        const auto count = [&](const WordTable::Key &key, std::string_view word) { words_.at(key, word)++; };
        tokenizer_.split(
            text, buffer_,
            [&](std::string_view word) {
                queue.push(words_, word, count);
                tokens_++;
            },
            [] {});
        queue.flush(count);
    }

    void merge(const WordCounter &other) {
        words_.reserve(words_.size() + other.words_.size());
        other.words_.each([&](std::string_view word, uint64_t count) { words_.at(word) += count; });
        tokens_ += other.tokens_;
    }

    // Words by descending count and then by code points, which is the order of their UTF-8 bytes.
    std::tuple<nb::list, Output<int64_t>> most_common(uint64_t min_count, std::optional<uint64_t> max_words) const {
        std::vector<std::pair<std::string_view, uint64_t>> chosen;
        {
            nb::gil_scoped_release release;
            words_.each([&](std::string_view word, uint64_t count) {
                if (count >= min_count) chosen.emplace_back(word, count);
            });
            const auto before = [](const auto &a, const auto &b) {
                return a.second != b.second ? a.second > b.second : a.first < b.first;
            };
            if (max_words && *max_words < chosen.size()) {
                const auto cut = chosen.begin() + static_cast<ptrdiff_t>(*max_words);
                std::partial_sort(chosen.begin(), cut, chosen.end(), before);
                chosen.resize(*max_words);
            } else {
                std::sort(chosen.begin(), chosen.end(), before);
            }
        }
        nb::list words;
        std::vector<int64_t> counts;
        counts.reserve(chosen.size());
        for (const auto &[word, count] : chosen) {
            words.append(to_str(word));
            counts.push_back(static_cast<int64_t>(count));
        }
        return {words, to_array(std::move(counts))};
    }

    uint64_t tokens() const { return tokens_; }
    size_t distinct() const { return words_.size(); }

  private:
    Tokenizer &tokenizer_;
    WordTable words_;
    std::vector<char> buffer_;
    uint64_t tokens_ = 0;
};

// The ids of a vocabulary's words: read-only, shared by threads.
class WordIds {
  public:
    explicit WordIds(const nb::list &words) : words_(words.size()), size_(words.size()) {
        if (size_ >= 0xFFFFFFFF) throw std::invalid_argument("more words than 32-bit ids");
        std::vector<char> padded;
        uint64_t id = 0;
        for (nb::handle each : words) {
            const std::string_view word = view(each);
            padded.resize(word.size() + spare);
            std::copy(word.begin(), word.end(), padded.begin());
            words_.at({padded.data(), word.size()}) = id++;
        }
        if (words_.size() != size_) throw std::invalid_argument("the words are not distinct");
    }

    // Ids of the tokens, V for those outside the vocabulary; tokens of each line that has any; tokens inside.
    std::tuple<Output<uint32_t>, Output<uint64_t>, uint64_t> encode(Tokenizer &tokenizer,
                                                                    const nb::bytes &chunk) const {
        const std::string_view text = view(chunk);
        std::vector<uint32_t> ids;
        std::vector<uint64_t> lengths;
        uint64_t inside = 0;
        {
            nb::gil_scoped_release release;
            check_text(text, tokenizer);
            ids.reserve(text.size() / 5);
            // Kept by each thread: a fresh one of megabytes per chunk would cost a page fault per 4 kB.
            thread_local std::vector<char> buffer;
            size_t line_start = 0, looked_up = 0;
            WordQueue queue;
            const auto look_up = [&](const WordTable::Key &key, std::string_view word) {
                const uint64_t *id = words_.find(key, word);
                inside += id != nullptr;
                ids[looked_up++] = static_cast<uint32_t>(id ? *id : size_);
            };
            tokenizer.split(
                text, buffer,
                [&](std::string_view word) {
                    ids.push_back(0);
                    queue.push(words_, word, look_up);
                },
                [&] {
                    if (ids.size() > line_start) lengths.push_back(ids.size() - line_start);
                    line_start = ids.size();
                });
            queue.flush(look_up);
        }
        return {to_array(std::move(ids)), to_array(std::move(lengths)), inside};
    }

  private:
    WordTable words_;
    size_t size_;
};

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

// Walker's alias table by Vose's method: draw i uniformly, keep it with probability[i], else take alias[i].
std::tuple<Output<float>, Output<uint32_t>> alias_table(const Input<double> &weights) {
    const size_t size = weights.shape(0);
    std::vector<float> probability(size, 1.0f);
    std::vector<uint32_t> alias(size);
    std::iota(alias.begin(), alias.end(), 0u);
    {
        nb::gil_scoped_release release;
        const double total = std::accumulate(weights.data(), weights.data() + size, 0.0);
        if (!(total > 0) || total > 1e300) throw std::invalid_argument("weights must be finite and not all zero");
        std::vector<double> share(size);
        std::vector<uint32_t> small, large;
        for (size_t i = 0; i < size; i++) {
            share[i] = weights.data()[i] / total * static_cast<double>(size);
            (share[i] < 1 ? small : large).push_back(static_cast<uint32_t>(i));
        }
        while (!small.empty() && !large.empty()) {
            const uint32_t less = small.back(), more = large.back();
            small.pop_back();
            probability[less] = static_cast<float>(share[less]);
            alias[less] = more;
            share[more] -= 1 - share[less];
            if (share[more] < 1) {
                large.pop_back();
                small.push_back(more);
            }
        }
        // What is left over is 1 up to rounding, as the arrays already say.
    }
    return {to_array(std::move(probability)), to_array(std::move(alias))};
}

nb::list ngrams(const nb::str &word, int min_n, int max_n) {
    nb::list result;
    std::string marked;
    each_ngram(view(word), min_n, max_n, marked, [&](std::string_view ngram) { result.append(to_str(ngram)); });
    return result;
}

Output<uint32_t> ngram_buckets(const nb::str &word, int min_n, int max_n, uint32_t buckets) {
    std::vector<uint32_t> result;
    std::string marked;
    each_ngram(view(word), min_n, max_n, marked,
               [&](std::string_view ngram) { result.push_back(ngram_hash(ngram) % buckets); });
    return to_array(std::move(result));
}

std::tuple<Output<uint64_t>, Output<uint32_t>, Output<uint32_t>> subword_rows(const nb::list &words,
                                                                              const Input<double> &uses, int min_n,
                                                                              int max_n, uint32_t buckets,
                                                                              const Input<uint32_t> &known) {
    if (uses.shape(0) != words.size()) throw std::invalid_argument("one use per word");
    const std::vector<std::string_view> texts = views(words);
    std::vector<uint32_t> kept(known.data(), known.data() + known.shape(0));
    for (const uint32_t bucket : kept) {
        if (bucket >= buckets) throw std::invalid_argument("a known bucket is out of range");
    }
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
                          "Cuts text into tokens as the tables over code points say; see posvec.corpus.tokenizers.")
        .def(
            "__init__",
            [](Tokenizer *self, const nb::bytes &token_bits, const LowerMap &lower) {
                new (self) Tokenizer(view(token_bits), lower);
            },
            "token_bits"_a, "lower"_a)
        .def("split", &split, "text"_a, "The tokens of each line.");

    nb::class_<WordCounter>(m, "WordCounter", "Counts the tokens of text.")
        .def(nb::init<Tokenizer &>(), "tokenizer"_a, nb::keep_alive<1, 2>())
        .def("add", &WordCounter::add, "chunk"_a, "Count the tokens of whole lines.")
        .def("merge", &WordCounter::merge, "other"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("most_common", &WordCounter::most_common, "min_count"_a, "max_words"_a.none())
        .def_prop_ro("tokens", &WordCounter::tokens)
        .def_prop_ro("distinct", &WordCounter::distinct);

    nb::class_<WordIds>(m, "WordIds", "Looks up the ids of a vocabulary's words.")
        .def(nb::init<const nb::list &>(), "words"_a)
        .def("encode", &WordIds::encode, "tokenizer"_a, "chunk"_a);

    m.def(
        "find_invalid_utf8",
        [](const nb::bytes &text) {
            const std::string_view bytes = view(text);
            nb::gil_scoped_release release;
            return check_utf8(bytes).bad;
        },
        "text"_a, "Offset of the first byte that is not UTF-8, or -1.");
    m.def("alias_table", &alias_table, "weights"_a);
    m.def("ngrams", &ngrams, "word"_a, "min_n"_a, "max_n"_a);
    m.def("ngram_buckets", &ngram_buckets, "word"_a, "min_n"_a, "max_n"_a, "buckets"_a);
    m.def("subword_rows", &subword_rows, "words"_a, "uses"_a, "min_n"_a, "max_n"_a, "buckets"_a, "known"_a);
}
