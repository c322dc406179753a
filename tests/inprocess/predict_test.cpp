// What cohom-info --predict says, and how it reads its command line.

#include "command_line.hpp"
#include "predict/codec_meter.hpp"
#include "predict/predict_options.hpp"
#include "predict/prediction.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cohom::bench {
namespace {

constexpr std::size_t mebibyte = 1 << 20;

std::vector<PredictedRow> rows_on(const char* network, int ranks, std::size_t bytes,
                                  const std::vector<std::string>& codecs) {
  return predict({.network = *find_network(network),
                  .bytes = bytes,
                  .ranks = ranks,
                  .codecs = measure_codecs(codecs, bytes)});
}

std::vector<PredictedRow> rows_of(const std::vector<PredictedRow>& rows, const std::string& codec) {
  std::vector<PredictedRow> own;
  std::ranges::copy_if(rows, std::back_inserter(own),
                       [&](const PredictedRow& row) { return row.codec == codec; });
  return own;
}

TEST(Predict, HasNativeFirstAndTheFastestOfEachCodecNext) {
  const auto rows = rows_on("eth10", 6, mebibyte, {"thc", "raw"});
  EXPECT_EQ(rows.front().codec, "");
  EXPECT_GT(rows.front().time.value(), 0);
  for (const std::string codec : {"thc", "raw"}) {
    const auto own = rows_of(rows, codec);
    EXPECT_GT(own.size(), 4u);
    EXPECT_TRUE(std::ranges::is_sorted(own, {}, [](const auto& row) { return row.time.value(); }));
    EXPECT_EQ(std::ranges::count_if(own, &PredictedRow::chosen), 1) << codec;
  }
}

/// A link of 1 Gbit/s carries 16 MiB of thc's payload in a fraction of what f32 takes, and no
/// processor is so slow that this does not pay.
TEST(Predict, CompressingPaysOnSlowLinks) {
  const auto rows = rows_on("eth1", 4, 16 * mebibyte, {"thc"});
  EXPECT_LT(rows[1].time.value(), 0.5 * rows[0].time.value());
}

TEST(Predict, RanksThatShareCoresWorkMoreSlowly) {
  PredictionQuestion question{.network = *find_network("fat"),
                              .bytes = 4 * mebibyte,
                              .ranks = 4,
                              .codecs = measure_codecs({"thc"}, 4 * mebibyte)};
  const auto alone = predict(question);
  question.ranks_a_thread = 8;
  const auto crowded = predict(question);
  EXPECT_GT(crowded[1].time.value(), 2 * alone[1].time.value());
}

TEST(Predict, ShortVectorsGoRaw) {
  const auto rows = rows_on("fat", 4, 4096, {"thc"});
  const auto chosen = std::ranges::find_if(rows, &PredictedRow::chosen);
  ASSERT_NE(chosen, rows.end());
  EXPECT_EQ(chosen->algorithm, "recursive_doubling as raw");
}

TEST(Predict, SaysWhyNobodyKnows) {
  const auto rows = rows_on("fat", 4, mebibyte, {"sparse"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_FALSE(rows[1].time.has_value());
  EXPECT_NE(rows[1].why_not.find("not known beforehand"), std::string::npos) << rows[1].why_not;
  EXPECT_NE(table_of(rows).find(rows[1].why_not), std::string::npos);
}

TEST(Predict, ACodecThatIsNoneIsAnError) {
  EXPECT_THROW((void)measure_codecs({"thcc"}, mebibyte), Error);
}

TEST(CodecMeter, MeasuresWhatEachCodecDoes) {
  const CodecTimes raw = measure_codec("raw", mebibyte);
  EXPECT_GT(raw.add_wide, 0);
  EXPECT_EQ(raw.add_narrow, 0);
  for (const char* const codec : {"thc", "packed:bits=5", "signcount"}) {
    const CodecTimes times = measure_codec(codec, mebibyte);
    EXPECT_GT(times.encode, 0) << codec;
    EXPECT_GT(times.decode, 0) << codec;
    EXPECT_GT(times.add_narrow + times.add_wide, 0) << codec;
  }
  EXPECT_GT(measure_codec("thc", mebibyte).agree, 0);  // it looks at norms
}

std::string refusal(const char* text, const char* network = "") {
  try {
    (void)parse_predict(text, network);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(PredictOptions, TakesBytesAndRanks) {
  EXPECT_EQ(parse_predict("16M", "").bytes, 16 * mebibyte);
  EXPECT_EQ(parse_predict("16M", "").ranks, 0);
  const PredictOptions options = parse_predict("64K,255", "eth10");
  EXPECT_EQ(options.bytes, 65536u);
  EXPECT_EQ(options.ranks, 255);
  EXPECT_EQ(options.network, find_network("eth10"));
}

TEST(PredictOptions, SayWhatIsWrong) {
  for (const char* const wrong :
       {"", "0", "16Q", "3", "16M,", "16M,1", "16M,2,4", "16M,2:4", "-4,2"})
    EXPECT_NE(refusal(wrong).find(std::string("--predict '") + wrong + "'"), std::string::npos)
        << wrong;
  EXPECT_NE(refusal("16M,4", "eth9").find("--network 'eth9' is unknown"), std::string::npos);
  EXPECT_NE(refusal("16M", "eth10").find("needs a number of ranks"), std::string::npos);
}

}  // namespace
}  // namespace cohom::bench
