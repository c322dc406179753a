#pragma once
// What `cohom-aggregator status` prints.

#include <span>
#include <string>

namespace cohom::offload {

/// The status in lines for people, or as indented JSON; of printable characters, whatever the
/// answers were. Of several answers of one aggregator it is the first one, with the groups of all.
/// @throws Error(transport) for an answer that is no status.
std::string status_text(std::span<const std::string> answers, bool as_json);

}  // namespace cohom::offload
