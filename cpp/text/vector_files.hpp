// Files of word vectors: lines of a word and its numbers, and binary records of a word and bytes of fixed length.
// The memory used is proportional to the bytes read, whatever these claim, and errors are reported as text.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "utf8.hpp"

namespace posvec {

// ---------------------------------------------------------------------------------------------------------- numbers

// strtof of the bytes up to `end`, whichever decimal separator the locale has; nullptr if they do not begin with a
// number.
inline const char *read_float_slowly(const char *p, const char *end, float &value) {
    const char *stop = std::find_if(p, end, [](char c) { return c == ' ' || c == '\t'; });
    std::string text(p, stop);
    if (text.find_first_of("xXpP(") != std::string::npos)
        return nullptr;  // hexadecimal or nan(...), which these files do not have
    char *last = nullptr;
    value = std::strtof(text.c_str(), &last);
    if (last != text.c_str() + text.size()) {
        std::replace(text.begin(), text.end(), '.', ',');
        value = std::strtof(text.c_str(), &last);
    }
    return last == text.c_str() ? nullptr : p + (last - text.c_str());
}

// Reads the float at p, correctly rounded, and returns its end, or nullptr if there is none. Numbers that are too small
// for a float become 0, numbers that are too large infinite.
inline const char *read_float(const char *p, const char *end, float &value) {
    if (p < end && *p == '+' && ++p < end && *p == '-') return nullptr;
#if defined(__cpp_lib_to_chars) && !defined(POSVEC_WITHOUT_CHARCONV)
    const auto [stop, error] = std::from_chars(p, end, value);
    if (error == std::errc()) return stop;
    if (error != std::errc::result_out_of_range) return nullptr;
#endif
    return read_float_slowly(p, end, value);
}

// write_float writes at most this many characters.
constexpr std::size_t kFloatWidth = 24;

// Writes the shortest text that is read as the same float; without std::to_chars, nine digits, which are read as the
// same float, too.
inline char *write_float(char *p, float value) {
#if defined(__cpp_lib_to_chars) && !defined(POSVEC_WITHOUT_CHARCONV)
    return std::to_chars(p, p + kFloatWidth, value).ptr;
#else
    const int size = std::snprintf(p, kFloatWidth, "%.9g", static_cast<double>(value));
    std::replace(p, p + size, ',', '.');
    return p + size;
#endif
}

inline bool all_finite(const float *row, std::size_t dim) {
    constexpr std::uint32_t kExponent = 0x7F800000;
    bool finite = true;
    for (std::size_t j = 0; j < dim; j++) {
        std::uint32_t bits;
        std::memcpy(&bits, row + j, sizeof bits);
        finite &= (bits & kExponent) != kExponent;
    }
    return finite;
}

// ------------------------------------------------------------------------------------------------------------ lines

// The rows before the first invalid line; `error` says what is wrong with that one and is empty if all are valid.
struct VectorLines {
    std::vector<std::string_view> words;
    std::vector<float> values;  // (words, dim)
    std::string error;
};

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Reads `dim` numbers with blanks before each; false if the line up to `end` has anything else.
inline bool read_floats(const char *p, const char *end, std::size_t dim, float *values) {
    for (std::size_t j = 0; j < dim; j++) {
        if (p == end || !is_blank(*p)) return false;
        while (p < end && is_blank(*p)) p++;
        p = read_float(p, end, values[j]);
        if (!p) return false;
    }
    return p == end;
}

// The word of a line whose last `dim` fields are numbers, which are read into `values`; `error` if it is not valid.
inline std::string_view read_line(std::string_view line, std::size_t dim, float *values, std::string &error) {
    const char *begin = line.data(), *end = begin + line.size();
    while (end > begin && is_blank(end[-1])) end--;  // word2vec and fastText write a blank after the last number
    const char *stop = std::find_if(begin, end, is_blank);
    if (!read_floats(stop, end, dim, values)) {
        // The word may have blanks in it, as some of GloVe's 840B do: count the numbers from the right.
        stop = end;
        std::size_t fields = 0;
        for (; fields < dim && stop > begin; fields++) {
            while (stop > begin && !is_blank(stop[-1])) stop--;
            while (stop > begin && is_blank(stop[-1])) stop--;
        }
        const char *last = stop;
        while (last > begin && !is_blank(last[-1])) last--;
        float number;
        if (fields < dim || stop == begin) {
            error = "has fewer than " + std::to_string(dim) + " numbers";
        } else if (last > begin && read_float(last, stop, number) == stop) {
            error = "has more than " + std::to_string(dim) + " numbers";
        } else if (!read_floats(stop, end, dim, values)) {
            error = "does not have " + std::to_string(dim) + " numbers after its word";
        }
    }
    const std::string_view word(begin, static_cast<std::size_t>(stop - begin));
    if (!error.empty()) return word;
    if (word.empty() || is_blank(word.front()))
        error = "has no word before its numbers";
    else if (check_utf8(word).invalid >= 0)
        error = "is not UTF-8";
    else if (!all_finite(values, dim))
        error = "has a number that is not finite";
    return word;
}

// Whole lines of a file, which end in CR LF if `crlf`, else in LF. The last one may lack its line ending.
inline VectorLines read_vector_lines(std::string_view text, std::size_t dim, bool crlf) {
    VectorLines lines;
    const auto rows = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    const std::size_t most = text.size() / 2;  // a number takes a digit and a blank at least
    lines.values.reserve(dim <= most / rows ? rows * dim : most);
    lines.words.reserve(rows);
    while (!text.empty()) {
        const std::size_t stop = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, stop);
        const bool ended = stop < text.size();
        text.remove_prefix(stop + ended);
        const bool returned = !line.empty() && line.back() == '\r';
        if (returned) line.remove_suffix(1);
        if (line.empty()) {
            lines.error = "is empty";
        } else if (returned != crlf && (ended || returned)) {
            lines.error = "has another line ending than the lines before it (CR LF and LF are mixed)";
        } else if (dim > line.size() / 2) {
            lines.error = "has fewer than " + std::to_string(dim) + " numbers";
        } else {
            lines.values.resize(lines.values.size() + dim);
            float *values = lines.values.data() + lines.values.size() - dim;
            const std::string_view word = read_line(line, dim, values, lines.error);
            if (lines.error.empty()) lines.words.push_back(word);
        }
        if (!lines.error.empty()) break;
    }
    lines.values.resize(lines.words.size() * dim);
    return lines;
}

inline std::string write_vector_lines(const std::vector<std::string_view> &words, const float *table, std::size_t dim,
                                      std::int64_t stride) {
    std::size_t size = 0;
    for (const std::string_view word : words) size += word.size() + dim * (kFloatWidth + 1) + 1;
    std::string text;
    text.resize(size);
    char *p = text.data();
    for (std::size_t i = 0; i < words.size(); i++) {
        p = std::copy(words[i].begin(), words[i].end(), p);
        const float *row = table + static_cast<std::int64_t>(i) * stride;
        for (std::size_t j = 0; j < dim; j++) {
            *p++ = ' ';
            p = write_float(p, row[j]);
        }
        *p++ = '\n';
    }
    text.resize(static_cast<std::size_t>(p - text.data()));
    return text;
}

// ---------------------------------------------------------------------------------------------------------- records

// The records before the first invalid one: words, and the offset of the bytes that follow each word's delimiter. `end`
// is the end of the last valid record; `error` says what is wrong with the next and is empty if all are valid.
struct VectorRecords {
    std::vector<std::string_view> words;
    std::vector<std::uint64_t> offsets;
    std::size_t end = 0;
    std::string error;
};

// Finds `count` records of a word, a delimiter and `tail` bytes. `line_feeds`: there may be line feeds
// between records, which word2vec writes and gensim does not.
inline VectorRecords find_vector_records(std::string_view bytes, std::size_t begin, std::size_t count, char delimiter,
                                         std::size_t tail, bool line_feeds) {
    VectorRecords records;
    const std::size_t most = begin < bytes.size() && tail < bytes.size() ? (bytes.size() - begin) / (tail + 2) : 0;
    records.words.reserve(std::min(count, most));
    records.offsets.reserve(std::min(count, most));
    std::size_t offset = begin;
    while (records.words.size() < count && records.error.empty()) {
        while (line_feeds && offset < bytes.size() && bytes[offset] == '\n') offset++;
        const std::size_t stop = offset < bytes.size() ? bytes.find(delimiter, offset) : std::string_view::npos;
        if (stop == std::string_view::npos || bytes.size() - stop - 1 < tail) {
            records.error = "the file ends before it is complete";
            break;
        }
        const std::string_view word = bytes.substr(offset, stop - offset);
        if (word.empty())
            records.error = "it has no word";
        else if (line_feeds && word.find('\n') != std::string_view::npos)
            records.error = "it has a line feed in its word";
        else if (check_utf8(word).invalid >= 0)
            records.error = "its word is not UTF-8";
        else {
            records.words.push_back(word);
            records.offsets.push_back(stop + 1);
            offset = stop + 1 + tail;
        }
    }
    records.end = offset;
    return records;
}

// Copies `dim` floats from each of the offsets begin .. end - 1 to the table's row of the same index.
inline void copy_records(std::string_view bytes, const std::uint64_t *offsets, std::size_t begin, std::size_t end,
                         float *table, std::size_t dim) {
    const std::size_t width = dim * sizeof(float);
    for (std::size_t i = begin; i < end; i++) {
        const std::uint64_t offset = offsets[i];
        if (offset > bytes.size() || bytes.size() - offset < width)
            throw std::invalid_argument("an offset is out of range");
        std::memcpy(table + i * dim, bytes.data() + offset, width);
    }
}

// The first of the rows begin .. end - 1 that has a number that is not finite, or -1.
inline std::int64_t find_not_finite(const float *table, std::size_t dim, std::int64_t stride, std::size_t begin,
                                    std::size_t end) {
    for (std::size_t i = begin; i < end; i++) {
        if (!all_finite(table + static_cast<std::int64_t>(i) * stride, dim)) return static_cast<std::int64_t>(i);
    }
    return -1;
}

}  // namespace posvec
