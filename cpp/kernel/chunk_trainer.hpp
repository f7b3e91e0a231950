// Trains chunks of lines: draws what is random about a chunk, finds working memory and calls the kernel of one level.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "buffers.hpp"
#include "chunk.hpp"
#include "level.hpp"
#include "number_formats.hpp"
#include "options.hpp"
#include "sampling.hpp"
#include "scratch.hpp"
#include "tables.hpp"

namespace posvec {

// What one thread needs, for any number format.
struct Workspace {
    ChunkDraws draws;
    BufferPool buffers;
};

// Lines begin .. end - 1 of a corpus.
struct LineRange {
    Corpus corpus;
    std::uint64_t begin, end;
    HeldOut held_out;
};

// A model that any number of threads train, each with a workspace of its own. All pointers must stay valid.
template <class Format> class ChunkTrainer {
  public:
    ChunkTrainer(const Tables<Format> &tables, const WordRows &rows, const float *keep, const float *alias_probability,
                 const std::uint32_t *alias, const KernelOptions &options, const Level &level)
        : tables_(tables), rows_(rows), keep_(keep), options_(options), level_(level) {
        alias_cells_.reserve(tables.words);
        for (std::uint32_t w = 0; w < tables.words; w++) alias_cells_.push_back({alias_probability[w], alias[w]});
    }

    const KernelOptions &options() const { return options_; }

    void draw(ChunkDraws &draws, const LineRange &lines, std::uint64_t seed) const {
        const SamplingTables tables{tables_.words, keep_, alias_cells_.data(), level_.draw_words};
        draws.draw(lines.corpus, lines.begin, lines.end, tables, options_, lines.held_out, seed);
    }

    ChunkResult train(Workspace &work, const LineRange &lines, double lr, std::uint64_t seed) const {
        draw(work.draws, lines, seed);
        work.buffers.rewind();
        const Scratch<Format> scratch{work.buffers, {options_, tables_, work.draws.word.size()}};
        return train_function()(tables_, rows_, work.draws.view(), options_, lr, scratch);
    }

  private:
    TrainFunction<Format> train_function() const {
        if constexpr (std::is_same_v<Format, Float32>)
            return level_.train_float32;
        else if constexpr (std::is_same_v<Format, Float64>)
            return level_.train_float64;
        else
            return level_.train_fixed16;
    }

    const Tables<Format> tables_;
    const WordRows rows_;
    const float *const keep_;
    std::vector<AliasCell> alias_cells_;
    const KernelOptions options_;
    const Level &level_;
};

}  // namespace posvec
