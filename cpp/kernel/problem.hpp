// What the training step works on, as plain pointers: shared by every instruction-set level, so that nothing here has
// code that a compiler could emit for the wrong machine: all functions are inlined always.
#pragma once

#include <cstddef>
#include <cstdint>

namespace posvec {

// Rows of every table, and the positional part of a row, are padded to this many numbers: 64 bytes of float.
constexpr std::size_t kPad = 16;

// S, masked words per micro-batch. It changes the cost, not the result: more make the corrections between them dearer,
// fewer the prefix sums.
constexpr std::uint32_t kMicroBatch = 8;

[[gnu::always_inline]] constexpr std::size_t padded(std::size_t n) { return (n + kPad - 1) / kPad * kPad; }

// SplitMix64's mix of the bits of a counter (Steele, Lea, Flood 2014).
[[gnu::always_inline]] constexpr std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
constexpr std::uint64_t kMixStep = 0x9e3779b97f4a7c15u;  // of the counter

// Random bits as a number in 0 .. n - 1, by multiplication rather than division (Lemire 2019); the bias is below
// n / 2^32.
[[gnu::always_inline]] constexpr std::uint32_t below(std::uint64_t bits, std::uint32_t n) {
    return static_cast<std::uint32_t>((bits >> 32) * n >> 32);
}

// Random bits as a number in [0, 1).
[[gnu::always_inline]] constexpr float uniform_of(std::uint64_t bits) {
    return static_cast<float>(static_cast<std::int32_t>(bits >> 40)) * 0x1p-24f;
}

struct Options {
    std::uint32_t dim = 0;             // D
    std::uint32_t positional_dim = 0;  // D'
    std::uint32_t window = 0;          // c
    std::uint32_t negatives = 0;       // negative examples per masked word
    std::uint32_t negative_reuse = 1;  // masked words that one draw of a negative serves
    bool mean_over_words = false;      // N = context words rather than their rows
    bool exact_gradient = false;       // e is divided by N
    bool summed_positional = false;    // d_p's gradient is summed over a word's rows rather than averaged
    bool train_positions = true;
    bool shrink = true;           // window drawn from 1..c
    bool text_positions = false;  // positions of the text rather than of the kept words
    double score_limit = 0;       // scores beyond it give no update; 0: no limit
    bool narrow = false;          // the tables are kept in 16 bits while they are trained
    std::uint32_t threads = 1;    // that train at the same time
};

// Threads work on copies of the rows that all of them use all the time (shared_table.hpp), and add what those learnt to
// the table after so many masked words: the fewer words there are in the vocabulary, the sooner, for each is met more
// often. Two threads that move a row the same way at once overshoot by no more than that way, but four or more run away
// from where they should go, and must see the sooner what others did (benchmarks/JOURNAL.md).
[[gnu::always_inline]] constexpr std::uint32_t words_between_merges(const Options &options, std::uint32_t vocabulary) {
    const std::uint64_t others = options.threads > 1 ? options.threads - 1 : 1;
    const std::uint32_t words = vocabulary / 32 < 8192 ? vocabulary / 32 : 8192;
    return static_cast<std::uint32_t>(words / (others * others * others));
}

// Masked words of a thread for each row that it has a copy of. Copying costs the less the more they are. An output row
// is not as likely to be in the other threads' caches, too.
constexpr std::uint32_t kWordsPerInputCopy = 4, kWordsPerOutputCopy = 16;

// Rows of a table that a thread has copies of while it trains a stretch of `size` words.
[[gnu::always_inline]] constexpr std::uint32_t copied_rows(const Options &options, std::uint32_t vocabulary,
                                                           std::uint32_t rows, std::size_t size,
                                                           std::uint32_t words_per_copy) {
    if (options.threads == 1) return 0;
    const std::size_t between_merges = words_between_merges(options, vocabulary);
    const std::size_t copies = (size < between_merges ? size : between_merges) / words_per_copy;
    return copies < rows ? static_cast<std::uint32_t>(copies) : rows;
}

// Training waits for rows of the tables on their way through memory. Narrow ones are half as long: features are whole
// multiples of a unit, within +-16 in the input table and +-4 in the output table, where they are smaller.
using Narrow = std::int16_t;
constexpr float kInputUnit = 1.0f / 2048, kOutputUnit = 1.0f / 8192;
constexpr float kLeastUnits = -32768, kMostUnits = 32767;

// Of a row of either table in memory.
template <class Real> [[gnu::always_inline]] constexpr std::size_t row_bytes(const Options &options) {
    return padded(options.dim) * (options.narrow ? sizeof(Narrow) : sizeof(Real));
}

// Where the k-th of kPad narrow numbers lies: the second and the third quarter have changed places. What interleaves
// two rows, or packs two vectors into one, works on each 16 bytes by itself, and so gives the first and the second
// half.
[[gnu::always_inline]] constexpr std::size_t narrow_place(std::size_t k) {
    constexpr std::size_t quarter = kPad / 4;
    return k / quarter == 1 ? k + quarter : k / quarter == 2 ? k - quarter : k;
}

// Steps smaller than a unit must not get lost: each is rounded up as often as its fraction says. A word's rows are all
// owed the same step; they take turns with this many roundings of it, which add up to it more closely than one would.
constexpr std::size_t kRoundings = 4;

// The parameters, shared by all threads and updated without locks.
template <class Real> struct Tables {
    unsigned char *input;  // (words + ngram_rows, row_bytes): words, then n-grams, the busiest first
    std::uint32_t ngram_rows;
    unsigned char *output;  // (words, row_bytes)
    std::uint32_t words;
    Real *positional;  // (2c, D'), rows `positional_stride` apart
    std::size_t positional_stride;
};

// Rows of the input table that make up each word: rows[begin[w]] .. rows[begin[w + 1] - 1].
struct WordRows {
    const std::uint64_t *begin;
    const std::uint32_t *rows;
};

// Everything random about a stretch of training, drawn beforehand (sampling.hpp).
// The context of masked word t is every kept word first[t] .. last[t] but t itself.
struct Draws {
    std::size_t size;            // kept words, each of which is masked once
    const std::uint32_t *word;   // id
    const std::uint32_t *place;  // place in its line, from which positions are differences
    const std::uint32_t *first;
    const std::uint32_t *last;
    const std::uint32_t *needed;     // (size + 1): the first word in the context of any masked word from t on
    const std::uint32_t *negatives;  // (size, options.negatives)
    std::uint64_t seed;              // of how steps are rounded
};

// Working memory of one thread; every real buffer is aligned to 64 bytes.
template <class Real> struct Scratch {
    Real *sums;         // X (slots, stride): a word's rows added up, kept up to date while the word is here
    Real *sums_before;  // X as it was when the word entered
    Real *row_counts;   // R (slots)
    Real *row_shares;   // 1 / R (slots)
    Real *prefix;       // P (span + 1, stride): sums of X over the micro-batch's words
    Real *total;        // running sum of e (stride)
    Real *row_prefix;   // (span + 1): sums of R likewise
    Real *context;      // u_C (stride)
    Real *errors;       // e (S, stride)
    Real *positions;    // d, padded with ones, this thread's copy (2c, padded(D'))
    Real *positions_before;
    Real *mask;                    // (padded(D')): 1 where a positional feature is trained, else 0
    Real *scores;                  // (1 + negatives, padded)
    Real *odds;                    // exp of them
    Real *step_sizes;              // g
    unsigned char *input_copies;   // (2, copied rows, row_bytes)
    unsigned char *output_copies;  // likewise
    unsigned char **output_rows;   // (1 + negatives)
    Narrow *whole_context;         // (padded(D)): u_C in whole numbers, if rows are narrow
    std::int32_t *whole_weights;   // (1 + negatives, padded): g likewise, as they teach the context
    std::int32_t *whole_moves;     // and as they move the rows
    Narrow *steps;                 // (kRoundings, padded(D)): roundings of what each row of a word is owed
    std::uint32_t slots;           // as many as there can be words here
    std::uint32_t *slot;           // (draws.size): slot of each kept word that is here
    std::uint32_t *slot_word;      // (slots): its word
    std::uint32_t *slot_users;     // (slots): occurrences of its word that are here
    std::uint32_t *free_slot;      // (slots): a queue of those without users
    std::uint32_t *slot_of;        // (words): slot of a word, valid where slot_word agrees and there are users
};

struct Done {
    std::uint64_t masked_words = 0;
    double loss = 0;  // sum over masked words
};

template <class Real>
using TrainFunction = Done (*)(const Tables<Real> &, const WordRows &, const Draws &, const Options &, double lr,
                               const Scratch<Real> &);

// Walker's alias table of the negatives: draw a word, and keep it with its cell's probability, else take the other.
struct AliasCell {
    float probability;
    std::uint32_t other;
};

using DrawFunction = void (*)(std::uint32_t *drawn, std::size_t count, const AliasCell *cells, std::uint32_t words,
                              std::uint64_t state);

struct Level {
    const char *name;
    DrawFunction draw_words;
    TrainFunction<float> train_float;
    TrainFunction<double> train_double;
};

}  // namespace posvec
