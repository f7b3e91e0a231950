// kernel.hpp compiled for one instruction-set level, POSVEC_LEVEL (see CMakeLists.txt).
// Only code that is inlined or lives in this level's namespace may be used here: a function shared with the plain
// build, such as a standard container's, might be kept by the linker in the version for the newer machine.
#include "trainer.hpp"
#include "negatives.hpp"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace posvec::POSVEC_LEVEL {

namespace {

// Numbers too small for full precision are flushed to zero while training: they cost a hundred cycles each.
class FlushDenormals {
#if defined(__SSE__)
  public:
    FlushDenormals() : before(_mm_getcsr()) { _mm_setcsr(before | 0x8040); }
    ~FlushDenormals() { _mm_setcsr(before); }

  private:
    unsigned before;
#endif
};

template <class Real>
Done train(const Tables<Real> &tables, const WordRows &rows, const Draws &draws, const Options &options, double lr,
           const Scratch<Real> &scratch) {
    [[maybe_unused]] FlushDenormals guard;
    return Trainer<Real>(tables, rows, draws, options, lr, scratch).train();
}

}  // namespace

#define POSVEC_STRING(x) #x
#define POSVEC_NAME(x) POSVEC_STRING(x)

extern const Level level;
const Level level{POSVEC_NAME(POSVEC_LEVEL), draw_words, train<float>, train<double>};

}  // namespace posvec::POSVEC_LEVEL
