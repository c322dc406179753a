#include "agreement/call_differences.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

namespace cohom {

namespace {

/// How a field's value reads in messages.
std::string shown(const SignatureField& field) {
  return field.text ? '"' + *field.text + '"' : std::to_string(field.value);
}

}  // namespace

void write_record(const CallSignature& signature, std::span<std::byte> record) {
  std::ranges::fill(record, std::byte{0});
  const auto fields = signature.fields();
  const std::uint64_t count = fields.size();
  std::memcpy(record.data(), &count, sizeof count);
  for (std::size_t f = 0; f < count; ++f)
    std::memcpy(record.data() + sizeof count * (1 + f), &fields[f].value, sizeof fields[f].value);
  std::span<std::byte> rest = record.subspan(sizeof count * (1 + count));
  for (std::size_t f = 0; f < count; ++f) {
    const std::string text = shown(fields[f]);
    const std::size_t fair = rest.size() / (count - f);  // bytes, the zero included
    const std::size_t length = std::min(text.size(), fair - 1);
    std::memcpy(rest.data(), text.data(), length);
    rest = rest.subspan(length + 1);
  }
}

CallDifferences::CallDifferences(const CallSignature& own) : own_(own) {
  const auto fields = own_.fields();
  for (std::size_t f = 0; f < fields.size(); ++f) add(f, 0, fields[f].value, shown(fields[f]));
}

void CallDifferences::add(int rank, std::span<const std::byte> record) {
  std::uint64_t count = 0;
  std::memcpy(&count, record.data(), sizeof count);
  if (count > CallSignature::field_limit || record.back() != std::byte{0})
    throw Error(ErrorKind::transport,
                "rank " + std::to_string(rank) + " tells of its call in a way nobody understands");
  const auto texts = record.subspan(sizeof count * (1 + count));
  const char* text = reinterpret_cast<const char*>(texts.data());
  const char* const end = text + texts.size();
  for (std::size_t f = 0; f < count; ++f) {
    std::uint64_t value = 0;
    std::memcpy(&value, record.data() + sizeof count * (1 + f), sizeof value);
    const std::string_view own(text < end ? text : "");
    add(f, rank, value, std::string(own));
    text += own.size() + 1;
  }
}

void CallDifferences::add(std::size_t field, int rank, std::uint64_t value, std::string text) {
  auto& groups = fields_[field].groups;
  auto group = std::ranges::find(groups, value, &Group::value);
  if (group == groups.end()) {
    if (groups.size() == max_groups) {
      ++fields_[field].others;
      return;
    }
    groups.push_back({.value = value, .text = std::move(text), .count = 0, .first = {}});
    group = groups.end() - 1;
  }
  ++group->count;
  if (group->first.size() < named_ranks) group->first.push_back(rank);
}

/// The value that most ranks have is the right one, as far as anybody can know; of two, the lower
/// rank's.
std::string CallDifferences::describe(std::size_t field) const {
  const auto& [groups, others] = fields_[field];
  const auto usual = std::ranges::max_element(groups, {}, &Group::count);
  std::vector<std::pair<int, const Group*>> differing;
  std::size_t count = others;
  for (const Group& group : groups) {
    if (&group == &*usual) continue;
    count += group.count;
    for (const int rank : group.first) differing.emplace_back(rank, &group);
  }
  std::ranges::sort(differing, {}, &std::pair<int, const Group*>::first);
  if (differing.size() > named_ranks) differing.resize(named_ranks);
  std::string text;
  for (const auto& [rank, group] : differing)
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank) + ": " + group->text;
  if (count > differing.size())
    text += " and " + std::to_string(count - differing.size()) + " more";
  return text + "; " +
         (usual->count == 1 ? "rank " + std::to_string(usual->first[0])
                            : "the other " + std::to_string(usual->count)) +
         ": " + usual->text;
}

Error CallDifferences::error() const {
  std::string differing;
  const auto fields = own_.fields();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields_[f].groups.size() < 2) continue;
    differing +=
        (differing.empty() ? "" : "; ") + std::string(fields[f].name) + " (" + describe(f) + ")";
    if (fields[f].name == "step") differing += ": restore or reset the state on all ranks";
    if (f == 0) break;  // calls of different kinds have different fields
  }
  if (differing.empty()) differing = "how many things their calls consist of";
  if (!own_.cause_of_difference().empty())
    differing += ": " + std::string(own_.cause_of_difference());
  return Error(own_.kind_of_difference(), "ranks disagree on " + differing);
}

void expect_same(std::string_view name, std::span<const std::string> by_rank) {
  if (std::ranges::adjacent_find(by_rank, std::not_equal_to{}) == by_rank.end()) return;
  const auto signature_of = [&](const std::string& value) {
    CallSignature signature;
    signature.text(name, value);
    return signature;
  };
  CallDifferences differences(signature_of(by_rank[0]));
  std::array<std::byte, 256> record;
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    write_record(signature_of(by_rank[rank]), record);
    differences.add(static_cast<int>(rank), record);
  }
  throw differences.error();
}

}  // namespace cohom
