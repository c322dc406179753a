#pragma once
// AddressTrials: a daemon's thread that tries the UCX addresses of members, one after the other,
// where one that is none hurts nobody.

#include "ucx_transport/address_probe.hpp"

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace cohom::offload {

struct AddressTrial {
  std::uint32_t group = 0;              ///< the daemon's number
  std::uint64_t epoch = 0;              ///< of the group: by the time the number may be another's
  std::uint64_t job = 0;                ///< likewise
  std::optional<std::uint32_t> worker;  ///< none: the parent
  std::vector<std::byte> address;
};

class AddressTrials {
 public:
  /// Why the address is none; empty: it is one. Called by the thread, or by put() where nothing can
  /// be tried. Does not throw.
  using Done = std::function<void(const AddressTrial&, const std::string& why_not)>;

  /// Without cohom-ucx-probe addresses are taken untried, which is logged.
  AddressTrials(const ucx::ContextSettings& settings, Done done);
  /// Those of a job that gave a bad address lately wait until no others do.
  void put(AddressTrial trial);
  /// The group goes: its addresses are tried no more, so that who comes and goes keeps nobody
  /// waiting.
  void forget(std::uint32_t group);

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] bool has_some() const { return !queue_.empty() || !last_queue_.empty(); }
  AddressTrial next();
  std::string try_address(const AddressTrial& trial, const std::stop_token& stop);

  Done done_;
  std::unique_ptr<ucx::AddressProbe> probe_;  ///< null: there is none
  std::mutex mutex_;
  std::condition_variable_any news_;
  std::deque<AddressTrial> queue_, last_queue_;
  std::array<std::optional<std::uint64_t>, 64> bad_jobs_;  ///< the latest, in turn
  std::size_t next_bad_job_ = 0;
  std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace cohom::offload
