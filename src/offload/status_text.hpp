#pragma once
// What `cohom-aggregator status` prints.

#include <string>

namespace cohom::offload {

/// The status in lines for people, or as indented JSON; of printable characters, whatever the answer was.
/// @throws Error(transport) for an answer that is no status.
std::string status_text(const std::string& answer, bool as_json);

}  // namespace cohom::offload
