// Rules of the drop-in library.

#include "mpi_ext/drop_in/drop_in_rules.hpp"
#include "mpi_ext/drop_in/drop_in_counts.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace cohom::mpi {
namespace {

constexpr std::size_t kib = 1024;

TEST(DropInRules, TheFirstThatFitsDecides) {
  const DropInRules rules(
      "codec=native bytes=:64K # short\n\n  codec=exact  type=f64;codec=thc:bits=4 ranks=4:9\n");
  ASSERT_EQ(rules.all().size(), 3u);
  EXPECT_TRUE(rules.find(64 * kib - 1, 2, ElementType::f64)->native);
  EXPECT_EQ(rules.find(64 * kib, 2, ElementType::f64)->options.codec, "exact");
  EXPECT_EQ(rules.find(64 * kib, 4, ElementType::f32)->options.codec, "thc:bits=4");
  EXPECT_EQ(rules.find(64 * kib, 8, ElementType::f32)->options.codec, "thc:bits=4");
  EXPECT_EQ(rules.find(64 * kib, 9, ElementType::f32), nullptr);
  EXPECT_EQ(rules.all()[1].text, "codec=exact type=f64");
}

TEST(DropInRules, OtherWordsAreOptions) {
  const DropInRule rule = parse_drop_in_rule("codec=thc algorithm=ring native=never");
  EXPECT_EQ(rule.options.algorithm, "ring");
  EXPECT_EQ(rule.options.native, "never");
}

TEST(DropInRules, RangesHaveUnits) {
  const DropInRule rule = parse_drop_in_rule("codec=raw bytes=1M:2G");
  EXPECT_EQ(rule.bytes.first, 1u << 20);
  EXPECT_EQ(rule.bytes.end, 1ull << 31);
}

TEST(DropInRules, SayWhatIsWrong) {
  for (const char* const wrong : {"codec=thc bytes=64K",
                                  "codec=thc bytes=2:1",
                                  "codec=thc bytes=x:",
                                  "codec=thc bytes=:-1",
                                  "codec=thc bytes=99999999999999999999:",
                                  "codec=thc bytes=18446744073709551615G:",
                                  "codec=thc type=f16",
                                  "codec",
                                  "=thc",
                                  "bytes=1:",
                                  "codec=thc op=mean",
                                  "codec=thc nonsense=1",
                                  "codec=nothing",
                                  "codec=thc:bits=99",
                                  "codec=thc:bites=4",
                                  "codec=lowrank:0 bytes=1G:",
                                  "codec=thc:lane=8 ranks=64:",
                                  "codec=thc:nmse=4e-4 ranks=:3",
                                  "codec=sketch:cells=f64 type=f32",
                                  "codec=nothing ranks=40000:",
                                  "codec=nothing ranks=:1"})
    EXPECT_THROW((void)parse_drop_in_rule(wrong), Error) << wrong;
  EXPECT_THROW(DropInRules("codec=thc\ncodec"), Error);
  for (const char* const right :
       {"codec=auto:nmse=1e-3", "codec=native", "codec=exact type=f64", "codec=topk:0.01",
        "codec=thc:error_feedback=on buffer=gradient", "codec=exact:vectors=many",
        "codec=sketch:cells=f64", "codec=thc:nmse=4e-4",
        "codec=thc:nmse=4e-4 ranks=8:", "codec=thc:lane=8", "codec=packed:abs_error=1e-6",
        "codec=raw ranks=40000:", "codec=thc ranks=:1", "codec=thc ranks=1:2"})
    EXPECT_NO_THROW((void)parse_drop_in_rule(right)) << right;
}

TEST(DropInRules, NoTextHasNoRules) {
  for (const char* const nothing : {"", "\n", "# codec=thc", " ; ;\n"})
    EXPECT_TRUE(DropInRules(nothing).empty()) << nothing;
}

TEST(DropInRules, HashesTellTextsApart) {
  EXPECT_EQ(DropInRules("codec=thc").hash(), DropInRules(" codec=thc # so\n").hash());
  EXPECT_NE(DropInRules("codec=thc").hash(), DropInRules("codec=raw").hash());
}

TEST(DropInCounts, SumUpWhichWayCallsWent) {
  const DropInRules rules("codec=thc;codec=raw");
  DropInCounts counts(rules.all());
  const DropInRule keys = parse_drop_in_rule("codec=exact");
  counts.count(rules.all()[0], 4096, {.native = 1});
  counts.count(rules.all()[0], 4096, {});
  counts.count(rules.all()[1], 64, {.native = 1});
  counts.count(rules.all()[1], 64, {.bypassed = 1});
  counts.count(keys, 8, {.bypassed = 1});
  counts.count(NotOurs::operation);
  EXPECT_EQ(counts.calls(), 6u);
  EXPECT_EQ(counts.summary(),
            "6 calls of MPI_Allreduce:\n"
            "  2 by \"codec=thc\", 8192 bytes, of which 1 by MPI's own reduction\n"
            "  2 by \"codec=raw\", 128 bytes, of which 1 by MPI's own reduction and 1 "
            "uncompressed, as compressing does not pay\n"
            "  1 by Info keys of communicators, 8 bytes, of which 1 uncompressed, as compressing "
            "does not pay\n"
            "  1 left to MPI: another operation than MPI_SUM");
}

}  // namespace
}  // namespace cohom::mpi
