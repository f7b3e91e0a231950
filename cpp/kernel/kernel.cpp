// The kernel compiled for one instruction-set level, POSVEC_LEVEL (see CMakeLists.txt).
// Only code that is inlined or lives in this level's namespace may be used here: a function shared with the plain
// build, such as a standard container's, might be kept by the linker in the version for the newer machine.
#include "alias_sampling.hpp"
#include "fixed16_rows.hpp"
#include "float_rows.hpp"
#include "level.hpp"
#include "trainer.hpp"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace posvec::POSVEC_LEVEL {

namespace {

// Numbers too small for full precision are flushed to zero while training: they cost a hundred cycles each.
class FlushDenormals {
#if defined(__SSE__)
  public:
    FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
    ~FlushDenormals() { _mm_setcsr(before_); }

  private:
    unsigned before_;
#endif
};

template <class Rows>
ChunkResult train(const Tables<typename Rows::Format> &tables, const WordRows &word_rows, const Draws &draws,
                  const KernelOptions &options, double lr, const Scratch<typename Rows::Format> &scratch) {
    [[maybe_unused]] FlushDenormals guard;
    return Trainer<Rows>(tables, word_rows, draws, options, lr, scratch).train();
}

}  // namespace

#define POSVEC_STRING(x) #x
#define POSVEC_NAME(x) POSVEC_STRING(x)

extern const Fixed16Probe fixed16_probe;
extern const Level level;
const Level level{POSVEC_NAME(POSVEC_LEVEL), draw_words,         train<Float32Rows>,
                  train<Float64Rows>,        train<Fixed16Rows>, &fixed16_probe};

}  // namespace posvec::POSVEC_LEVEL
