#pragma once
// Schedule: an algorithm written down as data. No element type, codec or pointer in here.
//
// A schedule speaks of *slots*. A slot is the value "the words of these chunks, holding the
// contributions of a known set of ranks", written once by one step (static single assignment).
// Its chunks are neighbours; most algorithms need one a slot.
// Several slots may share one *buffer* when a later one replaces an earlier one in place.
// The executor runs every step once for each message unit of the step's chunks; steps depend on
// each other only through the slots they read, so units flow through the steps in a pipeline.

#include <cohom/merge.hpp>

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohom {

enum class StepKind : std::uint8_t {
  encode,   ///< result := this rank's contribution to the chunks, in the slot's form
  receive,  ///< result := what `peer` sends in sequence `sequence_id`
  merge,    ///< result := the sources merged in the given order. They have the result's chunks, and
            ///< may have others, too.
  join,     ///< result := the sources, whose chunks together are the result's, in this order
  send,     ///< sends source 0 to `peer` in sequence `sequence_id`
  offload,  ///< result := source 0 reduced over all ranks by the aggregator, in the source's buffer
            ///< or one of its own. The only step that may overwrite a contribution.
  decode,   ///< writes the chunks of the user's output from source 0
};

/// Chunks that are neighbours. A chunk is a range of one.
struct ChunkRange {
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr ChunkRange(std::uint32_t first_chunk = 0, std::uint32_t chunks = 1)
      : first(first_chunk), count(chunks) {}

  std::uint32_t first;
  std::uint32_t count;

  [[nodiscard]] std::uint32_t end() const { return first + count; }
  [[nodiscard]] bool contains(const ChunkRange& other) const {
    return first <= other.first && other.end() <= end();
  }
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes the 0 of comparisons for a pointer
  friend auto operator<=>(const ChunkRange&, const ChunkRange&) = default;
};

struct Slot {
  ChunkRange chunks;
  std::uint32_t buffer = 0;  ///< slots of one buffer have the same chunks, form and room
  Form form = Form::wide;
  std::uint32_t contributions = 0;  ///< how many ranks' contributions it holds
  std::uint32_t room = 0;           ///< how many its words have room for, in the wide form
};

struct Step {
  StepKind kind = StepKind::encode;
  std::uint32_t result = no_slot;  ///< slot written (encode, receive, merge, join, offload)
  std::uint32_t first_source = 0;  ///< into Schedule::sources (merge, join, send, offload, decode)
  std::uint32_t source_count = 0;
  int peer = -1;  ///< send, receive
  std::uint32_t sequence_id =
      0;  ///< send, receive: equal at both ends, unique per ordered pair of ranks

  static constexpr std::uint32_t no_slot = 0xffffffffu;
};

/// What one rank does. Plain data, printable, checked symbolically in the tests.
struct Schedule {
  int rank = 0;
  int ranks = 1;
  std::uint32_t chunks = 1;
  std::uint32_t buffers = 0;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<std::uint32_t> sources;

  [[nodiscard]] std::span<const std::uint32_t> sources_of(const Step& step) const {
    return std::span(sources).subspan(step.first_source, step.source_count);
  }
  /// The slot whose chunks a step works on: that which it writes, or else the one it reads.
  [[nodiscard]] std::uint32_t slot_of(const Step& step) const {
    return step.result != Step::no_slot ? step.result : sources[step.first_source];
  }
  [[nodiscard]] const ChunkRange& chunks_of(const Step& step) const {
    return slots[slot_of(step)].chunks;
  }
};

/// One line a step, for logs and tests.
std::string to_string(const Schedule& schedule);

/// Appends steps to a schedule; keeps slots, buffers and sources consistent.
class ScheduleBuilder {
 public:
  /// `grows`: words have room for the contributions that they hold, and not for those of all ranks.
  ScheduleBuilder(int rank, int ranks, std::uint32_t chunks, bool grows = false);

  /// Each function returns the slot it writes.
  std::uint32_t encode(ChunkRange chunks, Form form);
  std::uint32_t receive(ChunkRange chunks, Form form, std::uint32_t contributions, int peer,
                        std::uint32_t sequence_id);
  /// `in_place` names a source whose buffer the result takes over, or no_slot for a buffer of its
  /// own. Contributions of this rank (encode slots) are never overwritten.
  std::uint32_t merge(std::span<const std::uint32_t> sources,
                      std::uint32_t in_place = Step::no_slot);
  /// Of these chunks, which all sources have, in a buffer of its own.
  std::uint32_t merge_part(std::span<const std::uint32_t> sources, ChunkRange chunks);
  /// The sources' chunks are neighbours in this order; all hold the same contributions.
  std::uint32_t join(std::span<const std::uint32_t> sources);
  /// `in_place`: in the buffer of the source, which is gone then.
  std::uint32_t offload(std::uint32_t source, std::uint32_t contributions, bool in_place);
  void send(std::uint32_t source, int peer, std::uint32_t sequence_id);
  void decode(std::uint32_t source);

  Schedule build() &&;

 private:
  std::uint32_t add_slot(Slot slot);
  std::uint32_t add_merge(std::span<const std::uint32_t> sources, ChunkRange chunks,
                          std::uint32_t buffer);
  void add_step(Step step, std::span<const std::uint32_t> sources);
  Schedule schedule_;
  bool grows_;
};

}  // namespace cohom
