// UTF-8: validation and decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace posvec {

constexpr std::uint32_t kCodePoints = 0x110000;
constexpr std::uint32_t kCapitalSigma = 0x3A3;

struct Utf8Check {
    std::int64_t invalid = -1;  // offset of the first byte of the first ill-formed sequence, or -1
    bool has_sigma = false;     // U+03A3 occurs, whose lower case depends on the characters around it
};

template <int kBytes> bool all_ascii(const char *p) {
    std::uint64_t words[kBytes / 8], any = 0;
    std::memcpy(words, p, kBytes);
    for (const std::uint64_t word : words) any |= word;
    return (any & 0x8080808080808080ull) == 0;
}

inline bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// The length of the well-formed sequence at p (Unicode's Table 3-7: no overlong forms, no surrogates), or 0.
inline int sequence_length(const unsigned char *p, const unsigned char *end) {
    const unsigned lead = *p;
    const std::ptrdiff_t left = end - p;
    const auto continued = [&](int i) { return is_continuation(p[i]); };
    if (lead < 0x80) return 1;
    if (lead < 0xC2) return 0;
    if (lead < 0xE0) return left >= 2 && continued(1) ? 2 : 0;
    if (lead < 0xF0) {
        if (left < 3 || !continued(1) || !continued(2)) return 0;
        if (lead == 0xE0 && p[1] < 0xA0) return 0;
        if (lead == 0xED && p[1] >= 0xA0) return 0;
        return 3;
    }
    if (lead > 0xF4 || left < 4 || !continued(1) || !continued(2) || !continued(3)) return 0;
    if (lead == 0xF0 && p[1] < 0x90) return 0;
    if (lead == 0xF4 && p[1] >= 0x90) return 0;
    return 4;
}

inline Utf8Check check_utf8(std::string_view text) {
    Utf8Check check;
    const char *p = text.data(), *end = p + text.size();
    while (p < end) {
        if (end - p >= 8 && all_ascii<8>(p)) {
            p += 8;
            continue;
        }
        const auto *q = reinterpret_cast<const unsigned char *>(p);
        const int length = sequence_length(q, reinterpret_cast<const unsigned char *>(end));
        if (length == 0) {
            check.invalid = p - text.data();
            return check;
        }
        check.has_sigma |= length == 2 && q[0] == 0xCE && q[1] == 0xA3;
        p += length;
    }
    return check;
}

// The code point at p; moves p behind it. The text must have passed check_utf8.
inline std::uint32_t decode(const char *&p) {
    const auto byte = [&](int i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(p[i])); };
    const std::uint32_t lead = byte(0);
    std::uint32_t c;
    if (lead < 0x80) {
        c = lead, p += 1;
    } else if (lead < 0xE0) {
        c = (lead & 0x1F) << 6 | (byte(1) & 0x3F), p += 2;
    } else if (lead < 0xF0) {
        c = (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), p += 3;
    } else {
        c = (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), p += 4;
    }
    return c;
}

}  // namespace posvec
