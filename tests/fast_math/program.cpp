// Loads the library and says whether arithmetic is IEEE's: in it, and in this process since it is
// loaded.

#include <cstdio>
#include <limits>

double rounded_away(double a, double b);
bool not_a_number(double value);

int main() {
  volatile double least = std::numeric_limits<double>::min();
  const bool denormals = least / 2 != 0;
  const bool in_order = rounded_away(1, 1e-20) == 0;
  const bool nan = not_a_number(std::numeric_limits<double>::quiet_NaN());
  std::printf("denormals %s, sums %s, NaN %s\n", denormals ? "kept" : "FLUSHED TO ZERO",
              in_order ? "in order" : "REORDERED", nan ? "known" : "UNKNOWN");
  return denormals && in_order && nan ? 0 : 1;
}
