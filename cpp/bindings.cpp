// The Python module posvec._kernel.
#include <nanobind/nanobind.h>

void bind_text(nanobind::module_ &);

NB_MODULE(_kernel, m) {
    m.doc() = "The compiled part of posvec.";
    bind_text(m);
}
