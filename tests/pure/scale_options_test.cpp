// The command line of cohom-scale.

#include "scale/scale_options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace cohom::bench {
namespace {

ScaleOptions options_of(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "cohom-scale");
  return std::get<ScaleOptions>(
      parse_scale_options(static_cast<int>(arguments.size()), arguments.data()));
}

std::string refusal(const std::vector<const char*>& arguments) {
  try {
    (void)options_of(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ScaleOptions, RangesOfRanksDouble) {
  EXPECT_EQ(parse_ranks("5,8:64"), (std::vector{5, 8, 16, 32, 64}));
  EXPECT_EQ(parse_ranks("6:13"), (std::vector{6, 12}));
  for (const char* const wrong : {"1", "8:4", "8:", "x", "8x", "70000", "-8"})
    EXPECT_THROW((void)parse_ranks(wrong), UsageError) << wrong;
}

TEST(ScaleOptions, TakesLists) {
  const ScaleOptions options =
      options_of({"--mode", "executor", "--network", "fat8,eth10", "--codec", "raw", "--codec",
                  "thc:bits=4,dither=nearest", "--algorithm", "auto,ring", "--size", "64K"});
  EXPECT_EQ(options.mode, ScaleMode::executor);
  ASSERT_EQ(options.networks.size(), 2U);
  EXPECT_EQ(options.networks[0]->ranks_a_node, 8);
  EXPECT_EQ(options.codecs, (std::vector<std::string>{"raw", "thc:bits=4,dither=nearest"}));
  EXPECT_EQ(options.algorithms, (std::vector<std::string>{"auto", "ring"}));
  EXPECT_EQ(options.sizes, std::vector<std::size_t>{65536});
}

TEST(ScaleOptions, RefusalsSayWhatWouldBeRight) {
  EXPECT_NE(refusal({"--network", "fat9"}).find("fat9"), std::string::npos);
  EXPECT_NE(refusal({"--ranks", "8:4"}).find("from many to few"), std::string::npos);
  EXPECT_NE(refusal({"--mode", "executor", "--codec-times", "default"}).find("--mode schedule"),
            std::string::npos);
  EXPECT_NE(refusal({"--mode", "executor", "--size", "64K", "--outliers", "16385"})
                .find("at most the 16384 elements"),
            std::string::npos);
  EXPECT_NE(refusal({"--traces", "here"}).find("--traces here is of --mode executor"),
            std::string::npos);
}

TEST(ScaleOptions, HelpListsTheNetworks) {
  const char* const arguments[] = {"cohom-scale", "--help"};
  const auto parsed = parse_scale_options(2, arguments);
  const std::string& help = std::get<Information>(parsed).text;
  for (const NetworkShape& shape : network_table())
    EXPECT_NE(help.find(shape.name), std::string::npos) << shape.name;
}

}  // namespace
}  // namespace cohom::bench
