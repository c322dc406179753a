#include "call/communicator_impl.hpp"

#include "base/environment.hpp"
#include "base/float_mode.hpp"
#include "base/free_list.hpp"
#include "base/known_names.hpp"
#include "base/log.hpp"
#include "base/phase_timer.hpp"
#include "base/text.hpp"
#include "call/call_at_once.hpp"
#include "call/waiting.hpp"
#include "topology/topology_of.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace cohom {

namespace {

std::shared_ptr<const Topology> topology_by(const Transport& transport) {
  if (auto topology = transport.topology()) return topology;
  if (!option_or_environment({}, "COHOM_TOPOLOGY", {}).empty())
    warn_once_for_all(transport.rank(), "COHOM_TOPOLOGY is not read: with the transport " +
                                            std::string(transport.name()) +
                                            " ranks do not tell each other where they run");
  return std::make_shared<const Topology>(
      topology_of_strangers(static_cast<std::size_t>(transport.ranks())));
}

/// Bound to it, or one of as many as the ranks of the node.
bool has_core_for(const Topology& topology, std::size_t rank) {
  const auto& cores = topology.cores;
  if (cores.empty()) return false;
  if (std::ranges::all_of(cores, &UsableCore::alone)) return true;
  const auto& nodes = topology.nodes.of_rank;
  return topology.nodes.known() &&
         std::size_t(std::ranges::count(nodes, nodes[rank])) <= cores.size();
}

}  // namespace

CommunicatorImpl::CommunicatorImpl(std::shared_ptr<Transport> transport, Aggregators aggregators)
    : transport_(std::move(transport)),
      board_(transport_->take_board()),
      place_{.topology = topology_by(*transport_)},
      aggregators_{.given = std::move(aggregators)},
      failures_(transport_, aggregators_.given.fabric),
      progress_{.handle = std::make_shared<ProgressHandle>(*this)} {
  in_flight_.reserve(1);  // a call whose words are out has a place
  place_.has_own_core =
      has_core_for(*place_.topology, static_cast<std::size_t>(transport_->rank()));
  if (speaks_for_all(transport_->rank())) warn_of_unknown_variables();
}

CommunicatorImpl::~CommunicatorImpl() {
  progress_.handle->close();
  complete_calls();
  log_calls();
  races_.finish(transport_->rank());
}

/// Also those that were in no race; RouteRaces::finish() logs those of races.
void CommunicatorImpl::log_calls() const noexcept try {
  if (counters_.next_call == 0 || !logs_info()) return;
  log_each_for_all(
      transport_->rank(),
      counted(counters_.next_call, "call") +
          ", some of which may only have made plans: " + std::to_string(counters_.native_calls) +
          " by native, " + std::to_string(counters_.bypassed_calls) + " raw in place of a codec");
} catch (...) {  // no memory to say so
}

namespace {

/// Nobody may ever hear of an error that only waits to be told.
bool can_be_forgotten(const std::shared_ptr<CallImpl>& call, long owners) {
  return call->only_tells() && call.use_count() == owners;
}

}  // namespace

std::size_t CommunicatorImpl::calls_in_flight() {
  const auto guard = lock();
  return std::size_t(std::ranges::count_if(
      in_flight_, [](const auto& call) { return !can_be_forgotten(call, 1); }));
}

void CommunicatorImpl::complete_calls() {
  const auto guard = lock();
  while (!in_flight_.empty()) {
    const auto call = in_flight_.front();
    if (can_be_forgotten(call, 2))  // ours and in_flight_
      in_flight_.erase(in_flight_.begin());
    else
      complete(*call, this);
  }
}

PlanEnvironment CommunicatorImpl::environment() {
  return {.transport = transport_.get(),
          .nodes = place_.topology->nodes.of_rank,
          .switches = place_.topology->switches.of_rank,
          .cores = place_.topology->cores,
          .native_reductions = aggregators_.given.fabric.get(),
          .native_sums = aggregators_.given.native.get(),
          .offloading = [this](const std::string& address) { return offloading(address); },
          .kernels = &kernels::kernel_table(),
          .races = &races_,
          .has_board = board_ != nullptr,
          .tuning = tuning,
          .defaults = &defaults_};
}

Offloading* CommunicatorImpl::offloading(const std::string& address) {
  const auto known = aggregators_.in_network.find(address);
  if (known != aggregators_.in_network.end()) return &known->second;
  if (address.empty() && !aggregators_.given.attached) return nullptr;
  if (!address.empty() && !aggregators_.given.connect)
    throw Error(ErrorKind::unsupported, "aggregator " + address +
                                            " is asked for, and this communicator has no way to "
                                            "connect to aggregators");
  auto aggregator =
      address.empty() ? aggregators_.given.attached : aggregators_.given.connect(address);
  return &aggregators_.in_network.try_emplace(address, std::move(aggregator)).first->second;
}

OffloadCounters CommunicatorImpl::offload_counters() const {
  OffloadCounters sum;
  for (const auto& [address, offloading] : aggregators_.in_network) {
    sum.offloaded += offloading.counters().offloaded;
    sum.repeated += offloading.counters().repeated;
    sum.declined += offloading.counters().declined;
    sum.bytes += offloading.counters().bytes;
  }
  return sum;
}

void CommunicatorImpl::count_call(const PlanCore& plan, bool third) {
  const PlanDescription& description = plan.description();
  if (third) ++counters_.third_calls;
  const bool bypasses = third ? description.third_codec != plan.asked_codec() : description.bypass;
  if (bypasses) ++counters_.bypassed_calls;
}

bool CommunicatorImpl::has_turn(std::uint64_t number) const {
  for (const auto& earlier : in_flight_) {
    if (earlier->number() >= number) return true;
    if (earlier->agreeing()) return false;
  }
  return true;
}

bool CommunicatorImpl::nothing_else_moves() const {
  return in_flight_.empty() && others_are_idle(*this);
}

std::shared_ptr<CallImpl> CommunicatorImpl::start(CallRequest request) {
  const DefaultFloatMode mode;
  const auto guard = lock();
  transport_->check_thread();  // before the call has a number, which other ranks would wait for
  CallAtOnce at_once(*this, request, counters_.next_call);
  if (at_once.agree()) {
    ++counters_.next_call;
    at_once.complete();
    return nullptr;
  }
  at_once.hand_over(request);
  // Channels are numbered modulo a limit: the call that had this number before must be over.
  while (!in_flight_.empty() &&
         in_flight_.front()->number() + transport_->channels() <= counters_.next_call)
    complete(*std::shared_ptr(in_flight_.front()), this);
  if (profile_ != nullptr && in_flight_.empty()) profile_->start();
  if (request.core && request.core->has_own_thread()) advance_in_own_thread(request);
  std::shared_ptr<CallImpl> call = make_call(std::move(request));
  // One that could not even begin is over, and nobody would take it out again.
  if (!call->done()) in_flight_.push_back(call);  // there is room
  return call;
}

/// Before there is a call: while the lock is held, the thread finds that it cannot know whether
/// there are any.
void CommunicatorImpl::advance_in_own_thread(CallRequest& request) {
  try {
    if (!progress_.thread) progress_.thread = ProgressThread::shared();
    progress_.thread->advance(progress_.handle);
  } catch (const std::exception& error) {
    if (request.error) return;
    request.error = Error(ErrorKind::unsupported,
                          std::string("progress=thread: the system starts no thread (") +
                              error.what() + "); take progress=call");
  }
}

/// Whatever memory is missing, the others wait for a call with this number.
std::shared_ptr<CallImpl> CommunicatorImpl::make_call(CallRequest request) {
  const std::uint64_t number = counters_.next_call++;
  try {
    // Before there is a call, which would go on in the user's buffers behind an error.
    in_flight_.reserve(in_flight_.size() + 1);
    advance_in_this_thread(progress_.handle);
    return std::allocate_shared<CallImpl>(RecyclingAllocator<CallImpl>(), *this, number,
                                          std::move(request));
  } catch (const std::bad_alloc&) {
    CallRequest only_tells;
    only_tells.error = Error(ErrorKind::memory, "out of memory for a call");
    only_tells.timeout = request.timeout;
    if (request.begun) {  // then the others wait for nothing else, and messages read the plan's sum
      only_tells.begun = std::move(request.begun);
      only_tells.core = std::move(request.core);
    }
    in_flight_.reserve(in_flight_.size() + 1);
    return std::make_shared<CallImpl>(*this, number, std::move(only_tells));
  }
}

void CommunicatorImpl::complete_calls_with(const StateBuffer& state) {
  const auto guard = lock();
  for (const auto& call : std::vector(in_flight_))
    if (call->uses(state)) complete(*call, this);
}

bool CommunicatorImpl::progress() {
  const DefaultFloatMode mode;
  const auto guard = lock();
  bool moved = false;
  bool earlier_moved = false;  // but for those that ended with an error
  for (const auto& call : in_flight_) {
    const bool this_moved = call->advance(earlier_moved);
    moved |= this_moved;
    earlier_moved |= this_moved && !(call->done() && call->error());
  }
  std::erase_if(in_flight_, [](const auto& call) { return call->done(); });
  return moved;
}

bool CommunicatorImpl::progress_if_free() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  return guard.owns_lock() && progress();
}

void CommunicatorImpl::waited() {
  if (profile_ == nullptr) return;
  const auto guard = lock();
  end_phase(profile_, Phase::wait);
}

bool CommunicatorImpl::idle() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  return guard.owns_lock() && in_flight_.empty();
}

}  // namespace cohom
