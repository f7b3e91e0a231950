// The output side of the step: the masked word and its negatives are scored, and their rows updated.
//
//     for w in {w_t} + negatives:   g = lr (y - sigma(u_C . v_w));   e += g v_w;   v_w += g u_C
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunk.hpp"
#include "loss_sum.hpp"
#include "options.hpp"
#include "padding.hpp"
#include "prefetch_batch.hpp"
#include "prefetcher.hpp"
#include "row_copies.hpp"
#include "row_groups.hpp"
#include "scratch.hpp"
#include "simd.hpp"

namespace posvec::POSVEC_LEVEL {

template <class Rows> class OutputStep {
  public:
    using Format = typename Rows::Format;
    using Real = typename Format::Real;
    using Stored = typename Format::Stored;
    static constexpr int kMaxRows = 11;  // output rows worked on at a time: as many as fit the registers

    OutputStep(Rows &rows, const RowCopies<Stored> &outputs, const Draws &draws, const KernelOptions &options,
               double lr, const Scratch<Format> &scratch)
        : rows_(rows), outputs_(outputs), draws_(draws), negatives_(options.negatives),
          score_limit_(static_cast<Real>(options.score_limit)), lr_(static_cast<Real>(lr)), s_(scratch) {}

    // All scores are found from the old values, then both sides are updated: v_w and e.
    void train(std::uint32_t t, Real *error, Prefetcher<Rows> &prefetcher) {
        const std::uint32_t *negatives = draws_.negatives + static_cast<std::size_t>(t) * negatives_;
        std::size_t count = 0;
        s_.output_rows[count++] = outputs_[draws_.word[t]];
        for (std::uint32_t k = 0; k < negatives_; k++)
            if (negatives[k] != draws_.word[t]) s_.output_rows[count++] = outputs_[negatives[k]];

        rows_.set_context(s_.context);
        for_groups<kMaxRows>(count, [&]<int T>(std::size_t k) { score<T>(k, prefetcher.take_half()); });
        find_step_sizes(count);
        rows_.set_step_sizes(s_.step_sizes, count);
        for_groups<kMaxRows>(count, [&]<int T>(std::size_t k) { update<T>(k, error, prefetcher.take_rest()); });
        result_.masked_words++;
    }

    ChunkResult finish() {
        result_.loss = loss_.finish();
        return result_;
    }

  private:
    // g = lr (y - sigma(score)); the loss -log sigma(score) or -log sigma(-score) is added up on the way.
    void find_step_sizes(std::size_t count) {
        Vec<Real> sign = Vec<Real>{} + 1;
        sign[0] = -1;  // the masked word's score is negated, so that all are to become small
        const Real limit = score_limit_;
        for (std::size_t k = 0; k < padded(count); k += lanes) {
            const Vec<Real> score = load(s_.scores + k) * sign, odds = exp<Real>(score);  // of the wrong answer
            Vec<Real> g = odds / (1 + odds) * -lr_ * sign;
            if (limit > 0) g = score > limit || score < -limit ? Vec<Real>{} : g;
            const auto is_example = iota<Real>() + static_cast<Real>(k) < static_cast<Real>(count);
            store(s_.step_sizes + k, is_example ? g : Vec<Real>{});
            loss_.add(is_example ? score : Vec<Real>{}, is_example ? odds : Vec<Real>{});
            sign = Vec<Real>{} + 1;
        }
    }

    // Never inlined: in one function for all T the compiler would allocate registers worse for each of them.
    template <int T> [[gnu::noinline]] void score(std::size_t k, const PrefetchBatch ahead) {
        rows_.score(s_.scores + k, group<T>(k), ahead);
    }

    template <int T> [[gnu::noinline]] void update(std::size_t k, Real *error, const PrefetchBatch ahead) {
        rows_.update(group<T>(k), k, error, ahead);
    }

    template <int T> RowGroup<Stored, T> group(std::size_t k) const {
        RowGroup<Stored, T> group;
        for (int i = 0; i < T; i++) group.row[i] = s_.output_rows[k + i];
        return group;
    }

    static constexpr std::size_t lanes = Vector<Real>::lanes;
    Rows &rows_;
    const RowCopies<Stored> outputs_;
    const Draws draws_;
    const std::uint32_t negatives_;
    const Real score_limit_, lr_;
    const Scratch<Format> s_;
    LossSum<Real> loss_;
    ChunkResult result_;
};

}  // namespace posvec::POSVEC_LEVEL
