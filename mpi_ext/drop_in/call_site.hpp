#pragma once
// CallSites: where a program goes on after a call, as people name it.

#include <memory>
#include <string>

namespace cohom::mpi {

/// Reads the program's files once.
class CallSites {
 public:
  CallSites();
  ~CallSites();
  CallSites(const CallSites&) = delete;
  CallSites& operator=(const CallSites&) = delete;

  /// "step at solver.cpp:42 in app", as debugging information says; where there is none, a function
  /// and a place in it, or a place in a file. `site`: a return address of this process.
  [[nodiscard]] std::string text(const void* site) const;

 private:
  class DebugInformation;

  std::unique_ptr<DebugInformation> information_;  ///< null: built without a reader of it
};

}  // namespace cohom::mpi
