#pragma once
// DevicePlan: what a plan has besides its rounds because its buffers lie on a device, and DeviceCall: what
// a call does besides them.
//
// Where the device has kernels for all of the codec the call runs there: elements and the payload's words
// stay on the device. Else it runs on the host, on copies in pinned memory.

#include "memory/device_channel.hpp"
#include "memory/device_work.hpp"
#include "memory/placement.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cohom {

class DevicePlan {
 public:
  /// @throws Error
  DevicePlan(const kernels::DeviceLibrary& library, const Placement& placement, bool runs_there);

  [[nodiscard]] const std::shared_ptr<DeviceWork>& work() const { return work_; }
  /// Whether kernels of the device do the work.
  [[nodiscard]] bool runs_there() const { return runs_there_; }
  /// Makes the words known to the transport, or takes pinned memory for them. Once.
  void take_words(std::span<std::byte> words, Transport& transport, bool reaches);
  /// Waits for what is still under way on the device.
  void drain() noexcept;
  /// The channel of one call.
  [[nodiscard]] std::unique_ptr<Channel> wrap(std::unique_ptr<Channel> channel);

 private:
  friend class DeviceCall;

  std::shared_ptr<DeviceWork> work_;
  Placement placement_;
  bool runs_there_;
  DeviceWords words_;
  MemoryArray<std::byte> staged_;          ///< pinned
  MemoryArray<std::byte> input_, output_;  ///< pinned copies, where the call runs on the host
  std::unique_ptr<Registration> registration_;
  /// Behind what the device last did to the words: it zeroed them, or it ran a call that a user's
  /// stream waits for and no rank did. Nothing may arrive before. Null: it is over.
  kernels::DeviceEvent busy_ = nullptr;
};

/// Functions want a DeviceWork::Use.
class DeviceCall {
 public:
  /// `stream`: the user's, which has what writes the input; none: any stream of the device may.
  DeviceCall(DevicePlan& plan, const void* input, void* output, std::size_t bytes,
             std::optional<kernels::DeviceStream> stream);

  /// Before the rank says that it can make the call. Waits for what writes the input, but not of a user's
  /// stream, unless the call runs on the host.
  /// @throws Error(invalid_argument) for a stream under capture; kernels::DeviceError
  void begin();
  /// What the rounds read and write.
  [[nodiscard]] const void* input() const { return input_; }
  [[nodiscard]] void* output() const { return output_; }
  /// All rounds are complete: whether the output is there, for whoever asks, or for the user's stream.
  [[nodiscard]] bool finish();

 private:
  void copy_input();

  DevicePlan& plan_;
  DeviceWork& work_;
  const void* users_input_;
  void* users_output_;
  std::size_t bytes_;
  std::optional<kernels::DeviceStream> stream_;
  const void* input_;
  void* output_;
  kernels::DeviceEvent end_ = nullptr;
};

}  // namespace cohom
