// For bindings/exchanges.cpp.
#pragma once

#include <cstdint>

namespace posvec {

using Narrow = std::int16_t;

}  // namespace posvec
