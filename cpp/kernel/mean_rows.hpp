// Word vectors as the means of the rows of words and their n-grams.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "tables.hpp"

namespace posvec {

// Rows of `dim` features, `stride` apart; they may begin at any byte, as those in a file of fastText do.
struct UnalignedTable {
    const float *data;
    std::size_t rows, dim;
    std::int64_t stride;
};

// means[w] = mean of the rows of word w, for words begin .. end - 1; `row_count` is the length of word_rows.rows.
// Throws std::invalid_argument for a word without rows, and for a row that does not exist.
inline void mean_rows(const UnalignedTable &table, const WordRows &word_rows, std::size_t row_count, std::size_t begin,
                      std::size_t end, float *means) {
    typedef float Unaligned __attribute__((aligned(1), may_alias));
    for (std::size_t w = begin; w < end; w++) {
        float *mean = means + w * table.dim;
        std::fill_n(mean, table.dim, 0.0f);
        const std::uint64_t from = word_rows.begin[w], to = word_rows.begin[w + 1];
        if (from >= to || to > row_count) throw std::invalid_argument("row_begin does not fit rows");
        for (std::uint64_t k = from; k < to; k++) {
            if (word_rows.rows[k] >= table.rows) throw std::invalid_argument("no such row");
            const Unaligned *row = reinterpret_cast<const Unaligned *>(table.data) +
                                   static_cast<std::int64_t>(word_rows.rows[k]) * table.stride;
            for (std::size_t j = 0; j < table.dim; j++) mean[j] += row[j];
        }
        const float weight = 1.0f / static_cast<float>(to - from);
        for (std::size_t j = 0; j < table.dim; j++) mean[j] *= weight;
    }
}

}  // namespace posvec
