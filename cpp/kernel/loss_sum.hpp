// The sum of log(1 + e^x) over the scores x of a chunk, in vectors: factors 1 + e^x are multiplied, and one logarithm
// is taken of many of them.
#pragma once

#include <cmath>
#include <cstddef>

#include "simd.hpp"

namespace posvec::POSVEC_LEVEL {

template <class Real> class LossSum {
  public:
    // Adds the losses of a vector of scores, with odds = e^score. Lanes without an example have odds of 0.
    void add(Vec<Real> score, Vec<Real> odds) {
        const auto is_large = score > kLarge;  // log(1 + e^x) = x to the precision of the sum
        product_ *= is_large ? Vec<Real>{} + 1 : 1 + odds;
        large_scores_ += is_large ? score : Vec<Real>{};
        if (++factors_ == kFactors) take_logarithm();
    }

    double finish() {
        take_logarithm();
        return sum_ + std::log(rest_);
    }

  private:
    // 8 lanes of at most kFactors factors have a product of less than 2^928.
    void take_logarithm() {
        for (std::size_t begin = 0; begin < lanes; begin += 8) {
            for (std::size_t i = begin; i < begin + 8 && i < lanes; i++) rest_ *= static_cast<double>(product_[i]);
            if (rest_ < 1e20) continue;
            sum_ += std::log(rest_);
            rest_ = 1;
        }
        sum_ += static_cast<double>(sum_lanes(large_scores_));
        product_ = Vec<Real>{} + 1;
        large_scores_ = Vec<Real>{};
        factors_ = 0;
    }

    static constexpr std::size_t lanes = Vector<Real>::lanes;
    static constexpr Real kLarge = 20;  // 1 + e^20 < 2^29
    static constexpr int kFactors = 4;  // whose product does not exceed the range of a float
    Vec<Real> product_ = Vec<Real>{} + 1, large_scores_ = {};
    int factors_ = 0;
    double sum_ = 0, rest_ = 1;
};

}  // namespace posvec::POSVEC_LEVEL
