// Names of environment variables and Info keys that are none of ours but look so.

#include "base/known_names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

std::vector<std::string> said_of(std::vector<const char*> environment) {
  return unknown_variables(environment);
}

TEST(KnownNames, NothingIsSaidOfWhatIsRead) {
  EXPECT_TRUE(said_of({}).empty());
  EXPECT_TRUE(said_of({"COHOM_CODEC=raw", "COHOM_UCX_TLS=tcp", "COHOM=1", "PATH=/COHOM_X",
                       "XCOHOM_Y=1", "COHOM_LOG=", "COHOM_JOB"})
                  .empty());
}

TEST(KnownNames, AMisspeltVariableIsSaidWithTheNearestName) {
  EXPECT_EQ(
      said_of({"COHOM_CODEK=raw", "HOME=/"}),
      std::vector<std::string>{"nothing reads the environment variable COHOM_CODEK; did you mean "
                               "COHOM_CODEC"});
  EXPECT_EQ(
      said_of({"cohom_algorithm=ring"}),
      std::vector<std::string>{"nothing reads the environment variable cohom_algorithm; did you "
                               "mean COHOM_ALGORITHM"});
  EXPECT_EQ(
      said_of({"COHOM_AGREGATOR=h:1", "COHOM_XYZZYXYZZY=1"}),
      (std::vector<std::string>{"nothing reads the environment variable COHOM_AGREGATOR; did you "
                                "mean COHOM_AGGREGATOR",
                                "nothing reads the environment variable COHOM_XYZZYXYZZY"}));
}

TEST(KnownNames, AKeyInOtherLettersOrWithoutUnderscoreIsSaid) {
  EXPECT_EQ(ignored_key("Cohom_Codec"),
            "the Info key Cohom_Codec is ignored, as keys of cohom begin with cohom_; did you mean "
            "cohom_codec");
  EXPECT_NE(ignored_key("COHOM_ALGORITM").find("did you mean cohom_algorithm"), std::string::npos);
  EXPECT_EQ(ignored_key("cohom_codec"), "");
  EXPECT_EQ(ignored_key("cohomology"), "");
  EXPECT_EQ(ignored_key("cohom"), "");
  for (const char* key : {"cohomcodec", "cohom-codec", "Cohom.Codec", "COHOM CODEC", "cohom-codek"})
    EXPECT_EQ(ignored_key(key), "the Info key " + std::string(key) +
                                    " is ignored, as keys of cohom begin with cohom_; did you mean "
                                    "cohom_codec");
  EXPECT_EQ(ignored_key("striping_unit"), "");
}

/// Names that begin with COHOM_ and are a whole string literal, or one's part before '='.
std::set<std::string> names_in(const std::string& text) {
  constexpr const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const std::string begin = "\"COHOM_";
  std::set<std::string> names;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const std::size_t end = text.find_first_not_of(letters, at + 1);
    if (end == std::string::npos || end == at + begin.size()) continue;
    const bool is_whole = (text[end] == '"' || text[end] == '=') && text[end - 1] != '_';
    if (is_whole) names.insert(text.substr(at + 1, end - at - 1));
  }
  return names;
}

/// Whoever reads a new variable is told here to add it to the table.
TEST(KnownNames, TheTableHasAllThatSourcesRead) {
  std::set<std::string> read;
  for (const char* const folder :
       {"src", "mpi_ext", "ucx_transport", "kernels", "benchmarks", "python"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(COHOM_SOURCES) / folder)) {
      const auto suffix = entry.path().extension();
      if (suffix != ".cpp" && suffix != ".hpp" && suffix != ".py") continue;
      if (entry.path().stem() == "known_names") continue;
      std::ifstream stream(entry.path());
      const std::string text(std::istreambuf_iterator<char>(stream), {});
      read.merge(names_in(text));
    }
  EXPECT_TRUE(read.contains("COHOM_CODEC"));
  for (const std::string& variable : read)
    EXPECT_TRUE(said_of({variable.c_str()}).empty())
        << variable << " is not in src/base/known_names.cpp";
}

}  // namespace
}  // namespace cohom::test
