// This thread's copy of the positional vectors d.
//
// Every thread writes all of d at every step. In shared cache lines that would cost more than everything else, so each
// thread works on a copy, and adds what it learnt to the shared table after some micro-batches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "options.hpp"
#include "scratch.hpp"
#include "simd.hpp"
#include "tables.hpp"

namespace posvec::POSVEC_LEVEL {

template <class Format> class PositionalVectors {
  public:
    using Real = typename Format::Real;

    // Features D' .. padded(D') - 1 have a weight of 1 that is never trained.
    PositionalVectors(const Tables<Format> &tables, const KernelOptions &options, const Scratch<Format> &scratch)
        : shared_(tables.positional), shared_stride_(tables.positional_stride), dim_(tables.positional_dim),
          count_(scratch.sizes.positions), stride_(scratch.sizes.positional), trained_(options.train_positions),
          values_(scratch.positions), fetched_(scratch.positions_before), mask_(scratch.trained_mask) {
        for (std::size_t j = 0; j < stride_; j++) mask_[j] = trained_ && j < dim_ ? 1 : 0;
        for (std::size_t k = 0; k < count_ * stride_; k++) values_[k] = 1;
    }

    // d_1; d_-1 is the vector before it.
    Real *first_after() const { return values_ + count_ / 2 * stride_; }
    // 1 where a feature is trained, else 0.
    const Real *mask() const { return mask_; }

    void fetch() const {
        if (!stride_) return;
        for (std::size_t p = 0; p < count_; p++)
            for (std::size_t j = 0; j < dim_; j++)
                values_[p * stride_ + j] = fetched_[p * stride_ + j] = read_shared(shared_ + p * shared_stride_ + j);
    }

    void merge() const {
        if (!stride_ || !trained_) return;
        for (std::size_t p = 0; p < count_; p++)
            for (std::size_t j = 0; j < dim_; j++)
                add_shared(shared_ + p * shared_stride_ + j, values_[p * stride_ + j] - fetched_[p * stride_ + j]);
    }

  private:
    Real *const shared_;
    const std::size_t shared_stride_, dim_, count_, stride_;
    const bool trained_;
    Real *const values_, *const fetched_, *const mask_;
};

}  // namespace posvec::POSVEC_LEVEL
