// Walker's alias table, from which words are drawn with given weights at the cost of two random numbers each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace posvec {

// To draw a word: draw i uniformly, keep it with probability[i], otherwise take alias[i].
struct AliasTable {
    std::vector<float> probability;
    std::vector<std::uint32_t> alias;
};

// Vose's method: a word that is less likely than 1/n shares its cell with one that is more likely.
inline AliasTable build_alias_table(const double *weights, std::size_t size) {
    AliasTable table{std::vector<float>(size, 1.0f), std::vector<std::uint32_t>(size)};
    std::iota(table.alias.begin(), table.alias.end(), 0u);
    const double total = std::accumulate(weights, weights + size, 0.0);
    if (!(total > 0) || total > 1e300) throw std::invalid_argument("weights must be finite and not all zero");
    std::vector<double> left(size);  // n times the probability of a word that no cell accounts for yet
    std::vector<std::uint32_t> small, large;
    for (std::size_t i = 0; i < size; i++) {
        left[i] = weights[i] / total * static_cast<double>(size);
        (left[i] < 1 ? small : large).push_back(static_cast<std::uint32_t>(i));
    }
    while (!small.empty() && !large.empty()) {
        const std::uint32_t less = small.back(), more = large.back();
        small.pop_back();
        table.probability[less] = static_cast<float>(left[less]);
        table.alias[less] = more;
        left[more] -= 1 - left[less];
        if (left[more] < 1) {
            large.pop_back();
            small.push_back(more);
        }
    }
    // The words in either list now fill their own cells, up to rounding: probability 1, as initialized.
    return table;
}

}  // namespace posvec
