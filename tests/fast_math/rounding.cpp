// Stands for a kernel: what -ffast-math would compute otherwise.

#include "kernels/core/hd.hpp"

/// (a + b) - a, which is b only where sums may be reordered.
double rounded_away(double a, double b) { return (a + b) - a; }

/// Whether it is a NaN, which is never where only finite numbers are thought of.
bool not_a_number(double value) { return value != value; }
