// Everything random about training: which words are kept, how wide each window is, which negatives are drawn.
// All of it follows from one seed per stretch of lines, so a stretch can be repeated, resumed or given to any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "problem.hpp"

namespace posvec {

// Masked words that draw from one pool of negatives. Fewer are faster, for their pool fits the cache, but meet the same
// negatives too often: 512 cost the constrained model a point of analogies (benchmarks/JOURNAL.md).
constexpr std::size_t kNegativeGroup = 2048;

// The state is a counter, every output a mix of it.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state(mixed(seed)) {}

    std::uint64_t bits() { return mixed(state += kMixStep); }

    // In [0, 1): a new number where one is wanted, otherwise any; without a branch.
    float uniform_if(bool wanted) {
        state += wanted ? kMixStep : 0;
        return uniform_of(mixed(state));
    }

    std::uint32_t below(std::uint32_t n) { return posvec::below(bits(), n); }

    // The counter, for whoever draws `count` numbers elsewhere, at once.
    std::uint64_t skip(std::size_t count) {
        const std::uint64_t before = state;
        state += count * kMixStep;
        return before;
    }

  private:
    std::uint64_t state;
};

// Ids of all tokens, lines one after another: line l is ids[begin[l]] .. ids[begin[l + 1] - 1].
// An id equal to the size of the vocabulary stands for a word that is not in it.
struct Corpus {
    const std::uint32_t *ids;
    const std::uint64_t *begin;
};

struct Lexicon {
    std::uint32_t words;
    const float *keep;  // probability that an occurrence is kept
    const AliasCell *negatives;
    DrawFunction draw_words;  // from them
};

// A share of lines is held out for validation: which ones depends on the line's number alone.
struct HeldOut {
    double share = 0;
    bool wanted = false;           // draw the held-out lines rather than the others
    std::uint64_t first_line = 0;  // the number of line 0, where the lines are a part of a corpus

    bool skips(std::uint64_t line) const {
        if (share <= 0) return wanted;
        const bool held_out = static_cast<double>(mixed(first_line + line + 1) >> 11) * 0x1p-53 < share;
        return held_out != wanted;
    }
};

// The draws of one stretch of lines.
class Stretch {
  public:
    std::uint64_t tokens = 0;  // of the lines drawn, kept or not

    void draw(const Corpus &corpus, std::uint64_t begin_line, std::uint64_t end_line, const Lexicon &lexicon,
              const Options &options, const HeldOut &held_out, std::uint64_t seed) {
        Random random(seed);
        tokens = 0;
        this->seed = seed;
        for (auto *list : {&word, &place, &first, &last, &negatives}) list->clear();
        for (std::uint64_t line = begin_line; line < end_line; line++) {
            if (held_out.skips(line)) continue;
            tokens += corpus.begin[line + 1] - corpus.begin[line];
            draw_line(corpus.ids + corpus.begin[line], corpus.begin[line + 1] - corpus.begin[line], lexicon, options,
                      random);
        }
        draw_negatives(lexicon, options, random);
        find_needed();
    }

    Draws draws() const {
        return {word.size(), word.data(),   place.data(),     first.data(),
                last.data(), needed.data(), negatives.data(), seed};
    }

    std::vector<std::uint32_t> word, place, first, last, needed, negatives;

  private:
    std::uint64_t seed = 0;
    std::vector<std::uint32_t> pool;

    void draw_line(const std::uint32_t *ids, std::size_t length, const Lexicon &lexicon, const Options &options,
                   Random &random) {
        const auto begin = static_cast<std::uint32_t>(word.size());
        std::uint32_t end = begin;
        word.resize(begin + length);
        place.resize(begin + length);
        for (std::size_t i = 0; i < length; i++) {
            if (ids[i] >= lexicon.words) continue;
            const float keep = lexicon.keep[ids[i]];
            word[end] = ids[i];
            place[end] = options.text_positions ? static_cast<std::uint32_t>(i) : end - begin;
            end += random.uniform_if(keep < 1) < keep;  // no branch, for none could be foreseen
        }
        if (end - begin < 2) end = begin;  // a masked word alone has no context
        word.resize(end);
        place.resize(end);
        for (std::uint32_t t = begin; t < end; t++) {
            const std::uint32_t reach = options.shrink ? 1 + random.below(options.window) : options.window;
            std::uint32_t from = t, to = t;
            if (options.text_positions) {
                while (from > begin && place[t] - place[from - 1] <= reach) from--;
                while (to + 1 < end && place[to + 1] - place[t] <= reach) to++;
            } else {
                from = t - std::min(reach, t - begin);
                to = t + std::min(reach, end - 1 - t);
            }
            first.push_back(from);
            last.push_back(to);
        }
    }

    // Each masked word draws its own. Or negatives are drawn for a pool, and each masked word takes its own from the
    // pool of its group: a row that came from memory is used `negative_reuse` times, by words too far apart to have
    // anything in common. (Giving neighbours the same negatives is as fast, but costs 3 points of analogies.)
    void draw_negatives(const Lexicon &lexicon, const Options &options, Random &random) {
        negatives.resize(word.size() * options.negatives);
        if (options.negative_reuse == 1) return draw_words(negatives, lexicon, random);
        for (std::size_t begin = 0; begin < negatives.size();) {
            const std::size_t end = std::min(negatives.size(), begin + kNegativeGroup * options.negatives);
            pool.resize(std::max<std::size_t>(options.negatives, (end - begin) / options.negative_reuse));
            draw_words(pool, lexicon, random);
            for (; begin < end; begin++) negatives[begin] = pool[random.below(pool.size())];
        }
    }

    static void draw_words(std::vector<std::uint32_t> &words, const Lexicon &lexicon, Random &random) {
        lexicon.draw_words(words.data(), words.size(), lexicon.negatives, lexicon.words, random.skip(2 * words.size()));
    }

    void find_needed() {
        needed.resize(word.size() + 1);
        needed[word.size()] = static_cast<std::uint32_t>(word.size());
        for (std::size_t t = word.size(); t-- > 0;) needed[t] = std::min(first[t], needed[t + 1]);
    }
};

}  // namespace posvec
