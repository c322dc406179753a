#include "mpi_ext/drop_in/drop_in_counts.hpp"

#include "base/text.hpp"

#include <string_view>

namespace cohom::mpi {

namespace {

constexpr std::string_view texts[reasons_not_ours] = {
    "left to MPI: codec=native",
    "left to MPI: MPI_Reduce_scatter_block, and the rule has no reduce_scatter_block=yes",
    "left to MPI: no rule fits",
    "left to MPI: another operation than MPI_SUM",
    "left to MPI: another type than real numbers of 4 or 8 bytes",
    "left to MPI: a communicator between two groups",
    "left to MPI: a communicator of one rank",
    "left to MPI: a wrong count, buffer or communicator",
    "ended with an error"};

constexpr std::string_view form_names[other_forms] = {"MPI_Iallreduce", "MPI_Allreduce_init"};

}  // namespace

std::string OtherForms::summary() {
  std::string text;
  for (std::size_t i = 0; i < other_forms; ++i)
    if (const std::uint64_t count = counts_[i]; count != 0)
      text += "\n" + counted(count, "call") + " of " + std::string(form_names[i]) +
              ", which is MPI's always";
  return text;
}

DropInCounts::DropInCounts(std::span<const DropInRule> rules)
    : rules_(rules), tallies_(std::make_unique<Tally[]>(rules.size() + 1)) {}

void DropInCounts::count(const DropInRule& rule, std::size_t bytes,
                         const Uncompressed& uncompressed) {
  const bool is_of_rules =
      !rules_.empty() && &rule >= rules_.data() && &rule < rules_.data() + rules_.size();
  Tally& tally =
      tallies_[is_of_rules ? static_cast<std::size_t>(&rule - rules_.data()) : rules_.size()];
  ++tally.calls;
  tally.bytes += bytes;
  tally.native += uncompressed.native;
  tally.bypassed += uncompressed.bypassed;
}

std::uint64_t DropInCounts::calls() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i <= rules_.size(); ++i) sum += tallies_[i].calls;
  for (const auto& count : not_ours_) sum += count;
  return sum;
}

std::string DropInCounts::line(const Tally& tally, const std::string& text) {
  if (tally.calls == 0) return {};
  std::string line =
      "\n  " + std::to_string(tally.calls) + " by " + text + ", " + bytes_text(tally.bytes);
  std::string uncompressed;
  if (tally.native != 0) uncompressed = std::to_string(tally.native) + " by MPI's own reduction";
  if (tally.bypassed != 0)
    uncompressed += (uncompressed.empty() ? "" : " and ") + std::to_string(tally.bypassed) +
                    " uncompressed, as compressing does not pay";
  return uncompressed.empty() ? line : line + ", of which " + uncompressed;
}

std::string DropInCounts::summary() const {
  std::string text = counted(calls(), "call") + " of MPI_Allreduce";
  text += scattered_ ? " and MPI_Reduce_scatter_block:" : ":";
  for (std::size_t i = 0; i < rules_.size(); ++i)
    text += line(tallies_[i], '"' + rules_[i].text + '"');
  text += line(tallies_[rules_.size()], "Info keys of communicators");
  for (std::size_t i = 0; i < reasons_not_ours; ++i)
    if (const std::uint64_t count = not_ours_[i]; count != 0)
      text += "\n  " + std::to_string(count) + " " + std::string(texts[i]);
  return text + OtherForms::summary();
}

}  // namespace cohom::mpi
