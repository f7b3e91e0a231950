// The builds of the kernel in this extension, and which of them this machine can run.
#pragma once

#include <string>
#include <vector>

#include "level.hpp"

namespace posvec {

// The levels that this machine can run, slowest first.
std::vector<const Level *> available_levels();

// The named level, or the fastest if the name is empty; throws std::invalid_argument for one that is not available.
const Level &choose_level(const std::string &name);

}  // namespace posvec
