// Python's view of text.hpp.
#include <nanobind/nanobind.h>

void bind_text(nanobind::module_ &) {}
