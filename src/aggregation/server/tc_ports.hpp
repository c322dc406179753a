#pragma once
// TcPorts: a program on the ingress of network devices.

#include "aggregation/server/program_owner.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cohom::offload {

class TcPorts {
 public:
  /// Puts the program on all ports, or on none. What an ended process of ours has left is replaced;
  /// what a living one has put there is an error.
  /// @throws Error(invalid_argument), Error(transport)
  TcPorts(const std::vector<std::string>& ports, int program);
  /// Takes the program away. The (empty) clsact queueing discipline stays: others may use it.
  ~TcPorts();
  TcPorts(const TcPorts&) = delete;
  TcPorts& operator=(const TcPorts&) = delete;

  /// Behind programs that lose packets on purpose, which are to see them first.
  static constexpr std::uint32_t priority = 49000;
  static constexpr std::uint32_t handle = 0xc0;
  static constexpr const char* program_name = "cohom_aggregate";

 private:
  static void attach(const std::string& port, int device, int program);
  static void expect_left_behind(const std::string& port, std::uint32_t program_id);
  void detach_all() noexcept;

  std::uint32_t program_id_ = 0;
  ProgramOwner owner_;
  std::vector<int> devices_;
};

}  // namespace cohom::offload
