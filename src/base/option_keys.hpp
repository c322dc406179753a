#pragma once
// The keys that set_option() knows.

#include <string_view>
#include <vector>

namespace cohom {

std::vector<std::string_view> option_keys();

}  // namespace cohom
