#include "report.hpp"

#include <ostream>

namespace cohom::ptx {

void write_report(std::ostream& out, std::span<const std::string> registered,
                  std::span<const Kernel* const> kernels) {
  for (const std::string& name : registered) out << "registered\t" << name << '\n';
  for (const Kernel* const kernel : kernels) {
    for (const auto& [what, times] : kernel->complaints)
      out << "complaint\t" << kernel->name << '\t' << times << '\t' << what << '\n';
    if (kernel->edits != 0) out << "edited\t" << kernel->name << '\t' << kernel->edits << '\n';
    if (kernel->launches == 0) continue;
    out << "ran\t" << kernel->name << '\t' << kernel->launches << '\t' << kernel->blocks << '\t'
        << kernel->steps << '\t';
    // The last instruction is not the kernel's own.
    for (std::size_t i = 0; i + 1 < kernel->times.size(); ++i) out << (kernel->times[i] != 0);
    out << '\n';
  }
}

}  // namespace cohom::ptx
