// Spec strings: "name:parameter=value,...", what they mean, and what is wrong with others.

#include "plan/spec.hpp"
#include "base/environment.hpp"
#include "codecs/codec_table.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace cohom::test {
namespace {

std::string error_of(std::string_view text) {
  try {
    (void)parse_spec(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return {};
}

std::string canonical(std::string_view text) {
  const Spec spec = parse_spec(text);
  return canonical_spec(find_codec(spec.name), spec.parameters);
}

TEST(Spec, IsANameAndParameters) {
  EXPECT_EQ(parse_spec("raw").name, "raw");
  EXPECT_TRUE(parse_spec("raw").parameters.empty());
  const Spec spec = parse_spec("thc:bits=4,tail=1/32,seed=");
  EXPECT_EQ(spec.name, "thc");
  EXPECT_EQ(spec.parameters, (Parameters{{"bits", "4"}, {"tail", "1/32"}, {"seed", ""}}));
  EXPECT_EQ(parse_spec("a:b=c=d").parameters, (Parameters{{"b", "c=d"}}));
  EXPECT_EQ(parse_spec("topk:1e-3,index=flat").parameters,
            (Parameters{{"fraction", "1e-3"}, {"index", "flat"}}));
  EXPECT_EQ(parse_spec("thc:4").parameters, (Parameters{{"bits", "4"}}));
}

TEST(Spec, WrongOnesAreNamed) {
  EXPECT_NE(error_of("").find("the name is missing"), std::string::npos);
  EXPECT_NE(error_of(":bits=4").find("the name is missing"), std::string::npos);
  EXPECT_NE(error_of("thc:bits").find("\"bits\" is not parameter=value"), std::string::npos);
  EXPECT_NE(error_of("thc:=4").find("\"=4\" is not parameter=value"), std::string::npos);
  EXPECT_NE(error_of("thc:").find("\"\" is not parameter=value"), std::string::npos);
  EXPECT_NE(error_of("thc:bits=4,").find("\"\" is not parameter=value"), std::string::npos);
  EXPECT_NE(error_of("thc:bits=4,bits=4").find("bits is given twice"), std::string::npos);
  EXPECT_NE(error_of("thc:bits").find("codec spec \"thc:bits\""), std::string::npos);
  EXPECT_NE(error_of("thc:seed=1,4").find("\"4\" is not parameter=value"), std::string::npos);
  EXPECT_NE(error_of("thc:4,bits=5").find("parameter bits is given twice"), std::string::npos);
  EXPECT_NE(error_of("auto:1e-4").find("\"1e-4\" is not parameter=value"), std::string::npos);
  EXPECT_NE(error_of("raw:4").find("raw has no parameters"), std::string::npos);
  EXPECT_NE(error_of("thk:4").find("did you mean thc"), std::string::npos);
}

TEST(Spec, CanonicalFormLeavesDefaultsOut) {
  EXPECT_EQ(canonical("thc"), "thc");
  EXPECT_EQ(canonical("thc:bits=4,scale=block"), "thc");
  EXPECT_EQ(canonical("thc:seed=3,bits=5"), canonical("thc:bits=5,seed=3"));
  EXPECT_EQ(canonical("thc:seed=3,bits=5"), "thc:bits=5,seed=3");
}

TEST(Spec, UnknownCodecsNameTheNearest) {
  EXPECT_EQ(find_codec("raw").info.name, "raw");
  try {
    (void)find_codec("rav");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("did you mean raw;"), std::string::npos) << text;
    for (const CodecRow& row : codec_table())
      EXPECT_NE(text.find(row.info.name), std::string::npos) << "not listed: " << row.info.name;
  }
}

TEST(Spec, OptionsComeBeforeTheEnvironmentAndThatBeforeDefaults) {
  constexpr const char* variable = "COHOM_TEST_OPTION";
  unsetenv(variable);
  EXPECT_EQ(option_or_environment("", variable, "default"), "default");
  setenv(variable, "", 1);
  EXPECT_EQ(option_or_environment("", variable, "default"), "default");
  setenv(variable, "set", 1);
  EXPECT_EQ(option_or_environment("", variable, "default"), "set");
  EXPECT_EQ(option_or_environment("given", variable, "default"), "given");
  unsetenv(variable);
}

}  // namespace
}  // namespace cohom::test
