// Rows that are needed soon, to be brought to the second-level cache (the first would overflow from a single word's
// rows). Not all at once: the queue of prefetches is short, and a core that fills it waits. They are fetched a cache
// line at a time during passes over rows that are in the cache already, so that memory and arithmetic are busy
// together. They are fetched to be read although they will be written: many more such fetches can be in flight at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunk.hpp"
#include "prefetch_batch.hpp"
#include "row_cache.hpp"
#include "row_copies.hpp"
#include "scratch.hpp"
#include "tables.hpp"

namespace posvec::POSVEC_LEVEL {

template <class Rows> class Prefetcher {
  public:
    using Stored = typename Rows::Format::Stored;

    Prefetcher(const RowCache<Rows> &cache, const RowCopies<Stored> &inputs, const RowCopies<Stored> &outputs,
               const WordRows &word_rows, const Draws &draws, std::uint32_t negatives)
        : cache_(cache), inputs_(inputs), outputs_(outputs), word_rows_(word_rows), draws_(draws),
          negatives_(negatives) {}

    // Words begin .. end - 1 will be loaded with the next micro-batch.
    void set_words(std::uint32_t begin, std::uint32_t end) {
        next_word_ = begin;
        end_word_ = end;
    }

    // What to fetch while masked word t is trained: the output rows of a later masked word, and a part of the input
    // rows of the words that the next micro-batch will load, `steps_left` masked words from now.
    void plan(std::uint32_t t, std::uint32_t steps_left) {
        size_ = taken_ = 0;
        if (const std::uint32_t later = t + kOutputsAhead; later < draws_.size) {
            add(outputs_, draws_.word + later, 1);
            add(outputs_, draws_.negatives + static_cast<std::size_t>(later) * negatives_, negatives_);
        }
        if (next_word_ >= end_word_) return;
        for (std::uint32_t n = (end_word_ - next_word_ + steps_left - 1) / steps_left; n > 0; n--, next_word_++) {
            fetch_row_list(next_word_);
            if (const std::uint32_t word = draws_.word[next_word_]; !cache_.is_cached(word))
                add(inputs_, word_rows_.rows + word_rows_.begin[word],
                    word_rows_.begin[word + 1] - word_rows_.begin[word]);
        }
    }

    PrefetchBatch take_half() { return take((size_ - taken_) / 2); }
    PrefetchBatch take_rest() { return take(size_ - taken_); }

  private:
    void add(const RowCopies<Stored> table, const std::uint32_t *rows, std::uint64_t count) {
        const auto end = static_cast<std::uint32_t>(size_ + count < kMaxRows ? size_ + count : kMaxRows);
        for (std::uint32_t k = size_; k < end; k++) rows_[k] = table[*rows++];
        size_ = end;
    }

    PrefetchBatch take(std::uint32_t count) {
        taken_ += count;
        return {rows_ + taken_ - count, count};
    }

    // Which rows a word has is read from memory, too: first where its list begins, then the list, and whether the word
    // is cached. Always inlined, as PrefetchBatch::fetch is.
    [[gnu::always_inline]] void fetch_row_list(std::uint32_t m) const {
        if (m + 2 * kListsAhead >= draws_.size) return;
        __builtin_prefetch(word_rows_.begin + draws_.word[m + 2 * kListsAhead]);
        cache_.prefetch_slot(draws_.word[m + kListsAhead]);
        const std::uint32_t *list = word_rows_.rows + word_rows_.begin[draws_.word[m + kListsAhead]];
        __builtin_prefetch(list);
        __builtin_prefetch(list + 16);
    }

    static constexpr std::uint32_t kOutputsAhead = 2;  // masked words between the fetch of output rows and their use
    static constexpr std::uint32_t kListsAhead = 8;    // words between the fetch of a list of rows and its use
    static constexpr std::uint32_t kMaxRows = 256;     // further rows are read without having been fetched
    const RowCache<Rows> &cache_;
    const RowCopies<Stored> inputs_, outputs_;
    const WordRows word_rows_;
    const Draws draws_;
    const std::uint32_t negatives_;
    std::uint32_t next_word_ = 0, end_word_ = 0;
    const void *rows_[kMaxRows];
    std::uint32_t size_ = 0, taken_ = 0;
};

}  // namespace posvec::POSVEC_LEVEL
