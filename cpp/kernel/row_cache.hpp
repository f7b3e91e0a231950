// The sums of words' input rows, kept while the words are in a window: a word's rows are read once, when the first
// window that holds the word comes, and written once, after the last.
//
// The cached range is the occurrences begin .. end - 1. Each of them has a slot, and occurrences of the same word have
// the same one. Free slots are taken in turn, so that neighbours have neighbouring slots: where the sums of nearby
// words lie a multiple of 4 kB apart, loads wait for stores that have nothing to do with them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunk.hpp"
#include "row_copies.hpp"
#include "row_groups.hpp"
#include "scratch.hpp"
#include "simd.hpp"
#include "tables.hpp"

namespace posvec::POSVEC_LEVEL {

template <class Rows> class RowCache {
  public:
    using Format = typename Rows::Format;
    using Real = typename Format::Real;
    using Stored = typename Format::Stored;
    static constexpr int kMaxRows = 8;  // input rows read at a time

    RowCache(Rows &rows, const RowCopies<Stored> &inputs, const WordRows &word_rows, const Draws &draws,
             const Scratch<Format> &scratch)
        : rows_(rows), inputs_(inputs), word_rows_(word_rows), draws_(draws), s_(scratch),
          stride_(scratch.sizes.stride), slots_(static_cast<std::uint32_t>(scratch.sizes.slots)) {
        for (std::uint32_t slot = 0; slot < slots_; slot++) {
            s_.slot_uses[slot] = 0;
            s_.free_slots[slot] = slot;
        }
    }

    std::uint32_t end() const { return end_; }

    bool is_cached(std::uint32_t word) const {
        const std::uint32_t slot = s_.slot_of_word[word];
        return s_.slot_uses[slot] > 0 && s_.slot_word[slot] == word;
    }

    [[gnu::always_inline]] void prefetch_slot(std::uint32_t word) const { __builtin_prefetch(s_.slot_of_word + word); }

    // Extends the cached range to `end`.
    void load_until(std::uint32_t end) {
        for (; end_ < end; end_++) {
            const std::uint32_t word = draws_.word[end_];
            if (!is_cached(word)) {
                const std::uint32_t slot = s_.slot_of_word[word] = s_.free_slots[taken_++ % slots_];
                s_.slot_word[slot] = word;
                load_word(slot);
            }
            const std::uint32_t slot = s_.slot_of_word[word];
            s_.slot_uses[slot]++;
            s_.slots[end_] = slot;
        }
    }

    // Lets the cached range begin at `begin`.
    void evict_until(std::uint32_t begin) {
        for (; begin_ < begin; begin_++)
            if (const std::uint32_t slot = s_.slots[begin_]; --s_.slot_uses[slot] == 0) {
                evict_word(slot);
                s_.free_slots[freed_++ % slots_] = slot;
            }
    }

  private:
    // X = the sum of the word's rows
    void load_word(std::uint32_t slot) {
        const std::uint64_t begin = word_rows_.begin[s_.slot_word[slot]],
                            count = word_rows_.begin[s_.slot_word[slot] + 1] - begin;
        Real *sum = s_.sums + slot * stride_;
        s_.row_counts[slot] = static_cast<Real>(count);
        s_.row_weights[slot] = 1 / s_.row_counts[slot];
        clear(sum, stride_);
        for_groups<kMaxRows>(count, [&]<int T>(std::size_t k) {
            Rows::add_to_sum(sum, group<T>(word_rows_.rows + begin + k), stride_);
        });
        copy(s_.sums_before + slot * stride_, sum, stride_);
    }

    // Each row moves by 1 / R of the accumulated update of X.
    void evict_word(std::uint32_t slot) {
        const std::uint64_t begin = word_rows_.begin[s_.slot_word[slot]],
                            count = word_rows_.begin[s_.slot_word[slot] + 1] - begin;
        rows_.add_update(s_.sums + slot * stride_, s_.sums_before + slot * stride_, s_.row_weights[slot], count,
                         [&]<int T>(std::size_t k) { return group<T>(word_rows_.rows + begin + k); });
    }

    template <int T> RowGroup<Stored, T> group(const std::uint32_t *rows) const {
        RowGroup<Stored, T> group;
        for (int i = 0; i < T; i++) group.row[i] = inputs_[rows[i]];
        return group;
    }

    Rows &rows_;
    const RowCopies<Stored> inputs_;
    const WordRows word_rows_;
    const Draws draws_;
    const Scratch<Format> s_;
    const std::size_t stride_;
    const std::uint32_t slots_;
    std::uint32_t begin_ = 0, end_ = 0;    // the cached range
    std::uint32_t taken_ = 0, freed_ = 0;  // slots, from and to the queue of free ones
};

}  // namespace posvec::POSVEC_LEVEL
