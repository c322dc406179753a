// Options by their keys.

#include <cohom/error.hpp>
#include <cohom/options.hpp>

#include <gtest/gtest.h>

#include <string>

namespace cohom::test {
namespace {

std::string error_of(const char* key, const char* value) {
  Options options;
  try {
    set_option(options, key, value);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return {};
}

void expect_words(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

TEST(SetOption, SetsEachOption) {
  Options options;
  set_option(options, "cohom_codec", "thc:bits=3");
  set_option(options, "cohom_algorithm", "ring");
  set_option(options, "cohom_op", "mean");
  set_option(options, "cohom_segment", "4096");
  set_option(options, "cohom_buffer", "layer 1");
  set_option(options, "cohom_transport", "ucx");
  EXPECT_EQ(options.codec, "thc:bits=3");
  EXPECT_EQ(options.algorithm, "ring");
  EXPECT_EQ(options.op, ReduceOp::mean);
  EXPECT_EQ(options.segment, 4096u);
  EXPECT_EQ(options.buffer, "layer 1");
  EXPECT_EQ(options.transport, "ucx");
  set_option(options, "cohom_op", "sum");
  EXPECT_EQ(options.op, ReduceOp::sum);
}

TEST(SetOption, NamesTheNearestKey) {
  expect_words(error_of("cohom_codek", "thc"),
               "unknown key cohom_codek; did you mean cohom_codec;");
  expect_words(error_of("x", ""), "keys: cohom_codec, cohom_algorithm,");
  EXPECT_EQ(error_of("x", "").find("did you mean"), std::string::npos);
}

TEST(SetOption, RefusesValuesThatAreNone) {
  expect_words(error_of("cohom_op", "max"), "cohom_op=max is neither sum nor mean");
  for (const char* segment : {"", "many", "-1", "64K", "99999999999999999999"})
    expect_words(error_of("cohom_segment", segment),
                 "cohom_segment=" + std::string(segment) + " is not a number of elements");
}

}  // namespace
}  // namespace cohom::test
