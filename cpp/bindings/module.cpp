// The Python module posvec._kernel. Bindings check arrays and release the GIL; what they call is in kernel and text.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_deltas(nb::module_ &);
void bind_fixed16(nb::module_ &);
void bind_formats(nb::module_ &);
void bind_tables(nb::module_ &);
void bind_text(nb::module_ &);
void bind_trainers(nb::module_ &);

NB_MODULE(_kernel, m) {
    m.doc() = "The compiled part of posvec.";
    bind_deltas(m);
    bind_fixed16(m);
    bind_formats(m);
    bind_tables(m);
    bind_text(m);
    bind_trainers(m);
}
