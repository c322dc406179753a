// Mixed radix: a rank is a number of several digits, and ranks exchange digit by digit.
//
// With the radices r1, r2, ... the ranks are a grid of rows of r1 ranks. In a row, the rank of
// column c gets everybody's contributions to the chunks of column c, as in the direct algorithm;
// then the ranks of each column go on among themselves, with the next radix and the column's chunks
// alone. Sums come back the same way. A rank sends (r1 - 1) + (r2 - 1) + ... messages each way,
// where direct sends r1 * r2 * ... - 1.
//
// Rows need not be full. Whoever has no neighbour in column c sends its contributions to that
// column's chunks to a rank of the column in another row, and gets the sums from there. Each rank
// owns one chunk, so a column of fewer rows has fewer chunks.
//
// Two ranks meet once in a row, or once because of a row that is not full, and never again.
//
// Near digits come first. Where several ranks share a node, the nodes are the first level's rows,
// whatever their lengths: what they exchange stays in memory, and each sum leaves a node once.
// Where it is known which nodes share a switch, these are neighbours in the next rows. Of few nodes
// those of a switch are a row, and each sum leaves a switch once.

#include "schedule/algorithms/algorithms.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace cohom {
namespace {

constexpr std::uint32_t contribution_sequence = 0;
constexpr std::uint32_t sum_sequence = 1;

struct Member {
  int rank = 0;
  std::uint32_t contributions = 1;  ///< in its partial sums
};

/// What makes the rows of a level.
struct Digit {
  /// By rank: a row has ranks of one group. Empty: all ranks are one.
  std::span<const std::uint32_t> groups = {};
  std::size_t radix = unlimited;  ///< most ranks of a row

  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
};

/// The ranks of one level, in rows.
class Grid {
 public:
  using Row = std::vector<Member>;

  /// Groups are in the order of their first members.
  Grid(std::span<const Member> members, const Digit& digit) {
    std::vector<Row> groups;
    std::vector<std::size_t> places;  // in groups, plus one; by number
    for (const Member& member : members) {
      const std::size_t number =
          digit.groups.empty() ? 0 : digit.groups[static_cast<std::size_t>(member.rank)];
      places.resize(std::max(places.size(), number + 1));
      if (places[number] == 0) {
        groups.emplace_back();
        places[number] = groups.size();
      }
      groups[places[number] - 1].push_back(member);
    }
    for (const Row& group : groups) add_rows(group, digit.radix);
    find_columns();
  }

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }
  [[nodiscard]] const Row& row(std::size_t number) const { return rows_[number]; }
  /// Numbers of the rows that have this column.
  [[nodiscard]] const std::vector<std::size_t>& rows_with(std::size_t column) const {
    return columns_[column];
  }
  /// The row whose rank of `column` stands in for the one that the sender's row lacks.
  [[nodiscard]] std::size_t stand_in(std::size_t sender_row, std::size_t sender_column,
                                     std::size_t column) const {
    return columns_[column][(sender_row + sender_column) % columns_[column].size()];
  }
  /// Calls visit(row, member) for those who lack `column` and send to the rank there in `stand_in`.
  template <class Visit>
  void for_each_guest(std::size_t stand_in, std::size_t column, Visit visit) const {
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t c = 0; rows_[r].size() <= column && c < rows_[r].size(); ++c)
        if (this->stand_in(r, c, column) == stand_in) visit(rows_[r][c]);
  }
  /// The ranks of a column, with what they hold once their rows have exchanged.
  [[nodiscard]] std::vector<Member> column(std::size_t number) const;

 private:
  void add_rows(std::span<const Member> group, std::size_t radix) {
    while (!group.empty()) {
      const auto row = group.first(std::min(radix, group.size()));
      rows_.emplace_back(row.begin(), row.end());
      group = group.subspan(row.size());
    }
  }
  void find_columns() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      columns_.resize(std::max(columns_.size(), rows_[r].size()));
      for (std::size_t column = 0; column < rows_[r].size(); ++column)
        columns_[column].push_back(r);
    }
  }

  std::vector<Row> rows_;
  std::vector<std::vector<std::size_t>> columns_;  ///< numbers of rows
};

std::vector<Member> Grid::column(std::size_t number) const {
  std::vector<Member> members;
  for (const std::size_t r : columns_[number]) {
    Member member{rows_[r][number].rank, 0};
    for (const Member& other : rows_[r]) member.contributions += other.contributions;
    members.push_back(member);
  }
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r].size() > number) continue;
    for (std::size_t c = 0; c < rows_[r].size(); ++c)
      members[(r + c) % members.size()].contributions += rows_[r][c].contributions;
  }
  return members;
}

/// One rank's place on one level, and whom it talks to there.
struct Place {
  Place(const Grid& grid, int rank, ChunkRange chunks);

  struct Peer {
    int rank = 0;
    std::uint32_t contributions = 0;
    std::size_t column = 0;  ///< whose chunks travel to it
  };
  std::size_t row = 0, column = 0;
  std::vector<ChunkRange> chunks;  ///< by column
  std::vector<Peer> owners;        ///< of the other columns' chunks, in the order of sends
  std::vector<Peer> contributors;  ///< others whose contributions come here, likewise of receives
};

Place::Place(const Grid& grid, int rank, ChunkRange all) {
  std::uint32_t first = all.first;
  for (std::size_t c = 0; c < grid.columns(); ++c) {
    chunks.emplace_back(first, static_cast<std::uint32_t>(grid.rows_with(c).size()));
    first = chunks.back().end();
  }
  for (std::size_t r = 0; r < grid.rows(); ++r)
    for (std::size_t c = 0; c < grid.row(r).size(); ++c)
      if (grid.row(r)[c].rank == rank) std::tie(row, column) = std::pair(r, c);
  // In round k every rank sends to the one k columns further, so nobody is sent to by all at once.
  const Grid::Row& mine = grid.row(row);
  for (std::size_t k = 1; k < mine.size(); ++k) {
    const std::size_t to = (column + k) % mine.size(),
                      from = (column + mine.size() - k) % mine.size();
    owners.push_back({mine[to].rank, 0, to});
    contributors.push_back({mine[from].rank, mine[from].contributions, column});
  }
  for (std::size_t c = mine.size(); c < grid.columns(); ++c)
    owners.push_back({grid.row(grid.stand_in(row, column, c))[c].rank, 0, c});
  grid.for_each_guest(row, column, [&](const Member& guest) {
    contributors.push_back({guest.rank, guest.contributions, column});
  });
}

/// How ranks become numbers of several digits. A last digit, which is not here, takes what these
/// leave.
using Digits = std::vector<Digit>;

class MixedRadix {
 public:
  /// Partial sums travel unless all ranks are one row.
  MixedRadix(const AlgorithmInput& input, const Digits& digits,
             std::span<const std::uint32_t> switches = {})
      : input_(input),
        rank_(input.rank),
        ranks_(static_cast<std::uint32_t>(input.ranks)),
        form_(input.narrow && (input.promotes_some || digits.empty()) ? Form::narrow : Form::wide),
        digits_(digits),
        switches_(switches),
        schedule_(input.rank, input.ranks, ranks_, input.grows && form_ == Form::narrow) {}

  Schedule build() && {
    std::vector<Member> all;
    for (int rank = 0; rank < static_cast<int>(ranks_); ++rank) all.push_back({rank});
    if (!switches_.empty())
      std::ranges::stable_sort(all, {}, [this](const Member& member) {
        return switches_[static_cast<std::size_t>(member.rank)];
      });
    const std::uint32_t own = sum(all, {0, ranks_}, 0, {}, false);
    if (!everywhere()) end_at_owners_or_root(schedule_, input_, own, sum_sequence);
    return std::move(schedule_).build();
  }

 private:
  using Slots = std::vector<std::uint32_t>;

  /// Whether every rank gets the sums of all chunks; else a rank keeps that of its own.
  [[nodiscard]] bool everywhere() const { return input_.collective == ReductionKind::allreduce; }
  /// Sums `chunks` over `members`, who hold partial sums of them in the slots `held` (none: they
  /// have encoded nothing yet), and decodes them. Returns the slot of the sum if it is `wanted`; if
  /// sums do not go everywhere, that of this rank's chunk, which nobody has decoded.
  std::uint32_t sum(std::span<const Member> members, ChunkRange chunks, std::size_t level,
                    const Slots& held, bool wanted);
  [[nodiscard]] Grid grid_of(std::span<const Member> members, std::size_t level) const;
  Slots exchange_contributions(const Place& place, const Slots& held);
  std::uint32_t exchange_sums(const Place& place, std::uint32_t own, bool wanted);
  std::uint32_t sum_alone(ChunkRange chunk, const Slots& held);
  std::uint32_t partial(ChunkRange chunks, const Slots& held) {
    return held.empty() ? schedule_.encode(chunks, form_) : schedule_.merge_part(held, chunks);
  }

  const AlgorithmInput& input_;
  int rank_;
  std::uint32_t ranks_;
  Form form_;
  const Digits& digits_;
  std::span<const std::uint32_t> switches_;  ///< by rank; empty: ranks are in their own order
  ScheduleBuilder schedule_;
};

std::uint32_t MixedRadix::sum(std::span<const Member> members, ChunkRange chunks, std::size_t level,
                              const Slots& held, bool wanted) {
  if (members.size() == 1) return sum_alone(chunks, held);
  const Grid grid = grid_of(members, level);
  if (grid.columns() == 1) return sum(members, chunks, level + 1, held, wanted);
  const Place place(grid, rank_, chunks);
  const Slots sources = exchange_contributions(place, held);
  const bool asked_for = wanted || !place.contributors.empty();
  const auto own =
      sum(grid.column(place.column), place.chunks[place.column], level + 1, sources, asked_for);
  return everywhere() ? exchange_sums(place, own, wanted) : own;
}

Grid MixedRadix::grid_of(std::span<const Member> members, std::size_t level) const {
  return {members, level < digits_.size() ? digits_[level] : Digit{}};
}

/// Returns the partial sums of this rank's column that there are now, in rank order.
MixedRadix::Slots MixedRadix::exchange_contributions(const Place& place, const Slots& held) {
  const Form form = held.empty() ? form_ : Form::wide;
  const ChunkRange& mine = place.chunks[place.column];
  std::vector<std::pair<int, std::uint32_t>> sources;
  for (std::size_t i = 0; i < std::max(place.owners.size(), place.contributors.size()); ++i) {
    if (i < place.owners.size()) {
      const Place::Peer& owner = place.owners[i];
      schedule_.send(partial(place.chunks[owner.column], held), owner.rank, contribution_sequence);
    }
    if (i < place.contributors.size()) {
      const Place::Peer& from = place.contributors[i];
      sources.emplace_back(from.rank, schedule_.receive(mine, form, from.contributions, from.rank,
                                                        contribution_sequence));
    }
  }
  // Nobody else waits for this one, so it comes last.
  sources.emplace_back(rank_, partial(mine, held));
  std::ranges::sort(sources);
  Slots slots;
  for (const auto& [rank, slot] : sources) slots.push_back(slot);
  return slots;
}

std::uint32_t MixedRadix::exchange_sums(const Place& place, std::uint32_t own, bool wanted) {
  Slots by_column(place.chunks.size());
  by_column[place.column] = own;
  for (std::size_t i = 0; i < std::max(place.owners.size(), place.contributors.size()); ++i) {
    if (i < place.contributors.size())
      schedule_.send(own, place.contributors[i].rank, sum_sequence);
    if (i < place.owners.size()) {
      const Place::Peer& owner = place.owners[i];
      by_column[owner.column] = schedule_.receive(place.chunks[owner.column], Form::wide, ranks_,
                                                  owner.rank, sum_sequence);
    }
  }
  for (const Place::Peer& owner : place.owners) schedule_.decode(by_column[owner.column]);
  return wanted ? schedule_.join(by_column) : own;
}

/// All contributions to a chunk of this rank's own are here.
std::uint32_t MixedRadix::sum_alone(ChunkRange chunk, const Slots& held) {
  const bool is_sum = held.size() == 1 && form_ == Form::wide;
  std::uint32_t sum = held.empty() ? schedule_.encode(chunk, form_) : held.front();
  if (held.empty() ? form_ == Form::narrow : !is_sum)
    sum = schedule_.merge(held.empty() ? Slots{sum} : held);
  if (everywhere()) schedule_.decode(sum);
  return sum;
}

/// The first of two digits: about the square root, and better a divisor near it, as ragged rows
/// give some ranks more to send than others.
std::uint32_t radix_of_two(std::uint32_t number) {
  std::uint32_t root = 1, divisor = 1;
  for (; (root + 1) * (root + 1) <= number; ++root)
    if (number % (root + 1) == 0) divisor = root + 1;
  return number / divisor <= 4 * divisor ? divisor : root;
}

Digits digits_of_halving(const AlgorithmInput& input) {
  Digits digits;
  for (int left = input.ranks; left > 2; left = (left + 1) / 2) digits.push_back({.radix = 2});
  return digits;
}

Digits digits_of_grid(const AlgorithmInput& input) {
  return {{.radix = radix_of_two(static_cast<std::uint32_t>(input.ranks))}};
}

std::uint32_t count_groups(std::span<const std::uint32_t> groups, std::uint32_t unknown) {
  return groups.empty() ? unknown : std::ranges::max(groups) + 1;
}

/// Nodes, or ranks where all are on one node. Above, messages to each of the others cost more than
/// another level does.
constexpr std::uint32_t most_direct = 16;

Digits digits_by_distance(const AlgorithmInput& input) {
  const auto ranks = static_cast<std::uint32_t>(input.ranks);
  const std::uint32_t nodes = count_groups(input.nodes, ranks);
  Digits digits;
  if (nodes > 1 && nodes < ranks) digits.push_back({.groups = input.nodes});
  const std::uint32_t left = nodes == 1 ? ranks : nodes;
  const std::uint32_t switches = count_groups(input.switches, 1);
  if (left > most_direct)
    digits.push_back({.radix = radix_of_two(left)});
  else if (switches > 1 && switches < left)
    digits.push_back({.groups = input.switches});
  return digits;
}

Schedule build(const AlgorithmInput& input, const Digits& digits) {
  return MixedRadix(input, digits).build();
}

}  // namespace

Schedule build_direct(const AlgorithmInput& input) {
  if (input.collective == ReductionKind::allgather) return exchange_parts(input);
  const bool everywhere = input.collective == ReductionKind::allreduce;
  return input.disjoint && everywhere ? gather_disjoint(input) : build(input, {});
}

Schedule build_mixed_radix(const AlgorithmInput& input) {
  return MixedRadix(input, digits_by_distance(input), input.switches).build();
}

Schedule build_recursive_halving(const AlgorithmInput& input) {
  return build(input, digits_of_halving(input));
}

Schedule build_grid(const AlgorithmInput& input) { return build(input, digits_of_grid(input)); }

}  // namespace cohom
