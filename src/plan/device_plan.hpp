#pragma once
// DevicePlan: what a plan has besides its rounds because its buffers lie on a device, and
// DeviceCall: what a call does besides them.
//
// Where the device has kernels for all of the codec the call runs there: elements and the payload's
// words stay on the device. Else it runs on the host, on copies in pinned memory.

#include "memory/device_channel.hpp"
#include "memory/device_work.hpp"
#include "memory/placement.hpp"
#include "plan/plan_shape.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cohom {

class DevicePlan {
 public:
  /// `runs_there`: kernels of the device do the work. `words_reach_transport`: and the transport
  /// takes words from the device. @throws Error
  DevicePlan(const kernels::DeviceLibrary& library, const Placement& placement,
             const BufferBytes& bytes, bool runs_there, bool words_reach_transport);

  [[nodiscard]] const std::shared_ptr<DeviceWork>& work() const { return work_; }
  /// Whether kernels of the device do the work.
  [[nodiscard]] bool runs_there() const { return runs_there_; }
  [[nodiscard]] bool words_reach_transport() const { return words_reach_transport_; }
  /// Takes pinned memory for calls that run on the host, if it has none yet. Wants a
  /// DeviceWork::Use.
  void take_copies(bool in_place);
  /// Makes the words known to the transport, or takes pinned memory for them. Once.
  void take_words(std::span<std::byte> words, Transport& transport);
  /// Waits for what is still under way on the device.
  void drain() noexcept;
  /// The channel of one call.
  [[nodiscard]] std::unique_ptr<Channel> wrap(std::unique_ptr<Channel> channel);

 private:
  friend class DeviceCall;

  std::shared_ptr<DeviceWork> work_;
  Placement placement_;
  BufferBytes bytes_;
  bool runs_there_, words_reach_transport_;
  DeviceWords words_;
  MemoryArray<std::byte> staged_;          ///< pinned
  MemoryArray<std::byte> input_, output_;  ///< pinned copies, where the call runs on the host
  std::unique_ptr<Registration> registration_;
  /// Behind what the device last did to the words: it zeroed them, or it ran a call that a user's
  /// stream waits for and no rank did. Nothing may arrive before: what comes from other ranks is in
  /// no stream's order. Null: it is over.
  kernels::DeviceEvent busy_ = nullptr;
};

/// Functions want a DeviceWork::Use. None of them waits for a user's stream.
class DeviceCall {
 public:
  /// `stream`: the user's, which has what writes the input; none: any stream of the device may.
  DeviceCall(DevicePlan& plan, const void* input, void* output,
             std::optional<kernels::DeviceStream> stream);
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  /// Before the rank says that it can make the call, and behind expect_order().
  /// @throws kernels::DeviceError
  void begin();
  /// Whether the words may be written, by other ranks too.
  [[nodiscard]] bool may_receive() { return passed(plan_.busy_); }
  /// Whether the rounds may read the input and write the output. Their kernels need not come behind
  /// the user's stream then, and whatever waits for a kernel waits for cohom's own alone.
  [[nodiscard]] bool may_work();
  /// The user's stream has not come to the call.
  [[nodiscard]] bool waits_for_stream() const { return before_ != nullptr; }
  /// What the rounds read and write.
  [[nodiscard]] const void* input() const { return input_; }
  [[nodiscard]] void* output() const { return output_; }
  /// All rounds are complete: whether the output is there, for whoever asks, or for the user's
  /// stream. Not `wanted`: it stays as it is.
  [[nodiscard]] bool complete(bool wanted);

 private:
  /// Whether the device has come to a mark, which is null from then on.
  bool passed(kernels::DeviceEvent& mark);
  void start_copy(std::byte* copy);

  DevicePlan& plan_;
  DeviceWork& work_;
  const void* users_input_;
  void* users_output_;
  std::optional<kernels::DeviceStream> stream_;
  const void* input_;
  void* output_;
  std::byte* copy_ = nullptr;  ///< of the input, in pinned memory, once there is to be one
  kernels::DeviceEvent before_ = nullptr;  ///< in the user's stream
  kernels::DeviceEvent copied_ = nullptr;  ///< behind the copy of the input
  kernels::DeviceEvent end_ = nullptr;
};

}  // namespace cohom
