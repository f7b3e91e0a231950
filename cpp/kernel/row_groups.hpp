// Groups of rows that are worked on together: what they have in common is loaded once, and several streams of cache
// misses are in flight, several chains of additions that do not wait for each other, rather than one.
#pragma once

#include <cstddef>
#include <utility>

namespace posvec::POSVEC_LEVEL {

template <class Stored, int Count> struct RowGroup {
    Stored *row[Count];
};

// Calls body.operator()<T>(k) for consecutive k .. k + T - 1 that cover 0 .. count - 1; T is Most until fewer are left.
template <int Most, class Body> inline void for_groups(std::size_t count, Body body) {
    std::size_t k = 0;
    for (; k + Most <= count; k += Most) body.template operator()<Most>(k);
    if constexpr (Most > 1)
        [&]<int... T>(std::integer_sequence<int, T...>) {
            ((count - k == T + 1 ? body.template operator()<T + 1>(k) : void()), ...);
        }(std::make_integer_sequence<int, Most - 1>());
}

}  // namespace posvec::POSVEC_LEVEL
