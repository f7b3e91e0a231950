// Measures the bandwidth of copying, reading and updating rows of a table; prints GB/s as JSON.
//
//     roofline ROWS ROW_BYTES SECONDS [INDICES]
//
// INDICES is a file of 32-bit row numbers in the order in which training needs them. Every measurement runs
// with one thread and with two, each on its own part of the table for SECONDS; bytes read and written both count.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kAhead = 24;  // rows that are prefetched: as many as a word has

using Part = float __attribute__((vector_size(16)));  // fits the registers of every machine
constexpr std::size_t kParts = 4;                     // per cache line

struct alignas(64) Line {
    Part part[kParts];
};

struct Table {
    Line *data;
    std::size_t rows, lines;  // cache lines per row

    Line *row(std::size_t i) const { return data + i * lines; }
    std::size_t row_bytes() const { return lines * sizeof(Line); }
};

// In pages of 2 MB, as posvec's tables are, because address translation takes time.
Table make_table(std::size_t rows, std::size_t row_bytes) {
    const std::size_t page = std::size_t{1} << 21, size = (rows * row_bytes / page + 1) * page;
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("roofline");
        std::exit(1);
    }
    madvise(memory, size, MADV_HUGEPAGE);
    std::memset(memory, 0, size);
    return {static_cast<Line *>(memory), rows, row_bytes / sizeof(Line)};
}

volatile float sink;  // results are stored here so that the compiler does not remove the reads

// Reads or updates one row, a cache line at a time. With each line, a line of a later row is prefetched, because a core
// that starts more prefetches than its queue holds waits for the queue. Returns the bytes moved.
std::size_t read_row(const Table &table, const Line *row, const Line *ahead, Line &total) {
    for (std::size_t j = 0; j < table.lines; j++) {
        __builtin_prefetch(ahead + j, 0, 2);
        for (std::size_t k = 0; k < kParts; k++) total.part[k] += row[j].part[k];
    }
    return table.row_bytes();
}

std::size_t update_row(const Table &table, Line *row, const Line *ahead, Line &) {
    for (std::size_t j = 0; j < table.lines; j++) {
        __builtin_prefetch(ahead + j, 0, 2);
        for (std::size_t k = 0; k < kParts; k++) row[j].part[k] += 1;
    }
    return 2 * table.row_bytes();
}

// Processes a thread's part of the rows repeatedly until `stop` is set.
template <auto use>
std::size_t visit(const Table &table, const std::uint32_t *rows, std::size_t count, const std::atomic<bool> &stop) {
    std::size_t moved = 0;
    Line total = {};
    for (std::size_t i = 0, ahead = kAhead % count; i % 1024 || !stop; i = i + 1 < count ? i + 1 : 0) {
        moved += use(table, table.row(rows[i]), table.row(rows[ahead]), total);
        ahead = ahead + 1 < count ? ahead + 1 : 0;
    }
    for (const Part &part : total.part) sink = sink + part[0] + part[1] + part[2] + part[3];
    return moved;
}

// Copies the first half of a thread's part of the table to the second.
std::size_t copy(char *begin, std::size_t size, const std::atomic<bool> &stop) {
    const std::size_t piece = std::size_t{1} << 20, half = size / 2 / piece * piece;
    std::size_t moved = 0;
    while (!stop)
        for (std::size_t at = 0; at < half && !stop; at += piece, moved += 2 * piece)
            std::memcpy(begin + half + at, begin + at, piece);
    return moved;
}

// GB/s of `work(thread, stop)` run by several threads at once.
template <class Work> double measure(unsigned threads, double seconds, Work work) {
    std::atomic<bool> stop = false;
    std::vector<std::size_t> moved(threads);
    std::vector<std::thread> workers;
    const auto start = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < threads; i++) workers.emplace_back([&, i] { moved[i] = work(i, stop); });
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
    for (auto &worker : workers) worker.join();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    double total = 0;
    for (const std::size_t bytes : moved) total += static_cast<double>(bytes);
    return total / passed.count() / 1e9;
}

std::vector<std::uint32_t> random_rows(std::size_t rows) {
    std::mt19937 random(1);
    std::uniform_int_distribution<std::uint32_t> draw(0, static_cast<std::uint32_t>(rows - 1));
    std::vector<std::uint32_t> drawn(rows);
    for (auto &row : drawn) row = draw(random);
    return drawn;
}

std::vector<std::uint32_t> read_rows(const char *path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    std::vector<std::uint32_t> rows(bytes.size() / sizeof(std::uint32_t));
    std::memcpy(rows.data(), bytes.data(), rows.size() * sizeof(std::uint32_t));
    return rows;
}

template <auto use>
double measure_rows(const Table &table, const std::vector<std::uint32_t> &rows, unsigned threads, double seconds) {
    const std::size_t part = rows.size() / threads;
    return measure(threads, seconds, [&](unsigned i, const std::atomic<bool> &stop) {
        return visit<use>(table, rows.data() + i * part, part, stop);
    });
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: roofline ROWS ROW_BYTES SECONDS [INDICES]\n");
        return 2;
    }
    const Table table = make_table(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
    const double seconds = std::strtod(argv[3], nullptr);
    const auto anywhere = random_rows(table.rows);
    const auto needed = argc > 4 ? read_rows(argv[4]) : anywhere;
    for (const std::uint32_t row : needed)
        if (row >= table.rows) return std::fprintf(stderr, "roofline: row %u is not in the table\n", row), 1;
    for (unsigned threads = 1; threads <= 2; threads++) {
        const double copied = measure(threads, seconds, [&](unsigned i, const std::atomic<bool> &stop) {
            const std::size_t rows = table.rows / threads;
            return copy(reinterpret_cast<char *>(table.row(i * rows)), rows * table.row_bytes(), stop);
        });
        std::printf("{\"threads\": %u, \"copy\": %.2f, \"read\": %.2f, \"update\": %.2f, \"needed\": %.2f}\n", threads,
                    copied, measure_rows<read_row>(table, anywhere, threads, seconds),
                    measure_rows<update_row>(table, anywhere, threads, seconds),
                    measure_rows<update_row>(table, needed, threads, seconds));
    }
}
