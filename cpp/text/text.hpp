// Text: UTF-8 bytes → lines → tokens.
//
// What a token is comes from outside, as tables over code points made from the running Python, so that the compiled
// tokenizer and Python's own re and str agree on every character of whichever Unicode version that Python has.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "words.hpp"

namespace posvec {

constexpr uint32_t code_points = 0x110000;
constexpr uint32_t capital_sigma = 0x3A3;

// ---------------------------------------------------------------------------------------------------------- UTF-8

struct Utf8Check {
    int64_t bad = -1;        // offset of the first byte of the first ill-formed sequence, or -1
    bool has_sigma = false;  // U+03A3 occurs: lower-casing it needs to see its context
};

template <int bytes> bool all_ascii(const char *p) {
    uint64_t words[bytes / 8], any = 0;
    std::memcpy(words, p, bytes);
    for (const uint64_t word : words) any |= word;
    return (any & 0x8080808080808080ull) == 0;
}

// Length of the well-formed sequence at p (Unicode's Table 3-7: no overlong forms, no surrogates), or 0.
inline int sequence_length(const unsigned char *p, const unsigned char *end) {
    const unsigned lead = *p;
    const ptrdiff_t left = end - p;
    const auto tail = [&](int i) { return (p[i] & 0xC0) == 0x80; };
    if (lead < 0x80) return 1;
    if (lead < 0xC2) return 0;
    if (lead < 0xE0) return left >= 2 && tail(1) ? 2 : 0;
    if (lead < 0xF0) {
        if (left < 3 || !tail(1) || !tail(2)) return 0;
        if (lead == 0xE0 && p[1] < 0xA0) return 0;
        if (lead == 0xED && p[1] >= 0xA0) return 0;
        return 3;
    }
    if (lead > 0xF4 || left < 4 || !tail(1) || !tail(2) || !tail(3)) return 0;
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
            check.bad = p - text.data();
            return check;
        }
        check.has_sigma |= length == 2 && q[0] == 0xCE && q[1] == 0xA3;
        p += length;
    }
    return check;
}

// The code point at p, which is moved behind it. Only for text that check_utf8 has passed.
inline uint32_t decode(const char *&p) {
    const auto byte = [&](int i) { return static_cast<uint32_t>(static_cast<unsigned char>(p[i])); };
    const uint32_t lead = byte(0);
    uint32_t c;
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

inline bool is_tail(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// ------------------------------------------------------------------------------------------------------ tokenizing

class CodePointSet {
  public:
    explicit CodePointSet(std::string_view bits) : bits_(bits.begin(), bits.end()) {
        if (bits.size() != code_points / 8) throw std::invalid_argument("a set of code points has 139,264 bytes");
    }
    bool operator[](uint32_t c) const { return bits_[c >> 3] >> (c & 7) & 1; }

  private:
    std::vector<uint8_t> bits_;
};

// What the rule of the final sigma asks of the characters around it.
struct Casing {
    CodePointSet cased;  // and not ignorable: ignorable characters are looked through
    CodePointSet ignorable;
};

using LowerMap = std::vector<std::pair<uint32_t, std::string>>;

// Lower-cases text, if it has a map for that, then cuts it into the longest runs of token characters: in that order,
// because a character can lower to several of which not all are token characters ('İ' → 'i' + U+0307).
class Tokenizer {
  public:
    Tokenizer(std::string_view token_bits, const LowerMap &lower) : tokens_(token_bits), lowers_(!lower.empty()) {
        if (lowers_) lower_index_.assign(code_points, 0);
        for (const auto &[c, text] : lower) {
            if (c >= code_points || text.size() > longest_lower) throw std::invalid_argument("bad lower-case map");
            lowered_.push_back(text);
            lower_index_[c] = static_cast<uint16_t>(lowered_.size());
        }
        for (int c = 0; c < 256; c++) {
            kind_[c] = c >= 0x80 ? multibyte : c == '\n' ? newline : tokens_[c] ? token : separator;
        }
    }
    ~Tokenizer() { delete casing_.load(); }
    Tokenizer(const Tokenizer &) = delete;
    Tokenizer &operator=(const Tokenizer &) = delete;

    bool needs_casing(const Utf8Check &check) const { return lowers_ && check.has_sigma && !casing_.load(); }

    void set_casing(std::unique_ptr<const Casing> casing) {
        const Casing *none = nullptr;
        // Two threads may have made the table at once: the first one stays, for others may be reading it.
        if (casing_.compare_exchange_strong(none, casing.get())) casing.release();
    }

    // Calls token(std::string_view) for each token, which is followed by `spare` readable bytes, and line() at the end
    // of each line. The text must have passed check_utf8; `buffer` is only room to work in.
    template <class OnToken, class OnLine>
    void split(std::string_view text, std::vector<char> &buffer, OnToken &&on_token, OnLine &&on_line) const {
        const size_t size = prepare(text, buffer);
        const char *const data = buffer.data();
        size_t start = 0;
        bool inside = false;
        Marks marks;
        for (size_t base = 0; base < size; base += 64) {
            mark(data + base, std::min<size_t>(64, size - base), marks);
            // A bit for each place where a token begins or ends, or a line does.
            uint64_t events = (marks.tokens ^ (marks.tokens << 1 | static_cast<uint64_t>(inside))) | marks.newlines;
            for (; events; events &= events - 1) {
                const int bit = std::countr_zero(events);
                if (inside) {
                    on_token(std::string_view(data + start, base + static_cast<size_t>(bit) - start));
                    inside = false;
                } else if (marks.tokens >> bit & 1) {
                    start = base + static_cast<size_t>(bit);
                    inside = true;
                }
                if (marks.newlines >> bit & 1) on_line();
            }
        }
        if (inside) on_token(std::string_view(data + start, size - start));
        if (size && data[size - 1] != '\n') on_line();
    }

  private:
    enum : uint8_t { separator = 0, token = 1, newline = 2, multibyte = 4 };

    // Of 64 bytes: a bit for each that belongs to a token, and for each line feed. By way of bits, the end of a word
    // costs no mispredicted branch.
    struct Marks {
        uint64_t tokens = 0, newlines = 0;
        uint64_t next_tokens = 0;  // bits of the next 64 bytes that were set by a character on the border,
        size_t next_start = 0;     // and how many bytes of it reach over there
    };

    void mark(const char *p, size_t size, Marks &marks) const {
        const auto *bytes = reinterpret_cast<const unsigned char *>(p);
        marks.tokens = std::exchange(marks.next_tokens, 0);
        marks.newlines = 0;
        size_t i = std::exchange(marks.next_start, 0);
        if (i == 0 && size == 64 && all_ascii<64>(p)) {
            for (; i < 64; i++) {
                const uint64_t kind = kind_[bytes[i]];
                marks.tokens |= (kind & 1) << i;
                marks.newlines |= (kind >> 1) << i;
            }
            return;
        }
        while (i < size) {
            const uint64_t kind = kind_[bytes[i]];
            if (kind != multibyte) {
                marks.tokens |= (kind & 1) << i;
                marks.newlines |= (kind >> 1) << i;
                i++;
                continue;
            }
            const char *q = p + i;
            const bool belongs = tokens_[decode(q)];
            const size_t behind = static_cast<size_t>(q - p);
            if (belongs) {
                const auto bits = ((static_cast<unsigned __int128>(1) << (behind - i)) - 1) << i;
                marks.tokens |= static_cast<uint64_t>(bits);
                marks.next_tokens = static_cast<uint64_t>(bits >> 64);
            }
            i = behind;
        }
        if (i > 64) marks.next_start = i - 64;
    }

    static constexpr size_t longest_lower = 12;  // bytes: up to three characters

    // Copies the text, lower-cased where asked, into the buffer and returns its length there.
    size_t prepare(std::string_view text, std::vector<char> &buffer) const {
        if (buffer.size() < text.size() + spare) buffer.resize(text.size() + text.size() / 8 + spare);
        if (!lowers_) {
            if (!text.empty()) std::memcpy(buffer.data(), text.data(), text.size());
            return text.size();
        }
        const char *p = text.data(), *const end = p + text.size();
        char *out = buffer.data();
        while (p < end) {
            while (end - p >= 8 && all_ascii<8>(p)) {
                for (int i = 0; i < 8; i++) out[i] = lower_ascii(p[i]);
                p += 8, out += 8;
            }
            // At least up to the next eight bytes of ASCII, of which there may be none for a long time.
            for (int i = 0; i < 8 && p < end; i++) {
                if (static_cast<unsigned char>(*p) < 0x80) {
                    *out++ = lower_ascii(*p++);
                    continue;
                }
                const char *start = p;
                const uint32_t c = decode(p);
                const uint16_t index = lower_index_[c];
                if (index == 0) {
                    for (const char *q = start; q < p; q++) *out++ = *q;
                    continue;
                }
                const std::string_view lower = c == capital_sigma ? lower_sigma(text, start, p) : lowered_[index - 1];
                // A lower-case character can be longer than its capital: only here can the text outgrow the buffer.
                const size_t done = static_cast<size_t>(out - buffer.data());
                const size_t needed = done + lower.size() + static_cast<size_t>(end - p) + spare;
                if (needed > buffer.size()) {
                    buffer.resize(needed + needed / 8);
                    out = buffer.data() + done;
                }
                std::memcpy(out, lower.data(), lower.size());
                out += lower.size();
            }
        }
        return static_cast<size_t>(out - buffer.data());
    }

    static char lower_ascii(char c) {
        return static_cast<char>(c + (static_cast<unsigned char>(c - 'A') < 26 ? 32 : 0));
    }

    // Unicode's Final_Sigma as str.lower() applies it: cased, ignorable*, Σ, not followed by ignorable*, cased.
    // A line feed is neither cased nor ignorable, so the search ends with the line. Between two sigmas each character
    // is looked at twice at most: a sigma is cased itself.
    std::string_view lower_sigma(std::string_view text, const char *sigma, const char *behind) const {
        static constexpr std::string_view small = "\xCF\x83", final = "\xCF\x82";
        const Casing *casing = casing_.load();
        if (!casing) return small;  // cannot be: needs_casing was asked before
        const char *p = sigma;
        bool cased = false;
        while (p > text.data()) {
            do p--;
            while (is_tail(*p));
            const char *q = p;
            const uint32_t c = decode(q);
            if (casing->ignorable[c]) continue;
            cased = casing->cased[c];
            break;
        }
        if (!cased) return small;
        for (p = behind; p < text.data() + text.size();) {
            const uint32_t c = decode(p);
            if (casing->ignorable[c]) continue;
            return casing->cased[c] ? small : final;
        }
        return final;
    }

    CodePointSet tokens_;
    bool lowers_;
    uint8_t kind_[256];
    std::vector<uint16_t> lower_index_;  // by code point: 0 as it is, else 1 + index in lowered_
    std::vector<std::string> lowered_;
    std::atomic<const Casing *> casing_{nullptr};
};

}  // namespace posvec
