// Negatives drawn many at a time: random numbers first, with vectors, and then the table that they are looked up in, so
// that many of its cells are on their way from memory.
// Included by kernel.cpp inside the namespace of one instruction-set level.
#pragma once

#include "problem.hpp"

namespace posvec::POSVEC_LEVEL {

// Words drawn from Walker's alias table by the random numbers that follow `state`, two for each.
inline void draw_words(std::uint32_t *drawn, std::size_t count, const AliasCell *cells, std::uint32_t words,
                       std::uint64_t state) {
    constexpr std::size_t block = 256;
    std::uint32_t own[block];
    float uniform[block];
    while (count > 0) {
        const std::size_t size = count < block ? count : block;
        for (std::size_t k = 0; k < size; k++) {
            own[k] = below(mixed(state + (2 * k + 1) * kMixStep), words);
            uniform[k] = uniform_of(mixed(state + (2 * k + 2) * kMixStep));
        }
        for (std::size_t k = 0; k < size; k++) {
            const AliasCell cell = cells[own[k]];
            const std::uint32_t mask = -static_cast<std::uint32_t>(uniform[k] < cell.probability);
            drawn[k] = (own[k] & mask) | (cell.other & ~mask);  // no branch, for none could be foreseen
        }
        state += 2 * size * kMixStep;
        drawn += size;
        count -= size;
    }
}

}  // namespace posvec::POSVEC_LEVEL
