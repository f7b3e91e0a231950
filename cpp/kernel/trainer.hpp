// The training step along a chunk, for one thread: no I/O, no threads, no globals, no allocation. All random numbers
// are drawn beforehand (sampling.hpp), except those of stochastic rounding, which follow from the chunk's seed.
//
// For masked word w_t with context words m at positions p, x the R_m input rows of m:
//
//     u_C[:D'] = 1/N sum_m sum_x d_p * x[:D']        u_C[D':] = 1/N sum_m sum_x x[D':]
//     for w in {w_t} + negatives:   g = lr (y - sigma(u_C . v_w));   e += g v_w;   v_w += g u_C
//     for each m:   d_p += 1/R_m sum_x x[:D'] * e[:D'];   x[:D'] += d_p * e[:D'];   x[D':] += e[D':]
//
// It is fast because a word's rows are read once, when the first window that holds the word comes, and written once,
// after the last such window, not once per masked word:
//
//     load      X[m] = sum of the rows of m, unless the word is cached already; a copy is kept
//     forward   micro-batches of S masked words. Plain features: a context sum is the difference of two prefix sums
//               over X, whatever the window, plus e_s for every earlier masked word s of the micro-batch, times the
//               number of rows that the two contexts have in common, so that nothing is stale. Positional features: a
//               loop over the window, on cached rows.
//     outputs   as above
//     backward  X[m] moves by R_m times the update of each row of m. Plain features: e is added to all words of a
//               window, so one running sum over the words, to which e_t is added where the window of t begins and from
//               which it is subtracted where it ends, gives every word its total when the micro-batch is over, whatever
//               the window. Positional features: a loop, at once.
//     evict     rows of m += (X[m] - its copy) / R_m, the accumulated update
//
// The reference in NumPy, posvec's reference.py, has the step of the paper (train_step) and this one. Features
// D' .. padded(D') - 1 are plain ones that are computed with the positional part, under a weight of 1 that is never
// trained, so that no loop has a ragged end. `Rows` is the number format of the tables: float_rows.hpp,
// fixed16_rows.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunk.hpp"
#include "copy_policy.hpp"
#include "options.hpp"
#include "output_step.hpp"
#include "positional_vectors.hpp"
#include "prefetcher.hpp"
#include "row_cache.hpp"
#include "row_copies.hpp"
#include "scratch.hpp"
#include "simd.hpp"
#include "tables.hpp"

namespace posvec::POSVEC_LEVEL {

template <class Rows> class Trainer {
  public:
    using Format = typename Rows::Format;
    using Real = typename Format::Real;
    using Stored = typename Format::Stored;

    Trainer(const Tables<Format> &tables, const WordRows &word_rows, const Draws &draws, const KernelOptions &options,
            double lr, const Scratch<Format> &scratch)
        : draws_(draws), options_(options), s_(scratch), stride_(scratch.sizes.stride),
          positional_(scratch.sizes.positional), plain_(stride_ - positional_), rows_(scratch, draws.seed),
          inputs_(tables.input, stride_, stride_, tables.words, scratch.sizes.input_copies, scratch.input_copies),
          outputs_(tables.output, stride_, tables.output_stride, 0, scratch.sizes.output_copies, scratch.output_copies),
          positions_(tables, options, scratch), cache_(rows_, inputs_, word_rows, draws, scratch),
          prefetcher_(cache_, inputs_, outputs_, word_rows, draws, options.negatives),
          output_step_(rows_, outputs_, draws, options, lr, scratch),
          merge_rows_every_(1 + words_between_merges(options, tables.words) / kMicroBatch) {}

    ChunkResult train() {
        const auto size = static_cast<std::uint32_t>(draws_.size);
        for (std::uint32_t begin = 0, batch = 0; begin < size; begin += kMicroBatch, batch++) {
            const std::uint32_t end = micro_batch_end(begin);
            if (batch % kMergePositionsEvery == 0) positions_.fetch();
            if (batch % merge_rows_every_ == 0) fetch_rows();
            cache_.load_until(last_needed(begin, end) + 1);
            prefetcher_.set_words(cache_.end(), end < size ? last_needed(end, micro_batch_end(end)) + 1 : cache_.end());
            train_micro_batch(begin, end);
            cache_.evict_until(draws_.needed[end]);
            if ((batch + 1) % kMergePositionsEvery == 0 || end == size) positions_.merge();
            if ((batch + 1) % merge_rows_every_ == 0 || end == size) merge_rows();
        }
        return output_step_.finish();
    }

  private:
    std::uint32_t micro_batch_end(std::uint32_t begin) const {
        return begin + kMicroBatch < draws_.size ? begin + kMicroBatch : static_cast<std::uint32_t>(draws_.size);
    }

    // The last word in the context of masked words begin .. end - 1.
    std::uint32_t last_needed(std::uint32_t begin, std::uint32_t end) const {
        std::uint32_t last = begin;
        for (std::uint32_t t = begin; t < end; t++) last = draws_.last[t] > last ? draws_.last[t] : last;
        return last;
    }

    void fetch_rows() const {
        inputs_.fetch();
        outputs_.fetch();
    }

    void merge_rows() const {
        inputs_.merge();
        outputs_.merge();
    }

    // ---- one micro-batch ----------------------------------------------------------------------------------------
    // What is read in a loop is copied to a local variable first, and pointers are moved to feature j: for all that the
    // compiler knows, a store might change a member, and it would be read again after each.

    // `first` is the first word in the contexts of the micro-batch, and slot[i] the slot of word first + i.
    void train_micro_batch(std::uint32_t begin, std::uint32_t end) {
        std::uint32_t first = begin;
        for (std::uint32_t t = begin; t < end; t++) first = draws_.first[t] < first ? draws_.first[t] : first;
        const std::uint32_t last = last_needed(begin, end);
        const std::uint32_t *slot = s_.slots + first;
        const std::size_t span = last - first + 1;

        sum_prefixes(slot, span);
        for (std::uint32_t t = begin; t < end; t++) {
            prefetcher_.plan(t, end - t);
            Real *error = s_.errors + (t - begin) * stride_;
            clear(error, stride_);
            if (draws_.first[t] == draws_.last[t]) continue;  // no context, nothing to learn
            const Real weight = 1 / context_size(t, first);
            make_context(t, begin, first, slot, weight);
            output_step_.train(t, error, prefetcher_);
            if (options_.exact_gradient) scale(error, weight, stride_);
            if (positional_) update_positional(t, first, slot, error);
        }
        if (plain_) update_plain(begin, end, first, last, slot);
    }

    // P[i] = sum of X over the first i words of the micro-batch, plain features; likewise the number of their rows.
    void sum_prefixes(const std::uint32_t *slot, std::size_t span) {
        const Scratch<Format> s = s_;
        const std::size_t stride = stride_;
        s.row_prefix[0] = 0;
        for (std::size_t i = 0; i < span; i++) s.row_prefix[i + 1] = s.row_prefix[i] + s.row_counts[slot[i]];
        for_vectors<Real>(positional_, stride, [&]<int C>(std::size_t j) {
            Vec<Real> total[C] = {};
            for (std::size_t i = 0;; i++) {
                for (int c = 0; c < C; c++) store(s.prefix + i * stride + j + c * lanes, total[c]);
                if (i == span) break;
                for (int c = 0; c < C; c++) total[c] += load(s.sums + slot[i] * stride + j + c * lanes);
            }
        });
    }

    // N
    Real context_size(std::uint32_t t, std::uint32_t first) const {
        if (options_.mean_over_words) return static_cast<Real>(draws_.last[t] - draws_.first[t]);
        return rows_between(draws_.first[t], draws_.last[t], first) - rows_between(t, t, first);
    }

    // Rows of words from .. to.
    Real rows_between(std::uint32_t from, std::uint32_t to, std::uint32_t first) const {
        return s_.row_prefix[to + 1 - first] - s_.row_prefix[from - first];
    }

    // Rows of the words that are context of both t and s: by how many e_s one step has moved the context sum of t.
    Real common_rows(std::uint32_t t, std::uint32_t other, std::uint32_t first) const {
        const std::uint32_t from = draws_.first[t] > draws_.first[other] ? draws_.first[t] : draws_.first[other];
        const std::uint32_t to = draws_.last[t] < draws_.last[other] ? draws_.last[t] : draws_.last[other];
        if (from > to) return 0;
        Real count = rows_between(from, to, first);
        if (from <= t && t <= to) count -= rows_between(t, t, first);
        if (from <= other && other <= to) count -= rows_between(other, other, first);
        return count;
    }

    // u_C of masked word t; `begin` is the first masked word of the micro-batch, `weight` 1/N.
    void make_context(std::uint32_t t, std::uint32_t begin, std::uint32_t first, const std::uint32_t *slot,
                      Real weight) {
        const Scratch<Format> s = s_;
        const std::size_t stride = stride_;
        for_vectors<Real>(0, positional_, [&]<int C>(std::size_t j) {
            Vec<Real> total[C] = {};
            for_context(t, first, slot, [&](std::uint32_t context_slot, const Real *d) {
                const Real *x = s.sums + context_slot * stride + j;
                d += j;
                for (int c = 0; c < C; c++) total[c] += load(d + c * lanes) * load(x + c * lanes);
            });
            for (int c = 0; c < C; c++) store(s.context + j + c * lanes, total[c] * weight);
        });
        if (!plain_) return;
        const Real *low = s.prefix + (draws_.first[t] - first) * stride;
        const Real *high = s.prefix + (draws_.last[t] + 1 - first) * stride;
        const Real *own = s.sums + slot[t - first] * stride;
        std::uint32_t corrections = 0;
        const Real *error[kMicroBatch];
        Real row_count[kMicroBatch];
        for (std::uint32_t other = begin; other < t; other++)
            if (const Real count = common_rows(t, other, first); count > 0) {
                error[corrections] = s.errors + (other - begin) * stride;
                row_count[corrections++] = count;
            }
        for_vectors<Real>(positional_, stride, [&]<int C>(std::size_t j) {
            Vec<Real> total[C];
            for (int c = 0; c < C; c++)
                total[c] = load(high + j + c * lanes) - load(low + j + c * lanes) - load(own + j + c * lanes);
            for (std::uint32_t k = 0; k < corrections; k++)
                for (int c = 0; c < C; c++) total[c] += load(error[k] + j + c * lanes) * row_count[k];
            for (int c = 0; c < C; c++) store(s.context + j + c * lanes, total[c] * weight);
        });
    }

    // Calls body(its slot, d_p) for each word of the context of t.
    template <class Body>
    [[gnu::always_inline]] void for_context(std::uint32_t t, std::uint32_t first, const std::uint32_t *slot,
                                            Body body) const {
        const std::uint32_t *offset = draws_.offset, own = offset[t], from = draws_.first[t], to = draws_.last[t];
        const std::size_t length = positional_;
        Real *after = positions_.first_after();
        for (std::uint32_t m = from; m < t; m++) body(slot[m - first], after - (own - offset[m]) * length);
        for (std::uint32_t m = t + 1; m <= to; m++) body(slot[m - first], after + (offset[m] - own - 1) * length);
    }

    // d_p and the positional features of each context word, from the old values of both.
    void update_positional(std::uint32_t t, std::uint32_t first, const std::uint32_t *slot, const Real *error) {
        Real *const sums = s_.sums;
        const Real *const counts = s_.row_counts, *const weights = s_.row_weights, *const mask = positions_.mask();
        const std::size_t stride = stride_;
        const bool summed = options_.summed_positional;
        for_vectors<Real>(0, positional_, [&]<int C>(std::size_t j) {
            Vec<Real> e[C], trained[C];
            for (int c = 0; c < C; c++) {
                e[c] = load(error + j + c * lanes);
                trained[c] = e[c] * load(mask + j + c * lanes);
            }
            for_context(t, first, slot, [&](std::uint32_t context_slot, Real *d) {
                Real *x = sums + context_slot * stride + j;
                d += j;
                const Real count = counts[context_slot], weight = summed ? 1 : weights[context_slot];
                Vec<Real> old_x[C], old_d[C];
                for (int c = 0; c < C; c++) {
                    old_x[c] = load(x + c * lanes);
                    old_d[c] = load(d + c * lanes);
                }
                // Store all of d, then all of x: interleaving the two streams is a third slower.
                for (int c = 0; c < C; c++) store(d + c * lanes, old_d[c] + old_x[c] * (trained[c] * weight));
                for (int c = 0; c < C; c++) store(x + c * lanes, old_x[c] + old_d[c] * (e[c] * count));
            });
        });
    }

    // The running sum of e over the words first .. last; a masked word's own e is no update of its rows.
    void update_plain(std::uint32_t begin, std::uint32_t end, std::uint32_t first, std::uint32_t last,
                      const std::uint32_t *slot) {
        const Scratch<Format> s = s_;
        const Draws draws = draws_;
        const std::size_t stride = stride_, plain = plain_;
        Real *total = s.total + positional_, *errors = s.errors + positional_, *sums = s.sums + positional_;
        clear(total, plain);
        for (std::uint32_t m = first; m <= last; m++) {
            for (std::uint32_t t = begin; t < end; t++) {
                if (draws.first[t] == m) add(total, errors + (t - begin) * stride, plain);
                if (draws.last[t] + 1 == m) subtract(total, errors + (t - begin) * stride, plain);
            }
            Real *x = sums + slot[m - first] * stride;
            const Real count = s.row_counts[slot[m - first]];
            if (m < begin || m >= end) {
                add_scaled(x, total, count, plain);
            } else {
                const Real *own = errors + (m - begin) * stride;
                for (std::size_t j = 0; j < plain; j += lanes)
                    store(x + j, load(x + j) + (load(total + j) - load(own + j)) * count);
            }
        }
    }

    static constexpr std::size_t lanes = Vector<Real>::lanes;
    static constexpr std::uint32_t kMergePositionsEvery = 24;  // micro-batches
    const Draws draws_;
    const KernelOptions options_;
    const Scratch<Format> s_;
    const std::size_t stride_;      // padded(D)
    const std::size_t positional_;  // padded(D'), the features that are weighted by position
    const std::size_t plain_;       // the others
    Rows rows_;
    const RowCopies<Stored> inputs_, outputs_;
    const PositionalVectors<Format> positions_;
    RowCache<Rows> cache_;
    Prefetcher<Rows> prefetcher_;
    OutputStep<Rows> output_step_;
    const std::uint32_t merge_rows_every_;  // micro-batches
};

}  // namespace posvec::POSVEC_LEVEL
