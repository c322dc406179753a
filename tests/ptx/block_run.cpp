#include "block_run.hpp"

#include "complaint.hpp"
#include "fault.hpp"
#include "settings.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace cohom::ptx {
namespace {

using State = Thread::State;

std::uint32_t value_of(Special special, const Block& block, unsigned thread) {
  const std::uint32_t lane = thread % warp_size, bit = 1u << lane;
  switch (special) {
    case Special::thread: return thread;
    case Special::threads: return block.threads;
    case Special::block: return block.number;
    case Special::blocks: return block.blocks;
    case Special::lane: return lane;
    case Special::warp: return thread / warp_size;
    case Special::zero: return 0;
    case Special::one: return 1;
    case Special::lanes_below: return bit - 1;
    case Special::lanes_up_to: return bit | (bit - 1);
    case Special::own_lane: return bit;
    case Special::lanes_from: return ~(bit - 1);
    case Special::lanes_above: return ~(bit | (bit - 1));
  }
  return 0;
}

}  // namespace

BlockRun::BlockRun(Block& block, std::mt19937_64& random)
    : block_(block),
      kernel_(*block.kernel),
      random_(random),
      slots_(kernel_.first_slots.size() * block.threads),
      local_(kernel_.local_bytes * block.threads),
      threads_(block.threads),
      order_(block.threads) {
  std::iota(order_.begin(), order_.end(), 0u);
}

/// Nothing is left of the block before.
void BlockRun::begin() {
  block_.phase = 1;
  block_.warp_phases.assign((block_.threads + warp_size - 1) / warp_size, 1);
  block_.shared.assign(kernel_.shared_bytes, static_cast<std::uint8_t>(random_()));
  block_.shared_written.assign(kernel_.shared_bytes, 0);
  block_.shared_marks.assign(Settings::instance().races ? kernel_.shared_bytes : 0, {});
  std::ranges::fill(local_, 0xcd);
  for (unsigned i = 0; i < block_.threads; ++i) begin_thread(i);
}

void BlockRun::begin_thread(unsigned number) {
  const std::size_t slots = kernel_.first_slots.size();
  Thread& thread = threads_[number];
  thread = {.slots = slots_.data() + slots * number,
            .block = &block_,
            .local = local_.data() + kernel_.local_bytes * number,
            .number = static_cast<std::uint16_t>(number)};
  std::ranges::copy(kernel_.first_slots, thread.slots);
  for (const auto& [slot, special] : kernel_.specials)
    thread.slots[slot] = value_of(special, block_, number);
}

void BlockRun::run(std::uint32_t number) {
  block_.number = number;
  begin();
  while (true) {
    run_ready_threads();
    const unsigned left = block_.threads - count(State::done);
    if (left == 0) return;
    if (count(State::waits_for_block) == left)
      release_block();
    else if (!release_warps())
      throw Fault("threads wait for each other: " + std::to_string(count(State::waits_for_block)) +
                  " of " + std::to_string(left) + " at a barrier of the block");
  }
}

void BlockRun::run_ready_threads() {
  std::ranges::shuffle(order_, random_);
  for (const unsigned i : order_) {
    Thread& thread = threads_[i];
    if (thread.state != State::runs) continue;
    try {
      run_thread(thread);
    } catch (const MisalignedFault& fault) {
      throw MisalignedFault(std::string(fault.what()) + ": " +
                            place_of(thread, kernel_.code[thread.next - 1]));
    } catch (const Fault& fault) {
      throw Fault(std::string(fault.what()) + ": " +
                  place_of(thread, kernel_.code[thread.next - 1]));
    }
  }
}

void BlockRun::run_thread(Thread& thread) {
  const std::uint64_t limit = Settings::instance().step_limit;
  const Instruction* const code = kernel_.code.data();
  std::uint64_t* const times = kernel_.times.data();
  std::uint64_t steps = 0;
  while (thread.state == State::runs) {
    const std::uint32_t index = thread.next++;
    const Instruction& instruction = code[index];
    if (++steps > limit) throw Fault("does not end");
    if (instruction.guard != no_slot &&
        ((thread.slots[instruction.guard] & 1) != 0) == instruction.guard_inverted)
      continue;
    ++times[index];
    instruction.run(thread, instruction);
  }
  kernel_.steps += steps;
}

unsigned BlockRun::count(State state) const {
  return static_cast<unsigned>(std::ranges::count(threads_, state, &Thread::state));
}

void BlockRun::release_block() {
  const auto waits = [](const Thread& t) { return t.state == State::waits_for_block; };
  const Thread& first = *std::ranges::find_if(threads_, waits);
  for (Thread& thread : threads_) {
    if (!waits(thread)) {
      complain(thread, kernel_.code[first.next - 1], "has left before a barrier of the block");
      continue;
    }
    if (thread.next != first.next)
      complain(thread, kernel_.code[thread.next - 1],
               "waits at another barrier than a thread at PTX line " +
                   std::to_string(kernel_.origins[first.next - 1].line));
  }
  for (Thread& thread : threads_)
    if (waits(thread)) thread.state = State::runs;
  ++block_.phase;
  for (std::uint32_t& phase : block_.warp_phases) ++phase;
}

bool BlockRun::release_warps() {
  bool released = false;
  for (unsigned warp = 0; warp < block_.warp_phases.size(); ++warp) released |= release_warp(warp);
  return released;
}

/// When all lanes that are left wait.
bool BlockRun::release_warp(unsigned warp) {
  const auto first = threads_.begin() + std::ptrdiff_t(warp) * warp_size;
  const auto end = first + std::min<std::ptrdiff_t>(warp_size, threads_.end() - first);
  const auto number_of = [&](State state) {
    return std::count_if(first, end, [&](const Thread& t) { return t.state == state; });
  };
  const auto waiting = number_of(State::waits_for_warp), left = number_of(State::done);
  if (waiting == 0 || waiting + left != end - first) return false;
  for (auto thread = first; thread != end; ++thread) {
    if (thread->state != State::waits_for_warp)
      complain(*thread, kernel_.code[thread->next - 1], "has left before a barrier of its warp");
    else
      thread->state = State::runs;
  }
  ++block_.warp_phases[warp];
  return true;
}

}  // namespace cohom::ptx
