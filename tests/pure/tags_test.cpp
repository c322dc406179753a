// The tags of a call's messages, as docs/wire-format.md has them, and the cookies of its requests.

#include "base/tags.hpp"

#include <gtest/gtest.h>

namespace cohom::test {
namespace {

TEST(Tags, AreThoseOfTheWireFormat) {
  EXPECT_EQ(payload_tag(0, 0), 0u);
  EXPECT_EQ(payload_tag(3, 0x1234), 0x31234u);
  EXPECT_EQ(rank_sum_tag(2, 3, false), 0x20006u);
  EXPECT_EQ(rank_sum_tag(2, 3, true), 0x20007u);
  EXPECT_EQ(outcome_tag(0), 0xfff80u);
  EXPECT_EQ(outcome_tag(15), 0xfff8fu);
  EXPECT_EQ(call_tag, 0xfffc0u);
  EXPECT_EQ(section_tag, 0xffffdu);
  EXPECT_EQ(record_tag, 0xffffeu);
  EXPECT_EQ(failure_tag, 0xfffffu);
}

TEST(Tags, SayWhetherAnAgreementSendsThem) {
  for (const std::uint32_t tag : {outcome_tag(0), call_tag, section_tag, record_tag, failure_tag})
    EXPECT_TRUE(is_agreement_tag(tag)) << tag;
  EXPECT_FALSE(is_agreement_tag(payload_tag(max_rounds - 1, 0xffff)));
  EXPECT_EQ(round_of_tag(payload_tag(max_rounds - 1, 0xffff)), std::uint32_t(max_rounds - 1));
}

TEST(Cookies, SayWhatIsComplete) {
  const std::uint64_t payload = payload_cookie(5, 0x654321, 0x87654321);
  EXPECT_EQ(round_of_cookie(payload), 5);
  EXPECT_EQ(step_of_cookie(payload), 0x654321u);
  EXPECT_EQ(unit_of_cookie(payload), 0x87654321u);
  EXPECT_EQ(round_of_cookie(rank_sum_cookie(5, 3)), 5);
  EXPECT_EQ(reduction_of_cookie(rank_sum_cookie(5, 3)), 3u);
  EXPECT_FALSE(is_agreement_cookie(payload));
  for (const bool sent : {false, true}) {
    EXPECT_EQ(is_sent(outcome_cookie(7, sent)), sent);
    EXPECT_EQ(index_of_cookie(outcome_cookie(7, sent)), 7u);
    EXPECT_EQ(round_of_cookie(outcome_cookie(7, sent)), outcome_round);
    EXPECT_EQ(is_sent(call_cookie(sent)), sent);
    EXPECT_EQ(round_of_cookie(call_cookie(sent)), call_round);
    EXPECT_EQ(index_of_cookie(call_cookie(sent)), 0u);
    EXPECT_EQ(index_of_cookie(call_cookie(sent, 5)), 5u);
    EXPECT_EQ(is_sent(call_cookie(sent, 5)), sent);
    EXPECT_TRUE(is_agreement_cookie(outcome_cookie(7, sent)));
    EXPECT_TRUE(is_agreement_cookie(call_cookie(sent)));
  }
}

}  // namespace
}  // namespace cohom::test
