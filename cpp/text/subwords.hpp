// Character n-grams of words and the buckets they hash into, the same as fastText's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "utf8.hpp"

namespace posvec {

// FNV-1a. Compat: fastText's bytes are signed, so that bytes outside of ASCII are sign-extended.
inline std::uint32_t ngram_hash(std::string_view ngram) {
    std::uint32_t hash = 2166136261u;
    for (const char byte : ngram)
        hash = (hash ^ static_cast<std::uint32_t>(static_cast<std::int8_t>(byte))) * 16777619u;
    return hash;
}

// Calls visit(ngram) for the n-grams of "<word>" of min_n to max_n characters, ordered by their first character and
// then by length. The whole "<word>" is one of them if it is short enough; '<' and '>' alone are not. `marked` is
// working memory.
template <class Visit>
void for_each_ngram(std::string_view word, int min_n, int max_n, std::string &marked, Visit &&visit) {
    // Compat: fastText's end-of-sentence token has no n-grams.
    if (word == "</s>") return;
    marked.assign("<").append(word).append(">");
    const auto continued = [&](std::size_t i) { return is_continuation(static_cast<unsigned char>(marked[i])); };
    const std::size_t size = marked.size();
    for (std::size_t start = 0; start < size; start++) {
        if (continued(start)) continue;
        std::size_t stop = start;
        for (int n = 1; n <= max_n && stop < size; n++) {
            stop++;
            while (stop < size && continued(stop)) stop++;
            if (n < min_n || (n == 1 && (start == 0 || stop == size))) continue;
            visit(std::string_view(marked).substr(start, stop - start));
        }
    }
}

inline std::vector<std::uint32_t> ngram_buckets(std::string_view word, int min_n, int max_n, std::uint32_t buckets) {
    std::vector<std::uint32_t> result;
    std::string marked;
    for_each_ngram(word, min_n, max_n, marked,
                   [&](std::string_view ngram) { result.push_back(ngram_hash(ngram) % buckets); });
    return result;
}

// The input rows of every word in compressed sparse row form: its own row, which is its id, then those of its n-grams.
struct RowTable {
    std::vector<std::uint64_t> row_begin{0};  // (V + 1,)
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> bucket_ids;  // (B',): row V + i belongs to bucket bucket_ids[i]
};

// `uses` (V,) is how often each word is expected in training. The buckets in `known` come first and keep their order;
// the others follow by descending use and then by number, so that the most frequent rows are adjacent.
inline RowTable build_row_table(const std::vector<std::string_view> &words, const double *uses, int min_n, int max_n,
                                std::uint32_t buckets, std::vector<std::uint32_t> known) {
    constexpr std::uint32_t kNone = 0xFFFFFFFF;
    // Up to this many buckets an array maps buckets to indices; beyond, a hash map does. An array would take 8 GB for
    // 2^31 buckets, and 256 MB for a damaged model that claims 2^26 buckets for three words.
    const std::size_t dense_limit = std::min<std::size_t>(1u << 26, (1u << 22) + 64 * words.size());
    std::vector<std::uint32_t> dense(buckets <= dense_limit ? buckets : 0, kNone);
    std::unordered_map<std::uint32_t, std::uint32_t> sparse;
    const auto index_of = [&](std::uint32_t bucket) -> std::uint32_t & {
        return dense.empty() ? sparse.try_emplace(bucket, kNone).first->second : dense[bucket];
    };

    RowTable table;
    table.bucket_ids = std::move(known);
    for (std::uint32_t i = 0; i < table.bucket_ids.size(); i++) index_of(table.bucket_ids[i]) = i;
    const std::size_t first_new = table.bucket_ids.size();

    table.row_begin.reserve(words.size() + 1);
    std::vector<double> bucket_uses(first_new, 0.0);
    std::string marked;
    for (std::size_t id = 0; id < words.size(); id++) {
        table.rows.push_back(static_cast<std::uint32_t>(id));
        for_each_ngram(words[id], min_n, max_n, marked, [&](std::string_view ngram) {
            const std::uint32_t bucket = ngram_hash(ngram) % buckets;
            std::uint32_t &index = index_of(bucket);
            if (index == kNone) {
                index = static_cast<std::uint32_t>(table.bucket_ids.size());
                table.bucket_ids.push_back(bucket);
                bucket_uses.push_back(0.0);
            }
            bucket_uses[index] += uses[id];
            table.rows.push_back(index);
        });
        table.row_begin.push_back(table.rows.size());
    }

    // From the order in which buckets were found to the order of their rows.
    std::vector<std::uint32_t> order(table.bucket_ids.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(first_new), order.end(),
              [&](std::uint32_t a, std::uint32_t b) {
                  if (bucket_uses[a] != bucket_uses[b]) return bucket_uses[a] > bucket_uses[b];
                  return table.bucket_ids[a] < table.bucket_ids[b];
              });
    std::vector<std::uint32_t> row_of(order.size()), sorted(order.size());
    for (std::uint32_t i = 0; i < order.size(); i++) {
        row_of[order[i]] = static_cast<std::uint32_t>(words.size()) + i;
        sorted[i] = table.bucket_ids[order[i]];
    }
    table.bucket_ids = std::move(sorted);
    for (std::size_t id = 0; id < words.size(); id++) {
        for (std::uint64_t i = table.row_begin[id] + 1; i < table.row_begin[id + 1]; i++)
            table.rows[i] = row_of[table.rows[i]];
    }
    return table;
}

}  // namespace posvec
