// The C API: what the library is, what plans decided, what was counted; datatypes made of floats.

#include "mpix_fixture.hpp"

#include <cohom/mpix.h>
#include <cohom/version.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

namespace cohom::testing {
namespace {

class MpixQuery : public MpixTest {
 protected:
  /// "" where the key is missing.
  static std::string value_of(MPI_Info info, const char* key) {
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    return found != 0 ? value : "";
  }

  /// Of 100000 floats, with the codec thc and this algorithm.
  std::vector<std::string> described(const std::string& algorithm, MPI_Count count = 100000) {
    MPI_Info description = MPI_INFO_NULL;
    EXPECT_EQ(MPIX_Compressed_describe(count, MPI_FLOAT, MPI_SUM, comm_,
                                       Info{{"cohom_codec", "thc"}, {"cohom_algorithm", algorithm}},
                                       &description),
              MPI_SUCCESS);
    std::vector<std::string> values;
    for (const char* key : {"codec", "algorithm", "bypass", "not_offloaded"})
      values.push_back(value_of(description, key));
    MPI_Info_free(&description);
    return values;
  }
};

TEST_F(MpixQuery, TellsWhatAPlanDecided) {
  MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
  ASSERT_EQ(MPIX_Compressed_plan_create(
                100000, MPI_FLOAT, MPI_SUM, comm_,
                Info{{"cohom_codec", "thc:bits=8"}, {"cohom_algorithm", "ring"}}, &plan),
            MPI_SUCCESS);
  MPI_Info description = MPI_INFO_NULL;
  ASSERT_EQ(MPIX_Compressed_plan_describe(plan, &description), MPI_SUCCESS);
  EXPECT_EQ(value_of(description, "codec").find("thc:"), 0u);
  EXPECT_NE(value_of(description, "codec").find("bits=8"), std::string::npos);
  EXPECT_EQ(value_of(description, "algorithm"), "ring");
  EXPECT_EQ(value_of(description, "bypass"), "false");
  EXPECT_EQ(value_of(description, "memory"), "host");
  EXPECT_GT(std::stoll(value_of(description, "segment")), 0);
  MPI_Info_free(&description);
  MPIX_Compressed_plan_free(&plan);
}

TEST_F(MpixQuery, TellsWhatACallWouldDo) {
  const auto ring = described("ring");
  EXPECT_EQ(ring[0].substr(0, 3), "thc");
  EXPECT_EQ(ring[1], "ring");
  EXPECT_EQ(ring[2], "false");
  EXPECT_EQ(ring[3], "-");
  // A few elements are not worth compressing.
  const auto few = described("auto", 10);
  EXPECT_EQ(few[0], "raw");
  EXPECT_EQ(few[2], "true");
  expect_good_call(comm_);
}

TEST_F(MpixQuery, AnErrorOfOneRanksArgumentsReachesAll) {
  MPI_Info description = MPI_INFO_NULL;
  expect_error_on_all_ranks(MPIX_Compressed_describe(10, MPI_FLOAT, MPI_SUM, comm_, MPI_INFO_NULL,
                                                     last_rank() ? nullptr : &description),
                            comm_, {"description is a null pointer"});
  EXPECT_EQ(description, MPI_INFO_NULL);
  expect_error(MPIX_Compressed_plan_describe(nullptr, &description), {"plan is a null pointer"});
}

TEST_F(MpixQuery, CountsWhatIsSent) {
  MPI_Count before = -1, bytes = -1, messages = -1;
  ASSERT_EQ(MPIX_Compressed_counter(comm_, "bytes_sent", &before), MPI_SUCCESS);
  EXPECT_EQ(before, 0);
  expect_good_call(comm_);
  ASSERT_EQ(MPIX_Compressed_counter(comm_, "bytes_sent", &bytes), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Compressed_counter(comm_, "messages_sent", &messages), MPI_SUCCESS);
  EXPECT_EQ(bytes > 0, ranks_ > 1);
  EXPECT_EQ(messages > 0, ranks_ > 1);
  MPI_Count bypassed = -1, after = -1;
  ASSERT_EQ(MPIX_Compressed_counter(comm_, "bypassed_calls", &bypassed), MPI_SUCCESS);
  float few[10] = {};
  ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, few, 10, MPI_FLOAT, MPI_SUM, comm_,
                                      Info{{"cohom_codec", "thc"}}),
            MPI_SUCCESS);
  ASSERT_EQ(MPIX_Compressed_counter(comm_, "bypassed_calls", &after), MPI_SUCCESS);
  EXPECT_EQ(after, bypassed + 1);
  expect_error(MPIX_Compressed_counter(comm_, "bites", &bytes), {"'bites'", "bytes_sent"});
  expect_error(MPIX_Compressed_counter(comm_, nullptr, &bytes), {"name is a null pointer"});
  expect_error(MPIX_Compressed_counter(comm_, "bytes_sent", nullptr), {"value is a null pointer"});
}

TEST_F(MpixQuery, ListsCodecs) {
  MPI_Info codecs = MPI_INFO_NULL;
  ASSERT_EQ(MPIX_Compressed_codecs(&codecs), MPI_SUCCESS);
  for (const char* codec : {"raw", "thc", "packed", "sparse", "exact"})
    EXPECT_GT(value_of(codecs, codec).size(), 10u) << codec;
  MPI_Info_free(&codecs);
  expect_error(MPIX_Compressed_codecs(nullptr), {"codecs is a null pointer"});
}

TEST_F(MpixQuery, HasTheHeadersVersion) {
  int major = -1, minor = -1, patch = -1;
  ASSERT_EQ(MPIX_Compressed_get_version(&major, &minor, &patch), MPI_SUCCESS);
  EXPECT_EQ(major, COHOM_VERSION_MAJOR);
  EXPECT_EQ(minor, COHOM_VERSION_MINOR);
  EXPECT_EQ(patch, COHOM_VERSION_PATCH);
  EXPECT_STREQ(version_string, COHOM_VERSION_STRING);
  expect_error(MPIX_Compressed_get_version(&major, nullptr, &patch), {"minor is a null pointer"});
}

TEST_F(MpixQuery, AdvancesCalls) {
  std::vector<float> data(5000, 1.0f);
  MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
  ASSERT_EQ(MPIX_Compressed_progress(comm_), MPI_SUCCESS);  // of nothing
  ASSERT_EQ(MPIX_Iallreduce_compressed(MPI_IN_PLACE, data.data(), 5000, MPI_FLOAT, MPI_SUM, comm_,
                                       Info{{"cohom_codec", "raw"}}, &request),
            MPI_SUCCESS);
  while (data[4999] != static_cast<float>(ranks_))
    ASSERT_EQ(MPIX_Compressed_progress(comm_), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Compressed_wait(&request), MPI_SUCCESS);
}

/// A duplicate, three of an element, and two of these.
TEST_F(MpixQuery, DatatypesOfFloatsAreFloats) {
  const Info info{{"cohom_codec", "raw"}};
  for (const MPI_Datatype element : {MPI_DOUBLE, MPI_FLOAT}) {
    MPI_Datatype same = MPI_DATATYPE_NULL, three = MPI_DATATYPE_NULL, six = MPI_DATATYPE_NULL;
    MPI_Type_dup(element, &same);
    MPI_Type_contiguous(3, same, &three);
    MPI_Type_contiguous(2, three, &six);
    int bytes = 0;
    MPI_Type_size(element, &bytes);
    std::vector<unsigned char> found(std::size_t(bytes) * 100 * 6), expected;
    for (std::size_t i = 0; i < found.size(); i += std::size_t(bytes))
      found[i + std::size_t(bytes) - 1] = 0x3c;  // powers of two, whose sums are exact
    expected = found;
    ASSERT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, expected.data(), 600, element, MPI_SUM, comm_,
                                        info),
              MPI_SUCCESS);
    const int code =
        MPIX_Allreduce_compressed(MPI_IN_PLACE, found.data(), 100, six, MPI_SUM, comm_, info);
    ASSERT_EQ(code, MPI_SUCCESS) << text_of(code);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(MPIX_Allreduce_compressed(MPI_IN_PLACE, found.data(), 0, same, MPI_SUM, comm_, info),
              MPI_SUCCESS);
    expect_error_on_all_ranks(
        MPIX_Allreduce_compressed(MPI_IN_PLACE, found.data(), MPI_Count(1) << 61, six, MPI_SUM,
                                  comm_, info),
        comm_, {"count is 2305843009213693952 items of 6 elements"});
    for (MPI_Datatype* made : {&same, &three, &six}) MPI_Type_free(made);
  }
  expect_good_call(comm_);
}

}  // namespace
}  // namespace cohom::testing
