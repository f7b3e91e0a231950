// Everything random about training but stochastic rounding: which words are kept, how wide each window is, which
// negatives are drawn. All of it follows from one seed per chunk of lines, so a chunk can be repeated, resumed or given
// to any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chunk.hpp"
#include "level.hpp"
#include "options.hpp"
#include "random_bits.hpp"

namespace posvec {

// Masked words that draw from one pool of negatives. Fewer are faster, because their pool fits the cache, but meet the
// same negatives too often: 512 cost the constrained model a point of analogies (benchmarks/JOURNAL.md).
constexpr std::size_t kNegativeGroup = 2048;

// The state is a counter, every output a mix of its bits.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(mix_bits(seed)) {}

    std::uint64_t bits() { return mix_bits(state_ += kMixStep); }

    // In [0, 1): a new number where one is wanted, otherwise any number. Branchless.
    float uniform_if(bool wanted) {
        state_ += wanted ? kMixStep : 0;
        return uniform(mix_bits(state_));
    }

    std::uint32_t below(std::uint32_t n) { return bounded(bits(), n); }

    // Skips `count` numbers, and returns the counter from which they can be drawn elsewhere, at once.
    std::uint64_t skip(std::size_t count) {
        const std::uint64_t before = state_;
        state_ += count * kMixStep;
        return before;
    }

  private:
    std::uint64_t state_;
};

// Ids of all tokens, lines one after another: line l is ids[begin[l]] .. ids[begin[l + 1] - 1].
// An id equal to the size of the vocabulary stands for a word that is not in it.
struct Corpus {
    const std::uint32_t *ids;
    const std::uint64_t *begin;
};

struct SamplingTables {
    std::uint32_t words;
    const float *keep;           // probability that an occurrence is kept
    const AliasCell *negatives;  // the distribution of the negatives
    DrawFunction draw_words;     // draws from it
};

// A fraction of the lines is held out for validation: which ones depends on the line's number alone.
struct HeldOut {
    double fraction = 0;
    bool wanted = false;           // draw the held-out lines rather than the others
    std::uint64_t first_line = 0;  // the number of line 0, where the lines are a part of a corpus

    bool skips(std::uint64_t line) const {
        if (fraction <= 0) return wanted;
        const bool held_out = static_cast<double>(mix_bits(first_line + line + 1) >> 11) * 0x1p-53 < fraction;
        return held_out != wanted;
    }
};

// The draws of one chunk of lines (chunk.hpp), which owns their memory.
class ChunkDraws {
  public:
    std::uint64_t tokens = 0;  // of the lines drawn, kept or not
    std::vector<std::uint32_t> word, offset, first, last, needed, negatives;

    void draw(const Corpus &corpus, std::uint64_t begin_line, std::uint64_t end_line, const SamplingTables &tables,
              const KernelOptions &options, const HeldOut &held_out, std::uint64_t seed) {
        Random random(seed);
        tokens = 0;
        seed_ = seed;
        for (auto *list : {&word, &offset, &first, &last, &negatives}) list->clear();
        for (std::uint64_t line = begin_line; line < end_line; line++) {
            if (held_out.skips(line)) continue;
            tokens += corpus.begin[line + 1] - corpus.begin[line];
            draw_line(corpus.ids + corpus.begin[line], corpus.begin[line + 1] - corpus.begin[line], tables, options,
                      random);
        }
        draw_negatives(tables, options, random);
        find_needed();
    }

    Draws view() const {
        return {word.size(), word.data(),   offset.data(),    first.data(),
                last.data(), needed.data(), negatives.data(), seed_};
    }

  private:
    void draw_line(const std::uint32_t *ids, std::size_t length, const SamplingTables &tables,
                   const KernelOptions &options, Random &random) {
        const auto begin = static_cast<std::uint32_t>(word.size());
        std::uint32_t end = begin;
        word.resize(begin + length);
        offset.resize(begin + length);
        for (std::size_t i = 0; i < length; i++) {
            if (ids[i] >= tables.words) continue;
            const float keep = tables.keep[ids[i]];
            word[end] = ids[i];
            offset[end] = options.text_positions ? static_cast<std::uint32_t>(i) : end - begin;
            end += random.uniform_if(keep < 1) < keep;  // branchless: the branch would be unpredictable
        }
        if (end - begin < 2) end = begin;  // a masked word alone has no context
        word.resize(end);
        offset.resize(end);
        for (std::uint32_t t = begin; t < end; t++) {
            const std::uint32_t reach = options.shrink ? 1 + random.below(options.window) : options.window;
            std::uint32_t from = t, to = t;
            if (options.text_positions) {
                while (from > begin && offset[t] - offset[from - 1] <= reach) from--;
                while (to + 1 < end && offset[to + 1] - offset[t] <= reach) to++;
            } else {
                from = t - std::min(reach, t - begin);
                to = t + std::min(reach, end - 1 - t);
            }
            first.push_back(from);
            last.push_back(to);
        }
    }

    // With negative_reuse 1 each masked word draws its own. Otherwise negatives are drawn for a pool, and each masked
    // word takes its own from the pool of its group: a row that came from memory is used `negative_reuse` times, by
    // words too far apart to have anything in common. (Giving neighbours the same negatives is as fast, but costs 3
    // points of analogies.)
    void draw_negatives(const SamplingTables &tables, const KernelOptions &options, Random &random) {
        negatives.resize(word.size() * options.negatives);
        if (options.negative_reuse == 1) return draw_words(negatives, tables, random);
        for (std::size_t begin = 0; begin < negatives.size();) {
            const std::size_t end = std::min(negatives.size(), begin + kNegativeGroup * options.negatives);
            pool_.resize(std::max<std::size_t>(options.negatives, (end - begin) / options.negative_reuse));
            draw_words(pool_, tables, random);
            for (; begin < end; begin++) negatives[begin] = pool_[random.below(pool_.size())];
        }
    }

    static void draw_words(std::vector<std::uint32_t> &words, const SamplingTables &tables, Random &random) {
        tables.draw_words(words.data(), words.size(), tables.negatives, tables.words, random.skip(2 * words.size()));
    }

    void find_needed() {
        needed.resize(word.size() + 1);
        needed[word.size()] = static_cast<std::uint32_t>(word.size());
        for (std::size_t t = word.size(); t-- > 0;) needed[t] = std::min(first[t], needed[t + 1]);
    }

    std::uint64_t seed_ = 0;
    std::vector<std::uint32_t> pool_;
};

}  // namespace posvec
