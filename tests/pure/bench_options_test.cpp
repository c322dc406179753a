// The command line of cohom-bench: what it takes, and how it refuses.

#include "bench_options.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

namespace cohom::bench {
namespace {

std::variant<BenchOptions, Information> parse(std::initializer_list<const char*> arguments) {
  std::vector<const char*> argv = {"/somewhere/bin/cohom-bench"};
  argv.insert(argv.end(), arguments);
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

BenchOptions options_of(std::initializer_list<const char*> arguments) {
  return std::get<BenchOptions>(parse(arguments));
}

void expect_refusal(const std::function<void()>& action, const std::string& says) {
  try {
    action();
    ADD_FAILURE() << "accepted; should say: " << says;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(Sizes, TakeSuffixesAndExactBytes) {
  EXPECT_EQ(parse_size("1000012"), 1000012u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("64k"), 65536u);
  EXPECT_EQ(parse_size("3M"), 3u << 20);
  EXPECT_EQ(parse_size("2G"), std::size_t{2} << 30);
}

TEST(Sizes, TakeListsAndRanges) {
  EXPECT_EQ(parse_sizes("1000012,64K", ElementType::f32),
            (std::vector<std::size_t>{1000012, 65536}));
  EXPECT_EQ(parse_sizes("64K:512K", ElementType::f32),
            (std::vector<std::size_t>{65536, 131072, 262144, 524288}));
  EXPECT_EQ(parse_sizes("4,12:100,8", ElementType::f32),
            (std::vector<std::size_t>{4, 12, 24, 48, 96, 8}));
  EXPECT_EQ(parse_sizes("1M:1M", ElementType::f64), (std::vector<std::size_t>{1 << 20}));
}

TEST(Sizes, RefuseWhatIsNone) {
  for (const char* text :
       {"", "x", "K", "-4", "1.5M", "64KB", "64 K", "0x10", "4K:", ":4K", "4,,8"})
    expect_refusal([&] { parse_sizes(text, ElementType::f32); }, "--size '");
  expect_refusal([] { parse_size("99999999999999999999"); }, "is too large");
  expect_refusal([] { parse_size("99999999999999999G"); }, "is too large");
  expect_refusal([] { parse_size("12Q"); }, "unknown suffix 'Q'");
  expect_refusal([] { parse_sizes("1:2:3", ElementType::f32); }, "a range of two sizes");
  expect_refusal([] { parse_sizes("2M:1M", ElementType::f32); }, "from large to small");
}

TEST(Sizes, RefuseVectorsThatCannotBe) {
  expect_refusal([] { parse_sizes("0", ElementType::f32); }, "no whole number of f32 elements");
  expect_refusal([] { parse_sizes("1000012", ElementType::f64); }, "f64 elements (8 bytes each)");
  expect_refusal([] { parse_sizes("16G", ElementType::f32); }, "takes at most 2147483647");
  EXPECT_EQ(parse_sizes("8589934588", ElementType::f32).front() / 4, 2147483647u);
}

TEST(Options, HaveDefaults) {
  const BenchOptions options = options_of({});
  EXPECT_EQ(options.codecs, (std::vector<std::string>{"raw", "thc"}));
  EXPECT_EQ(options.algorithms, (std::vector<std::string>{"auto"}));
  EXPECT_EQ(options.inputs, (std::vector<std::string>{"gauss"}));
  EXPECT_EQ(options.sizes, (std::vector<std::size_t>{64 << 10, 1 << 20, 16 << 20}));
  EXPECT_EQ(options.iterations, 0);
  EXPECT_EQ(options.command, "cohom-bench");
}

TEST(Options, TakeEveryFlag) {
  const BenchOptions options = options_of({"--codec",      "thc:bits=4,dither=nearest",
                                           "--codec",      "raw",
                                           "--algorithm",  "ring,direct",
                                           "--size",       "8K",
                                           "--input",      "smooth",
                                           "--input",      "a.npy",
                                           "--dtype",      "bf16",
                                           "--op",         "mean",
                                           "--iterations", "7",
                                           "--warmup",     "0",
                                           "--seed",       "5",
                                           "--steps",      "10",
                                           "--in-place",   "--nonblocking",
                                           "--segment",    "4096",
                                           "--timeout",    "2.5",
                                           "--checksum",   "on",
                                           "--json",       "out.json",
                                           "--quiet",      "--native-apart"});
  EXPECT_EQ(options.codecs, (std::vector<std::string>{"thc:bits=4,dither=nearest", "raw"}));
  EXPECT_EQ(options.algorithms, (std::vector<std::string>{"ring", "direct"}));
  EXPECT_EQ(options.inputs, (std::vector<std::string>{"smooth", "a.npy"}));
  EXPECT_EQ(options.type, ElementType::bf16);
  EXPECT_EQ(options.op, ReduceOp::mean);
  EXPECT_EQ(options.iterations, 7);
  EXPECT_EQ(options.warmup, 0);
  EXPECT_EQ(options.seed, 5u);
  EXPECT_EQ(options.steps, 10);
  EXPECT_TRUE(options.in_place && options.nonblocking && options.native_apart && options.quiet &&
              !options.check_only);
  EXPECT_EQ(options.segment, 4096u);
  EXPECT_EQ(options.timeout, 2.5);
  EXPECT_EQ(options.checksum, "on");
  EXPECT_EQ(options.json_path, "out.json");
  EXPECT_TRUE(
      options.command.starts_with("cohom-bench --codec thc:bits=4,dither=nearest --codec raw"));
  EXPECT_TRUE(options_of({"--check-only"}).check_only);
  EXPECT_TRUE(options_of({"--rounding"}).rounding && !options.rounding);
}

TEST(Options, SizesAreOfTheTypeWhereverItStands) {
  expect_refusal([] { options_of({"--size", "1000012", "--dtype", "f64"}); }, "f64 elements");
  expect_refusal([] { options_of({"--dtype", "f64", "--size", "1000012"}); }, "f64 elements");
}

TEST(Options, RefuseWhatTheyDoNotKnow) {
  expect_refusal([] { options_of({"--bogus"}); }, "--bogus");
  expect_refusal([] { options_of({"word"}); }, "word");
  expect_refusal([] { options_of({"--codec"}); }, "--codec");
  expect_refusal([] { options_of({"--codec", "raw", "thc"}); }, "thc");
  expect_refusal([] { options_of({"--codec", ""}); }, "--codec: '' should be a codec spec");
  expect_refusal([] { options_of({"--transpot", "mpi"}); }, "--transpot");
  expect_refusal([] { options_of({"--memory", "gpu"}); }, "--memory");
  expect_refusal([] { options_of({"--dtype", "f8"}); }, "--dtype 'f8' should be f32");
  expect_refusal([] { options_of({"--op", "max"}); }, "--op 'max' should be sum or mean");
  expect_refusal([] { options_of({"--seed", "-1"}); }, "--seed");
  expect_refusal([] { options_of({"--segment", "many"}); }, "--segment");
  expect_refusal([] { options_of({"--checksum", "yes"}); }, "--checksum 'yes' should be on or off");
}

TEST(Options, RefuseImpossibleNumbersAndCombinations) {
  expect_refusal([] { options_of({"--iterations", "0"}); }, "--iterations 0");
  expect_refusal([] { options_of({"--warmup", "-1"}); }, "--warmup -1");
  expect_refusal([] { options_of({"--timeout", "-1"}); }, "--timeout -1");
  expect_refusal([] { options_of({"--steps", "0"}); }, "--steps 0");
  expect_refusal(
      [] {
        options_of({"--check-only", "--iterations", "5"});
      },
      "no timing, so --iterations");
}

TEST(Options, AnswerHelpAndVersion) {
  EXPECT_NE(std::get<Information>(parse({"--help"})).text.find("--check-only"), std::string::npos);
  EXPECT_TRUE(std::get<Information>(parse({"--version"})).text.starts_with("cohom-bench "));
}

}  // namespace
}  // namespace cohom::bench
