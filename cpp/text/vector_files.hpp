// Files of word vectors: lines of a word and its numbers, and binary records of a word and bytes of fixed length.
// Whatever the bytes are, no more memory is taken than in proportion to them, and what is wrong is told in words.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "text.hpp"

namespace posvec {

// ---------------------------------------------------------------------------------------------------------- numbers

// strtof of the bytes up to `end`, wherever the locale has its comma; nullptr if they do not begin with a number.
inline const char *read_float_slowly(const char *p, const char *end, float &value) {
    const char *stop = std::find_if(p, end, [](char c) { return c == ' ' || c == '\t'; });
    std::string text(p, stop);
    if (text.find_first_of("xXpP(") != std::string::npos)
        return nullptr;  // hexadecimal and nan(...): not in these files
    char *last = nullptr;
    value = std::strtof(text.c_str(), &last);
    if (last != text.c_str() + text.size()) {
        std::replace(text.begin(), text.end(), '.', ',');
        value = std::strtof(text.c_str(), &last);
    }
    return last == text.c_str() ? nullptr : p + (last - text.c_str());
}

// The float at p, rounded correctly: where it ends, or nullptr if there is none. Too small is 0, too large infinite.
inline const char *read_float(const char *p, const char *end, float &value) {
    if (p < end && *p == '+' && ++p < end && *p == '-') return nullptr;
#if defined(__cpp_lib_to_chars) && !defined(POSVEC_WITHOUT_CHARCONV)
    const auto [stop, error] = std::from_chars(p, end, value);
    if (error == std::errc()) return stop;
    if (error != std::errc::result_out_of_range) return nullptr;
#endif
    return read_float_slowly(p, end, value);
}

// At least this many characters are wanted by write_float.
constexpr size_t float_width = 24;

// The shortest text that is read as the same float; where that is not in the library, nine digits, which are too.
inline char *write_float(char *p, float value) {
#if defined(__cpp_lib_to_chars) && !defined(POSVEC_WITHOUT_CHARCONV)
    return std::to_chars(p, p + float_width, value).ptr;
#else
    const int size = std::snprintf(p, float_width, "%.9g", static_cast<double>(value));
    std::replace(p, p + size, ',', '.');
    return p + size;
#endif
}

inline bool all_finite(const float *row, size_t dim) {
    constexpr uint32_t exponent = 0x7F800000;
    bool finite = true;
    for (size_t j = 0; j < dim; j++) {
        uint32_t bits;
        std::memcpy(&bits, row + j, sizeof bits);
        finite &= (bits & exponent) != exponent;
    }
    return finite;
}

// ------------------------------------------------------------------------------------------------------------ lines

// Rows up to the first line that is not one; `wrong` says why that is not, and is empty if all are.
struct Lines {
    std::vector<std::string_view> words;
    std::vector<float> values;  // (words, dim)
    std::string wrong;
};

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// `dim` numbers, blanks before each, to the end of the line; false if it has something else.
inline bool read_floats(const char *p, const char *end, size_t dim, float *values) {
    for (size_t j = 0; j < dim; j++) {
        if (p == end || !is_blank(*p)) return false;
        while (p < end && is_blank(*p)) p++;
        p = read_float(p, end, values[j]);
        if (!p) return false;
    }
    return p == end;
}

// The word of a line whose last `dim` fields are numbers, read into `values`; `wrong` if it is not such a line.
inline std::string_view read_line(std::string_view line, size_t dim, float *values, std::string &wrong) {
    const char *begin = line.data(), *end = begin + line.size();
    while (end > begin && is_blank(end[-1])) end--;  // word2vec and fastText write a blank behind the last number
    const char *stop = std::find_if(begin, end, is_blank);
    if (!read_floats(stop, end, dim, values)) {
        // A word with blanks in it, as GloVe's of 840B have them: the numbers are counted from the right.
        stop = end;
        size_t fields = 0;
        for (; fields < dim && stop > begin; fields++) {
            while (stop > begin && !is_blank(stop[-1])) stop--;
            while (stop > begin && is_blank(stop[-1])) stop--;
        }
        const char *last = stop;
        while (last > begin && !is_blank(last[-1])) last--;
        float number;
        if (fields < dim || stop == begin) {
            wrong = "has fewer than " + std::to_string(dim) + " numbers";
        } else if (last > begin && read_float(last, stop, number) == stop) {
            wrong = "has more than " + std::to_string(dim) + " numbers";
        } else if (!read_floats(stop, end, dim, values)) {
            wrong = "has something else than " + std::to_string(dim) + " numbers behind its word";
        }
    }
    const std::string_view word(begin, static_cast<size_t>(stop - begin));
    if (!wrong.empty()) return word;
    if (word.empty() || is_blank(word.front()))
        wrong = "has no word before its numbers";
    else if (check_utf8(word).bad >= 0)
        wrong = "is not UTF-8";
    else if (!all_finite(values, dim))
        wrong = "has a number that is not finite";
    return word;
}

// Whole lines of a file; `crlf`: whether its lines end in a carriage return too. The last one may lack its end.
inline Lines read_lines(std::string_view text, size_t dim, bool crlf) {
    Lines lines;
    const auto rows = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    const size_t most = text.size() / 2;  // a number is a digit and a blank at least
    lines.values.reserve(dim <= most / rows ? rows * dim : most);
    lines.words.reserve(rows);
    while (!text.empty()) {
        const size_t stop = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, stop);
        const bool ended = stop < text.size();
        text.remove_prefix(stop + ended);
        const bool returned = !line.empty() && line.back() == '\r';
        if (returned) line.remove_suffix(1);
        if (line.empty()) {
            lines.wrong = "is empty";
        } else if (returned != crlf && (ended || returned)) {
            lines.wrong = "ends in another way than the lines before it (CR LF and LF are mixed)";
        } else if (dim > line.size() / 2) {
            lines.wrong = "has fewer than " + std::to_string(dim) + " numbers";
        } else {
            lines.values.resize(lines.values.size() + dim);
            float *values = lines.values.data() + lines.values.size() - dim;
            const std::string_view word = read_line(line, dim, values, lines.wrong);
            if (lines.wrong.empty()) lines.words.push_back(word);
        }
        if (!lines.wrong.empty()) break;
    }
    lines.values.resize(lines.words.size() * dim);
    return lines;
}

inline std::string write_lines(const std::vector<std::string_view> &words, const float *table, size_t dim,
                               int64_t stride) {
    size_t size = 0;
    for (const std::string_view word : words) size += word.size() + dim * (float_width + 1) + 1;
    std::string text;
    text.resize(size);
    char *p = text.data();
    for (size_t i = 0; i < words.size(); i++) {
        p = std::copy(words[i].begin(), words[i].end(), p);
        const float *row = table + static_cast<int64_t>(i) * stride;
        for (size_t j = 0; j < dim; j++) {
            *p++ = ' ';
            p = write_float(p, row[j]);
        }
        *p++ = '\n';
    }
    text.resize(static_cast<size_t>(p - text.data()));
    return text;
}

// ---------------------------------------------------------------------------------------------------------- records

// Words, each up to a delimiter, and where the `tail` bytes behind each begin; `end` is behind the last of them.
struct Records {
    std::vector<std::string_view> words;
    std::vector<uint64_t> tails;
    size_t end = 0;
    std::string wrong;
};

// `lines`: records may be separated by line ends, as word2vec writes them and gensim does not.
inline Records find_records(std::string_view bytes, size_t begin, size_t count, char delimiter, size_t tail,
                            bool lines) {
    Records records;
    const size_t most = begin < bytes.size() && tail < bytes.size() ? (bytes.size() - begin) / (tail + 2) : 0;
    records.words.reserve(std::min(count, most));
    records.tails.reserve(std::min(count, most));
    size_t at = begin;
    while (records.words.size() < count && records.wrong.empty()) {
        while (lines && at < bytes.size() && bytes[at] == '\n') at++;
        const size_t stop = at < bytes.size() ? bytes.find(delimiter, at) : std::string_view::npos;
        if (stop == std::string_view::npos || bytes.size() - stop - 1 < tail) {
            records.wrong = "the file ends in it";
            break;
        }
        const std::string_view word = bytes.substr(at, stop - at);
        if (word.empty())
            records.wrong = "it has no word";
        else if (lines && word.find('\n') != std::string_view::npos)
            records.wrong = "it has a line end in its word";
        else if (check_utf8(word).bad >= 0)
            records.wrong = "its word is not UTF-8";
        else {
            records.words.push_back(word);
            records.tails.push_back(stop + 1);
            at = stop + 1 + tail;
        }
    }
    records.end = at;
    return records;
}

}  // namespace posvec
