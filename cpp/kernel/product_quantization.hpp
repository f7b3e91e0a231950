// Product quantization: which centroid is nearest to each sub-vector of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace posvec {

// Of |x - c|^2 = |x|^2 - 2 (x . c - |c|^2 / 2) only the part in brackets depends on c: the largest is the nearest.
// rows (count, subspaces, width), codebook (subspaces, centroids, width), codes (count, subspaces). Of equally near
// centroids, the first.
inline void nearest_centroids(const float *rows, std::size_t count, const float *codebook, std::size_t subspaces,
                              std::size_t centroids, std::size_t width, std::uint8_t *codes) {
    // Centroids side by side, in vectors that every machine has. A group of them: -|c|^2 / 2, then each feature.
    constexpr std::size_t kLanes = 4;
    typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
    typedef std::int32_t Ints __attribute__((vector_size(kLanes * sizeof(std::int32_t))));
    constexpr float kLowest = -std::numeric_limits<float>::infinity();
    const Floats lowest = {kLowest, kLowest, kLowest, kLowest};
    const std::size_t groups = (centroids + kLanes - 1) / kLanes;
    std::vector<Floats> side_by_side(groups * (width + 1));
    for (std::size_t subspace = 0; subspace < subspaces; subspace++) {
        for (std::size_t k = 0; k < groups * kLanes; k++) {
            Floats *group = &side_by_side[k / kLanes * (width + 1)];
            const std::size_t lane = k % kLanes;
            group[0][lane] = k < centroids ? 0.0f : kLowest;  // an unused lane is never the nearest
            for (std::size_t i = 0; i < width; i++) {
                const float feature = k < centroids ? codebook[(subspace * centroids + k) * width + i] : 0.0f;
                group[0][lane] -= feature * feature / 2;
                group[i + 1][lane] = feature;
            }
        }
        for (std::size_t n = 0; n < count; n++) {
            const float *x = rows + (n * subspaces + subspace) * width;
            const Floats *lanes = side_by_side.data();
            Floats best = lowest;
            Ints best_group = {}, group = {};
            for (std::size_t g = 0; g < groups; g++, group += 1) {
                Floats score = *lanes++;
                for (std::size_t i = 0; i < width; i++) score += x[i] * *lanes++;
                const Ints better = score > best;
                best = better ? score : best;
                best_group = better ? group : best_group;
            }
            std::size_t nearest = 0;
            for (std::size_t j = 1; j < kLanes; j++)
                if (best[j] > best[nearest] || (best[j] == best[nearest] && best_group[j] < best_group[nearest]))
                    nearest = j;
            codes[n * subspaces + subspace] =
                static_cast<std::uint8_t>(static_cast<std::size_t>(best_group[nearest]) * kLanes + nearest);
        }
    }
}

}  // namespace posvec
