#include "aggregation/protocol/admission.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom::offload {

namespace {

// What the fields of packets and messages can say.
constexpr std::uint64_t max_number = 0xffff;
constexpr std::uint64_t max_slots = 0x10000;
constexpr std::uint64_t max_payload_bytes = 8 * 0xffff;

void expect(bool right, const char* field, std::uint64_t value, const std::string& what) {
  if (!right)
    throw Error(ErrorKind::transport, std::string("an admission whose ") + field + " is " +
                                          std::to_string(value) + "; it should be " + what);
}

void expect_up_to(const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  expect(least <= value && value <= most, field, value,
         std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace

void check_admitted(const Admitted& admitted, const AskedFor& asked) {
  expect_up_to("group number", admitted.number, 0, max_number);
  expect(admitted.epoch != 0, "epoch", 0, "another number");
  expect(admitted.key != 0, "key", 0, "another number");
  expect_up_to("payload", admitted.payload_bytes, 8,
               std::min<std::uint64_t>(asked.payload_bytes, max_payload_bytes));
  expect(admitted.payload_bytes % 8 == 0, "payload", admitted.payload_bytes, "whole words");
  expect_up_to("number of slots", admitted.slots, 1,
               std::min<std::uint64_t>(asked.slots, max_slots));
  expect_up_to("narrow contributions", admitted.takes_narrow, 0, 1);
}

}  // namespace cohom::offload
