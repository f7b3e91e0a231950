// Tables of 16-bit fixed-point numbers: the number format of the step by default. float_rows.hpp says what each
// function is for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fixed16_outputs.hpp"
#include "fixed16_vectors.hpp"
#include "number_formats.hpp"
#include "prefetch_batch.hpp"
#include "row_groups.hpp"
#include "scratch.hpp"
#include "stochastic_rounding.hpp"

namespace posvec::POSVEC_LEVEL {

class Fixed16Rows {
  public:
    using Format = Fixed16;
    template <int T> using Group = RowGroup<std::int16_t, T>;

    Fixed16Rows(const Scratch<Fixed16> &scratch, std::uint64_t seed)
        : stride_(scratch.sizes.stride), steps_(scratch.format.steps),
          outputs_(scratch.format.quantized_context, scratch.format.quantized_weights, scratch.format.quantized_moves,
                   stride_),
          rounding_(seed) {}

    template <int T> static void add_to_sum(float *sum, const Group<T> &rows, std::size_t stride) {
        for_fixed16_vectors(stride, [&](std::size_t index, std::size_t lower, std::size_t upper) {
            Int32s lower_sum{}, upper_sum{};
            for (int i = 0; i < T; i += 2)
                add_weighted(lower_sum, upper_sum, load_shared(rows.row[i] + index),
                             i + 1 < T ? load_shared(rows.row[i + 1] + index) : Int16s{}, Int16s{} + std::int16_t(1));
            add_units(sum + lower, lower_sum, kInputUnit);
            add_units(sum + upper, upper_sum, kInputUnit);
        });
    }

    // each row += its own of `steps`, rows of n units
    template <int T> static void add_steps(const Group<T> &rows, const std::int16_t *steps, std::size_t n) {
        for (std::size_t j = 0; j < n; j += kInt16Lanes)
            for (int i = 0; i < T; i++) move_shared(rows.row[i] + j, load(steps + i * n + j));
    }

    // Every row += (sum - before) weight, rounded: each of kRoundings rows by a rounding of its own.
    template <class GetGroup>
    void add_update(float *sum, const float *before, float weight, std::size_t count, GetGroup group) {
        if (count == 1)  // in a word head
            rounding_.round<1>(steps_, sum, before, weight, stride_);
        else
            rounding_.round(steps_, sum, before, weight, stride_);
        for_groups<kRoundings>(count, [&]<int T>(std::size_t k) {
            const Group<T> rows = group.template operator()<T>(k);
            add_steps(rows, steps_, stride_);
        });
    }

    void set_context(const float *u) { outputs_.set_context(u); }
    void set_step_sizes(const float *g, std::size_t count) { outputs_.set_step_sizes(g, count); }

    template <int T> void score(float *scores, const Group<T> &rows, const PrefetchBatch ahead) const {
        outputs_.score(scores, rows, ahead);
    }

    template <int T> void update(const Group<T> &rows, std::size_t k, float *error, const PrefetchBatch ahead) {
        outputs_.update(rows, k, error, rounding_, ahead);
    }

  private:
    const std::size_t stride_;
    std::int16_t *const steps_;
    QuantizedOutputs outputs_;
    StochasticRounding rounding_;
};

}  // namespace posvec::POSVEC_LEVEL
