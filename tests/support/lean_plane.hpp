#pragma once
// LeanPlane: a data plane that lacks memory when a test says so.

#include "offload/data_plane.hpp"

#include <atomic>
#include <memory>
#include <new>
#include <utility>

namespace cohom::test {

/// Another one is behind it.
class LeanPlane final : public offload::DataPlane {
 public:
  LeanPlane(std::unique_ptr<DataPlane> plane, const std::atomic<bool>& has_memory)
      : plane_(std::move(plane)), has_memory_(has_memory) {}

  [[nodiscard]] std::string_view kind() const override { return plane_->kind(); }
  [[nodiscard]] std::uint32_t merges() const override { return plane_->merges(); }
  [[nodiscard]] bool takes_narrow() const override { return plane_->takes_narrow(); }
  [[nodiscard]] std::uint32_t slots() const override { return plane_->slots(); }
  [[nodiscard]] std::uint32_t free_slots() const override { return plane_->free_slots(); }
  [[nodiscard]] std::uint32_t most_payload_bytes() const override {
    return plane_->most_payload_bytes();
  }
  [[nodiscard]] bool takes_messages() const override { return plane_->takes_messages(); }
  [[nodiscard]] std::string data_address() const override { return plane_->data_address(); }
  std::optional<std::uint32_t> open(const offload::GroupPlan& plan) override {
    return plane_->open(plan);
  }
  bool meet_parent(std::uint32_t number) override { return plane_->meet_parent(number); }
  /// This is what fails.
  [[nodiscard]] std::uint64_t met(std::uint32_t number) const override {
    if (!has_memory_) throw std::bad_alloc();
    return plane_->met(number);
  }
  void start(std::uint32_t number) override { plane_->start(number); }
  void close(std::uint32_t number) override { plane_->close(number); }
  [[nodiscard]] offload::GroupCounters counters(std::uint32_t number) const override {
    return plane_->counters(number);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> packets() const override {
    return plane_->packets();
  }

 private:
  std::unique_ptr<DataPlane> plane_;
  const std::atomic<bool>& has_memory_;
};

}  // namespace cohom::test
