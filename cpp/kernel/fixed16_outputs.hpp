// Output rows of 16-bit numbers, scored and updated in integer arithmetic: a register holds twice as many of them.
//
// For a masked word with context u and step sizes g (output_step.hpp), both of them in multiples of what suits their
// largest:
//
//     q = u / quantum, |q| <= 2^14        score = quantum unit sum_j q v
//     w = g / weight, |w| <= 2^12         e += weight unit sum_v w v
//     m = g quantum 2^(15 + shift) / unit         v += (q m / 2^15 + r) / 2^shift, rounded down
//
// where r is drawn from 0 .. 2^shift - 1, so that an update is right on average however small it is, and shift is as
// large as 16 bits allow. No sum can overflow, whatever the rows hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fixed16_vectors.hpp"
#include "number_formats.hpp"
#include "prefetch_batch.hpp"
#include "row_groups.hpp"
#include "stochastic_rounding.hpp"

namespace posvec::POSVEC_LEVEL {

class QuantizedOutputs {
  public:
    // Working memory for a context of `stride` features, and for the padded step sizes of a masked word.
    QuantizedOutputs(std::int16_t *context, std::int32_t *weights, std::int32_t *moves, std::size_t stride)
        : context_(context), weights_(weights), moves_(moves), stride_(stride) {
        // Each lane adds up stride / 8 sums of two products where it adds up most.
        while (score_bits_ > 1 && (stride / 4) << score_bits_ >= 1 << 16) score_bits_--;
    }

    void set_context(const float *u) {
        const float peak = max_abs(u, stride_) + kTiny;
        quantum_ = peak / kContextPeak;
        const float to_quanta = kContextPeak / peak;
        for_fixed16_vectors(stride_, [&](std::size_t index, std::size_t lower, std::size_t upper) {
            store(context_ + index, pack(round_to_int(load_floats(u + lower) * to_quanta),
                                         round_to_int(load_floats(u + upper) * to_quanta)));
        });
    }

    // `count` of them, padded with zeros.
    void set_step_sizes(const float *g, std::size_t count) {
        const float peak = max_abs(g, padded(count)) + kTiny;
        weight_ = peak / kWeightPeak;
        shift_ = exponent(kOutputUnit / (peak * quantum_));
        shift_ = shift_ < 0 ? 0 : shift_ > kMaxShift ? kMaxShift : shift_;
        const float to_move = quantum_ / kOutputUnit * static_cast<float>(1 << (15 + shift_));
        for (std::size_t k = 0; k < padded(count); k += kInt32Lanes) {
            const Floats value = load_floats(g + k);
            Floats move = value * to_move;
            move = move > kMaxUnits ? Floats{} + kMaxUnits : move;
            move = move < -kMaxUnits ? Floats{} - kMaxUnits : move;
            *reinterpret_cast<Int32s *>(weights_ + k) = round_to_int(value * (kWeightPeak / peak));
            *reinterpret_cast<Int32s *>(moves_ + k) = round_to_int(move);
        }
    }

    // u . v of each row
    template <int T> void score(float *scores, const RowGroup<std::int16_t, T> &rows, const PrefetchBatch ahead) const {
        const int dropped_bits = kContextBits - score_bits_;
        const auto half = static_cast<std::int16_t>(1 << dropped_bits >> 1);
        const std::int16_t *const context = context_;
        Int32s sum[T] = {};
        for (std::size_t j = 0, end = stride_; j < end; j += kPad) {
            ahead.fetch(j * sizeof(std::int16_t), kPad * sizeof(std::int16_t));
            for (std::size_t index = j; index < j + kPad; index += kInt16Lanes) {
                const Int16s u = (load(context + index) + half) >> dropped_bits;
                for (int i = 0; i < T; i++) sum[i] += multiply_add(u, load_shared(rows.row[i] + index));
            }
        }
        const float unit = quantum_ * static_cast<float>(1 << dropped_bits) * kOutputUnit;
        for (int i = 0; i < T; i++) scores[i] = sum_lanes(__builtin_convertvector(sum[i], Floats)) * unit;
    }

    // The rows that have step sizes k .. k + T - 1: e += g v, v += g u.
    template <int T>
    void update(const RowGroup<std::int16_t, T> &rows, std::size_t k, float *error, StochasticRounding &rounding,
                const PrefetchBatch ahead) const {
        const std::int16_t *const context = context_;
        const int shift = shift_;
        const float unit = weight_ * kOutputUnit;
        const auto random_mask = static_cast<std::int16_t>((1 << shift) - 1);
        Int16s move[T], pair_weights[(T + 1) / 2];
        for (int i = 0; i < T; i++) move[i] = Int16s{} + static_cast<std::int16_t>(moves_[k + i]);
        for (int i = 0; i < T; i += 2)
            pair_weights[i / 2] =
                Int16s(Int32s{} + ((weights_[k + i] & 0xffff) | (i + 1 < T ? weights_[k + i + 1] << 16 : 0)));
        for_fixed16_vectors(stride_, [&](std::size_t index, std::size_t lower, std::size_t upper) {
            ahead.fetch(index * sizeof(std::int16_t), kInt16Lanes * sizeof(std::int16_t));
            const Int16s u = load(context + index), random = Int16s(rounding.draw(index)) & random_mask;
            Int32s lower_sum{}, upper_sum{};
            for (int i = 0; i < T; i += 2)
                add_weighted(lower_sum, upper_sum, load_shared(rows.row[i] + index),
                             i + 1 < T ? load_shared(rows.row[i + 1] + index) : Int16s{}, pair_weights[i / 2]);
            add_units(error + lower, lower_sum, unit);
            add_units(error + upper, upper_sum, unit);
            for (int i = 0; i < T; i++) move_shared(rows.row[i] + index, (multiply_high(u, move[i]) + random) >> shift);
        });
    }

  private:
    // The exponent of the largest power of two that is not above x.
    static int exponent(float x) { return static_cast<int>(__builtin_bit_cast(std::uint32_t, x) >> 23) - 127; }

    static constexpr int kContextBits = 14, kMaxShift = 14;
    static constexpr float kContextPeak = 1 << kContextBits, kWeightPeak = 1 << 12;
    static constexpr float kTiny = 1e-20f;  // so that nothing is divided by 0
    std::int16_t *const context_;
    std::int32_t *const weights_, *const moves_;
    const std::size_t stride_;
    int score_bits_ = kContextBits, shift_ = 0;
    float quantum_ = 0, weight_ = 0;
};

}  // namespace posvec::POSVEC_LEVEL
