// The Python module posvec._kernel: array checks, working memory, GIL release, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "kernel/levels.hpp"
#include "python.hpp"
#include "kernel/quantization.hpp"
#include "kernel/sampling.hpp"

using namespace posvec;

void bind_exchanges(nb::module_ &);
void bind_formats(nb::module_ &);
void bind_text(nb::module_ &);

namespace {

template <class T, std::size_t Dimensions>
using Array = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <class T> using Ids = Array<const T, 1>;

// Memory aligned to a cache line, grown when needed and never shrunk.
template <class T> class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { release(); }

    T *reserve(std::size_t count) {
        if (count > capacity) {
            release();
            data = static_cast<T *>(::operator new(count * sizeof(T), std::align_val_t(64)));
            std::fill_n(data, count, T());
            capacity = count;
        }
        return data;
    }

  private:
    void release() {
        if (data) ::operator delete(data, std::align_val_t(64));
        data = nullptr;
        capacity = 0;
    }

    T *data = nullptr;
    std::size_t capacity = 0;
};

// The working memory of one thread: its draws and the kernel's scratch.
template <class Real> class Workspace {
  public:
    Stretch stretch;

    Scratch<Real> scratch(const Options &options, const Tables<Real> &tables) {
        const std::size_t stride = padded(options.dim), positional = padded(options.positional_dim);
        // A micro-batch and its contexts, or all there are.
        const std::size_t here =
            std::min<std::size_t>(kMicroBatch + 2 * std::size_t(options.window), stretch.word.size());
        Scratch<Real> s;
        s.sums = sums.reserve(here * stride);
        s.sums_before = sums_before.reserve(here * stride);
        s.row_counts = row_counts.reserve(here);
        s.row_shares = row_shares.reserve(here);
        s.prefix = prefix.reserve((here + 1) * stride);
        s.total = total.reserve(stride);
        s.row_prefix = row_prefix.reserve(here + 1);
        s.context = context.reserve(stride);
        s.errors = errors.reserve(kMicroBatch * stride);
        s.positions = positions.reserve(2 * options.window * positional);
        s.positions_before = positions_before.reserve(2 * options.window * positional);
        s.mask = mask.reserve(positional);
        s.scores = scores.reserve(padded(1 + options.negatives));
        s.odds = odds.reserve(padded(1 + options.negatives));
        s.step_sizes = step_sizes.reserve(padded(1 + options.negatives));
        const std::size_t inputs =
            copied_rows(options, tables.words, tables.ngram_rows, stretch.word.size(), kWordsPerInputCopy);
        const std::size_t outputs =
            copied_rows(options, tables.words, tables.words, stretch.word.size(), kWordsPerOutputCopy);
        s.input_copies = input_copies.reserve(2 * inputs * row_bytes<Real>(options));
        s.output_copies = output_copies.reserve(2 * outputs * row_bytes<Real>(options));
        s.output_rows = output_rows.reserve(1 + options.negatives);
        s.whole_context = whole_context.reserve(stride);
        s.whole_weights = whole_weights.reserve(padded(1 + options.negatives));
        s.whole_moves = whole_moves.reserve(padded(1 + options.negatives));
        s.steps = steps.reserve(kRoundings * stride);
        s.slots = static_cast<std::uint32_t>(here);
        s.slot = slot.reserve(stretch.word.size());
        s.slot_word = slot_word.reserve(here);
        s.slot_users = slot_users.reserve(here);
        s.free_slot = free_slot.reserve(here);
        s.slot_of = slot_of.reserve(tables.words);
        return s;
    }

  private:
    Buffer<Real> sums, sums_before, row_counts, row_shares, prefix, total, row_prefix, context, errors, positions,
        positions_before, mask, scores, odds, step_sizes;
    Buffer<unsigned char> input_copies, output_copies;
    Buffer<unsigned char *> output_rows;
    Buffer<Narrow> steps, whole_context;
    Buffer<std::int32_t> whole_weights, whole_moves;
    Buffer<std::uint32_t> slot, slot_word, slot_users, free_slot, slot_of;
};

// The parameters and the lexicon of a model, ready to be trained by any number of threads.
template <class Real> class Trainer {
  public:
    Trainer(Array<Real, 2> input, Array<Real, 2> output, Array<Real, 2> positional, Ids<std::uint64_t> row_begin,
            Ids<std::uint32_t> rows, Ids<float> keep, Ids<float> alias_probability, Ids<std::uint32_t> alias,
            const Options &options, const std::string &cpu)
        : input(input), output(output), positional(positional), row_begin(row_begin), rows(rows), keep(keep),
          options(options), level(choose_level(cpu)) {
        const std::size_t words = output.shape(0), stride = padded(options.dim);
        require(words > 0 && words < (std::size_t(1) << 32) - 1, "output_vectors: no words, or too many");
        require(input.shape(1) == stride && output.shape(1) == stride, "vectors are not padded to a multiple of 16");
        require(reinterpret_cast<std::uintptr_t>(input.data()) % 64 == 0 &&
                    reinterpret_cast<std::uintptr_t>(output.data()) % 64 == 0,
                "vectors are not aligned to 64 bytes");
        require(options.positional_dim <= options.dim, "positional_dim is more than dim");
        require(options.positional_dim == 0 ||
                    (positional.shape(0) == 2 * options.window && positional.shape(1) == options.positional_dim),
                "positional_vectors must have the shape (2 window, positional_dim)");
        require(row_begin.shape(0) == words + 1, "row_begin must have one entry more than there are words");
        require(keep.shape(0) == words && alias.shape(0) == words && alias_probability.shape(0) == words,
                "keep and alias tables must have one entry per word");
        require(row_begin.data()[0] == 0 && row_begin.data()[words] == rows.shape(0), "row_begin does not fit rows");
        for (std::size_t w = 0; w < words; w++)
            require(row_begin.data()[w] < row_begin.data()[w + 1], "a word has no row");
        for (std::size_t k = 0; k < rows.shape(0); k++) require(rows.data()[k] < input.shape(0), "no such input row");
        negatives.reserve(words);
        for (std::size_t w = 0; w < words; w++) {
            require(alias.data()[w] < words, "no such word in the alias table");
            negatives.push_back({alias_probability.data()[w], alias.data()[w]});
        }
        require(!options.narrow || std::is_same_v<Real, float>, "narrow rows are of float32 tables");
        require(options.window > 0 && options.negative_reuse > 0 && options.threads > 0,
                "window, negative_reuse and threads must be positive");
    }

    void draw(Workspace<Real> &work, Ids<std::uint32_t> ids, Ids<std::uint64_t> lines, std::uint64_t begin,
              std::uint64_t end, std::uint64_t seed, double validation, bool held_out, std::uint64_t first_line) const {
        require(begin <= end && end + 1 <= lines.shape(0), "no such lines");
        for (std::uint64_t line = begin; line < end; line++)
            require(lines.data()[line] <= lines.data()[line + 1], "lines are not in order");
        require(lines.data()[end] <= ids.shape(0), "lines do not fit ids");
        require(lines.data()[end] - lines.data()[begin] < std::uint64_t(1) << 31, "too many tokens in one stretch");
        const auto words = static_cast<std::uint32_t>(output.shape(0));
        const Lexicon lexicon{words, keep.data(), negatives.data(), level.draw_words};
        work.stretch.draw({ids.data(), lines.data()}, begin, end, lexicon, options, {validation, held_out, first_line},
                          seed);
    }

    std::uint32_t negatives_per_word() const { return options.negatives; }

    // From pack to unpack, the memory of both tables holds narrow rows, one after the other, if the options say so. A
    // packed row is no longer than the row was, so that rows are packed from the first and unpacked from the last, in
    // place.
    void pack() {
        nb::gil_scoped_release release;
        if (!options.narrow) return;
        pack_table(input, kInputUnit);
        pack_table(output, kOutputUnit);
    }

    void unpack() const {
        unpack_input(input);
        unpack_output(output);
    }

    // Into another table, while training goes on.
    void unpack_input(Array<Real, 2> table) const { unpack_table(input, kInputUnit, table); }
    void unpack_output(Array<Real, 2> table) const { unpack_table(output, kOutputUnit, table); }

    // Trains lines begin .. end - 1; returns (tokens read, masked words, sum of their losses).
    std::tuple<std::uint64_t, std::uint64_t, double> train(Workspace<Real> &work, Ids<std::uint32_t> ids,
                                                           Ids<std::uint64_t> lines, std::uint64_t begin,
                                                           std::uint64_t end, double lr, std::uint64_t seed,
                                                           double validation, bool held_out,
                                                           std::uint64_t first_line) const {
        nb::gil_scoped_release release;
        draw(work, ids, lines, begin, end, seed, validation, held_out, first_line);
        const auto words = static_cast<std::uint32_t>(output.shape(0));
        const Tables<Real> tables{bytes(input),      static_cast<std::uint32_t>(input.shape(0)) - words,
                                  bytes(output),     words,
                                  positional.data(), positional.shape(1)};
        const Scratch<Real> scratch = work.scratch(options, tables);
        TrainFunction<Real> function;
        if constexpr (std::is_same_v<Real, float>)
            function = level.train_float;
        else
            function = level.train_double;
        const Done done = function(tables, {row_begin.data(), rows.data()}, work.stretch.draws(), options, lr, scratch);
        return {work.stretch.tokens, done.masked_words, done.loss};
    }

  private:
    static unsigned char *bytes(const Array<Real, 2> &table) { return reinterpret_cast<unsigned char *>(table.data()); }

    static void pack_table(const Array<Real, 2> &table, float unit) {
        for (std::size_t k = 0; k < table.size(); k += kPad) {
            int rounded[kPad];  // apart from where it goes, so that this is done with vectors
            for (std::size_t i = 0; i < kPad; i++) {
                float value = static_cast<float>(table.data()[k + i]) * (1 / unit);
                value = value < kLeastUnits ? kLeastUnits : value;
                value = value > kMostUnits ? kMostUnits : value;
                rounded[i] = static_cast<int>(value + std::copysign(0.5f, value));
            }
            Narrow units[kPad];
            for (std::size_t i = 0; i < kPad; i++) units[narrow_place(i)] = static_cast<Narrow>(rounded[i]);
            std::memcpy(bytes(table) + k * sizeof(Narrow), units, sizeof units);
        }
    }

    void unpack_table(const Array<Real, 2> &table, float unit, const Array<Real, 2> &into) const {
        require(into.shape(0) == table.shape(0) && into.shape(1) == table.shape(1), "tables differ in shape");
        nb::gil_scoped_release release;
        for (std::size_t k = options.narrow ? table.size() : 0; k > 0;) {
            k -= kPad;
            Narrow units[kPad];
            std::memcpy(units, bytes(table) + k * sizeof(Narrow), sizeof units);
            for (std::size_t i = 0; i < kPad; i++)
                into.data()[k + i] = static_cast<Real>(units[narrow_place(i)]) * unit;
        }
    }

    Array<Real, 2> input, output, positional;
    Ids<std::uint64_t> row_begin;
    Ids<std::uint32_t> rows;
    Ids<float> keep;
    std::vector<AliasCell> negatives;
    Options options;
    const Level &level;
};

// means[w] = mean of the rows of word w, for words begin .. end - 1. The table may be a view of wider rows, and begin
// at any byte, as that of a file of fastText does.
void mean_rows(nb::ndarray<const float, nb::ndim<2>, nb::device::cpu> table, Ids<std::uint64_t> row_begin,
               Ids<std::uint32_t> rows, std::size_t begin, std::size_t end, Array<float, 2> means) {
    require(table.stride(1) == 1 && means.shape(1) == table.shape(1), "tables differ in their number of features");
    require(begin <= end && end <= means.shape(0) && end < row_begin.shape(0), "no such words");
    nb::gil_scoped_release release;
    const std::size_t dim = table.shape(1);
    for (std::size_t w = begin; w < end; w++) {
        float *mean = means.data() + w * dim;
        std::fill_n(mean, dim, 0.0f);
        const std::uint64_t from = row_begin.data()[w], to = row_begin.data()[w + 1];
        require(from < to && to <= rows.shape(0), "row_begin does not fit rows");
        for (std::uint64_t k = from; k < to; k++) {
            require(rows.data()[k] < table.shape(0), "no such row");
            typedef float Anywhere __attribute__((aligned(1), may_alias));
            const Anywhere *row = reinterpret_cast<const Anywhere *>(table.data()) +
                                  static_cast<std::int64_t>(rows.data()[k]) * table.stride(0);
            for (std::size_t j = 0; j < dim; j++) mean[j] += row[j];
        }
        const float share = 1.0f / static_cast<float>(to - from);
        for (std::size_t j = 0; j < dim; j++) mean[j] *= share;
    }
}

void find_nearest(Array<const float, 3> rows, Array<const float, 3> codebook, Array<std::uint8_t, 2> codes) {
    require(rows.shape(1) == codebook.shape(0) && rows.shape(2) == codebook.shape(2), "rows do not fit the codebook");
    require(codes.shape(0) == rows.shape(0) && codes.shape(1) == rows.shape(1), "codes do not fit rows");
    require(codebook.shape(1) >= 1 && codebook.shape(1) <= 256, "a code of one byte tells 256 centroids apart");
    nb::gil_scoped_release release;
    nearest_centroids(rows.data(), rows.shape(0), codebook.data(), codebook.shape(0), codebook.shape(1),
                      codebook.shape(2), codes.data());
}

nb::ndarray<nb::numpy, std::uint32_t> copied(const std::vector<std::uint32_t> &values, std::size_t columns = 0) {
    auto *data = new std::uint32_t[values.size() + 1];
    std::copy(values.begin(), values.end(), data);
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<std::uint32_t *>(p); });
    if (columns) return nb::ndarray<nb::numpy, std::uint32_t>(data, {values.size() / columns, columns}, owner);
    return nb::ndarray<nb::numpy, std::uint32_t>(data, {values.size()}, owner);
}

template <class Real> void bind_trainer(nb::module_ &m, const char *trainer, const char *workspace) {
    nb::class_<Workspace<Real>>(m, workspace).def(nb::init<>());
    nb::class_<Trainer<Real>>(m, trainer)
        .def(nb::init<Array<Real, 2>, Array<Real, 2>, Array<Real, 2>, Ids<std::uint64_t>, Ids<std::uint32_t>,
                      Ids<float>, Ids<float>, Ids<std::uint32_t>, const Options &, const std::string &>(),
             nb::arg("input").noconvert(), nb::arg("output").noconvert(), nb::arg("positional").noconvert(),
             nb::arg("row_begin"), nb::arg("rows"), nb::arg("keep"), nb::arg("alias_probability"), nb::arg("alias"),
             nb::arg("options"), nb::arg("cpu") = "")
        .def("pack", &Trainer<Real>::pack)
        .def("unpack", &Trainer<Real>::unpack)
        .def("unpack_input", &Trainer<Real>::unpack_input, nb::arg("table").noconvert())
        .def("unpack_output", &Trainer<Real>::unpack_output, nb::arg("table").noconvert())
        .def("train", &Trainer<Real>::train, nb::arg("workspace"), nb::arg("ids"), nb::arg("lines"), nb::arg("begin"),
             nb::arg("end"), nb::arg("lr"), nb::arg("seed"), nb::arg("validation") = 0.0, nb::arg("held_out") = false,
             nb::arg("first_line") = 0)
        .def(
            "draw",
            [](const Trainer<Real> &self, Ids<std::uint32_t> ids, Ids<std::uint64_t> lines, std::uint64_t begin,
               std::uint64_t end, std::uint64_t seed, double validation, bool held_out, std::uint64_t first_line) {
                Workspace<Real> work;
                self.draw(work, ids, lines, begin, end, seed, validation, held_out, first_line);
                const Stretch &stretch = work.stretch;
                nb::dict drawn;
                drawn["word"] = copied(stretch.word);
                drawn["place"] = copied(stretch.place);
                drawn["first"] = copied(stretch.first);
                drawn["last"] = copied(stretch.last);
                drawn["negatives"] = copied(stretch.negatives, self.negatives_per_word());
                drawn["needed"] = copied(stretch.needed);
                return drawn;
            },
            nb::arg("ids"), nb::arg("lines"), nb::arg("begin"), nb::arg("end"), nb::arg("seed"),
            nb::arg("validation") = 0.0, nb::arg("held_out") = false, nb::arg("first_line") = 0);
}

}  // namespace

NB_MODULE(_kernel, m) {
    m.doc() = "The compiled part of posvec.";
    nb::class_<Options>(m, "Options")
        .def(nb::init<>())
        .def_rw("dim", &Options::dim)
        .def_rw("positional_dim", &Options::positional_dim)
        .def_rw("window", &Options::window)
        .def_rw("negatives", &Options::negatives)
        .def_rw("negative_reuse", &Options::negative_reuse)
        .def_rw("mean_over_words", &Options::mean_over_words)
        .def_rw("exact_gradient", &Options::exact_gradient)
        .def_rw("summed_positional", &Options::summed_positional)
        .def_rw("train_positions", &Options::train_positions)
        .def_rw("shrink", &Options::shrink)
        .def_rw("text_positions", &Options::text_positions)
        .def_rw("score_limit", &Options::score_limit)
        .def_rw("narrow", &Options::narrow)
        .def_rw("threads", &Options::threads);
    bind_trainer<float>(m, "Trainer", "Workspace");
    bind_trainer<double>(m, "DoubleTrainer", "DoubleWorkspace");
    m.def("mean_rows", &mean_rows, nb::arg("table"), nb::arg("row_begin"), nb::arg("rows"), nb::arg("begin"),
          nb::arg("end"), nb::arg("means").noconvert());
    m.def("nearest_centroids", &find_nearest, nb::arg("rows"), nb::arg("codebook"), nb::arg("codes").noconvert());
    m.attr("PAD") = kPad;
    m.attr("INPUT_BOUND") = kMostUnits * kInputUnit;
    m.attr("OUTPUT_BOUND") = kMostUnits * kOutputUnit;
    m.def("cpu_levels", [] {
        std::vector<std::string> names;
        for (const Level *level : available_levels()) names.emplace_back(level->name);
        return names;
    });
    bind_exchanges(m);
    bind_formats(m);
    bind_text(m);
}
