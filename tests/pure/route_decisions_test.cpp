// Files of decisions: what they say, what is refused, and that they are added to.

#include "plan/route_decisions.hpp"
#include "base/replaced_file.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cohom {
namespace {

constexpr std::string_view native = RouteDecisions::native, own = RouteDecisions::own;

CallKind kind(const std::string& codec, std::size_t bytes, int ranks = 4) {
  return {.ranks = ranks, .codec = codec, .type = ElementType::f32, .size = size_class(bytes)};
}

TEST(RouteDecisions, HasTwoSizesForEachPowerOfTwo) {
  EXPECT_EQ(size_class(65537), size_class(98304));
  EXPECT_NE(size_class(98304), size_class(98305));
  EXPECT_EQ(size_class(98305), size_class(131072));
  EXPECT_NE(size_class(131072), size_class(131073));
  EXPECT_EQ(size_class(0), size_class(2));
  for (int size = 2; size < 128; ++size) EXPECT_EQ(size_class(most_bytes(size)), size) << size;
}

TEST(RouteDecisions, ReadsWhatItWrites) {
  RouteDecisions decisions;
  decisions.set(kind("thc:dither=nearest", 70000), native);
  decisions.set(kind("raw", 70000), own);
  decisions.set(kind("raw", 70000, 5), native);
  CallKind parts = kind("raw", 70000);
  parts.collective = ReductionKind::reduce_scatter;
  decisions.set(parts, native);
  decisions.set(kind("packed", 70000), "mixed_radix");
  const RouteDecisions read = RouteDecisions::parse(decisions.content(), "f");
  EXPECT_EQ(read.content(), decisions.content());
  EXPECT_EQ(read.find(kind("thc:dither=nearest", 98304)), native);
  EXPECT_EQ(read.find(kind("raw", 65537)), own);
  EXPECT_EQ(read.find(kind("raw", 65537, 5)), native);
  EXPECT_EQ(read.find(parts), native);
  EXPECT_EQ(read.find(kind("packed", 65537)), "mixed_radix");
  parts.collective = ReductionKind::reduce;
  EXPECT_EQ(read.find(parts), std::nullopt);
  EXPECT_EQ(read.find(kind("raw", 1 << 20)), std::nullopt);
  EXPECT_EQ(read.find(kind("thc", 70000)), std::nullopt);
}

TEST(RouteDecisions, HasCodecsAsTheyAreAskedFor) {
  const RouteDecisions read = RouteDecisions::parse(
      "cohom-decisions 2\n"
      "4 thc:bits=4 f32 65536 native\n"
      "4 thc:dither=nearest,bits=4 f32 65536 native\n"
      "4 topk:0.02 f32 65536 own\n",
      "f");
  EXPECT_EQ(read.find(kind("thc", 65536)), native);
  EXPECT_EQ(read.find(kind("thc:dither=nearest", 65536)), native);
  EXPECT_EQ(read.find(kind("topk:fraction=0.02", 65536)), own);
}

TEST(RouteDecisions, NamesWaysOfAlgorithms) {
  for (const bool raw : {false, true}) {
    const auto way = named_way(word_for("ring", raw));
    ASSERT_TRUE(way);
    EXPECT_EQ(way->algorithm, find_algorithm("ring"));
    EXPECT_EQ(way->raw, raw);
  }
  EXPECT_EQ(word_for("ring", true), "raw:ring");
  for (const char* word : {"native", "own", "offload", "raw:", "raw:raw:ring", ""})
    EXPECT_FALSE(named_way(word)) << word;
}

std::string error_of(const std::string& content) {
  try {
    (void)RouteDecisions::parse(content, "some/file");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return {};
}

TEST(RouteDecisions, SaysWhichLineIsWrong) {
  const std::string head = "cohom-decisions 2\n# a remark\n\n4 raw f32 65536 own\n";
  EXPECT_EQ(error_of(head), "");
  EXPECT_EQ(error_of("cohom-decisions 2\r\n4 raw f32 65536 own\r\n\r\n"), "");
  EXPECT_EQ(error_of(head + "4 raw f32 65000 own\n"), "") << "the same kind, and way";
  EXPECT_NE(error_of(head + "4 raw f32 65000 native\n")
                .find("line 5, \"4 raw f32 65000 native\": "
                      "a line before says own"),
            std::string::npos);
  for (const char* content : {"", "\n", "cohom-decisions 1\n", "4 raw f32 65536 own\n", "\xff\xfe"})
    EXPECT_EQ(error_of(content),
              "decisions in some/file: its first line should be \"cohom-decisions 2\"")
        << content;
}

TEST(RouteDecisions, SaysWhichWordIsWrong) {
  const std::string head = "cohom-decisions 2\n# a remark\n\n4 raw f32 65536 own\n";
  const std::string algorithm = "\" should be native, own, ring, direct, ";
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {"4 raw f32 65536", "4 words, should be ranks, codec, type, bytes, way"},
           {"4\traw f32 65536 own", "4 words"},
           {"4 raw f32 65536 own reduce own", "7 words"},
           {"0 raw f32 65536 own", "\"0\" should be a number of ranks"},
           {"-4 raw f32 65536 own", "\"-4\" should be a number of ranks"},
           {"4 raw f33 65536 own", "\"f33\" should be f32, f64, f16 or bf16"},
           {"4 raw f32 64K own", "\"64K\" should be a number of bytes, without a unit"},
           {"4 raw f32 0 own", "\"0\" should be a number of bytes"},
           {"4 raw f32 99999999999999999999 own", "\"99999999999999999999\" should be a number"},
           {"4 raw f32 65536 own native", "\"native\" should be allreduce, reduce_scatter"},
           {"4 raw f32 65536 Native", "\"Native" + algorithm},
           {"4 raw f32 65536 offload", "\"offload" + algorithm},
           {"4 raw f32 65536 rings", "\"rings" + algorithm},
           {"4 thc f32 65536 raw:", "\"raw:" + algorithm},
           {"4 thc f32 65536 raw:native", "\"raw:native" + algorithm},
           {"4 raw f32 65536 ring reduce", "\"ring\" should be native or own"},
           {"4 thc f32 65536 raw:ring reduce", "\"raw:ring\" should be native or own"}}) {
    const std::string error = error_of(head + line);
    std::string shown = line;
    std::replace(shown.begin(), shown.end(), '\t', '?');
    const std::string start =
        std::string("decisions in some/file: line 5, \"").append(shown).append("\": ").append(why);
    EXPECT_TRUE(error.starts_with(start)) << error;
  }
  const std::string nothing("4 raw f32 65536 \0wn", 19);
  EXPECT_NE(error_of(head + nothing).find("\"?wn\" should be native"), std::string::npos);
}

TEST(RouteDecisions, SaysWhichCodecIsWrong) {
  const std::string head = "cohom-decisions 2\n";
  for (const auto& [codec, why] : {std::pair("thcc", "codec \"thcc\" is unknown"),
                                   std::pair("thc:bit=4", "thc has no parameter 'bit'"),
                                   std::pair("thc:bits", "\"bits\" is not parameter=value"),
                                   std::pair("auto:nmse=1e-3", "codec \"auto\" is unknown")}) {
    const std::string line = "4 " + std::string(codec) + " f32 65536 own";
    const std::string error = error_of(head + line);
    EXPECT_TRUE(error.starts_with("decisions in some/file: line 2, \"" + line + "\": ")) << error;
    EXPECT_NE(error.find(why), std::string::npos) << error;
  }
}

/// Who may read a folder may lock it, for as long as he likes.
TEST(RouteDecisions, NobodyWaitsForALockForEver) {
  const std::string path = testing::TempDir() + "cohom_locked_route_decisions/decisions";
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  const FolderLock first(path);
  EXPECT_FALSE(first.others_hold_it());
  EXPECT_TRUE(FolderLock(path, std::chrono::milliseconds(30)).others_hold_it());
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

TEST(RouteDecisions, SaysWhatCannotBeWritten) {
  for (const auto& [path, words] :
       {std::pair("/proc/decisions", "no file can be made in folder /proc"),
        std::pair("/dev/null", "it is no regular file"), std::pair("", "names no file")})
    try {
      RouteDecisions::check_writable(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

TEST(RouteDecisions, AreAddedByManyAtOnce) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "cohom_many_route_decisions";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder / "decisions";
  constexpr int writers = 4, each = 25;
  {
    std::vector<std::jthread> threads;
    for (int writer = 0; writer < writers; ++writer)
      threads.emplace_back([&path, writer] {
        for (int i = 0; i < each; ++i) {
          RouteDecisions one;
          one.set(kind("raw", 1000, 2 + writer * each + i), own);
          one.add_to(path);
          EXPECT_TRUE(RouteDecisions::read(path).find(kind("raw", 1000, 2 + writer * each + i)));
        }
      });
  }
  const RouteDecisions all = RouteDecisions::read(path);
  for (int i = 0; i < writers * each; ++i) EXPECT_TRUE(all.find(kind("raw", 1000, 2 + i))) << i;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no other file";
}

TEST(RouteDecisions, AreReadOfRegularFiles) {
  for (const std::string& path : {testing::TempDir(), std::string("/dev/zero")}) {
    try {
      (void)RouteDecisions::read(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("it is no regular file"), std::string::npos)
          << error.what();
    }
  }
}

TEST(RouteDecisions, AreAddedToAFile) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "cohom_route_decisions";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder / "decisions";
  EXPECT_THROW((void)RouteDecisions::read(path), Error);
  RouteDecisions first, second;
  first.set(kind("raw", 1000), own);
  first.set(kind("thc", 1000), own);
  first.add_to(path);
  second.set(kind("thc", 1000), native);
  second.add_to(path);
  const RouteDecisions both = RouteDecisions::read(path);
  EXPECT_EQ(both.find(kind("raw", 1000)), own);
  EXPECT_EQ(both.find(kind("thc", 1000)), native);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no other file";

  const std::filesystem::path link = folder / "link";
  std::filesystem::create_symlink("decisions", link);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  RouteDecisions third;
  third.set(kind("packed", 1000), own);
  third.add_to(link);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(RouteDecisions::read(path).find(kind("packed", 1000)), own);
  EXPECT_THROW(third.add_to("/dev/null"), Error);
  EXPECT_THROW(third.add_to(folder), Error);

  std::ofstream(path) << "something else";
  EXPECT_THROW(first.add_to(path), Error);
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "something else");
  EXPECT_THROW(first.add_to(folder / "none" / "decisions"), Error);

  std::filesystem::create_symlink("later", folder / "to_later");
  first.add_to(folder / "to_later");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "to_later"));
  EXPECT_EQ(RouteDecisions::read(folder / "later").find(kind("raw", 1000)), own);
  std::filesystem::create_symlink("to_itself", folder / "to_itself");
  EXPECT_THROW(first.add_to(folder / "to_itself"), Error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cohom
