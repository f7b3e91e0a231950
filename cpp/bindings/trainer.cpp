// The trainers of posvec._kernel, one for each number format: array checks and GIL release.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "kernel/chunk_trainer.hpp"
#include "kernel/levels.hpp"
#include "kernel/number_formats.hpp"
#include "kernel/options.hpp"
#include "kernel/padding.hpp"
#include "python.hpp"

using namespace posvec;

namespace {

template <class T> using Rows = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;  // may be part of wider rows

// A head, and the arrays it works on, which it keeps alive.
template <class Format> class HeadArrays {
  public:
    using Real = typename Format::Real;
    using Stored = typename Format::Stored;

    HeadArrays(Array<Stored, 2> input, Rows<Stored> output, Rows<Real> positional, Input<std::uint64_t> row_begin,
               Input<std::uint32_t> rows, std::uint32_t dim, double rate)
        : input_(input), output_(output), positional_(positional), row_begin_(row_begin), rows_(rows), dim_(dim),
          rate_(rate) {
        const std::size_t words = output.shape(0), stride = padded(dim);
        require(words > 0 && words < (std::size_t(1) << 32) - 1, "output_vectors: no words, or too many");
        require(input.shape(1) == stride && output.shape(1) == stride, "vectors are not padded to a multiple of 16");
        require(output.stride(1) == 1 && output.stride(0) % kPad == 0, "output_vectors: rows are not padded");
        require(is_aligned(input) && is_aligned(output, kPad * sizeof(std::int16_t)), "vectors are not aligned");
        require(positional.shape(1) <= dim, "positional_dim is more than dim");
        require(positional.shape(1) == 0 || positional.stride(1) == 1, "positional_vectors: rows are not contiguous");
        require(row_begin.shape(0) == words + 1, "row_begin must have one entry more than there are words");
        require(row_begin.data()[0] == 0 && row_begin.data()[words] == rows.shape(0), "row_begin does not fit rows");
        for (std::size_t w = 0; w < words; w++)
            require(row_begin.data()[w] < row_begin.data()[w + 1], "a word has no row");
        require(input.shape(0) >= words, "input_vectors: fewer rows than words");
        for (std::size_t k = 0; k < rows.shape(0); k++) require(rows.data()[k] < input.shape(0), "no such input row");
    }

    std::size_t words() const { return output_.shape(0); }

    Head<Format> head(std::uint32_t window) const {
        const auto positional_dim = static_cast<std::uint32_t>(positional_.shape(1));
        require(positional_dim == 0 || positional_.shape(0) == 2 * window,
                "positional_vectors must have the shape (2 window, positional_dim)");
        return {{dim_, positional_dim, input_.data(), static_cast<std::uint32_t>(input_.shape(0) - words()),
                 output_.data(), static_cast<std::size_t>(output_.stride(0)), static_cast<std::uint32_t>(words()),
                 positional_.data(), static_cast<std::size_t>(positional_.stride(0))},
                {row_begin_.data(), rows_.data()},
                rate_};
    }

  private:
    Array<Stored, 2> input_;
    Rows<Stored> output_;
    Rows<Real> positional_;
    Input<std::uint64_t> row_begin_;
    Input<std::uint32_t> rows_;
    std::uint32_t dim_;
    double rate_;
};

// A ChunkTrainer that keeps the arrays it works on alive.
template <class Format> class Trainer {
  public:
    using Arrays = HeadArrays<Format>;

    Trainer(std::vector<Arrays> heads, Input<float> keep, Input<float> alias_probability, Input<std::uint32_t> alias,
            const KernelOptions &options, const std::string &cpu)
        : arrays_(std::move(heads)), keep_(keep),
          trainer_(checked_heads(arrays_, keep, alias_probability, alias, options), keep.data(),
                   alias_probability.data(), alias.data(), options, choose_level(cpu)) {}

    // (tokens read, masked words, sum of their losses)
    std::tuple<std::uint64_t, std::uint64_t, double>
    train(Workspace &work, Input<std::uint32_t> ids, Input<std::uint64_t> lines, std::uint64_t begin, std::uint64_t end,
          double lr, std::uint64_t seed, double validation, bool held_out, std::uint64_t first_line) const {
        nb::gil_scoped_release release;
        const LineRange range = checked(ids, lines, begin, end, {validation, held_out, first_line});
        const ChunkResult result = trainer_.train(work, range, lr, seed);
        return {work.draws.tokens, result.masked_words, result.loss};
    }

    nb::dict draw(Input<std::uint32_t> ids, Input<std::uint64_t> lines, std::uint64_t begin, std::uint64_t end,
                  std::uint64_t seed, double validation, bool held_out, std::uint64_t first_line) const {
        ChunkDraws draws;
        trainer_.draw(draws, checked(ids, lines, begin, end, {validation, held_out, first_line}), seed);
        nb::dict arrays;
        arrays["word"] = to_array(std::move(draws.word));
        arrays["offset"] = to_array(std::move(draws.offset));
        arrays["first"] = to_array(std::move(draws.first));
        arrays["last"] = to_array(std::move(draws.last));
        arrays["negatives"] = to_rows(std::move(draws.negatives), trainer_.options().negatives);
        arrays["needed"] = to_array(std::move(draws.needed));
        return arrays;
    }

  private:
    static std::vector<Head<Format>> checked_heads(const std::vector<Arrays> &arrays, const Input<float> &keep,
                                                   const Input<float> &alias_probability,
                                                   const Input<std::uint32_t> &alias, const KernelOptions &options) {
        require(!arrays.empty(), "a model has at least one head");
        const std::size_t words = arrays.front().words();
        require(keep.shape(0) == words && alias.shape(0) == words && alias_probability.shape(0) == words,
                "keep and alias tables must have one entry per word");
        for (std::size_t w = 0; w < words; w++) require(alias.data()[w] < words, "no such word in the alias table");
        require(options.window > 0 && options.negative_reuse > 0 && options.threads > 0,
                "window, negative_reuse and threads must be positive");
        std::vector<Head<Format>> heads;
        for (const Arrays &each : arrays) {
            require(each.words() == words, "heads differ in their number of words");
            heads.push_back(each.head(options.window));
        }
        return heads;
    }

    static LineRange checked(const Input<std::uint32_t> &ids, const Input<std::uint64_t> &lines, std::uint64_t begin,
                             std::uint64_t end, const HeldOut &held_out) {
        require(begin <= end && end + 1 <= lines.shape(0), "no such lines");
        for (std::uint64_t line = begin; line < end; line++)
            require(lines.data()[line] <= lines.data()[line + 1], "lines are not in order");
        require(lines.data()[end] <= ids.shape(0), "lines do not fit ids");
        require(lines.data()[end] - lines.data()[begin] < std::uint64_t(1) << 31, "too many tokens in one chunk");
        return {{ids.data(), lines.data()}, begin, end, held_out};
    }

    const std::vector<Arrays> arrays_;
    const Input<float> keep_;
    const ChunkTrainer<Format> trainer_;
};

template <class Format> void bind_trainer(nb::module_ &m, const char *name, const char *head) {
    using namespace nb::literals;
    using Class = Trainer<Format>;
    using Arrays = HeadArrays<Format>;
    using Stored = typename Format::Stored;
    using Real = typename Format::Real;
    nb::class_<Arrays>(m, head).def(nb::init<Array<Stored, 2>, Rows<Stored>, Rows<Real>, Input<std::uint64_t>,
                                             Input<std::uint32_t>, std::uint32_t, double>(),
                                    "input"_a.noconvert(), "output"_a.noconvert(), "positional"_a.noconvert(),
                                    "row_begin"_a, "rows"_a, "dim"_a, "rate"_a = 1.0);
    nb::class_<Class>(m, name)
        .def(nb::init<std::vector<Arrays>, Input<float>, Input<float>, Input<std::uint32_t>, const KernelOptions &,
                      const std::string &>(),
             "heads"_a, "keep"_a, "alias_probability"_a, "alias"_a, "options"_a, "cpu"_a = "")
        .def("train", &Class::train, "workspace"_a, "ids"_a, "lines"_a, "begin"_a, "end"_a, "lr"_a, "seed"_a,
             "validation"_a = 0.0, "held_out"_a = false, "first_line"_a = 0)
        .def("draw", &Class::draw, "ids"_a, "lines"_a, "begin"_a, "end"_a, "seed"_a, "validation"_a = 0.0,
             "held_out"_a = false, "first_line"_a = 0);
}

}  // namespace

void bind_trainers(nb::module_ &m) {
    nb::class_<KernelOptions> options(m, "KernelOptions");
    options.def(nb::init<>());
#define POSVEC_BIND_OPTION(type, name, value, description) options.def_rw(#name, &KernelOptions::name, description);
    POSVEC_KERNEL_OPTIONS(POSVEC_BIND_OPTION)
#undef POSVEC_BIND_OPTION
    nb::class_<Workspace>(m, "Workspace").def(nb::init<>());
    bind_trainer<Float32>(m, "Float32Trainer", "Float32Head");
    bind_trainer<Float64>(m, "Float64Trainer", "Float64Head");
    bind_trainer<Fixed16>(m, "Fixed16Trainer", "Fixed16Head");
    m.attr("PAD") = kPad;
    m.def("cpu_levels", [] {
        std::vector<std::string> names;
        for (const Level *level : available_levels()) names.emplace_back(level->name);
        return names;
    });
}
