// Rows that are fetched a cache line at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace posvec::POSVEC_LEVEL {

struct PrefetchBatch {
    const void *const *row;
    std::uint32_t count;

    // Of each row, the cache line that begins within bytes begin .. begin + size - 1, if any. Always inlined: to the
    // compiler, a function that does nothing but prefetch does nothing.
    [[gnu::always_inline]] void fetch(std::size_t begin, std::size_t size) const {
        if (begin % 64 >= size) return;
        for (std::uint32_t i = 0; i < count; i++)
            __builtin_prefetch(static_cast<const unsigned char *>(row[i]) + begin, 0, 2);
    }
};

}  // namespace posvec::POSVEC_LEVEL
