#include <cohom/plan.hpp>

#include "base/failure.hpp"
#include "base/float_mode.hpp"
#include "call/call.hpp"
#include "call/call_request.hpp"
#include "call/communicator_impl.hpp"
#include "call/waiting.hpp"
#include "memory/device_order.hpp"

#include <cohom/error.hpp>

#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cohom {

class PlanImpl {
 public:
  PlanImpl(CommunicatorImpl& communicator, const PlanShape& shape, const Options& options)
      : PlanImpl(communicator) {
    const DefaultFloatMode mode;
    CallRequest request;
    try {
      request.own_signature = std::make_unique<CallSignature>();
      CallSignature& signature = *request.own_signature;
      const bool allreduce = shape.collective == ReductionKind::allreduce;
      signature.text("call", allreduce ? "plan creation" : "plan creation of a " + shape.text());
      request.timeout = timeout_ = timeout_of(options, communicator.defaults());
      options_ = resolve(options, communicator.defaults());
      const auto guard = communicator.lock();
      const auto made = std::make_shared<PlanCore>(communicator.environment(), shape, options_);
      made->routes().take_all_memory();
      made->add_to_signature(signature);
      cores_.emplace(Placement{}.text(), made);
      core_ = made;
      signature.text("buffer", {});
      signature.number("step", 0);
    } catch (...) {
      request.error = current_failure("a plan of " + std::to_string(shape.count) + " elements");
    }
    wait_for(*communicator_.start(std::move(request)), &communicator_);
  }

  ~PlanImpl() {
    try {
      if (call_) wait_for(*call_, &communicator_);
    } catch (const std::exception&) {
      // Nobody asked for the result.
    }
    // What a transport knows of their memory it forgets; it may be in use for other calls.
    const auto guard = communicator_.lock();
    core_.reset();
    cores_.clear();
  }
  PlanImpl(const PlanImpl&) = delete;
  PlanImpl& operator=(const PlanImpl&) = delete;

  /// `blocks`: the caller waits for it at once.
  void start(const void* input, void* output, std::optional<Error> error,
             std::optional<kernels::DeviceStream> stream = std::nullopt, bool blocks = false) {
    const DefaultFloatMode mode;
    output = output_of(output);
    CallRequest request;
    try {
      require_idle("the next start");
    } catch (const Error& busy) {
      // The others hear of it when they start theirs, if they ever do.
      request.error = busy;
      request.timeout = timeout_;
      communicator_.start(std::move(request));
      throw;
    }
    request.input = input;
    request.output = output;
    request.stream = stream;
    request.blocks = blocks;
    request.timeout = timeout_;
    request.step = state_.step;
    try {
      if (!error) error = error_of(input, output);
      if (!error) {
        const bool empty = core_->shape().count == 0;
        const Placement placement =
            empty ? Placement{} : placement_of(input, output, core_->type());
        if (!empty) expect_order(placement, stream);
        if (!(placement == placement_)) core_ = core_for(placement);
        placement_ = placement;
      }
    } catch (...) {
      error = communicator_.failures().take("a plan's memory on a device");
    }
    sign(*core_);
    request.core = core_;
    request.error = std::move(error);
    if (counts_in_state()) request.state = &state_;
    call_ = communicator_.start(std::move(request));
    if (!call_) count_step();
  }

  void prepare(const void* input, void* output) {
    const DefaultFloatMode mode;
    output = output_of(output);
    std::optional<Error> error = error_of(input, output);
    CallRequest request;
    request.timeout = timeout_;
    try {
      request.own_signature = std::make_unique<CallSignature>();
      request.own_signature->text("call", "plan preparation");
      request.own_signature->number("plan", id_);
      require_idle("preparing it");
      if (!error) prepare_for(input, output);
      core_->add_memory_to_signature(*request.own_signature);
    } catch (...) {
      error = communicator_.failures().take("a plan's memory on a device");
    }
    request.error = std::move(error);
    wait_for(*communicator_.start(std::move(request)), &communicator_);
  }

  bool test() {
    if (!call_) return true;
    if (!call_->done()) progress_in_this_thread(communicator_);
    if (!call_->done()) return false;
    wait();
    return true;
  }
  void wait() {
    // Given up before it throws: the next start is right after an error, too.
    const auto call = std::exchange(call_, nullptr);
    if (!call) return;
    wait_for(*call, &communicator_);
    count_step();
  }

  std::vector<std::byte> save_state() const {
    require_idle("save_state");
    return state_.save(core_->state_key());
  }

  void restore_state(std::span<const std::byte> saved) {
    require_idle("restore_state");
    StateBuffer state = StateBuffer::restore(saved);
    if (state.key != core_->state_key())
      throw Error(ErrorKind::invalid_argument, "saved state belongs to " + state.key +
                                                   ", and this plan is " + core_->state_key());
    if (state.size() != core_->state_bytes() && state.size() != 0)
      throw Error(ErrorKind::invalid_argument, "saved state has " + std::to_string(state.size()) +
                                                   " bytes for the codec, and this plan's has " +
                                                   std::to_string(core_->state_bytes()));
    state_ = std::move(state);
  }

  void reset_state() {
    require_idle("reset_state");
    state_ = {};
  }
  [[nodiscard]] PlanDescription description() const {
    PlanDescription description = core_->description();
    description.workspace_bytes = core_->routes().workspace_bytes();
    return description;
  }

 private:
  /// Of a call that is over.
  void count_step() {
    if (!counts_in_state()) ++state_.step;
  }

  /// Behind it an error of the public constructor calls the destructor, which holds the lock.
  explicit PlanImpl(CommunicatorImpl& communicator)
      : communicator_(communicator), id_(communicator.next_call()) {}

  /// Null where this rank gets nothing.
  [[nodiscard]] void* output_of(void* output) const {
    return core_->shape().gives_to(communicator_.transport().rank()) ? output : nullptr;
  }
  [[nodiscard]] std::optional<Error> error_of(const void* input, const void* output) const {
    const Transport& transport = communicator_.transport();
    return buffer_error(core_->shape(), transport.rank(), transport.ranks(), input, output);
  }

  /// The plan's number says most: all ranks agreed on the rest when the plan was made.
  void sign(PlanCore& core) const {
    CallSignature& signature = core.calls.signature;
    if (signature.empty()) {
      signature.text("call", "plan start");
      signature.number("plan", id_);
      core.add_memory_to_signature(signature);
      signature.number("step", 0);
    }
    signature.set_last(state_.step);
  }

  /// Made in prepare(), or in the first call whose buffers lie there.
  std::shared_ptr<PlanCore> core_for(const Placement& placement) {
    auto& core = cores_[placement.text()];
    const auto guard = communicator_.lock();
    if (core) return core;
    const auto made = std::make_shared<PlanCore>(communicator_.environment(), core_->shape(),
                                                 options_, placement);
    made->routes().take_all_memory();
    return core = made;
  }

  void prepare_for(const void* input, void* output) {
    if (core_->shape().count == 0) return;
    const Placement placement = placement_of(input, output, core_->type());
    expect_order(placement, std::nullopt);
    core_ = core_for(placement);
    placement_ = placement;
    if (counts_in_state()) state_.bring_to(core_->device_work(), core_->state_bytes());
    DevicePlan* const device = core_->device();
    const DeviceWork::Use use(device != nullptr ? device->work().get() : nullptr);
    PlanPart* const part = core_->part();
    if (part != nullptr && core_->has_routes()) {
      part->prepare(input, output);
      part->take_memory();
    }
    if (device != nullptr && !device->runs_there()) device->take_copies(input == output);
  }

  /// Where the codec keeps state, the call counts its step in it; a failed call counts nowhere.
  [[nodiscard]] bool counts_in_state() const { return core_->state_bytes() != 0; }

  /// Not call_->done(): that depends on timing, so some ranks would go on and others refuse.
  void require_idle(const char* next) const {
    if (call_)
      throw Error(ErrorKind::state,
                  std::string("the plan has a call in flight; wait for it before ") + next);
  }

  CommunicatorImpl& communicator_;
  std::uint64_t id_;
  PlanOptions options_;
  double timeout_ = 0;
  std::map<std::string, std::shared_ptr<PlanCore>> cores_;  ///< by where buffers lie
  std::shared_ptr<PlanCore> core_;                          ///< of the last call; first the host's
  Placement placement_;                                     ///< of core_
  StateBuffer state_;
  std::shared_ptr<CallImpl> call_;
};

Plan::Plan(Communicator& communicator, ReductionKind collective, int root, std::size_t count,
           ElementType type, const Options& options)
    : impl_(std::make_unique<PlanImpl>(communicator.impl(),
                                       PlanShape{count, type, collective, root}, options)) {}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

void Plan::prepare(const void* input, void* output) { impl_->prepare(input, output); }
void Plan::start(const void* input, void* output) { impl_->start(input, output, std::nullopt); }
void Plan::start(const void* input, void* output, DeviceStream stream) {
  impl_->start(input, output, std::nullopt, static_cast<kernels::DeviceStream>(stream.handle));
}
void Plan::start_with_error(const Error& error) { impl_->start(nullptr, nullptr, error); }
bool Plan::test() { return impl_->test(); }
void Plan::wait() { impl_->wait(); }
void Plan::execute(const void* input, void* output) {
  impl_->start(input, output, std::nullopt, std::nullopt, true);
  impl_->wait();
}
std::vector<std::byte> Plan::save_state() const { return impl_->save_state(); }
void Plan::restore_state(std::span<const std::byte> saved) { impl_->restore_state(saved); }
void Plan::reset_state() { impl_->reset_state(); }
PlanDescription Plan::describe() const { return impl_->description(); }

AllreducePlan::AllreducePlan(Communicator& communicator, std::size_t count, ElementType type,
                             const Options& options)
    : Plan(communicator, ReductionKind::allreduce, 0, count, type, options) {}
ReduceScatterPlan::ReduceScatterPlan(Communicator& communicator, std::size_t count,
                                     ElementType type, const Options& options)
    : Plan(communicator, ReductionKind::reduce_scatter, 0, count, type, options) {}
ReducePlan::ReducePlan(Communicator& communicator, std::size_t count, ElementType type, int root,
                       const Options& options)
    : Plan(communicator, ReductionKind::reduce, root, count, type, options) {}
AllgatherPlan::AllgatherPlan(Communicator& communicator, std::size_t count, ElementType type,
                             const Options& options)
    : Plan(communicator, ReductionKind::allgather, 0, count, type, options) {}

}  // namespace cohom
