// Tables of float encoded in 16 bits (number_formats.hpp), and decoded.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "number_formats.hpp"
#include "padding.hpp"

namespace posvec {

// Both functions may work in place, `codes` beginning where `table` does: codes are no longer than the floats, so that
// encoding goes from the first to the last and decoding from the last to the first. `size` is a multiple of kPad.

// The nearest units, clamped to what 16 bits hold.
inline void encode_fixed16(const float *table, std::size_t size, float unit, std::int16_t *codes) {
    for (std::size_t k = 0; k < size; k += kPad) {
        int rounded[kPad];  // not written to `codes` at once, so that the compiler vectorizes this loop
        for (std::size_t i = 0; i < kPad; i++) {
            float value = table[k + i] * (1 / unit);
            value = value < kMinUnits ? kMinUnits : value;
            value = value > kMaxUnits ? kMaxUnits : value;
            rounded[i] = static_cast<int>(value + std::copysign(0.5f, value));
        }
        std::int16_t units[kPad];
        for (std::size_t i = 0; i < kPad; i++) units[fixed16_index(i)] = static_cast<std::int16_t>(rounded[i]);
        std::memcpy(reinterpret_cast<unsigned char *>(codes) + k * sizeof *codes, units, sizeof units);
    }
}

inline void decode_fixed16(const std::int16_t *codes, std::size_t size, float unit, float *table) {
    for (std::size_t k = size; k > 0;) {
        k -= kPad;
        std::int16_t units[kPad];
        std::memcpy(units, reinterpret_cast<const unsigned char *>(codes) + k * sizeof *codes, sizeof units);
        for (std::size_t i = 0; i < kPad; i++) table[k + i] = static_cast<float>(units[fixed16_index(i)]) * unit;
    }
}

}  // namespace posvec
