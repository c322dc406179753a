#include <cohom/allreduce.hpp>

#include "api/call_start.hpp"
#include "base/float_mode.hpp"
#include "base/vector_bytes.hpp"
#include "call/call.hpp"
#include "call/call_request.hpp"
#include "call/communicator_impl.hpp"
#include "call/waiting.hpp"
#include "codecs/exact/exact_accumulator.hpp"
#include "memory/device_order.hpp"
#include "plan/plan_codec.hpp"
#include "plan/plan_memory.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace cohom {

namespace {

/// The named buffer's state. It belongs to one codec, count and type until it is reset.
StateBuffer* state_of(CommunicatorImpl& communicator, PlanCore& core, const Options& options) {
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

/// What is wrong with vectors that this rank added up.
std::optional<Error> added_error(const ExactAccumulator& added, int ranks) {
  if (added.incomplete())
    return Error(ErrorKind::memory,
                 "the memory for a vector was not enough, and part of it was added; reset the sum");
  const std::uint64_t share = ExactAccumulator::max_vectors / std::uint64_t(ranks);
  if (added.vectors() <= share) return std::nullopt;
  return Error(ErrorKind::unsupported, "this rank added " + std::to_string(added.vectors()) +
                                           " vectors; of " + std::to_string(ranks) +
                                           " ranks each can add at most " + std::to_string(share));
}

/// Of calls of a plan; the last field is the call's step.
CallSignature signature_of(const PlanCore& core, const std::string& buffer) {
  CallSignature signature;
  signature.text("call", core.shape().text());
  core.add_to_signature(signature);
  signature.text("buffer", buffer);
  signature.number("step", 0);
  return signature;
}

void prepare(CallRequest& request, CallArguments call, CommunicatorImpl& communicator,
             const Options& options) {
  if (!call.shape.gives_to(communicator.transport().rank())) call.output = nullptr;
  const bool added = call.added != nullptr;
  const PlanShape& shape = call.shape;
  const Transport& transport = communicator.transport();
  vector_bytes(shape.count, shape.type);
  if (added)
    if (auto error = added_error(*call.added, transport.ranks())) throw std::move(*error);
  const Placement placement =
      shape.count != 0 ? placement_of(call.input, call.output, shape.type) : Placement{};
  if (shape.count != 0) expect_order(placement, request.stream);
  auto core =
      communicator.plans().find_or_make(communicator.environment(), shape, options, placement);
  if (auto error = buffer_error(shape, transport.rank(), transport.ranks(),
                                added ? call.output : call.input, call.output))
    throw std::move(*error);
  request.input = call.input;
  request.output = call.output;
  request.added = call.added;
  request.state = state_of(communicator, *core, options);
  request.step = request.state != nullptr ? request.state->step : communicator.next_call();
  // Plans know no names of buffers.
  if (core->calls.signature.empty() || core->wants_state())
    core->calls.signature =
        signature_of(*core, request.state != nullptr ? options.buffer : std::string());
  core->calls.signature.set_last(request.step);
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

Request start_call(const CallArguments& arguments, Communicator& communicator,
                   const Options& options) {
  const DefaultFloatMode mode;
  CommunicatorImpl& impl = communicator.impl();
  const auto guard = impl.lock();
  CallRequest request;
  request.stream = arguments.stream;
  request.blocks = arguments.blocks;
  try {
    request.timeout = timeout_of(options, impl.defaults());
    if (arguments.added == nullptr) {
      prepare(request, arguments, impl, options);
    } else {
      Options of_many = options;
      of_many.codec = codec_of_many_vectors(options.codec);
      prepare(request, arguments, impl, of_many);
    }
  } catch (...) {
    request.error =
        impl.failures().take("a plan of " + std::to_string(arguments.shape.count) + " elements");
  }
  return Request(impl.start(std::move(request)), impl);
}

Request allreduce_start(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options) {
  return start_call({.input = input, .output = output, .shape = {count, type}}, communicator,
                    options);
}

void allreduce(const void* input, void* output, std::size_t count, ElementType type,
               Communicator& communicator, const Options& options) {
  start_call({.input = input, .output = output, .shape = {count, type}, .blocks = true},
             communicator, options)
      .wait();
}

PlanMemoryUse plan_memory_use() {
  const PlanMemory& memory = PlanMemory::instance();
  return {.bytes = memory.bytes(), .most_bytes = memory.most_bytes()};
}

Request allreduce_async(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options, DeviceStream stream) {
  return start_call({.input = input,
                     .output = output,
                     .shape = {count, type},
                     .stream = static_cast<kernels::DeviceStream>(stream.handle)},
                    communicator, options);
}

Request allreduce_fail(const Error& error, Communicator& communicator) {
  CallRequest request;
  request.error = error;
  try {
    request.timeout = timeout_of({}, communicator.impl().defaults());
  } catch (const Error&) {
    // Ranks hear of one error, and this is not the first.
  }
  return Request(communicator.impl().start(std::move(request)), communicator.impl());
}

}  // namespace cohom
