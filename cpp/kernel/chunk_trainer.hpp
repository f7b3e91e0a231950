// Trains chunks of lines: draws what is random about a chunk, finds working memory and calls the kernel of one level.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
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
    // The heads, of which there is at least one, are those of one model.
    ChunkTrainer(std::vector<Head<Format>> heads, const float *keep, const float *alias_probability,
                 const std::uint32_t *alias, const KernelOptions &options, const Level &level)
        : heads_(std::move(heads)), words_(heads_.front().tables.words), keep_(keep), options_(options), level_(level) {
        alias_cells_.reserve(words_);
        for (std::uint32_t w = 0; w < words_; w++) alias_cells_.push_back({alias_probability[w], alias[w]});
    }

    const KernelOptions &options() const { return options_; }

    void draw(ChunkDraws &draws, const LineRange &lines, std::uint64_t seed) const {
        const SamplingTables tables{words_, keep_, alias_cells_.data(), level_.draw_words};
        draws.draw(lines.corpus, lines.begin, lines.end, tables, options_, lines.held_out, seed);
    }

    // Draws once, and trains one head after the other: they have no parameters in common, so their order does not
    // matter. The loss is the mean of those of the heads.
    ChunkResult train(Workspace &work, const LineRange &lines, double lr, std::uint64_t seed) const {
        draw(work.draws, lines, seed);
        ChunkResult result;
        for (std::size_t h = 0; h < heads_.size(); h++) {
            work.buffers.rewind();
            const Head<Format> &head = heads_[h];
            const Scratch<Format> scratch{work.buffers, {options_, head.tables, work.draws.word.size()}};
            Draws draws = work.draws.view();
            draws.seed += h;
            const ChunkResult one = train_function()(head.tables, head.rows, draws, options_, lr * head.rate, scratch);
            result.masked_words = one.masked_words;
            result.loss += one.loss / static_cast<double>(heads_.size());
        }
        return result;
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

    const std::vector<Head<Format>> heads_;
    const std::uint32_t words_;
    const float *const keep_;
    std::vector<AliasCell> alias_cells_;
    const KernelOptions options_;
    const Level &level_;
};

}  // namespace posvec
