// Negatives drawn many at a time: random numbers first, with vectors, and then the alias table is looked up, so that
// many of its cells are on their way from memory at once.
#pragma once

#include "level.hpp"
#include "random_bits.hpp"

namespace posvec::POSVEC_LEVEL {

// Words drawn from Walker's alias table by the random numbers that follow `state`, two for each word.
inline void draw_words(std::uint32_t *drawn, std::size_t count, const AliasCell *cells, std::uint32_t words,
                       std::uint64_t state) {
    constexpr std::size_t kBlock = 256;
    std::uint32_t own[kBlock];
    float probability[kBlock];
    while (count > 0) {
        const std::size_t size = count < kBlock ? count : kBlock;
        for (std::size_t k = 0; k < size; k++) {
            own[k] = bounded(mix_bits(state + (2 * k + 1) * kMixStep), words);
            probability[k] = uniform(mix_bits(state + (2 * k + 2) * kMixStep));
        }
        for (std::size_t k = 0; k < size; k++) {
            const AliasCell cell = cells[own[k]];
            const std::uint32_t mask = -static_cast<std::uint32_t>(probability[k] < cell.probability);
            drawn[k] = (own[k] & mask) | (cell.other & ~mask);  // branchless: the branch would be unpredictable
        }
        state += 2 * size * kMixStep;
        drawn += size;
        count -= size;
    }
}

}  // namespace posvec::POSVEC_LEVEL
