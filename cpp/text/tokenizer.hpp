// Cuts UTF-8 text into lines and tokens.
//
// Which characters belong to tokens, and what they lower to, is given as tables over code points that are made from the
// running Python, so that the compiled tokenizer agrees with Python's re and str on every character of its Unicode
// version.
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

#include "utf8.hpp"
#include "word_table.hpp"

namespace posvec {

class CodePointSet {
  public:
    explicit CodePointSet(std::string_view bits) : bits_(bits.begin(), bits.end()) {
        if (bits.size() != kCodePoints / 8) throw std::invalid_argument("a set of code points has 139,264 bytes");
    }
    bool operator[](std::uint32_t c) const { return bits_[c >> 3] >> (c & 7) & 1; }

  private:
    std::vector<std::uint8_t> bits_;
};

// The properties of characters that decide whether a sigma is final.
struct Casing {
    CodePointSet cased;  // without those that are ignorable as well
    CodePointSet ignorable;
};

using LowerMap = std::vector<std::pair<std::uint32_t, std::string>>;

// Lower-cases text, if there is a map for that, and then cuts it into the longest runs of token characters. The order
// matters: a character can lower to several, of which not all are token characters ('İ' → 'i' + U+0307).
class Tokenizer {
  public:
    Tokenizer(std::string_view token_bits, const LowerMap &lower) : tokens_(token_bits), lowers_(!lower.empty()) {
        if (lowers_) lower_index_.assign(kCodePoints, 0);
        for (const auto &[c, text] : lower) {
            if (c >= kCodePoints || text.size() > kMaxLowerBytes) throw std::invalid_argument("bad lower-case map");
            lowered_.push_back(text);
            lower_index_[c] = static_cast<std::uint16_t>(lowered_.size());
        }
        for (int c = 0; c < 256; c++) {
            kind_[c] = c >= 0x80 ? kMultibyte : c == '\n' ? kNewline : tokens_[c] ? kToken : kSeparator;
        }
    }
    ~Tokenizer() { delete casing_.load(); }
    Tokenizer(const Tokenizer &) = delete;
    Tokenizer &operator=(const Tokenizer &) = delete;

    bool needs_casing(const Utf8Check &check) const { return lowers_ && check.has_sigma && !casing_.load(); }

    void set_casing(std::unique_ptr<const Casing> casing) {
        const Casing *none = nullptr;
        // If two threads have made the tables at once, the first ones stay, because others may be reading them.
        if (casing_.compare_exchange_strong(none, casing.get())) casing.release();
    }

    // Calls on_token(std::string_view) for each token, behind which kSpareBytes are readable, and on_line() at the end
    // of each line. The text must have passed check_utf8; `buffer` is working memory.
    template <class OnToken, class OnLine>
    void split(std::string_view text, std::vector<char> &buffer, OnToken &&on_token, OnLine &&on_line) const {
        const std::size_t size = prepare(text, buffer);
        const char *const data = buffer.data();
        std::size_t start = 0;
        bool in_token = false;
        Masks masks;
        for (std::size_t base = 0; base < size; base += 64) {
            classify(data + base, std::min<std::size_t>(64, size - base), masks);
            // A bit for each byte at which a token begins or has ended, and for each line feed.
            std::uint64_t events =
                (masks.tokens ^ (masks.tokens << 1 | static_cast<std::uint64_t>(in_token))) | masks.newlines;
            for (; events; events &= events - 1) {
                const int bit = std::countr_zero(events);
                if (in_token) {
                    on_token(std::string_view(data + start, base + static_cast<std::size_t>(bit) - start));
                    in_token = false;
                } else if (masks.tokens >> bit & 1) {
                    start = base + static_cast<std::size_t>(bit);
                    in_token = true;
                }
                if (masks.newlines >> bit & 1) on_line();
            }
        }
        if (in_token) on_token(std::string_view(data + start, size - start));
        if (size && data[size - 1] != '\n') on_line();
    }

  private:
    enum : std::uint8_t { kSeparator = 0, kToken = 1, kNewline = 2, kMultibyte = 4 };

    // Of 64 bytes, a bit for each that belongs to a token and for each that is a line feed. Iterating over bits avoids
    // the mispredicted branch that a loop over bytes has at the end of every word.
    struct Masks {
        std::uint64_t tokens = 0, newlines = 0;
        // Of a character that extends into the next 64 bytes: its bits there, and the number of its bytes there.
        std::uint64_t next_tokens = 0;
        std::size_t next_start = 0;
    };

    void classify(const char *p, std::size_t size, Masks &masks) const {
        const auto *bytes = reinterpret_cast<const unsigned char *>(p);
        masks.tokens = std::exchange(masks.next_tokens, 0);
        masks.newlines = 0;
        std::size_t i = std::exchange(masks.next_start, 0);
        if (i == 0 && size == 64 && all_ascii<64>(p)) {
            for (; i < 64; i++) {
                const std::uint64_t kind = kind_[bytes[i]];
                masks.tokens |= (kind & 1) << i;
                masks.newlines |= (kind >> 1) << i;
            }
            return;
        }
        while (i < size) {
            const std::uint64_t kind = kind_[bytes[i]];
            if (kind != kMultibyte) {
                masks.tokens |= (kind & 1) << i;
                masks.newlines |= (kind >> 1) << i;
                i++;
                continue;
            }
            const char *q = p + i;
            const bool is_token = tokens_[decode(q)];
            const std::size_t behind = static_cast<std::size_t>(q - p);
            if (is_token) {
                const auto bits = ((static_cast<unsigned __int128>(1) << (behind - i)) - 1) << i;
                masks.tokens |= static_cast<std::uint64_t>(bits);
                masks.next_tokens = static_cast<std::uint64_t>(bits >> 64);
            }
            i = behind;
        }
        if (i > 64) masks.next_start = i - 64;
    }

    static constexpr std::size_t kMaxLowerBytes = 12;  // three characters

    // Copies the text to the buffer, lower-cased if there is a map, and returns its length there.
    std::size_t prepare(std::string_view text, std::vector<char> &buffer) const {
        if (buffer.size() < text.size() + kSpareBytes) buffer.resize(text.size() + text.size() / 8 + kSpareBytes);
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
            // Up to eight characters before looking for eight bytes of ASCII again, which other scripts may not have.
            for (int i = 0; i < 8 && p < end; i++) {
                if (static_cast<unsigned char>(*p) < 0x80) {
                    *out++ = lower_ascii(*p++);
                    continue;
                }
                const char *start = p;
                const std::uint32_t c = decode(p);
                const std::uint16_t index = lower_index_[c];
                if (index == 0) {
                    for (const char *q = start; q < p; q++) *out++ = *q;
                    continue;
                }
                const std::string_view lower = c == kCapitalSigma ? lower_sigma(text, start, p) : lowered_[index - 1];
                // Lower case can be longer than upper case: only here can the text outgrow the buffer.
                const std::size_t done = static_cast<std::size_t>(out - buffer.data());
                const std::size_t needed = done + lower.size() + static_cast<std::size_t>(end - p) + kSpareBytes;
                if (needed > buffer.size()) {
                    buffer.resize(needed + needed / 8);
                    out = buffer.data() + done;
                }
                std::memcpy(out, lower.data(), lower.size());
                out += lower.size();
            }
        }
        return static_cast<std::size_t>(out - buffer.data());
    }

    static char lower_ascii(char c) {
        return static_cast<char>(c + (static_cast<unsigned char>(c - 'A') < 26 ? 32 : 0));
    }

    // Unicode's Final_Sigma as str.lower() applies it: cased, ignorable*, Σ, not followed by ignorable*, cased.
    // A line feed is neither cased nor ignorable, so the search ends with the line. A sigma is cased itself, so no
    // character is looked at more than twice.
    std::string_view lower_sigma(std::string_view text, const char *sigma, const char *behind) const {
        static constexpr std::string_view small = "\xCF\x83", final = "\xCF\x82";
        const Casing *casing = casing_.load();
        if (!casing) return small;  // not reached: set_casing was called where needs_casing said so
        const char *p = sigma;
        bool cased = false;
        while (p > text.data()) {
            do p--;
            while (is_continuation(static_cast<unsigned char>(*p)));
            const char *q = p;
            const std::uint32_t c = decode(q);
            if (casing->ignorable[c]) continue;
            cased = casing->cased[c];
            break;
        }
        if (!cased) return small;
        for (p = behind; p < text.data() + text.size();) {
            const std::uint32_t c = decode(p);
            if (casing->ignorable[c]) continue;
            return casing->cased[c] ? small : final;
        }
        return final;
    }

    CodePointSet tokens_;
    bool lowers_;
    std::uint8_t kind_[256];
    std::vector<std::uint16_t> lower_index_;  // by code point: 1 + index in lowered_, or 0 if unchanged
    std::vector<std::string> lowered_;
    std::atomic<const Casing *> casing_{nullptr};
};

}  // namespace posvec
