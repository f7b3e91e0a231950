// Tables of floating-point numbers. The step is written once, for a number format `Rows` that provides:
//
//     Format                                    the stored numbers and those it computes with (number_formats.hpp)
//     add_to_sum(sum, rows, stride)             sum += T input rows
//     add_update(sum, before, weight, ...)      every input row of a word += (sum - before) weight
//     set_context(u)                            before the output rows of a masked word are scored
//     score(scores, rows, ahead)                u . v of T output rows
//     set_step_sizes(g, count)                  before they are updated
//     update(rows, k, error, ahead)             e += g v, v += g u for T output rows
//
// While output rows are passed over, those in `ahead` are prefetched (prefetch_batch.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "number_formats.hpp"
#include "padding.hpp"
#include "prefetch_batch.hpp"
#include "row_groups.hpp"
#include "scratch.hpp"
#include "simd.hpp"

namespace posvec::POSVEC_LEVEL {

template <class NumberFormat> class FloatRows {
  public:
    using Format = NumberFormat;
    using Real = typename Format::Real;
    template <int T> using Group = RowGroup<Real, T>;

    FloatRows(const Scratch<Format> &scratch, std::uint64_t) : stride_(scratch.sizes.stride) {}

    template <int T> static void add_to_sum(Real *sum, const Group<T> &rows, std::size_t stride) {
        for (std::size_t j = 0; j < stride; j += lanes) {
            Vec<Real> total = load(sum + j);
            for (int i = 0; i < T; i++) total += load_shared(rows.row[i] + j);
            store(sum + j, total);
        }
    }

    // `group` returns T rows from the k-th on; a row may be among them twice. The sum is used up.
    template <class GetGroup>
    void add_update(Real *sum, const Real *before, Real weight, std::size_t count, GetGroup group) const {
        subtract(sum, before, stride_);
        scale(sum, weight, stride_);
        for_groups<kRoundings>(count, [&]<int T>(std::size_t k) {
            const Group<T> rows = group.template operator()<T>(k);
            add_to_rows(rows, sum, stride_);
        });
    }

    void set_context(const Real *u) { context_ = u; }
    void set_step_sizes(const Real *g, std::size_t) { step_sizes_ = g; }

    template <int T> void score(Real *scores, const Group<T> &rows, const PrefetchBatch ahead) const {
        const Real *const context = context_;
        Vec<Real> sum[T] = {};
        for (std::size_t line = 0, end = stride_; line < end; line += kPad) {
            ahead.fetch(line * sizeof(Real), kPad * sizeof(Real));
            for (std::size_t j = line; j < line + kPad; j += lanes)
                for (int i = 0; i < T; i++) sum[i] += load(context + j) * load_shared(rows.row[i] + j);
        }
        for (int i = 0; i < T; i++) scores[i] = sum_lanes(sum[i]);
    }

    // `k` is the index of the first row's step size.
    template <int T> void update(const Group<T> &rows, std::size_t k, Real *error, const PrefetchBatch ahead) const {
        const Real *const context = context_;
        Vec<Real> g[T];
        for (int i = 0; i < T; i++) g[i] = Vec<Real>{} + step_sizes_[k + i];
        for (std::size_t line = 0, end = stride_; line < end; line += kPad) {
            ahead.fetch(line * sizeof(Real), kPad * sizeof(Real));
            for (std::size_t j = line; j < line + kPad; j += lanes) {
                Vec<Real> e = load(error + j);
                const Vec<Real> u = load(context + j);
                for (int i = 0; i < T; i++) {
                    const Vec<Real> v = load_shared(rows.row[i] + j);
                    e += v * g[i];
                    store_shared(rows.row[i] + j, v + u * g[i]);
                }
                store(error + j, e);
            }
        }
    }

  private:
    // each row += x
    template <int T> static void add_to_rows(const Group<T> &rows, const Real *x, std::size_t n) {
        for (std::size_t j = 0; j < n; j += lanes) {
            const Vec<Real> value = load(x + j);
            for (int i = 0; i < T; i++) move_shared(rows.row[i] + j, value);
        }
    }

    static constexpr std::size_t lanes = Vector<Real>::lanes;
    const std::size_t stride_;
    const Real *context_ = nullptr, *step_sizes_ = nullptr;
};

using Float32Rows = FloatRows<Float32>;
using Float64Rows = FloatRows<Float64>;

}  // namespace posvec::POSVEC_LEVEL
