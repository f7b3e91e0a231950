// Output rows of whole units in 16 bits (problem.hpp), trained in whole numbers, of which a register holds twice as
// many. Included by kernel.hpp inside the namespace of one instruction-set level.
//
// For a masked word with context u and step sizes g (kernel.hpp), both of them multiples of what suits their largest:
//
//     q = u / quantum, |q| <= 2^14        score = quantum unit sum_j q v
//     w = g / weight, |w| <= 2^12         e += weight unit sum_v w v
//     m = g quantum 2^(15 + shift) / unit         v += (q m / 2^15 + r) / 2^shift, rounded down
//
// where r is drawn from 0 .. 2^shift - 1, so that a step is right on average however small it is, and shift as large as
// 16 bits allow. No sum can overflow, whatever the rows hold.
#pragma once

#include "fixed16.hpp"

namespace posvec::POSVEC_LEVEL {

// Nearest whole numbers, of less than 2^22.
inline Ints rounded(Floats x) {
    constexpr float rounder = 0x1.8p23f;  // leaves no digits behind the point
    return Ints(x + rounder) - Ints(Floats{} + rounder);
}

class NarrowOutputs {
  public:
    // Working memory for a context of n features, and for step sizes.
    NarrowOutputs(Narrow *context, std::int32_t *weights, std::int32_t *moves, std::size_t n)
        : context(context), weights(weights), moves(moves), n(n) {
        // Each lane adds up n / 8 products of two, where it adds up most.
        while (score_bits > 1 && (n / 4) << score_bits >= 1 << 16) score_bits--;
    }

    void set_context(const float *u) {
        const float peak = peak_of(u, n) + kTiny;
        quantum = peak / kContextPeak;
        const float to_whole = kContextPeak / peak;
        for_halves(n, [&](std::size_t place, std::size_t lower, std::size_t upper) {
            store(context + place, packed(rounded(*reinterpret_cast<const Floats *>(u + lower) * to_whole),
                                          rounded(*reinterpret_cast<const Floats *>(u + upper) * to_whole)));
        });
    }

    // `count` of them, padded with zeros.
    void set_step_sizes(const float *g, std::size_t count) {
        const float peak = peak_of(g, padded(count)) + kTiny;
        weight = peak / kWeightPeak;
        shift = exponent(kOutputUnit / (peak * quantum));
        shift = shift < 0 ? 0 : shift > kMostShift ? kMostShift : shift;
        const float to_move = quantum / kOutputUnit * static_cast<float>(1 << (15 + shift));
        for (std::size_t k = 0; k < padded(count); k += kPairs) {
            const Floats value = *reinterpret_cast<const Floats *>(g + k);
            Floats move = value * to_move;
            move = move > kMostUnits ? Floats{} + kMostUnits : move;
            move = move < -kMostUnits ? Floats{} - kMostUnits : move;
            *reinterpret_cast<Ints *>(weights + k) = rounded(value * (kWeightPeak / peak));
            *reinterpret_cast<Ints *>(moves + k) = rounded(move);
        }
    }

    // u . v of each row
    template <int T> void score(float *scores, const Rows<Narrow, T> &rows, Fetches::Passengers ahead) const {
        const int drop = kContextBits - score_bits;
        const auto half = static_cast<Narrow>(1 << drop >> 1);
        const Narrow *const context = this->context;
        Ints sum[T] = {};
        for (std::size_t j = 0, end = n; j < end; j += kPad) {
            ahead.fetch(j * sizeof(Narrow), kPad * sizeof(Narrow));
            for (std::size_t place = j; place < j + kPad; place += 2 * kPairs) {
                const Shorts u = (load(context + place) + half) >> drop;
                for (int i = 0; i < T; i++) sum[i] += products(u, load_shared(rows.row[i] + place));
            }
        }
        const float unit = quantum * static_cast<float>(1 << drop) * kOutputUnit;
        for (int i = 0; i < T; i++) scores[i] = sum_of(__builtin_convertvector(sum[i], Floats)) * unit;
    }

    // Rows that have step sizes k .. k + T - 1: what they teach the context, and what they are taught.
    template <int T>
    void update(const Rows<Narrow, T> &rows, std::size_t k, float *error, Rounding &rounding,
                Fetches::Passengers ahead) const {
        const Narrow *const context = this->context;
        const int shift = this->shift;
        const float unit = weight * kOutputUnit;
        const auto below = static_cast<Narrow>((1 << shift) - 1);
        Shorts move[T], weights_of_two[(T + 1) / 2];
        for (int i = 0; i < T; i++) move[i] = Shorts{} + static_cast<Narrow>(moves[k + i]);
        for (int i = 0; i < T; i += 2)
            weights_of_two[i / 2] =
                Shorts(Ints{} + ((weights[k + i] & 0xffff) | (i + 1 < T ? weights[k + i + 1] << 16 : 0)));
        for_halves(n, [&](std::size_t place, std::size_t lower, std::size_t upper) {
            ahead.fetch(place * sizeof(Narrow), 2 * kPairs * sizeof(Narrow));
            const Shorts u = load(context + place), random = Shorts(rounding.draw(place)) & below;
            Ints lower_sum{}, upper_sum{};
            for (int i = 0; i < T; i += 2)
                add_both(lower_sum, upper_sum, load_shared(rows.row[i] + place),
                         i + 1 < T ? load_shared(rows.row[i + 1] + place) : Shorts{}, weights_of_two[i / 2]);
            add_units(error + lower, lower_sum, unit);
            add_units(error + upper, upper_sum, unit);
            for (int i = 0; i < T; i++) move_shared(rows.row[i] + place, (scaled(u, move[i]) + random) >> shift);
        });
    }

  private:
    // Of the largest power of two that is not above x.
    static int exponent(float x) { return static_cast<int>(__builtin_bit_cast(std::uint32_t, x) >> 23) - 127; }

    static constexpr int kContextBits = 14, kMostShift = 14;
    static constexpr float kContextPeak = 1 << kContextBits, kWeightPeak = 1 << 12;
    static constexpr float kTiny = 1e-20f;  // so that nothing is divided by 0
    Narrow *const context;
    std::int32_t *const weights, *const moves;
    const std::size_t n;
    int score_bits = kContextBits, shift = 0;
    float quantum = 0, weight = 0;
};

}  // namespace posvec::POSVEC_LEVEL
