// A table whose rows all threads update, and this thread's own copies of its most frequent rows.
//
// A row that two threads write moves from cache to cache at every step, and the writer waits for it. Few rows are
// written that often: a thread works on copies of those, and adds what it learnt to the table from time to time
// (copy_policy.hpp). Updates of other threads are seen that much later, and fewer get lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fixed16_vectors.hpp"
#include "saturating.hpp"
#include "simd.hpp"

namespace posvec::POSVEC_LEVEL {

template <class Stored> class RowCopies {
  public:
    // Rows of `length` numbers, `stride` apart, of which `first` .. first + count - 1 have copies. There is memory for
    // two copies of each, as far apart as in the table: the one that is trained, and the row as it was fetched.
    RowCopies(Stored *table, std::size_t length, std::size_t stride, std::uint32_t first, std::size_t count,
              Stored *copies)
        : length_(length), stride_(stride), first_(first), count_(static_cast<std::uint32_t>(count)),
          table_(reinterpret_cast<unsigned char *>(table)), copies_(reinterpret_cast<unsigned char *>(copies)),
          fetched_(copies_ + count * row_bytes_) {}

    // The row to be trained: its copy if it has one. Branchless: the branch would be unpredictable.
    Stored *operator[](std::uint32_t row) const {
        const std::ptrdiff_t offset = -static_cast<std::ptrdiff_t>(row - first_ < count_) & to_copy_;
        return reinterpret_cast<Stored *>(table_ + row * row_bytes_ + offset);
    }

    // Copies the rows of the table.
    void fetch() const {
        for_each_vector([](const Stored *shared, Stored *copy, Stored *fetched) {
            const auto values = load_shared(shared);
            store(copy, values);
            store(fetched, values);
        });
    }

    // Adds to the table what the copies have learnt.
    void merge() const {
        for_each_vector([](Stored *shared, const Stored *copy, const Stored *fetched) {
            if constexpr (std::is_same_v<Stored, std::int16_t>)
                move_shared(shared, subtract_saturating(load(copy), load(fetched)));
            else
                move_shared(shared, load(copy) - load(fetched));
        });
    }

  private:
    template <class Body> void for_each_vector(Body body) const {
        Stored *shared = reinterpret_cast<Stored *>(table_ + first_ * row_bytes_);
        Stored *copy = reinterpret_cast<Stored *>(copies_), *fetched = reinterpret_cast<Stored *>(fetched_);
        constexpr std::size_t lanes = sizeof(load(copy)) / sizeof(Stored);
        for (std::size_t begin = 0, end = count_ * stride_; begin < end; begin += stride_)
            for (std::size_t j = begin; j < begin + length_; j += lanes) body(shared + j, copy + j, fetched + j);
    }

    const std::size_t length_, stride_, row_bytes_ = stride_ * sizeof(Stored);
    const std::uint32_t first_, count_;
    unsigned char *const table_, *const copies_, *const fetched_;
    // From a row to its copy.
    const std::ptrdiff_t to_copy_ = copies_ - table_ - static_cast<std::ptrdiff_t>(first_ * row_bytes_);
};

}  // namespace posvec::POSVEC_LEVEL
