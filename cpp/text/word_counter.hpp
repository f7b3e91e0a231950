// Counts the words of text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer.hpp"
#include "word_table.hpp"

namespace posvec {

// One thread may use a counter at a time; several counters are merged in the end.
class WordCounter {
  public:
    // The tokenizer must outlive the counter.
    explicit WordCounter(const Tokenizer &tokenizer) : tokenizer_(tokenizer) {}

    // Counts the tokens of whole lines, which must have passed check_utf8.
    void add(std::string_view text) {
        WordQueue queue;
        const auto count = [&](const WordTable::Key &key, std::string_view word) { words_.at(key, word)++; };
        tokenizer_.split(
            text, buffer_,
            [&](std::string_view word) {
                queue.push(words_, word, count);
                tokens_++;
            },
            [] {});
        queue.flush(count);
    }

    void merge(const WordCounter &other) {
        words_.reserve(words_.size() + other.words_.size());
        other.words_.for_each([&](std::string_view word, std::uint64_t count) { words_.at(word) += count; });
        tokens_ += other.tokens_;
    }

    // Words and counts by descending count; words of equal counts by code points, which is the order of their UTF-8
    // bytes. The words are valid until the counter changes.
    std::vector<std::pair<std::string_view, std::uint64_t>> most_common(std::uint64_t min_count,
                                                                        std::optional<std::uint64_t> max_words) const {
        std::vector<std::pair<std::string_view, std::uint64_t>> chosen;
        words_.for_each([&](std::string_view word, std::uint64_t count) {
            if (count >= min_count) chosen.emplace_back(word, count);
        });
        const auto before = [](const auto &a, const auto &b) {
            return a.second != b.second ? a.second > b.second : a.first < b.first;
        };
        if (max_words && *max_words < chosen.size()) {
            const auto cut = chosen.begin() + static_cast<std::ptrdiff_t>(*max_words);
            std::partial_sort(chosen.begin(), cut, chosen.end(), before);
            chosen.resize(*max_words);
        } else {
            std::sort(chosen.begin(), chosen.end(), before);
        }
        return chosen;
    }

    std::uint64_t tokens() const { return tokens_; }
    std::size_t distinct() const { return words_.size(); }

  private:
    const Tokenizer &tokenizer_;
    WordTable words_;
    std::vector<char> buffer_;
    std::uint64_t tokens_ = 0;
};

}  // namespace posvec
