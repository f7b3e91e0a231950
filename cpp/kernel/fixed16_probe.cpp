// fixed16_probe.hpp compiled for one instruction-set level, POSVEC_LEVEL. It is not a part of kernel.cpp, because
// further callers of the step's functions would change which of them the compiler inlines there.
#include "fixed16_probe.hpp"

#include "fixed16_outputs.hpp"
#include "fixed16_rows.hpp"
#include "fixed16_vectors.hpp"
#include "number_formats.hpp"
#include "prefetch_batch.hpp"
#include "row_groups.hpp"
#include "stochastic_rounding.hpp"

namespace posvec::POSVEC_LEVEL {

namespace {

// As in row_cache.hpp and output_step.hpp; a test of whole chunks fails if the latter differs.
constexpr int kMaxInputRows = 8, kMaxOutputRows = 11;

template <int T> RowGroup<std::int16_t, T> group(std::int16_t *const *rows, std::size_t k) {
    RowGroup<std::int16_t, T> group;
    for (int i = 0; i < T; i++) group.row[i] = rows[k + i];
    return group;
}

void train_outputs(const Fixed16Outputs &given) {
    QuantizedOutputs outputs(given.quantized_context, given.weights, given.moves, given.size);
    StochasticRounding rounding(given.seed);
    const PrefetchBatch none{nullptr, 0};
    outputs.set_context(given.context);
    for_groups<kMaxOutputRows>(
        given.count, [&]<int T>(std::size_t k) { outputs.score(given.scores + k, group<T>(given.rows, k), none); });
    outputs.set_step_sizes(given.step_sizes, given.count);
    for_groups<kMaxOutputRows>(given.count, [&]<int T>(std::size_t k) {
        outputs.update(group<T>(given.rows, k), k, given.error, rounding, none);
    });
}

void sum_inputs(const Fixed16Inputs &given, float *sum) {
    clear(sum, given.size);
    for_groups<kMaxInputRows>(
        given.count, [&]<int T>(std::size_t k) { Fixed16Rows::add_to_sum(sum, group<T>(given.rows, k), given.size); });
}

void update_inputs(const Fixed16Inputs &given, const float *sum, const float *before, std::uint64_t seed,
                   std::int16_t *roundings) {
    StochasticRounding(seed).round(roundings, sum, before, 1 / static_cast<float>(given.count), given.size);
    for_groups<kRoundings>(given.count, [&]<int T>(std::size_t k) {
        Fixed16Rows::add_steps(group<T>(given.rows, k), roundings, given.size);
    });
}

float multiply_add_floats(float a, float b, float c) { return a * b + c; }

}  // namespace

extern const Fixed16Probe fixed16_probe;
const Fixed16Probe fixed16_probe{kInt32Lanes, train_outputs, sum_inputs, update_inputs, multiply_add_floats};

}  // namespace posvec::POSVEC_LEVEL
