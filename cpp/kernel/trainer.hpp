// The training step along a stretch of text, for one thread. No I/O, no threads, no globals, no randomness, no
// allocation.
//
// For masked word w_t with context words m at positions p, x the R_m input rows of m:
//
//     u_C[:D'] = 1/N sum_m sum_x d_p * x[:D']        u_C[D':] = 1/N sum_m sum_x x[D':]
//     for w in {w_t} + negatives:   g = lr (y - sigma(u_C . v_w));   e += g v_w;   v_w += g u_C
//     for each m:   d_p += 1/R_m sum_x x[:D'] * e[:D'];   x[:D'] += d_p * e[:D'];   x[D':] += e[D':]
//
// What makes it fast is that a word's rows are read once, when the first window that holds it comes, and written once,
// when the last one has gone, not once per masked word:
//
//     enter     X[m] = sum of the rows of m, unless the word is there already; a copy is kept
//     forward   micro-batches of S masked words. Plain features: a context sum is the difference of two prefix sums
//               over X, whatever the window, and then e_s for every earlier masked word s of the micro-batch, times the
//               rows that the two contexts share, so that nothing is stale. Positional features: a loop over the
//               window, on cached rows.
//     outputs   as above
//     backward  X[m] moves by R_m times what each row of m is owed. Plain features: e is owed to all words of a window,
//               so one running sum over the words, to which e_t is added where the window of t begins and from which it
//               is taken where it ends, gives every word its total when the micro-batch is over, whatever the window.
//               Positional features: a loop, at once.
//     leave     rows of m += (X[m] - its copy) / R_m
//
// reference.py is the same in NumPy. Features D' .. padded(D') - 1 are plain ones that ride along with the positional
// part under a weight of 1 that is never trained, so that no loop has a ragged end. Rows of the tables may be narrow
// (problem.hpp, narrow_outputs.hpp).
#pragma once

#include <cmath>
#include <type_traits>

#include "fixed16.hpp"
#include "fixed16_outputs.hpp"
#include "problem.hpp"
#include "row_copies.hpp"
#include "simd.hpp"

namespace posvec::POSVEC_LEVEL {

template <class Real> class Trainer {
  public:
    Trainer(const Tables<Real> &tables, const WordRows &rows, const Draws &draws, const Options &options, double lr,
            const Scratch<Real> &scratch)
        : tables(tables), rows(rows), draws(draws), options(options), lr(static_cast<Real>(lr)), s(scratch),
          stride(padded(options.dim)), positional(padded(options.positional_dim)), plain(stride - positional),
          inputs(tables.input, row_bytes<Real>(options), tables.words,
                 copied_rows(options, tables.words, tables.ngram_rows, draws.size, kWordsPerInputCopy),
                 scratch.input_copies),
          outputs(tables.output, row_bytes<Real>(options), 0,
                  copied_rows(options, tables.words, tables.words, draws.size, kWordsPerOutputCopy),
                  scratch.output_copies),
          narrow_outputs(scratch.whole_context, scratch.whole_weights, scratch.whole_moves, stride),
          rounding(draws.seed) {}

    Done train() {
        prepare_positions();
        prepare_slots();
        const auto size = static_cast<std::uint32_t>(draws.size);
        for (std::uint32_t begin = 0, batch = 0; begin < size; begin += kMicroBatch, batch++) {
            const std::uint32_t end = micro_batch_end(begin);
            if (batch % kMergeEvery == 0) fetch_positions();
            if (batch % merge_copies_every == 0) fetch_copies();
            enter_until(last_needed(begin, end) + 1);
            fetched = entered;
            fetch_until = end < draws.size ? last_needed(end, micro_batch_end(end)) + 1 : entered;
            train_micro_batch(begin, end);
            leave_until(draws.needed[end]);
            if ((batch + 1) % kMergeEvery == 0 || end == size) merge_positions();
            if ((batch + 1) % merge_copies_every == 0 || end == size) merge_copies();
        }
        flush_loss();
        return done;
    }

  private:
    std::uint32_t micro_batch_end(std::uint32_t begin) const {
        return begin + kMicroBatch < draws.size ? begin + kMicroBatch : static_cast<std::uint32_t>(draws.size);
    }

    // The last word in the context of masked words begin .. end - 1.
    std::uint32_t last_needed(std::uint32_t begin, std::uint32_t end) const {
        std::uint32_t last = begin;
        for (std::uint32_t t = begin; t < end; t++) last = draws.last[t] > last ? draws.last[t] : last;
        return last;
    }

    // ---- words that enter and leave -----------------------------------------------------------------------------
    // Words left .. entered - 1 are here: each has a slot, which it shares with other occurrences of the same word.
    // Free slots are taken in turn, so that neighbours have neighbouring slots: where sums of words that stand near
    // each other lie a multiple of 4 kB apart, loads wait for stores that they have nothing to do with.

    void prepare_slots() {
        for (std::uint32_t slot = 0; slot < s.slots; slot++) {
            s.slot_users[slot] = 0;
            s.free_slot[slot] = slot;
        }
    }

    void enter_until(std::uint32_t end) {
        for (; entered < end; entered++) {
            const std::uint32_t word = draws.word[entered];
            if (!is_here(word)) {
                const std::uint32_t slot = s.slot_of[word] = s.free_slot[taken++ % s.slots];
                s.slot_word[slot] = word;
                gather(slot);
            }
            const std::uint32_t slot = s.slot_of[word];
            s.slot_users[slot]++;
            s.slot[entered] = slot;
        }
    }

    bool is_here(std::uint32_t word) const {
        const std::uint32_t slot = s.slot_of[word];
        return s.slot_users[slot] > 0 && s.slot_word[slot] == word;
    }

    void leave_until(std::uint32_t end) {
        for (; left < end; left++)
            if (const std::uint32_t slot = s.slot[left]; --s.slot_users[slot] == 0) {
                scatter(slot);
                s.free_slot[freed++ % s.slots] = slot;
            }
    }

    void gather(std::uint32_t slot) {
        const std::uint64_t begin = rows.begin[s.slot_word[slot]], count = rows.begin[s.slot_word[slot] + 1] - begin;
        Real *sum = s.sums + slot * stride;
        s.row_counts[slot] = static_cast<Real>(count);
        s.row_shares[slot] = 1 / s.row_counts[slot];
        clear(sum, stride);
        in_groups<8>(count, [&]<int T>(std::size_t k) {
            if constexpr (can_be_narrow)
                if (options.narrow) return add_narrow_rows(sum, input_rows<Narrow, T>(rows.rows + begin + k), stride);
            add_rows(sum, input_rows<Real, T>(rows.rows + begin + k), stride);
        });
        copy(s.sums_before + slot * stride, sum, stride);
    }

    void scatter(std::uint32_t slot) {
        Real *sum = s.sums + slot * stride;
        const Real *before = s.sums_before + slot * stride, share = s.row_shares[slot];
        const std::uint64_t begin = rows.begin[s.slot_word[slot]], count = rows.begin[s.slot_word[slot] + 1] - begin;
        if constexpr (can_be_narrow)
            if (options.narrow) {
                rounding.round(s.steps, sum, before, share, stride);
                in_groups<kRoundings>(count, [&]<int T>(std::size_t k) {
                    add_to_narrow_rows(input_rows<Narrow, T>(rows.rows + begin + k), s.steps, stride);
                });
                return;
            }
        subtract(sum, before, stride);
        scale(sum, share, stride);
        in_groups<kRoundings>(
            count, [&]<int T>(std::size_t k) { add_to_rows(input_rows<Real, T>(rows.rows + begin + k), sum, stride); });
    }

    // While masked word t is trained, rows that are needed soon are brought near: the output rows of a masked word to
    // come, and a share of the rows of the words that enter with the next micro-batch, `steps_left` masked words away.
    void plan_fetches(std::uint32_t t, std::uint32_t steps_left) {
        fetches.restart();
        if (const std::uint32_t next = t + kOutputsAhead; next < draws.size) {
            fetches.add(outputs, draws.word + next, 1);
            fetches.add(outputs, negatives_of(next), options.negatives);
        }
        if (fetched >= fetch_until) return;
        for (std::uint32_t n = (fetch_until - fetched + steps_left - 1) / steps_left; n > 0; n--, fetched++) {
            prefetch_row_list(fetched);
            if (const std::uint32_t word = draws.word[fetched]; !is_here(word))
                fetches.add(inputs, rows.rows + rows.begin[word], rows.begin[word + 1] - rows.begin[word]);
        }
    }

    // Which rows a word has comes from memory, too: first where its list begins, then the list; and whether it is here.
    // Always inlined, as Fetches::fetch is.
    [[gnu::always_inline]] void prefetch_row_list(std::uint32_t m) const {
        if (m + 2 * kListsAhead >= draws.size) return;
        __builtin_prefetch(rows.begin + draws.word[m + 2 * kListsAhead]);
        __builtin_prefetch(s.slot_of + draws.word[m + kListsAhead]);
        const std::uint32_t *list = rows.rows + rows.begin[draws.word[m + kListsAhead]];
        __builtin_prefetch(list);
        __builtin_prefetch(list + 16);
    }

    // ---- one micro-batch ----------------------------------------------------------------------------------------
    // What is read in a loop is copied first, and pointers are moved to feature j: a store might change a member, for
    // all that the compiler knows, and it would be read again after each.

    void train_micro_batch(std::uint32_t begin, std::uint32_t end) {
        std::uint32_t first = begin;
        for (std::uint32_t t = begin; t < end; t++) first = draws.first[t] < first ? draws.first[t] : first;
        const std::uint32_t last = last_needed(begin, end);
        const std::uint32_t *slot = s.slot + first;  // slots of words first .. last
        const std::size_t span = last - first + 1;

        sum_prefixes(slot, span);
        for (std::uint32_t t = begin; t < end; t++) {
            plan_fetches(t, end - t);
            Real *error = s.errors + (t - begin) * stride;
            clear(error, stride);
            if (draws.first[t] == draws.last[t]) continue;  // no context, nothing to learn
            const Real share = 1 / context_size(t, first);
            make_context(t, begin, first, slot, share);
            train_outputs(t, error);
            if (options.exact_gradient) scale(error, share, stride);
            if (positional) update_positional(t, first, slot, error);
        }
        update_plain(begin, end, first, last, slot);
    }

    // P[i] = sum of X over the first i words of the micro-batch, plain features; likewise the number of their rows.
    void sum_prefixes(const std::uint32_t *slot, std::size_t span) {
        const Scratch<Real> s = this->s;
        const std::size_t stride = this->stride;
        s.row_prefix[0] = 0;
        for (std::size_t i = 0; i < span; i++) s.row_prefix[i + 1] = s.row_prefix[i] + s.row_counts[slot[i]];
        for_chunks<Real>(positional, stride, [&]<int C>(std::size_t j) {
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
        if (options.mean_over_words) return static_cast<Real>(draws.last[t] - draws.first[t]);
        return rows_between(draws.first[t], draws.last[t], first) - rows_between(t, t, first);
    }

    // Rows of words from .. to, of which the micro-batch's first is `first`.
    Real rows_between(std::uint32_t from, std::uint32_t to, std::uint32_t first) const {
        return s.row_prefix[to + 1 - first] - s.row_prefix[from - first];
    }

    // Rows of the words that are context of both t and s: how far one step of e_s has moved the context sum of t.
    Real shared_rows(std::uint32_t t, std::uint32_t other, std::uint32_t first) const {
        const std::uint32_t from = draws.first[t] > draws.first[other] ? draws.first[t] : draws.first[other];
        const std::uint32_t to = draws.last[t] < draws.last[other] ? draws.last[t] : draws.last[other];
        if (from > to) return 0;
        Real count = rows_between(from, to, first);
        if (from <= t && t <= to) count -= rows_between(t, t, first);
        if (from <= other && other <= to) count -= rows_between(other, other, first);
        return count;
    }

    // u_C of masked word t; `begin` is the first masked word of the micro-batch
    void make_context(std::uint32_t t, std::uint32_t begin, std::uint32_t first, const std::uint32_t *slot,
                      Real share) {
        const Scratch<Real> s = this->s;
        const std::size_t stride = this->stride;
        for_chunks<Real>(0, positional, [&]<int C>(std::size_t j) {
            Vec<Real> total[C] = {};
            for_context(t, first, slot, [&](std::uint32_t of_word, const Real *d) {
                const Real *x = s.sums + of_word * stride + j;
                d += j;
                for (int c = 0; c < C; c++) total[c] += load(d + c * lanes) * load(x + c * lanes);
            });
            for (int c = 0; c < C; c++) store(s.context + j + c * lanes, total[c] * share);
        });
        const Real *low = s.prefix + (draws.first[t] - first) * stride;
        const Real *high = s.prefix + (draws.last[t] + 1 - first) * stride;
        const Real *own = s.sums + slot[t - first] * stride;
        std::uint32_t moves = 0;
        const Real *error[kMicroBatch];
        Real moved[kMicroBatch];
        for (std::uint32_t other = begin; other < t; other++)
            if (const Real count = shared_rows(t, other, first); count > 0) {
                error[moves] = s.errors + (other - begin) * stride;
                moved[moves++] = count;
            }
        for_chunks<Real>(positional, stride, [&]<int C>(std::size_t j) {
            Vec<Real> total[C];
            for (int c = 0; c < C; c++)
                total[c] = load(high + j + c * lanes) - load(low + j + c * lanes) - load(own + j + c * lanes);
            for (std::uint32_t k = 0; k < moves; k++)
                for (int c = 0; c < C; c++) total[c] += load(error[k] + j + c * lanes) * moved[k];
            for (int c = 0; c < C; c++) store(s.context + j + c * lanes, total[c] * share);
        });
    }

    // Calls body(its slot, d_p) for each word of the context of t.
    template <class Body>
    [[gnu::always_inline]] void for_context(std::uint32_t t, std::uint32_t first, const std::uint32_t *slot,
                                            Body body) const {
        const std::uint32_t *place = draws.place, here = place[t], from = draws.first[t], to = draws.last[t];
        const std::size_t length = positional;
        Real *after = s.positions + options.window * length;  // d_1; d_-1 stands before it
        for (std::uint32_t m = from; m < t; m++) body(slot[m - first], after - (here - place[m]) * length);
        for (std::uint32_t m = t + 1; m <= to; m++) body(slot[m - first], after + (place[m] - here - 1) * length);
    }

    // d_p and the positional features of each context word, from the old values of both.
    void update_positional(std::uint32_t t, std::uint32_t first, const std::uint32_t *slot, const Real *error) {
        Real *const sums = s.sums;
        const Real *const counts = s.row_counts, *const shares = s.row_shares;
        const std::size_t stride = this->stride;
        const bool summed = options.summed_positional;
        for_chunks<Real>(0, positional, [&]<int C>(std::size_t j) {
            Vec<Real> e[C], trained[C];
            for (int c = 0; c < C; c++) {
                e[c] = load(error + j + c * lanes);
                trained[c] = e[c] * load(s.mask + j + c * lanes);
            }
            for_context(t, first, slot, [&](std::uint32_t of_word, Real *d) {
                Real *x = sums + of_word * stride + j;
                d += j;
                const Real count = counts[of_word], share = summed ? 1 : shares[of_word];
                Vec<Real> old_x[C], old_d[C];
                for (int c = 0; c < C; c++) {
                    old_x[c] = load(x + c * lanes);
                    old_d[c] = load(d + c * lanes);
                }
                // All of one, then all of the other: stores that change places each time take a third longer.
                for (int c = 0; c < C; c++) store(d + c * lanes, old_d[c] + old_x[c] * (trained[c] * share));
                for (int c = 0; c < C; c++) store(x + c * lanes, old_x[c] + old_d[c] * (e[c] * count));
            });
        });
    }

    // The running sum of e over the words first .. last, less a word's own where it was masked.
    void update_plain(std::uint32_t begin, std::uint32_t end, std::uint32_t first, std::uint32_t last,
                      const std::uint32_t *slot) {
        const Scratch<Real> s = this->s;
        const Draws draws = this->draws;
        const std::size_t stride = this->stride, plain = this->plain;
        Real *total = s.total + positional, *errors = s.errors + positional, *sums = s.sums + positional;
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

    // ---- output vectors -----------------------------------------------------------------------------------------

    const std::uint32_t *negatives_of(std::uint32_t t) const {
        return draws.negatives + static_cast<std::size_t>(t) * options.negatives;
    }

    // Scores of the masked word and its negatives from the old values, then both sides of the update: v_w and e.
    void train_outputs(std::uint32_t t, Real *error) {
        const std::uint32_t *negatives = negatives_of(t);
        std::size_t count = 0;
        s.output_rows[count++] = outputs[draws.word[t]];
        for (std::uint32_t k = 0; k < options.negatives; k++)
            if (negatives[k] != draws.word[t]) s.output_rows[count++] = outputs[negatives[k]];

        if constexpr (can_be_narrow)
            if (options.narrow) narrow_outputs.set_context(s.context);
        in_groups<kOutputsAtOnce>(count, [&]<int T>(std::size_t k) { score<T>(k); });
        find_step_sizes(count);
        if constexpr (can_be_narrow)
            if (options.narrow) narrow_outputs.set_step_sizes(s.step_sizes, count);
        in_groups<kOutputsAtOnce>(count, [&]<int T>(std::size_t k) { update_outputs<T>(k, error); });
        done.masked_words++;
    }

    // Rows and steps are copied first, too.
    template <int T> void score(std::size_t k) {
        const auto ahead = fetches.take_half();
        if constexpr (can_be_narrow)
            if (options.narrow) return narrow_outputs.score(s.scores + k, output_rows<Narrow, T>(k), ahead);
        const Real *const context = s.context;
        const auto rows = output_rows<Real, T>(k);
        Vec<Real> sum[T] = {};
        for (std::size_t line = 0, end = stride; line < end; line += kPad) {
            ahead.fetch(line * sizeof(Real), kPad * sizeof(Real));
            for (std::size_t j = line; j < line + kPad; j += lanes)
                for (int i = 0; i < T; i++) sum[i] += load(context + j) * load_shared(rows.row[i] + j);
        }
        for (int i = 0; i < T; i++) s.scores[k + i] = sum_of(sum[i]);
    }

    // g = lr (y - sigma(score)); the loss -log sigma(score) or -log sigma(-score) is counted on the way.
    void find_step_sizes(std::size_t count) {
        Vec<Real> sign = Vec<Real>{} + 1;
        sign[0] = -1;  // like those of negatives, the masked word's score is to become small
        const Real limit = static_cast<Real>(options.score_limit);
        for (std::size_t k = 0; k < padded(count); k += lanes) {
            const Vec<Real> score = load(s.scores + k) * sign, odds = exp_of<Real>(score);  // of the wrong answer
            Vec<Real> g = odds / (1 + odds) * -lr * sign;
            if (limit > 0) g = score > limit || score < -limit ? Vec<Real>{} : g;
            g = numbers_from_zero<Real>() + static_cast<Real>(k) < static_cast<Real>(count) ? g : Vec<Real>{};
            store(s.scores + k, score);
            store(s.odds + k, odds);
            store(s.step_sizes + k, g);
            sign = Vec<Real>{} + 1;
        }
        for (std::size_t k = 0; k < count; k++)
            if (s.scores[k] > 20) {
                done.loss += s.scores[k];  // log(1 + exp(x)) = x to double precision of the sum
            } else {
                odds_product *= 1 + static_cast<double>(s.odds[k]);  // one logarithm for many factors
                if (odds_product > 1e200) flush_loss();
            }
    }

    void flush_loss() {
        done.loss += std::log(odds_product);
        odds_product = 1;
    }

    template <int T> void update_outputs(std::size_t k, Real *error) {
        const auto ahead = fetches.take_rest();
        if constexpr (can_be_narrow)
            if (options.narrow) return narrow_outputs.update(output_rows<Narrow, T>(k), k, error, rounding, ahead);
        const Real *const context = s.context;
        const auto rows = output_rows<Real, T>(k);
        Vec<Real> g[T];
        for (int i = 0; i < T; i++) g[i] = Vec<Real>{} + s.step_sizes[k + i];
        for (std::size_t line = 0, end = stride; line < end; line += kPad) {
            ahead.fetch(line * sizeof(Real), kPad * sizeof(Real));
            for (std::size_t j = line; j < line + kPad; j += lanes) {
                Vec<Real> e = load(error + j);
                const Vec<Real> u = load(context + j);
                for (int i = 0; i < T; i++) {
                    const Vec<Real> v = load_shared(rows.row[i] + j);
                    e += v * g[i];
                    store_shared(rows.row[i] + j, v + u * g[i]);
                }
                store(error + j, e);
            }
        }
    }

    // ---- positional vectors -------------------------------------------------------------------------------------
    // Every thread writes all of d at every step: on shared cache lines that would cost more than all the rest. So each
    // works on a copy, and adds what it learnt to the shared table after some micro-batches.

    void prepare_positions() {
        for (std::size_t j = 0; j < positional; j++)
            s.mask[j] = options.train_positions && j < options.positional_dim ? 1 : 0;
        for (std::size_t k = 0; k < 2 * options.window * positional; k++) s.positions[k] = 1;
    }

    void fetch_positions() {
        if (!positional) return;
        for (std::size_t p = 0; p < 2 * options.window; p++)
            for (std::size_t j = 0; j < options.positional_dim; j++)
                s.positions[p * positional + j] = s.positions_before[p * positional + j] =
                    read_shared(tables.positional + p * tables.positional_stride + j);
    }

    void merge_positions() {
        if (!positional || !options.train_positions) return;
        for (std::size_t p = 0; p < 2 * options.window; p++)
            for (std::size_t j = 0; j < options.positional_dim; j++)
                add_shared(tables.positional + p * tables.positional_stride + j,
                           s.positions[p * positional + j] - s.positions_before[p * positional + j]);
    }

    // ---- rows of the tables -------------------------------------------------------------------------------------

    void fetch_copies() {
        for (const SharedTable &table : {inputs, outputs})
            options.narrow ? table.template fetch<Narrow>() : table.template fetch<Real>();
    }

    void merge_copies() {
        for (const SharedTable &table : {inputs, outputs})
            options.narrow ? table.template merge<Narrow>() : table.template merge<Real>();
    }

    template <class Number, int T> Rows<Number, T> input_rows(const std::uint32_t *row) const {
        Rows<Number, T> all;
        for (int i = 0; i < T; i++) all.row[i] = reinterpret_cast<Number *>(inputs[row[i]]);
        return all;
    }

    template <class Number, int T> Rows<Number, T> output_rows(std::size_t k) const {
        Rows<Number, T> all;
        for (int i = 0; i < T; i++) all.row[i] = reinterpret_cast<Number *>(s.output_rows[k + i]);
        return all;
    }

    static constexpr bool can_be_narrow = std::is_same_v<Real, float>;
    static constexpr std::size_t lanes = Vector<Real>::lanes;
    static constexpr std::uint32_t kMergeEvery = 24;   // micro-batches between merges of the positional vectors
    static constexpr std::uint32_t kOutputsAhead = 2;  // masked words whose output rows are on their way to the cache
    static constexpr std::uint32_t kListsAhead = 8;    // words whose lists of rows are
    static constexpr int kOutputsAtOnce = 11;          // output rows worked on at a time: as many as fit the registers
    const Tables<Real> tables;
    const WordRows rows;
    const Draws draws;
    const Options options;
    const Real lr;
    const Scratch<Real> s;
    const std::size_t stride;      // padded(D)
    const std::size_t positional;  // padded(D'), the features that are weighted by position
    const std::size_t plain;       // the others
    const SharedTable inputs, outputs;
    const std::uint32_t merge_copies_every =
        1 + words_between_merges(options, tables.words) / kMicroBatch;  // micro-batches
    std::uint32_t left = 0, entered = 0;
    std::uint32_t taken = 0, freed = 0;          // of the queue of free slots
    std::uint32_t fetched = 0, fetch_until = 0;  // words that enter with the next micro-batch: their rows
    Fetches fetches;
    NarrowOutputs narrow_outputs;
    Rounding rounding;
    double odds_product = 1;  // its logarithm is a part of the loss
    Done done;
};

}  // namespace posvec::POSVEC_LEVEL
