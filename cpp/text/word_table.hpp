// A hash map from words to integers, in which counting and encoding look up tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace posvec {

// Words are hashed and compared 16 bytes at a time, so every buffer of words must end in this many readable bytes.
constexpr std::size_t kSpareBytes = 16;

// Open addressing with short words inside the slots, so that most lookups read one cache line. Words are never removed.
class WordTable {
  public:
    // A word's hash and its last 1 to 16 bytes; kSpareBytes behind the word must be readable.
    struct Key {
        std::uint64_t first = 0, second = 0;
        std::uint32_t hash = 0;

        Key() = default;
        explicit Key(std::string_view word) {
            if (word.size() >= 0xFFFFFFFF) throw std::length_error("a single word has more than 4 GB");
            const char *p = word.data();
            std::size_t left = word.size();
            std::uint64_t state = left * 0x9E3779B97F4A7C15ull;
            for (; left > 16; left -= 16, p += 16) {
                load(p, 16);
                state = mix(first ^ state, second ^ 0xA0761D6478BD642Full);
            }
            load(p, left);
            state = mix(first ^ state ^ 0xE7037ED1A0B428DBull, second ^ 0x8EBC6AF09C88C6E3ull);
            hash = static_cast<std::uint32_t>(state ^ state >> 32);
        }

        void load(const char *p, std::size_t length) {
            // Keeps the first `length` of 16 bytes. The mask is read from the constant at an offset that depends on the
            // length: branchless, because a branch would be unpredictable.
            static constexpr unsigned char kOnesThenZeros[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                                 255, 255, 255, 255, 255, 255, 255, 255};
            std::uint64_t keep[2];
            std::memcpy(keep, kOnesThenZeros + 16 - length, 16);
            std::memcpy(&first, p, 8);
            std::memcpy(&second, p + 8, 8);
            first &= keep[0], second &= keep[1];
        }

        static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
            const auto product = static_cast<unsigned __int128>(a) * b;
            return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
        }
    };

    explicit WordTable(std::size_t expected = 0) {
        std::size_t size = 1024;
        while (size * 7 / 10 < expected) size *= 2;
        slots_.resize(size);
    }

    std::size_t size() const { return size_; }

    // Prefetches the slot that `find` and `at` read first.
    void prefetch(const Key &key) const { __builtin_prefetch(&slots_[key.hash & (slots_.size() - 1)]); }

    // The word's value, or nullptr if the table does not have the word.
    const std::uint64_t *find(const Key &key, std::string_view word) const {
        const Slot &slot = slots_[locate(key, word)];
        return slot.length == kEmpty ? nullptr : &slot.value;
    }

    // The word's value; a new word is inserted with the value 0.
    std::uint64_t &at(std::string_view word) { return at(Key(word), word); }
    std::uint64_t &at(const Key &key, std::string_view word) {
        std::size_t index = locate(key, word);
        if (slots_[index].length == kEmpty) {
            if (size_ + 1 > slots_.size() * 7 / 10) {
                grow();
                index = locate(key, word);
            }
            insert(slots_[index], key, word);
        }
        return slots_[index].value;
    }

    // Makes room for this many words in all. Call this before inserting the words of another table: they come in the
    // order of their hashes, and in a table that is too small they would form one long cluster.
    void reserve(std::size_t words) {
        while (slots_.size() * 7 / 10 < words) grow();
    }

    // Calls visit(word, value) for all words in no particular order. A Key can be made of each word where it lies.
    template <class Visit> void for_each(Visit &&visit) const {
        for (const Slot &slot : slots_) {
            if (slot.length != kEmpty) visit(word_of(slot), slot.value);
        }
    }

  private:
    static constexpr std::size_t kInlineBytes = 16;
    static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;

    struct Slot {
        std::uint64_t value = 0;
        std::uint32_t hash = 0;
        std::uint32_t length = kEmpty;
        // The word, padded with zeros; for a word of more than 16 bytes, `first` is its offset in the arena.
        std::uint64_t first = 0, second = 0;
    };

    // The index of the slot that holds the word, or of the empty one where it belongs.
    std::size_t locate(const Key &key, std::string_view word) const {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t index = key.hash & mask;; index = (index + 1) & mask) {
            const Slot &slot = slots_[index];
            if (slot.length == kEmpty) return index;
            if (slot.hash != key.hash || slot.length != word.size()) continue;
            if (word.size() <= kInlineBytes ? slot.first == key.first && slot.second == key.second
                                            : std::memcmp(arena_.data() + slot.first, word.data(), word.size()) == 0) {
                return index;
            }
        }
    }

    void insert(Slot &slot, const Key &key, std::string_view word) {
        slot.hash = key.hash;
        slot.length = static_cast<std::uint32_t>(word.size());
        slot.first = key.first, slot.second = key.second;
        if (word.size() > kInlineBytes) {
            slot.first = arena_used_;
            if (arena_used_ + word.size() + kSpareBytes > arena_.size()) {
                arena_.resize((arena_used_ + word.size() + kSpareBytes) * 3 / 2);
            }
            std::memcpy(arena_.data() + arena_used_, word.data(), word.size());
            arena_used_ += word.size();
        }
        size_++;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        const std::size_t mask = slots_.size() - 1;
        for (const Slot &slot : old) {
            if (slot.length == kEmpty) continue;
            std::size_t index = slot.hash & mask;
            while (slots_[index].length != kEmpty) index = (index + 1) & mask;
            slots_[index] = slot;
        }
    }

    std::string_view word_of(const Slot &slot) const {
        const char *start =
            slot.length <= kInlineBytes ? reinterpret_cast<const char *>(&slot.first) : arena_.data() + slot.first;
        return {start, slot.length};
    }

    std::vector<Slot> slots_;
    std::vector<char> arena_;
    std::size_t arena_used_ = 0;
    std::size_t size_ = 0;
};

// Collects words and looks up 32 of them together, so that their slots are prefetched while others are collected: most
// of the time of a lookup is spent waiting for memory.
class WordQueue {
  public:
    // Adds a word; calls visit(key, word) for all words, in order, when the queue is full.
    template <class Visit> void push(const WordTable &table, std::string_view word, Visit &&visit) {
        Entry &entry = entries_[size_++];
        entry = {WordTable::Key(word), word};
        table.prefetch(entry.key);
        if (size_ == kCapacity) flush(visit);
    }

    template <class Visit> void flush(Visit &&visit) {
        for (std::size_t i = 0; i < size_; i++) visit(entries_[i].key, entries_[i].word);
        size_ = 0;
    }

  private:
    struct Entry {
        WordTable::Key key;
        std::string_view word;
    };
    static constexpr std::size_t kCapacity = 32;
    Entry entries_[kCapacity];
    std::size_t size_ = 0;
};

}  // namespace posvec
