// Character n-grams of words and the buckets they hash into, bit for bit as fastText has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace posvec {

// FNV-1a. Compat: fastText's bytes are signed, so those of other scripts than ASCII enter sign-extended.
inline uint32_t ngram_hash(std::string_view ngram) {
    uint32_t hash = 2166136261u;
    for (const char byte : ngram) hash = (hash ^ static_cast<uint32_t>(static_cast<int8_t>(byte))) * 16777619u;
    return hash;
}

// Calls visit(ngram) for the n-grams of "<word>", min_n to max_n characters long, by their first character and then by
// length. The whole "<word>" is one of them if it is short enough; '<' and '>' alone are not.
template <class Visit>
void each_ngram(std::string_view word, int min_n, int max_n, std::string &marked, Visit &&visit) {
    // Compat: the end-of-sentence mark of fastText is not a word and has no n-grams.
    if (word == "</s>") return;
    marked.assign("<").append(word).append(">");
    const auto tail = [&](size_t i) { return (static_cast<unsigned char>(marked[i]) & 0xC0) == 0x80; };
    const size_t size = marked.size();
    for (size_t start = 0; start < size; start++) {
        if (tail(start)) continue;
        size_t stop = start;
        for (int n = 1; n <= max_n && stop < size; n++) {
            stop++;
            while (stop < size && tail(stop)) stop++;
            if (n < min_n || (n == 1 && (start == 0 || stop == size))) continue;
            visit(std::string_view(marked).substr(start, stop - start));
        }
    }
}

// The input rows of every word in compressed sparse form: its own row, which is its id, then those of its n-grams.
struct RowTable {
    std::vector<uint64_t> row_begin{0};  // (V + 1,)
    std::vector<uint32_t> rows;
    std::vector<uint32_t> bucket_ids;  // (B',): row V + i is this bucket
};

// `uses` (V,) is how often each word is expected in training; buckets in `known` keep their places, others follow by
// descending use and then by number, so that the busy rows lie together.
inline RowTable build_row_table(const std::vector<std::string_view> &words, const double *uses, int min_n, int max_n,
                                uint32_t buckets, std::vector<uint32_t> known) {
    constexpr uint32_t none = 0xFFFFFFFF;
    // Up to this many buckets a plain array finds the place of a bucket; it would take gigabytes for the largest
    // setting, and a quarter of one for a model of three words that claims to have many.
    const size_t dense_limit = std::min<size_t>(1u << 26, (1u << 22) + 64 * words.size());
    std::vector<uint32_t> dense(buckets <= dense_limit ? buckets : 0, none);
    std::unordered_map<uint32_t, uint32_t> sparse;
    const auto place_of = [&](uint32_t bucket) -> uint32_t & {
        return dense.empty() ? sparse.try_emplace(bucket, none).first->second : dense[bucket];
    };

    RowTable table;
    table.bucket_ids = std::move(known);
    for (uint32_t i = 0; i < table.bucket_ids.size(); i++) place_of(table.bucket_ids[i]) = i;
    const size_t first_new = table.bucket_ids.size();

    table.row_begin.reserve(words.size() + 1);
    std::vector<double> bucket_uses(first_new, 0.0);
    std::string marked;
    for (size_t id = 0; id < words.size(); id++) {
        table.rows.push_back(static_cast<uint32_t>(id));
        each_ngram(words[id], min_n, max_n, marked, [&](std::string_view ngram) {
            const uint32_t bucket = ngram_hash(ngram) % buckets;
            uint32_t &place = place_of(bucket);
            if (place == none) {
                place = static_cast<uint32_t>(table.bucket_ids.size());
                table.bucket_ids.push_back(bucket);
                bucket_uses.push_back(0.0);
            }
            bucket_uses[place] += uses[id];
            table.rows.push_back(place);
        });
        table.row_begin.push_back(table.rows.size());
    }

    // From the order in which buckets were met to the order in which their rows lie.
    std::vector<uint32_t> order(table.bucket_ids.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin() + static_cast<ptrdiff_t>(first_new), order.end(), [&](uint32_t a, uint32_t b) {
        if (bucket_uses[a] != bucket_uses[b]) return bucket_uses[a] > bucket_uses[b];
        return table.bucket_ids[a] < table.bucket_ids[b];
    });
    std::vector<uint32_t> row_of(order.size()), sorted(order.size());
    for (uint32_t i = 0; i < order.size(); i++) {
        row_of[order[i]] = static_cast<uint32_t>(words.size()) + i;
        sorted[i] = table.bucket_ids[order[i]];
    }
    table.bucket_ids = std::move(sorted);
    for (size_t id = 0; id < words.size(); id++) {
        for (uint64_t i = table.row_begin[id] + 1; i < table.row_begin[id + 1]; i++)
            table.rows[i] = row_of[table.rows[i]];
    }
    return table;
}

}  // namespace posvec
