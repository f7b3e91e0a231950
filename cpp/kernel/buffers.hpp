// Working memory that is reused from chunk to chunk: new memory costs time.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <new>

namespace posvec {

// Memory aligned to a cache line, zero at first, grown when needed and never shrunk.
class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    AlignedBuffer(const AlignedBuffer &) = delete;
    AlignedBuffer &operator=(const AlignedBuffer &) = delete;
    ~AlignedBuffer() { release(); }

    void *reserve(std::size_t bytes) {
        if (bytes > capacity_) {
            release();
            data_ = ::operator new(bytes, std::align_val_t(64));
            std::memset(data_, 0, bytes);
            capacity_ = bytes;
        }
        return data_;
    }

  private:
    void release() {
        if (data_) ::operator delete(data_, std::align_val_t(64));
        data_ = nullptr;
        capacity_ = 0;
    }

    void *data_ = nullptr;
    std::size_t capacity_ = 0;
};

// Buffers that are taken in the same order for every chunk, so that each serves the same purpose again.
class BufferPool {
  public:
    BufferPool() = default;
    BufferPool(const BufferPool &) = delete;
    BufferPool &operator=(const BufferPool &) = delete;

    void rewind() { next_ = 0; }

    template <class T> T *take(std::size_t count) {
        if (next_ == buffers_.size()) buffers_.emplace_back();
        return static_cast<T *>(buffers_[next_++].reserve(count * sizeof(T)));
    }

  private:
    std::deque<AlignedBuffer> buffers_;
    std::size_t next_ = 0;
};

}  // namespace posvec
