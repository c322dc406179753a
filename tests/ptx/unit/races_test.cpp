// Races, barriers and faults that the interpreter must see, and orders that are none.

#include "ptx/fault.hpp"
#include "ptx/race_marks.hpp"
#include "ptx/settings.hpp"
#include "run_ptx.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace cohom::ptx {
namespace {

/// Before anything asks for the settings.
const bool settings_made = [] {
  setenv("COHOM_TEST_PTX_RACES", "1", 1);
  setenv("COHOM_TEST_PTX_STEPS", "10000", 1);
  return Settings::instance().races;
}();

// ---- marks

Touch by(std::uint16_t thread, std::uint32_t block_phase, std::uint32_t warp_phase = 0,
         std::uint32_t block = 0) {
  Touch touch;
  touch.launch = 7;
  touch.block = block;
  touch.block_phase = block_phase;
  touch.warp_phase = block_phase + warp_phase;
  touch.thread = thread;
  return touch;
}
Touch atomic(Touch touch) {
  touch.atomic = true;
  return touch;
}

/// Whether the last one of some accesses to a byte meets an earlier one.
class Byte {
 public:
  Byte& reads(const Touch& now) { return note(now, Access::read); }
  Byte& writes(const Touch& now) { return note(now, now.atomic ? Access::atomic : Access::write); }
  [[nodiscard]] bool races() const { return races_; }

 private:
  Byte& note(const Touch& now, Access access) {
    races_ = note_access(&marks_, 1, now, access).has_value();
    return *this;
  }
  ByteMarks marks_;
  bool races_ = false;
};

TEST(RaceMarks, OneThreadAndBarriersAreInOrder) {
  EXPECT_FALSE(Byte().writes(by(1, 1)).reads(by(1, 1)).writes(by(1, 1)).races());
  EXPECT_FALSE(Byte().writes(by(1, 1)).reads(by(2, 2)).races());
  EXPECT_FALSE(Byte().reads(by(1, 1)).writes(by(2, 2)).races());
  EXPECT_FALSE(Byte().writes(by(1, 1, 0)).reads(by(2, 1, 1)).races()) << "the warp met";
  EXPECT_FALSE(Byte().reads(by(1, 1)).reads(by(2, 1)).reads(by(1, 1, 0, 5)).races());
  Touch later = by(9, 1, 0, 4);
  later.launch = 8;
  EXPECT_FALSE(Byte().writes(by(1, 1)).writes(later).races());
}

TEST(RaceMarks, WithoutABarrierTheyRace) {
  EXPECT_TRUE(Byte().writes(by(1, 1)).reads(by(2, 1)).races());
  EXPECT_TRUE(Byte().writes(by(1, 1)).writes(by(2, 1)).races());
  EXPECT_TRUE(Byte().reads(by(1, 1)).writes(by(2, 1)).races());
  EXPECT_TRUE(Byte().writes(by(1, 1, 0)).reads(by(40, 1, 1)).races()) << "another warp met";
  EXPECT_TRUE(Byte().writes(by(1, 1, 0, 0)).reads(by(1, 2, 0, 1)).races()) << "another block";
  EXPECT_TRUE(Byte().reads(by(1, 1, 0, 0)).writes(by(1, 2, 0, 1)).races());
}

TEST(RaceMarks, NoReaderIsForgotten) {
  EXPECT_TRUE(Byte().reads(by(2, 1)).reads(by(1, 1)).writes(by(1, 1)).races());
  EXPECT_TRUE(Byte().reads(by(40, 1)).reads(by(1, 1)).writes(by(1, 1, 1)).races());
  EXPECT_FALSE(Byte().reads(by(2, 1)).reads(by(1, 1)).writes(by(1, 1, 1)).races());
  EXPECT_FALSE(Byte().reads(by(40, 1)).reads(by(1, 2)).writes(by(1, 2)).races());
  EXPECT_TRUE(Byte().reads(by(1, 1, 0, 3)).reads(by(1, 1, 0, 4)).writes(by(1, 9, 0, 4)).races());
}

TEST(RaceMarks, AtomicsMeetEachOtherAlone) {
  EXPECT_FALSE(Byte().writes(atomic(by(1, 1))).writes(atomic(by(2, 1, 0, 3))).races());
  EXPECT_TRUE(Byte().writes(atomic(by(1, 1))).reads(by(2, 1)).races());
  EXPECT_TRUE(Byte().writes(atomic(by(1, 1))).writes(atomic(by(2, 1))).reads(by(2, 1)).races());
  EXPECT_TRUE(Byte().writes(by(1, 1)).writes(atomic(by(2, 1))).races());
  // Its own write stays one that others' atomics must not meet, until a barrier.
  EXPECT_FALSE(Byte().writes(by(1, 1)).writes(atomic(by(1, 1))).writes(atomic(by(1, 1))).races());
  EXPECT_TRUE(Byte().writes(by(1, 1)).writes(atomic(by(1, 1))).writes(atomic(by(2, 1))).races());
  EXPECT_FALSE(Byte().writes(by(1, 1)).writes(atomic(by(1, 1))).writes(atomic(by(2, 2))).races());
  EXPECT_FALSE(Byte().writes(atomic(by(1, 1))).writes(atomic(by(40, 1))).reads(by(2, 2)).races());
}

// ---- kernels

/// Each thread writes its cell and reads its neighbour's: of 64 threads, in shared memory.
std::string exchange(const std::string& between) {
  return "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r5, shared; add.u32 %r3, %r5, %r2;"
         "st.shared.u32 [%r3], %r1;" +
         between +
         "add.u32 %r4, %r2, 4; and.b32 %r4, %r4, 255; add.u32 %r4, %r4, %r5;"
         "ld.shared.u32 %r6, [%r4];"
         "cvt.u64.u32 %rd2, %r2; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r6;";
}

TEST(Races, ABarrierIsMissed) {
  const DevicePiece memory(256);
  SmallKernel ordered(exchange("bar.sync 0;"));
  EXPECT_EQ(ordered.run({1, 64}, memory.address()), 0);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(memory.read<std::uint32_t>(i), (i + 1) % 64);
  SmallKernel unordered(exchange(""));
  unordered.run({1, 64}, memory.address());
  EXPECT_TRUE(unordered.complained("race"));
}

TEST(Races, AWarpsBarrierOrdersThatWarp) {
  const DevicePiece memory(256);
  SmallKernel small(exchange("bar.warp.sync -1;"));
  small.run({1, 64}, memory.address());
  EXPECT_TRUE(small.complained("race")) << "lane 31 reads what the next warp writes";
  SmallKernel one_warp(exchange("bar.warp.sync -1;"));
  one_warp.run({1, 32}, memory.address());
  EXPECT_FALSE(one_warp.complained("race"));
}

TEST(Races, BlocksThatWriteOnePlace) {
  const DevicePiece memory(8);
  SmallKernel plain("st.global.u32 [%rd1], 1;"), atomics("red.global.add.u32 [%rd1], 1;");
  plain.run({2, 1}, memory.address());
  EXPECT_TRUE(plain.complained("race: write beside a write"));
  EXPECT_EQ(atomics.run({2, 1}, memory.address()), 0);
  EXPECT_EQ(memory.read<std::uint32_t>(0), 3);
}

TEST(Barriers, NotTheSameOne) {
  const DevicePiece memory(8);
  SmallKernel small(
      "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra $a; bar.sync 0; bra $end;"
      "$a: bar.sync 0; $end:");
  small.run({1, 64}, memory.address());
  EXPECT_TRUE(small.complained("waits at another barrier"));
}

TEST(Barriers, SomeThreadsHaveLeft) {
  const DevicePiece memory(8);
  const std::string half_leave = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 ret;";
  SmallKernel block(half_leave + "bar.sync 0;"), warp(half_leave + "bar.warp.sync -1;");
  block.run({1, 32}, memory.address());
  EXPECT_TRUE(block.complained("has left before a barrier of the block"));
  warp.run({1, 32}, memory.address());
  EXPECT_TRUE(warp.complained("has left before a barrier of its warp"));
}

TEST(Barriers, ThreadsThatWaitForEachOther) {
  const DevicePiece memory(8);
  SmallKernel small(
      "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 bra $a; bar.sync 0;"
      "$a: bar.warp.sync -1;");
  EXPECT_THROW(small.run({1, 32}, memory.address()), Fault);
}

// ---- memory

TEST(Memory, ReadsOfWhatNobodyWrote) {
  const DevicePiece memory(16);
  SmallKernel device("ld.global.u32 %r1, [%rd1];"), shared("ld.shared.u32 %r1, [shared];");
  device.run({1, 1}, memory.address());
  EXPECT_TRUE(device.complained("reads device memory that nobody wrote"));
  shared.run({1, 1}, memory.address());
  EXPECT_TRUE(shared.complained("reads shared memory that nobody wrote"));
}

TEST(Memory, WhatIsOutOfBoundsOrNotAlignedIsAFault) {
  const DevicePiece memory(16);
  for (const char* const body :
       {"st.global.u32 [%rd1+16], 1;", "st.global.u32 [%rd1-4], 1;",
        "st.shared.u32 [shared+256], 1;", "mov.u64 %rd2, 4096; st.global.u32 [%rd2], 1;",
        "st.param.u32 [small_param_0], 1;", "ld.param.u64 %rd2, [small_param_0+8];", "trap;",
        "$L: bra $L;", "frobnicate %r1;"})
    EXPECT_THROW(SmallKernel(body).run({1, 1}, memory.address()), Fault) << body;
  EXPECT_THROW(SmallKernel("st.global.v2.u32 [%rd1+4], {%r1, %r2};").run({1, 1}, memory.address()),
               MisalignedFault);
  EXPECT_THROW(SmallKernel("").run({1, 257}, memory.address()), Fault) << "beyond .maxntid";
}

TEST(Memory, WhatIsFreedIsGone) {
  DeviceMemory& memory = DeviceMemory::instance();
  void* const piece = memory.allocate(100);
  EXPECT_TRUE(memory.is_allocated(piece));
  EXPECT_NE(memory.whole(piece, 100), nullptr);
  EXPECT_EQ(memory.whole(piece, 101), nullptr);
  EXPECT_FALSE(memory.free(static_cast<std::byte*>(piece) + 1));
  EXPECT_TRUE(memory.free(piece));
  EXPECT_FALSE(memory.free(piece));
  EXPECT_FALSE(memory.is_allocated(piece));
  EXPECT_THROW(
      SmallKernel("st.global.u32 [%rd1], 1;").run({1, 1}, reinterpret_cast<std::uint64_t>(piece)),
      Fault);
  EXPECT_EQ(memory.allocate(DeviceMemory::size), nullptr);
}

TEST(Memory, PinnedMemoryIsTheKernelsToo) {
  alignas(16) std::uint32_t place[4] = {};
  DeviceMemory& memory = DeviceMemory::instance();
  memory.add_pinned(place, sizeof place);
  SmallKernel small("st.global.u32 [%rd1+4], 9;");
  EXPECT_EQ(small.run({1, 1}, reinterpret_cast<std::uint64_t>(place)), 0);
  EXPECT_EQ(place[1], 9);
  EXPECT_TRUE(memory.is_pinned(place, 16));
  EXPECT_FALSE(memory.is_pinned(place, 17));
  EXPECT_TRUE(memory.remove_pinned(place));
  EXPECT_FALSE(memory.remove_pinned(place));
}

TEST(Memory, GlobalsHoldTheirValues) {
  Module module(
      ".version 9.0\n.global .align 4 .b32 table[2] = {5, 6};\n"
      ".visible .entry k(.param .u64 k_param_0\n)\n{\n.reg .b64 %rd<3>; .reg .b32 %r<2>;\n"
      "ld.param.u64 %rd1, [k_param_0]; ld.global.u32 %r1, [table+4]; st.global.u32 [%rd1], %r1;"
      "\nret;\n}\n");
  const DevicePiece memory(8);
  const std::uint64_t address = memory.address();
  std::vector<std::uint8_t> parameters(8);
  std::memcpy(parameters.data(), &address, 8);
  launch(module.kernel("k"), {1, 1}, parameters);
  EXPECT_EQ(memory.read<std::uint32_t>(0), 6);
}

}  // namespace
}  // namespace cohom::ptx
