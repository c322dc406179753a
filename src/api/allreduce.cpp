#include <cohom/allreduce.hpp>

#include "base/float_mode.hpp"
#include "call/call.hpp"
#include "call/call_request.hpp"
#include "call/communicator_impl.hpp"
#include "call/waiting.hpp"
#include "memory/device_order.hpp"

#include <exception>
#include <optional>
#include <utility>

namespace cohom {

namespace {

constexpr const char* call_kind = "allreduce";

/// The named buffer's state. It belongs to one codec, count and type until it is reset.
StateBuffer* state_of(CommunicatorImpl& communicator, const PlanCore& core,
                      const Options& options) {
  // Not state_bytes(): a vector that goes raw has none, and yet its call is as right or wrong as
  // others.
  if (!core.wants_state()) return nullptr;
  if (options.buffer.empty())
    throw Error(ErrorKind::invalid_argument,
                "codec " + core.asked_codec() +
                    " keeps state between calls and the buffer has no name; give Options::buffer "
                    "(Info key cohom_buffer), or use a plan");
  StateBuffer& state = communicator.states()[options.buffer];
  communicator.complete_calls_with(state);
  if (!state.key.empty() && state.key != core.state_key())
    throw Error(ErrorKind::invalid_argument, "buffer \"" + options.buffer + "\" has state of " +
                                                 state.key + ", and this call is " +
                                                 core.state_key() +
                                                 "; reset the state first, or take another name");
  if (state.size() != 0 && state.size() != core.state_bytes())
    throw Error(ErrorKind::invalid_argument,
                "buffer \"" + options.buffer + "\" was restored from " +
                    std::to_string(state.size()) + " bytes of state; codec " +
                    core.description().codec + " has " + std::to_string(core.state_bytes()));
  return &state;
}

void prepare(CallRequest& request, const void* input, void* output, std::size_t count,
             ElementType type, CommunicatorImpl& communicator, const Options& options) {
  const Placement placement = count != 0 ? placement_of(input, output, type) : Placement{};
  if (count != 0) expect_order(placement, request.stream);
  auto core = communicator.plans().find_or_make(communicator.environment(), count, type, options,
                                                placement);
  if (auto error = buffer_error(input, output, count * size_of(type))) throw std::move(*error);
  request.input = input;
  request.output = output;
  request.state = state_of(communicator, *core, options);
  request.step = request.state != nullptr ? request.state->step : communicator.next_call();
  core->add_to_signature(request.signature);
  request.signature.text("buffer", request.state != nullptr ? options.buffer : std::string());
  request.signature.number("step", request.step);
  request.core = std::move(core);
}

}  // namespace

Request::Request(std::shared_ptr<CallImpl> call, CommunicatorImpl& communicator)
    : call_(std::move(call)), communicator_(&communicator) {}

Request& Request::operator=(Request&& other) noexcept {
  std::swap(call_, other.call_);
  std::swap(communicator_, other.communicator_);
  return *this;
}

Request::~Request() {
  if (!call_ || call_->done()) return;
  try {
    wait_for(*call_, communicator_);
  } catch (const std::exception&) {
    // The caller did not ask for the result.
  }
}

bool Request::test() { return !call_ || cohom::test(*call_, communicator_); }

void Request::wait() {
  if (call_) wait_for(*call_, communicator_);
}

namespace {

Request start(const void* input, void* output, std::size_t count, ElementType type,
              Communicator& communicator, const Options& options,
              std::optional<kernels::DeviceStream> stream) {
  const DefaultFloatMode mode;
  CommunicatorImpl& impl = communicator.impl();
  const auto guard = impl.lock();
  CallRequest request;
  request.stream = stream;
  request.signature.text("call", call_kind);
  try {
    request.timeout = timeout_of(options, impl.defaults());
    prepare(request, input, output, count, type, impl, options);
  } catch (...) {
    request.error = impl.failures().take("a plan of " + std::to_string(count) + " elements");
  }
  return Request(impl.start(std::move(request)), impl);
}

}  // namespace

Request allreduce_start(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options) {
  return start(input, output, count, type, communicator, options, std::nullopt);
}

Request allreduce_async(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options, DeviceStream stream) {
  return start(input, output, count, type, communicator, options,
               static_cast<kernels::DeviceStream>(stream.handle));
}

Request allreduce_fail(const Error& error, Communicator& communicator) {
  CallRequest request;
  request.signature.text("call", call_kind);
  request.error = error;
  try {
    request.timeout = timeout_of({}, communicator.impl().defaults());
  } catch (const Error&) {
    // Ranks hear of one error, and this is not the first.
  }
  return Request(communicator.impl().start(std::move(request)), communicator.impl());
}

}  // namespace cohom
