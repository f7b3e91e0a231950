#include "levels.hpp"

#include <stdexcept>

namespace posvec {

#if defined(POSVEC_HAS_PLAIN)
namespace plain {
extern const Level level;
}
#else
namespace v2 {
extern const Level level;
}
namespace v3 {
extern const Level level;
}
namespace v4 {
extern const Level level;
}
#endif

std::vector<const Level *> available_levels() {
#if defined(POSVEC_HAS_PLAIN)
    return {&plain::level};
#else
    std::vector<const Level *> levels;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")) levels.push_back(&v2::level);
    if (levels.empty()) throw std::runtime_error("posvec needs a CPU with SSE 4.2 (x86-64-v2)");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        levels.push_back(&v3::level);
    if (levels.size() == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        levels.push_back(&v4::level);
    return levels;
#endif
}

const Level &choose_level(const std::string &name) {
    const auto levels = available_levels();
    if (name.empty()) return *levels.back();
    std::string names;
    for (const Level *level : levels) {
        if (name == level->name) return *level;
        names += std::string(names.empty() ? "" : ", ") + level->name;
    }
    throw std::invalid_argument("POSVEC_CPU is \"" + name + "\", but this machine runs " + names);
}

}  // namespace posvec
