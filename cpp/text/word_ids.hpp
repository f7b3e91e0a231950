// Text → ids of a vocabulary's words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer.hpp"
#include "word_table.hpp"

namespace posvec {

struct EncodedLines {
    std::vector<std::uint32_t> ids;      // of all tokens; V for words that are not in the vocabulary
    std::vector<std::uint64_t> lengths;  // tokens of each line that has any
    std::uint64_t known = 0;             // tokens that are in the vocabulary
};

// Read-only and shared by threads.
class WordIds {
  public:
    // The id of a word is its index in the list.
    explicit WordIds(const std::vector<std::string_view> &words) : words_(words.size()), size_(words.size()) {
        if (size_ >= 0xFFFFFFFF) throw std::invalid_argument("more words than 32-bit ids");
        std::vector<char> copy;
        std::uint64_t id = 0;
        for (const std::string_view word : words) {
            copy.resize(word.size() + kSpareBytes);
            std::copy(word.begin(), word.end(), copy.begin());
            words_.at({copy.data(), word.size()}) = id++;
        }
        if (words_.size() != size_) throw std::invalid_argument("the words are not distinct");
    }

    // Encodes whole lines, which must have passed check_utf8.
    EncodedLines encode(const Tokenizer &tokenizer, std::string_view text) const {
        std::vector<std::uint32_t> ids;
        std::vector<std::uint64_t> lengths;
        std::uint64_t known = 0;
        ids.reserve(text.size() / 5);
        // Kept by each thread: megabytes allocated for every chunk would cost a page fault per 4 kB.
        thread_local std::vector<char> buffer;
        std::size_t line_start = 0, looked_up = 0;
        WordQueue queue;
        const auto look_up = [&](const WordTable::Key &key, std::string_view word) {
            const std::uint64_t *id = words_.find(key, word);
            known += id != nullptr;
            ids[looked_up++] = static_cast<std::uint32_t>(id ? *id : size_);
        };
        tokenizer.split(
            text, buffer,
            [&](std::string_view word) {
                ids.push_back(0);
                queue.push(words_, word, look_up);
            },
            [&] {
                if (ids.size() > line_start) lengths.push_back(ids.size() - line_start);
                line_start = ids.size();
            });
        queue.flush(look_up);
        return {std::move(ids), std::move(lengths), known};
    }

  private:
    WordTable words_;
    std::size_t size_;
};

}  // namespace posvec
