// Words → integers: the table that counting and encoding look tokens up in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace posvec {

// Tokens are compared and hashed 16 bytes at a time: buffers of text end in this many spare bytes.
constexpr size_t spare = 16;

// A hash map from words to integers: open addressing, short words inside the slots, so that most lookups touch one
// line of the cache. Words are never removed.
class WordTable {
  public:
    // A word's hash and its last 1 to 16 bytes; the word must be followed by `spare` readable bytes.
    struct Key {
        uint64_t first = 0, second = 0;
        uint32_t hash = 0;

        Key() = default;
        explicit Key(std::string_view word) {
            if (word.size() >= 0xFFFFFFFF) throw std::length_error("a single word has more than 4 GB");
            const char *p = word.data();
            size_t left = word.size();
            uint64_t state = left * 0x9E3779B97F4A7C15ull;
            for (; left > 16; left -= 16, p += 16) {
                load(p, 16);
                state = mix(first ^ state, second ^ 0xA0761D6478BD642Full);
            }
            load(p, left);
            state = mix(first ^ state ^ 0xE7037ED1A0B428DBull, second ^ 0x8EBC6AF09C88C6E3ull);
            hash = static_cast<uint32_t>(state ^ state >> 32);
        }

        void load(const char *p, size_t length) {
            // The first bytes of sixteen: a window on as many ones and then zeros. No branch, for lengths are hard to
            // guess.
            static constexpr unsigned char ones_then_zeros[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                                  255, 255, 255, 255, 255, 255, 255, 255};
            uint64_t keep[2];
            std::memcpy(keep, ones_then_zeros + 16 - length, 16);
            std::memcpy(&first, p, 8);
            std::memcpy(&second, p + 8, 8);
            first &= keep[0], second &= keep[1];
        }

        static uint64_t mix(uint64_t a, uint64_t b) {
            const auto product = static_cast<unsigned __int128>(a) * b;
            return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
        }
    };

    explicit WordTable(size_t expected = 0) {
        size_t size = 1024;
        while (size * 7 / 10 < expected) size *= 2;
        slots_.resize(size);
    }

    size_t size() const { return used_; }

    // Begins to fetch what `find` and `at` will look at.
    void prefetch(const Key &key) const { __builtin_prefetch(&slots_[key.hash & (slots_.size() - 1)]); }

    // The word's value, or nullptr.
    const uint64_t *find(const Key &key, std::string_view word) const {
        const Slot &slot = slots_[locate(key, word)];
        return slot.length == absent ? nullptr : &slot.value;
    }

    // The word's value, which is 0 when the word is new.
    uint64_t &at(std::string_view word) { return at(Key(word), word); }
    uint64_t &at(const Key &key, std::string_view word) {
        size_t place = locate(key, word);
        if (slots_[place].length == absent) {
            if (used_ + 1 > slots_.size() * 7 / 10) {
                grow();
                place = locate(key, word);
            }
            insert(slots_[place], key, word);
        }
        return slots_[place].value;
    }

    // Room for this many words in all. Before many insertions from another table this is a must: they come in the order
    // of their hashes, which in a table that is too small pile up in one place.
    void reserve(size_t words) {
        while (slots_.size() * 7 / 10 < words) grow();
    }

    // Calls visit(word, value) in no order worth naming; the word is followed by `spare` readable bytes or lies in an
    // arena that ends so.
    template <class Visit> void each(Visit &&visit) const {
        for (const Slot &slot : slots_) {
            if (slot.length != absent) visit(word_of(slot), slot.value);
        }
    }

  private:
    static constexpr size_t inside = 16;
    static constexpr uint32_t absent = 0xFFFFFFFF;

    struct Slot {
        uint64_t value = 0;
        uint32_t hash = 0;
        uint32_t length = absent;
        uint64_t first = 0, second = 0;  // the word, padded with zeros; if longer than 16 bytes, first = place in arena
    };

    // The slot that holds the word, or the empty one where it belongs.
    size_t locate(const Key &key, std::string_view word) const {
        const size_t mask = slots_.size() - 1;
        for (size_t place = key.hash & mask;; place = (place + 1) & mask) {
            const Slot &slot = slots_[place];
            if (slot.length == absent) return place;
            if (slot.hash != key.hash || slot.length != word.size()) continue;
            if (word.size() <= inside ? slot.first == key.first && slot.second == key.second
                                      : std::memcmp(arena_.data() + slot.first, word.data(), word.size()) == 0) {
                return place;
            }
        }
    }

    void insert(Slot &slot, const Key &key, std::string_view word) {
        slot.hash = key.hash;
        slot.length = static_cast<uint32_t>(word.size());
        slot.first = key.first, slot.second = key.second;
        if (word.size() > inside) {
            slot.first = arena_used_;
            if (arena_used_ + word.size() + spare > arena_.size()) {
                arena_.resize((arena_used_ + word.size() + spare) * 3 / 2);
            }
            std::memcpy(arena_.data() + arena_used_, word.data(), word.size());
            arena_used_ += word.size();
        }
        used_++;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        const size_t mask = slots_.size() - 1;
        for (const Slot &slot : old) {
            if (slot.length == absent) continue;
            size_t place = slot.hash & mask;
            while (slots_[place].length != absent) place = (place + 1) & mask;
            slots_[place] = slot;
        }
    }

    std::string_view word_of(const Slot &slot) const {
        const char *start =
            slot.length <= inside ? reinterpret_cast<const char *>(&slot.first) : arena_.data() + slot.first;
        return {start, slot.length};
    }

    std::vector<Slot> slots_;
    std::vector<char> arena_;
    size_t arena_used_ = 0;
    size_t used_ = 0;
};

// Words on their way to a table. They wait until a few are together, while the memory that each will need is fetched:
// most of the time of a lookup goes into that.
class WordQueue {
  public:
    // Calls visit(key, word) for all words of a full queue, in order.
    template <class Visit> void push(const WordTable &table, std::string_view word, Visit &&visit) {
        Entry &entry = entries_[size_++];
        entry = {WordTable::Key(word), word};
        table.prefetch(entry.key);
        if (size_ == capacity) flush(visit);
    }

    template <class Visit> void flush(Visit &&visit) {
        for (size_t i = 0; i < size_; i++) visit(entries_[i].key, entries_[i].word);
        size_ = 0;
    }

  private:
    struct Entry {
        WordTable::Key key;
        std::string_view word;
    };
    static constexpr size_t capacity = 32;
    Entry entries_[capacity];
    size_t size_ = 0;
};

}  // namespace posvec
