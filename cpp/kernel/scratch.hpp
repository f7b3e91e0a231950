// The working memory of one thread. Each buffer is declared once: its type, its name and its size.
// Constructed in the plain build only, where the buffers are; the code of the levels copies it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "buffers.hpp"
#include "copy_policy.hpp"
#include "number_formats.hpp"
#include "options.hpp"
#include "padding.hpp"
#include "tables.hpp"

namespace posvec {

// S, masked words per micro-batch. It changes the cost, not the result: more words make the corrections between them
// costlier, fewer the prefix sums.
constexpr std::uint32_t kMicroBatch = 8;

struct ScratchSizes {
    template <class Format>
    ScratchSizes(const KernelOptions &options, const Tables<Format> &tables, std::size_t chunk_words)
        : chunk_words(chunk_words), vocabulary(tables.words), stride(padded(tables.dim)),
          positional(padded(tables.positional_dim)), positions(2 * std::size_t(options.window)),
          examples(1 + options.negatives),
          slots(kMicroBatch + positions < chunk_words ? kMicroBatch + positions : chunk_words),
          input_copies(copied_rows(options, tables.words, tables.ngram_rows, chunk_words, kWordsPerInputCopy)),
          output_copies(copied_rows(options, tables.words, tables.words, chunk_words, kWordsPerOutputCopy)),
          output_stride(tables.output_stride) {}

    std::size_t chunk_words;  // kept words of the chunk
    std::size_t vocabulary;
    std::size_t stride;         // padded(D)
    std::size_t positional;     // padded(D')
    std::size_t positions;      // 2c
    std::size_t examples;       // of a masked word: itself and its negatives
    std::size_t slots;          // words in the row cache at a time: a micro-batch and its contexts, or the whole chunk
    std::size_t input_copies;   // copied rows
    std::size_t output_copies;  // copied rows
    std::size_t output_stride;  // from one row of the table to the next
};

// What a number format needs in addition.
template <class Format> struct FormatScratch {
    BufferPool &pool;
    ScratchSizes sizes;
};

template <> struct FormatScratch<Fixed16> {
    BufferPool &pool;
    ScratchSizes sizes;
    // u_C in multiples of a quantum
    std::int16_t *quantized_context = pool.take<std::int16_t>(sizes.stride);
    // g, as the factors of output rows in e, and as the factors of u_C in the updates of output rows
    std::int32_t *quantized_weights = pool.take<std::int32_t>(padded(sizes.examples));
    std::int32_t *quantized_moves = pool.take<std::int32_t>(padded(sizes.examples));
    // Roundings of the accumulated update of each row of a word.
    std::int16_t *steps = pool.take<std::int16_t>(kRoundings * sizes.stride);
};

template <class Format> struct Scratch {
    using Real = typename Format::Real;
    using Stored = typename Format::Stored;
    BufferPool &pool;
    ScratchSizes sizes;

    // The row cache, by slot. X: the sum of a word's rows, kept up to date while the word is cached; X when the word
    // was loaded; R, the number of its rows; 1 / R; the word; its occurrences in the cached range.
    Real *sums = pool.take<Real>(sizes.slots * sizes.stride);
    Real *sums_before = pool.take<Real>(sizes.slots * sizes.stride);
    Real *row_counts = pool.take<Real>(sizes.slots);
    Real *row_weights = pool.take<Real>(sizes.slots);
    std::uint32_t *slot_word = pool.take<std::uint32_t>(sizes.slots);
    std::uint32_t *slot_uses = pool.take<std::uint32_t>(sizes.slots);
    // A queue of the slots without uses.
    std::uint32_t *free_slots = pool.take<std::uint32_t>(sizes.slots);
    // The slot of each cached occurrence.
    std::uint32_t *slots = pool.take<std::uint32_t>(sizes.chunk_words);
    // The slot of each word, valid where slot_word agrees and the slot has uses.
    std::uint32_t *slot_of_word = pool.take<std::uint32_t>(sizes.vocabulary);

    // The micro-batch. P: sums of X over its first words; sums of R likewise; a running sum of e; u_C; e (S rows).
    Real *prefix = pool.take<Real>((sizes.slots + 1) * sizes.stride);
    Real *row_prefix = pool.take<Real>(sizes.slots + 1);
    Real *total = pool.take<Real>(sizes.stride);
    Real *context = pool.take<Real>(sizes.stride);
    Real *errors = pool.take<Real>(kMicroBatch * sizes.stride);

    // Positional vectors. d, padded with ones; d when it was fetched; 1 where a positional feature is trained, else 0.
    Real *positions = pool.take<Real>(sizes.positions * sizes.positional);
    Real *positions_before = pool.take<Real>(sizes.positions * sizes.positional);
    Real *trained_mask = pool.take<Real>(sizes.positional);

    // The examples of a masked word: their output rows, scores, and g.
    Stored **output_rows = pool.take<Stored *>(sizes.examples);
    Real *scores = pool.take<Real>(padded(sizes.examples));
    Real *step_sizes = pool.take<Real>(padded(sizes.examples));

    // Copies of rows, and what they were when they were fetched.
    Stored *input_copies = pool.take<Stored>(2 * sizes.input_copies * sizes.stride);
    Stored *output_copies = pool.take<Stored>(2 * sizes.output_copies * sizes.output_stride);

    FormatScratch<Format> format{pool, sizes};
};

}  // namespace posvec
