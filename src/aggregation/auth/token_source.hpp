#pragma once
// Where the secrets of aggregators come from: a file that nobody else can read, or the environment.

#include <string>
#include <string_view>

namespace cohom::offload {

/// Variables of the environment: the secret itself, or the path of the file that has it.
struct TokenVariables {
  const char* token;
  const char* file;
};
inline constexpr TokenVariables site_token_variables{"COHOM_AGGREGATOR_TOKEN",
                                                     "COHOM_AGGREGATOR_TOKEN_FILE"};
inline constexpr TokenVariables operator_token_variables{"COHOM_AGGREGATOR_OPERATOR_TOKEN",
                                                         "COHOM_AGGREGATOR_OPERATOR_TOKEN_FILE"};

/// The content of a file without the end of its line. `what` names the option in errors.
/// @throws Error(invalid_argument) for what is no regular file, belongs to another user than this
/// one and root, can be read or written by anybody else, is shorter than 8 bytes or longer than
/// 1024, or has more than one line.
std::string read_token_file(const std::string& path, std::string_view what);

/// Of the file `given` if not empty, else of what the environment names. Empty: there is none.
/// @throws Error(invalid_argument) as read_token_file(), which holds for a token in the
/// environment, too, and where both variables are set.
std::string find_token(const std::string& given, std::string_view what,
                       const TokenVariables& variables);

}  // namespace cohom::offload
