// What instructions give, value by value (PTX ISA 9.0, "Instruction Set").

#include "run_ptx.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cohom::ptx {
namespace {

constexpr std::uint64_t one_f = 0x3f800000, nan_f = 0x7fc00001, inf_f = 0x7f800000;
constexpr std::uint64_t one_d = 0x3ff0000000000000, nan_d = 0x7ff8000000000001;
constexpr std::uint64_t minus_zero_f = 0x80000000, minus_one = ~0ull;

/// Registers 1 to 3 of every kind hold a, b and c; register 0 of one kind, which is stored, the
/// result.
struct Case {
  const char* instruction;
  std::uint64_t a, b, c, expected;

  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.instruction; }
};

std::string loads() {
  std::string text;
  for (int i = 1; i <= 3; ++i) {
    const std::string number = std::to_string(i);
    const std::string from = ", [%rd1+" + std::to_string(8 * i) + "];\n";
    text += "ld.global.u16 %h" + number + from + "ld.global.u32 %r" + number + from +
            "ld.global.f32 %f" + number + from + "ld.global.f64 %d" + number + from +
            "ld.global.u64 %rd" + std::to_string(i + 4) + from;
  }
  return text + "setp.ne.u64 %p1, %rd5, 0;\nsetp.ne.u64 %p2, %rd6, 0;\nsetp.ne.u64 %p3, %rd7, 0;\n";
}

/// Stores the register that the instruction writes.
std::string store_of(const std::string& instruction) {
  if (instruction.find("%p0") != std::string::npos)
    return "selp.u64 %rd15, 1, 0, %p0;\nst.global.u64 [%rd1], %rd15;";
  for (const char* const name : {"%h0", "%r0", "%rd0", "%f0", "%d0"})
    if (instruction.find(name) != std::string::npos) {
      const std::string kind = std::string(name).substr(1, std::string(name).size() - 2);
      const std::string type = kind == "h"    ? "u16"
                               : kind == "r"  ? "u32"
                               : kind == "rd" ? "u64"
                               : kind == "f"  ? "f32"
                                              : "f64";
      return "st.global." + type + " [%rd1], " + name + ";";
    }
  return "no destination;";
}

class Operations : public testing::TestWithParam<Case> {};

TEST_P(Operations, GivesTheValue) {
  const auto& [instruction, a, b, c, expected] = GetParam();
  const std::uint64_t values[] = {0, a, b, c};
  const DevicePiece memory(values);
  SmallKernel small(loads() + instruction + "\n" + store_of(instruction));
  EXPECT_EQ(small.run({1, 1}, memory.address()), 0);
  EXPECT_EQ(memory.read<std::uint64_t>(0), expected) << std::hex << memory.read<std::uint64_t>(0);
}

const Case integers[] = {{"add.u32 %r0, %r1, %r2;", 0xffffffff, 2, 0, 1},
                         {"add.s64 %rd0, %rd5, %rd6;", 1, minus_one, 0, 0},
                         {"sub.s32 %r0, %r1, %r2;", 1, 2, 0, 0xffffffff},
                         {"mul.lo.s32 %r0, %r1, %r2;", 0x10001, 0x10001, 0, 0x20001},
                         {"mul.hi.u32 %r0, %r1, %r2;", 0x80000000, 6, 0, 3},
                         {"mul.hi.s64 %rd0, %rd5, %rd6;", minus_one, 1, 0, minus_one},
                         {"mul.wide.s32 %rd0, %r1, %r2;", 0xffffffff, 3, 0, std::uint64_t(-3)},
                         {"mul.wide.u16 %r0, %h1, %h2;", 0xffff, 0xffff, 0, 0xfffe0001},
                         {"mad.lo.u32 %r0, %r1, %r2, %r3;", 3, 4, 5, 17},
                         {"mad.wide.u32 %rd0, %r1, %r2, %rd7;", 0xffffffff, 2, 1, 0x1ffffffff},
                         {"add.cc.u32 %r4, %r1, 1; addc.u32 %r0, %r2, %r3;", 0xffffffff, 7, 1, 9},
                         {"sub.cc.u32 %r4, %r1, 1; subc.u32 %r0, %r2, %r3;", 0, 7, 1, 5},
                         {"mad.lo.cc.u32 %r4, %r1, %r2, -1; madc.hi.u32 %r0, %r1, %r2, %r3;",
                          0xffffffff, 0xffffffff, 5, 4},
                         {"div.s32 %r0, %r1, %r2;", std::uint64_t(-7), 2, 0, 0xfffffffd},
                         {"div.u32 %r0, %r1, %r2;", 7, 0, 0, 0xffffffff},
                         {"rem.s32 %r0, %r1, %r2;", std::uint64_t(-7), 2, 0, 0xffffffff},
                         {"min.s32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 0xffffffff},
                         {"max.u32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 0xffffffff},
                         {"neg.s32 %r0, %r1;", 5, 0, 0, 0xfffffffb},
                         {"abs.s32 %r0, %r1;", 0xfffffffb, 0, 0, 5},
                         {"sad.u32 %r0, %r1, %r2, %r3;", 3, 10, 1, 8},
                         {"dp4a.u32.s32 %r0, %r1, %r2, %r3;", 0x01020304, 0x000000ff, 10, 6}};

const Case bits[] = {{"and.b32 %r0, %r1, %r2;", 12, 10, 0, 8},
                     {"or.pred %p0, %p1, %p2;", 0, 1, 0, 1},
                     {"xor.b64 %rd0, %rd5, %rd6;", minus_one, 1, 0, minus_one - 1},
                     {"not.b16 %h0, %h1;", 1, 0, 0, 0xfffe},
                     {"not.pred %p0, %p1;", 1, 0, 0, 0},
                     {"cnot.b32 %r0, %r1;", 0, 0, 0, 1},
                     {"shl.b32 %r0, %r1, %r2;", 1, 32, 0, 0},
                     {"shl.b64 %rd0, %rd5, %r2;", 1, 33, 0, 1ull << 33},
                     {"shr.u32 %r0, %r1, %r2;", 0x80000000, 31, 0, 1},
                     {"shr.s32 %r0, %r1, %r2;", 0x80000000, 40, 0, 0xffffffff},
                     {"shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 0x80000000, 1, 33, 3},
                     {"shf.r.clamp.b32 %r0, %r1, %r2, %r3;", 7, 9, 40, 9},
                     {"prmt.b32 %r0, %r1, %r2, %r3;", 0x44332211, 0x887766f5, 0xc740, 0xff88f511},
                     {"lop3.b32 %r0, %r1, %r2, %r3, 0x96;", 12, 10, 6, 12 ^ 10 ^ 6},
                     {"lop3.b32 %r0, %r1, %r2, %r3, 0xe8;", 12, 10, 6, 14},
                     {"bfe.u32 %r0, %r1, %r2, %r3;", 0xabcd, 4, 8, 0xbc},
                     {"bfe.s32 %r0, %r1, %r2, %r3;", 0xabcd, 4, 8, 0xffffffbc},
                     {"bfi.b32 %r0, %r1, %r2, 4, 8;", 0xff, 0xa000000d, 0, 0xa0000ffd},
                     {"bfind.u32 %r0, %r1;", 0x100, 0, 0, 8},
                     {"bfind.shiftamt.s32 %r0, %r1;", 0xffffff00, 0, 0, 24},
                     {"bfind.u64 %r0, %rd5;", 0, 0, 0, 0xffffffff},
                     {"clz.b64 %r0, %rd5;", 1, 0, 0, 63},
                     {"popc.b32 %r0, %r1;", 0xf0f, 0, 0, 8},
                     {"brev.b32 %r0, %r1;", 1, 0, 0, 0x80000000}};

const Case reals[] = {
    {"add.rn.f32 %f0, %f1, %f2;", one_f, one_f, 0, 0x40000000},
    {"add.f32 %f0, %f1, %f2;", 0x4b800000, one_f, 0, 0x4b800000},  // 2^24 + 1: to even
    {"add.f32 %f0, %f1, %f2;", 1, 1, 0, 2},                        // denormals are kept
    {"add.f32 %f0, %f1, %f2;", nan_f, one_f, 0, 0x7fffffff},
    {"add.f64 %d0, %d1, %d2;", nan_d, one_d, 0, 0x7fffffffffffffff},
    {"sub.f32 %f0, %f1, %f2;", inf_f, inf_f, 0, 0x7fffffff},
    {"mul.f32 %f0, %f1, %f2;", 0x40400000, 0x40800000, 0, 0x41400000},
    {"fma.rn.f32 %f0, %f1, %f2, %f3;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
    {"div.rn.f32 %f0, %f1, %f2;", one_f, 0x40400000, 0, 0x3eaaaaab},
    {"sqrt.rn.f32 %f0, %f1;", 0x40000000, 0, 0, 0x3fb504f3},
    {"rcp.rn.f64 %d0, %d1;", 0x4000000000000000, 0, 0, 0x3fe0000000000000},
    {"min.f32 %f0, %f1, %f2;", 0, minus_zero_f, 0, minus_zero_f},
    {"max.f32 %f0, %f1, %f2;", minus_zero_f, 0, 0, 0},
    {"max.f32 %f0, %f1, %f2;", nan_f, one_f, 0, one_f},
    {"neg.f32 %f0, %f1;", one_f, 0, 0, 0xbf800000},
    {"abs.f64 %d0, %d1;", 0xbff0000000000000, 0, 0, one_d},
    {"copysign.f32 %f0, %f1, %f2;", minus_zero_f, one_f, 0, 0xbf800000}};

const Case comparisons[] = {{"setp.lt.s32 %p0, %r1, %r2;", 0xffffffff, 0, 0, 1},
                            {"setp.lt.u32 %p0, %r1, %r2;", 0xffffffff, 0, 0, 0},
                            {"setp.hs.u32 %p0, %r1, %r2;", 3, 3, 0, 1},
                            {"setp.eq.f32 %p0, %f1, %f2;", nan_f, nan_f, 0, 0},
                            {"setp.neu.f32 %p0, %f1, %f2;", nan_f, one_f, 0, 1},
                            {"setp.nan.f64 %p0, %d1, %d2;", nan_d, one_d, 0, 1},
                            {"setp.num.f32 %p0, %f1, %f2;", one_f, one_f, 0, 1},
                            {"setp.gt.and.u32 %p0, %r1, %r2, !%p3;", 2, 1, 1, 0},
                            {"setp.gt.or.u32 %p0, %r1, %r2, %p3;", 1, 2, 1, 1},
                            {"setp.eq.u32 %p5|%p0, %r1, %r2;", 1, 1, 0, 0},
                            {"set.eq.u32.f32 %r0, %f1, %f2;", one_f, one_f, 0, 0xffffffff},
                            {"selp.b32 %r0, %r1, %r2, %p3;", 5, 6, 0, 6},
                            {"slct.u32.s32 %r0, %r1, %r2, %r3;", 5, 6, 0x80000000, 6},
                            {"testp.subnormal.f32 %p0, %f1;", 1, 0, 0, 1},
                            {"testp.finite.f64 %p0, %d1;", 0x7ff0000000000000, 0, 0, 0}};

const Case conversions[] = {{"cvt.s64.s32 %rd0, %r1;", 0x80000000, 0, 0, 0xffffffff80000000},
                            {"cvt.u64.u32 %rd0, %r1;", 0x80000000, 0, 0, 0x80000000},
                            {"cvt.s32.s8 %r0, %r1;", 0x80, 0, 0, 0xffffff80},
                            {"cvt.sat.s8.s32 %r0, %r1;", 300, 0, 0, 127},
                            {"cvt.rzi.s32.f32 %r0, %f1;", 0xc0200000, 0, 0, 0xfffffffe},
                            {"cvt.rni.s32.f32 %r0, %f1;", 0x40200000, 0, 0, 2},
                            {"cvt.rmi.s32.f32 %r0, %f1;", 0xc0200000, 0, 0, 0xfffffffd},
                            {"cvt.rzi.u32.f32 %r0, %f1;", 0xbf800000, 0, 0, 0},
                            {"cvt.rzi.s32.f32 %r0, %f1;", 0x7f000000, 0, 0, 0x7fffffff},
                            {"cvt.rzi.s32.f32 %r0, %f1;", nan_f, 0, 0, 0},
                            {"cvt.rzi.s64.f64 %rd0, %d1;", nan_d, 0, 0, 0x8000000000000000},
                            {"cvt.rn.f32.s32 %f0, %r1;", 0x01000001, 0, 0, 0x4b800000},
                            {"cvt.rn.f32.f64 %f0, %d1;", 0x3ff0000010000000, 0, 0, one_f},
                            {"cvt.f64.f32 %d0, %f1;", one_f, 0, 0, one_d},
                            {"cvt.rni.f32.f32 %f0, %f1;", 0x40200000, 0, 0, 0x40000000},
                            {"mov.b64 %rd0, {%r1, %r2};", 1, 2, 0, 0x200000001},
                            {"mov.b64 {_, %r0}, %rd5;", 0x700000003, 0, 0, 7},
                            {"mov.u32 %r0, %ntid.x;", 0, 0, 0, 1}};

const Case memory_and_jumps[] = {
    {"ld.global.s8 %r0, [%rd1+8];", 0x80, 0, 0, 0xffffff80},
    {"ld.global.v2.u32 {%r4, %r0}, [%rd1+8];", 0x900000001, 0, 0, 9},
    {"st.global.v2.b64 [%rd1+16], {%rd5, %rd6}; ld.global.u64 %rd0, [%rd1+24];", 4, 6, 0, 6},
    {"st.shared.b32 [shared+8], %r1; ld.shared.u8 %r0, [shared+9];", 0x1234, 0, 0, 0x12},
    {"st.shared::cta.b32 [shared], %r1; ld.shared::cta.u32 %r0, [shared];", 9, 0, 0, 9},
    {"mov.u64 %rd9, shared; cvta.shared.u64 %rd9, %rd9; st.b32 [%rd9], %r1; "
     "ld.shared.u32 %r0, [shared];",
     77, 0, 0, 77},
    {"atom.global.add.u32 %r0, [%rd1+8], %r2;", 5, 3, 0, 5},
    {"atom.global.max.u64 %rd4, [%rd1+8], %rd6; ld.global.u64 %rd0, [%rd1+8];", 5, 9, 0, 9},
    {"atom.global.cas.b32 %r4, [%rd1+8], %r1, %r3; ld.global.u32 %r0, [%rd1+8];", 5, 0, 8, 8},
    {"red.global.or.b32 [%rd1+8], %r2; ld.global.u32 %r0, [%rd1+8];", 5, 2, 0, 7},
    {"mov.u32 %r0, 0; $L: add.u32 %r0, %r0, 3; setp.lt.u32 %p4, %r0, %r1; @%p4 bra $L;", 10, 0, 0,
     12},
    {"mov.u32 %r0, 1; @!%p1 bra $end; mov.u32 %r0, 2; $end:", 1, 0, 0, 2},
    {"$list: .branchtargets $a, $b; brx.idx %r1, $list; $a: mov.u32 %r0, 1; bra $end; "
     "$b: mov.u32 %r0, 2; $end:",
     1, 0, 0, 2}};

INSTANTIATE_TEST_SUITE_P(Integers, Operations, testing::ValuesIn(integers));
INSTANTIATE_TEST_SUITE_P(Bits, Operations, testing::ValuesIn(bits));
INSTANTIATE_TEST_SUITE_P(Reals, Operations, testing::ValuesIn(reals));
INSTANTIATE_TEST_SUITE_P(Comparisons, Operations, testing::ValuesIn(comparisons));
INSTANTIATE_TEST_SUITE_P(Conversions, Operations, testing::ValuesIn(conversions));
INSTANTIATE_TEST_SUITE_P(MemoryAndJumps, Operations, testing::ValuesIn(memory_and_jumps));

}  // namespace
}  // namespace cohom::ptx
