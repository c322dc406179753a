// How PTX is cut, declared and decoded.

#include "ptx/text.hpp"
#include "ptx/declaration.hpp"
#include "ptx/edit.hpp"
#include "ptx/fault.hpp"
#include "ptx/statement.hpp"
#include "run_ptx.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cohom::ptx {
namespace {

using Kind = Statement::Kind;

TEST(Text, NumbersOfEveryForm) {
  EXPECT_EQ(number_in("12"), 12);
  EXPECT_EQ(number_in("-1"), ~0ull);
  EXPECT_EQ(number_in("0x1F"), 31);
  EXPECT_EQ(number_in("0f3F800000"), 0x3f800000);
  EXPECT_EQ(number_in("0d3FF0000000000000"), 0x3ff0000000000000);
  EXPECT_EQ(number_in("WARP_SZ"), 32);
  EXPECT_EQ(number_in("%r1"), std::nullopt);
  EXPECT_EQ(number_in("-"), std::nullopt);
}

TEST(Text, ListsKeepWhatIsInBrackets) {
  EXPECT_EQ(list_of("{%r1, %r2}, [%rd1+4], 7"),
            (std::vector<std::string>{"{%r1, %r2}", "[%rd1+4]", "7"}));
}

TEST(Statements, KindsAndLines) {
  const auto all = statements_of(
      ".file 1 \"a.cpp\"\n.visible .entry k(.param .u32 a)\n{ // comment\n"
      ".loc 1 9 3\n$L1: @%p1 bra $L1; /* two\nlines */ st.v2.b32 [%rd1], {%r1, %r2};\n}",
      10);
  ASSERT_EQ(all.size(), 7);
  const Kind kinds[] = {Kind::file,   Kind::header, Kind::open, Kind::label,
                        Kind::simple, Kind::simple, Kind::close};
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].kind, kinds[i]) << i;
  EXPECT_EQ(all[3].text, "$L1");
  EXPECT_EQ(all[4].text, "@%p1 bra $L1");
  EXPECT_EQ(all[4].line, 14);
  EXPECT_EQ(all[4].source_line, 9);
  EXPECT_EQ(all[5].text, "st.v2.b32 [%rd1], {%r1, %r2}");
  EXPECT_EQ(all[5].line, 15);
}

TEST(Statements, TwoColonsEndNoLabel) {
  const auto all = statements_of("$L1:ld.shared::cta.u32 %r1, [%r2];\n", 1);
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0].kind, Kind::label);
  EXPECT_EQ(all[1].kind, Kind::simple);
  EXPECT_EQ(all[1].text, "ld.shared::cta.u32 %r1, [%r2]");
}

TEST(Declarations, SizesAndValues) {
  const Declaration array = declaration_of(".global .align 8 .b8 table[6] = {1, 0x2, 255}");
  EXPECT_EQ(array.name, "table");
  EXPECT_EQ(array.alignment, 8);
  EXPECT_EQ(array.bytes, 6);
  EXPECT_EQ(initial_bytes(array), (std::vector<std::uint8_t>{1, 2, 255, 0, 0, 0}));
  const Declaration pointer = declaration_of(".param .u64 .ptr .global .align 1 p");
  EXPECT_EQ(pointer.name, "p");
  EXPECT_EQ(pointer.alignment, 8);
  EXPECT_EQ(pointer.bytes, 8);
  EXPECT_THROW(initial_bytes(declaration_of(".global .b32 x[2] = {other, 1}")), Fault);
  EXPECT_THROW(initial_bytes(declaration_of(".global .b32 x[1] = {1, 2}")), Fault);
}

TEST(Edits, AllOrOneOfAKernel) {
  std::string text = "bar.sync 0; bar.sync 0;";
  EXPECT_EQ(edit("", "kernel", text), 0);
  EXPECT_EQ(edit("other|bar.sync 0;|", "kernel", text), 0);
  EXPECT_EQ(edit("kern|bar.sync 0;||2", "kernel", text), 1);
  EXPECT_EQ(text, "bar.sync 0; ");
  EXPECT_EQ(edit("kern|bar|foo", "kernel", text), 1);
  EXPECT_EQ(text, "foo.sync 0; ");
  EXPECT_THROW(edit("kern|bar", "kernel", text), std::runtime_error);
  EXPECT_THROW(edit("kern|bar|foo|x", "kernel", text), std::runtime_error);
}

TEST(Modules, WhatIsNotThereIsAFault) {
  EXPECT_THROW(SmallKernel("bra $L_none;").kernel(), Fault);
  EXPECT_THROW(SmallKernel(".unknown thing;").kernel(), Fault);
  Module module(".version 9.0\n");
  EXPECT_THROW(module.kernel("none"), Fault);
}

TEST(Modules, UnsupportedInstructionsAreComplaintsBeforeTheyRun) {
  for (const char* const instruction :
       {"frobnicate.b32 %r1, %r2;", "add.ftz.f32 %f1, %f2, %f3;", "sqrt.approx.f32 %f1, %f2;",
        "add.rz.f32 %f1, %f2, %f3;", "cvt.rz.f32.f64 %f1, %d1;", "bar.sync 1;", "call.uni f, ();",
        "add.u32 %r1, %unknown, 1;", "mul.u128 %rd1, %rd2, %rd3;"}) {
    SmallKernel small(std::string("@%p1 ") + instruction);
    EXPECT_EQ(small.complaints(), 1) << instruction;
    EXPECT_TRUE(small.complained("not supported")) << instruction;
  }
}

}  // namespace
}  // namespace cohom::ptx
