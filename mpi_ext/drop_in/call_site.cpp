#include "mpi_ext/drop_in/call_site.hpp"

#include "base/text.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#ifdef COHOM_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace cohom::mpi {

namespace {

/// As far as anybody knows them.
struct Place {
  std::string function;
  std::string source;  ///< a file's name, without folders
  int line = 0;
};

std::string_view name_of_path(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return plain ? plain.get() : name;
}

}  // namespace

#ifdef COHOM_HAVE_LIBDW

/// libdw, loaded when it is needed: programs that are only compressed do without.
class CallSites::DebugInformation {
 public:
  DebugInformation();
  ~DebugInformation() {
    if (session_ != nullptr) end_(session_);
  }
  DebugInformation(const DebugInformation&) = delete;
  DebugInformation& operator=(const DebugInformation&) = delete;

  [[nodiscard]] Place place_of(std::uintptr_t address) const;

 private:
  template <class Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    return function != nullptr;
  }
  /// Debugging information in the program's own files alone: that of packages may be on servers.
  static int find_no_other_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*,
                                const char*, GElf_Word, char**) {
    return -1;
  }

  void* library_ = nullptr;  ///< stays loaded
  decltype(&dwfl_begin) begin_ = nullptr;
  decltype(&dwfl_end) end_ = nullptr;
  decltype(&dwfl_linux_proc_report) report_ = nullptr;
  decltype(&dwfl_report_end) report_end_ = nullptr;
  decltype(&dwfl_addrmodule) module_of_ = nullptr;
  decltype(&dwfl_module_addrname) name_of_ = nullptr;
  decltype(&dwfl_module_getsrc) line_of_ = nullptr;
  decltype(&dwfl_lineinfo) read_line_ = nullptr;
  Dwfl_Callbacks callbacks_{};
  Dwfl* session_ = nullptr;  ///< null: there is no libdw
};

CallSites::DebugInformation::DebugInformation() {
  library_ = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  const bool found = library_ != nullptr && find(callbacks_.find_elf, "dwfl_linux_proc_find_elf") &&
                     find(begin_, "dwfl_begin") && find(end_, "dwfl_end") &&
                     find(report_, "dwfl_linux_proc_report") &&
                     find(report_end_, "dwfl_report_end") && find(module_of_, "dwfl_addrmodule") &&
                     find(name_of_, "dwfl_module_addrname") &&
                     find(line_of_, "dwfl_module_getsrc") && find(read_line_, "dwfl_lineinfo");
  if (!found) return;
  callbacks_.find_debuginfo = find_no_other_file;
  session_ = begin_(&callbacks_);
  if (session_ != nullptr && report_(session_, getpid()) == 0)
    report_end_(session_, nullptr, nullptr);
}

Place CallSites::DebugInformation::place_of(std::uintptr_t address) const {
  Place place;
  Dwfl_Module* const module = session_ != nullptr ? module_of_(session_, address) : nullptr;
  if (module == nullptr) return place;
  if (const char* const name = name_of_(module, address); name != nullptr)
    place.function = demangled(name);
  Dwfl_Line* const line = line_of_(module, address);
  if (line == nullptr) return place;
  const char* const path = read_line_(line, nullptr, &place.line, nullptr, nullptr, nullptr);
  if (path != nullptr) place.source = name_of_path(path);
  return place;
}

CallSites::CallSites() : information_(std::make_unique<DebugInformation>()) {}

#else

class CallSites::DebugInformation {
 public:
  [[nodiscard]] Place place_of(std::uintptr_t) const { return {}; }
};

CallSites::CallSites() = default;

#endif

CallSites::~CallSites() = default;

std::string CallSites::text(const void* site) const {
  Dl_info info{};
  if (dladdr(site, &info) == 0 || info.dli_fname == nullptr) return fmt::format("{}", site);
  const std::string_view file = name_of_path(info.dli_fname);
  // The call is what lies before the place where the program goes on.
  Place place = information_ != nullptr
                    ? information_->place_of(reinterpret_cast<std::uintptr_t>(site) - 1)
                    : Place();
  if (place.function.empty() && info.dli_sname != nullptr)
    place.function = demangled(info.dli_sname);
  if (!place.source.empty())
    return printable(fmt::format("{}{}{}:{} in {}", place.function,
                                 place.function.empty() ? "" : " at ", place.source, place.line,
                                 file));
  const char* const address = static_cast<const char*>(site);
  if (info.dli_sname != nullptr)
    return printable(fmt::format("{}+{:#x} in {}", place.function,
                                 address - static_cast<const char*>(info.dli_saddr), file));
  return printable(fmt::format("{}{}{}+{:#x}", place.function, place.function.empty() ? "" : " in ",
                               file, address - static_cast<const char*>(info.dli_fbase)));
}

}  // namespace cohom::mpi
