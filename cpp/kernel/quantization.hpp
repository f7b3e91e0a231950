// Product quantization: which centroid is nearest to each sub-vector of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace posvec {

// Of |x - c|^2 = |x|^2 - 2 (x . c - |c|^2 / 2) only the part in brackets depends on c: the largest is the nearest.
// rows (count, places, width), codebook (places, centroids, width), codes (count, places); of equals, the first.
inline void nearest_centroids(const float *rows, size_t count, const float *codebook, size_t places, size_t centroids,
                              size_t width, uint8_t *codes) {
    // Centroids side by side, in vectors that every machine has. A group of them: -|c|^2 / 2, then each feature.
    constexpr size_t kLanes = 4;
    typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
    typedef int32_t Ints __attribute__((vector_size(kLanes * sizeof(int32_t))));
    constexpr float kLowest = -std::numeric_limits<float>::infinity();
    const Floats lowest = {kLowest, kLowest, kLowest, kLowest};
    const size_t groups = (centroids + kLanes - 1) / kLanes;
    std::vector<Floats> side_by_side(groups * (width + 1));
    for (size_t place = 0; place < places; place++) {
        for (size_t k = 0; k < groups * kLanes; k++) {
            Floats *group = &side_by_side[k / kLanes * (width + 1)];
            const size_t lane = k % kLanes;
            group[0][lane] = k < centroids ? 0.0f : kLowest;  // no centroid is never the nearest
            for (size_t i = 0; i < width; i++) {
                const float feature = k < centroids ? codebook[(place * centroids + k) * width + i] : 0.0f;
                group[0][lane] -= feature * feature / 2;
                group[i + 1][lane] = feature;
            }
        }
        for (size_t n = 0; n < count; n++) {
            const float *x = rows + (n * places + place) * width;
            const Floats *lanes = side_by_side.data();
            Floats best = lowest;
            Ints where = {}, number = {};
            for (size_t g = 0; g < groups; g++, number += 1) {
                Floats score = *lanes++;
                for (size_t i = 0; i < width; i++) score += x[i] * *lanes++;
                const Ints better = score > best;
                best = better ? score : best;
                where = better ? number : where;
            }
            size_t nearest = 0;
            for (size_t j = 1; j < kLanes; j++)
                if (best[j] > best[nearest] || (best[j] == best[nearest] && where[j] < where[nearest])) nearest = j;
            codes[n * places + place] = static_cast<uint8_t>(static_cast<size_t>(where[nearest]) * kLanes + nearest);
        }
    }
}

}  // namespace posvec
