#include "mpix_fixture.hpp"

#include <cstring>

namespace cohom::testing {

Info::Info(std::initializer_list<std::pair<std::string, std::string>> entries) {
  for (const auto& [key, value] : entries) set(key, value);
}

Info::~Info() {
  if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
}

void Info::set(const std::string& key, const std::string& value) {
  if (info_ == MPI_INFO_NULL) MPI_Info_create(&info_);
  ASSERT_EQ(MPI_Info_set(info_, key.c_str(), value.c_str()), MPI_SUCCESS);
}

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

MpixTest::MpixTest() {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &ranks_);
}

MpixTest::~MpixTest() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

void MpixTest::expect_error(int code, const std::vector<std::string>& words) {
  ASSERT_NE(code, MPI_SUCCESS);
  const std::string text = text_of(code);
  EXPECT_EQ(text.rfind("cohom: ", 0), 0u) << text;
  for (const auto& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;

  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  EXPECT_EQ(text_of(error_class).rfind("cohom: ", 0), 0u) << text_of(error_class);
}

void MpixTest::expect_error_on_all_ranks(int code, MPI_Comm comm,
                                         const std::vector<std::string>& words) {
  expect_error(code, words);
  char text[MPI_MAX_ERROR_STRING] = "";
  if (code != MPI_SUCCESS) std::strncpy(text, text_of(code).c_str(), sizeof text - 1);
  expect_same_on_all_ranks(text, sizeof text, comm);
}

void MpixTest::expect_good_call(MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  std::vector<float> data(1000);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(rank + 1) * static_cast<float>(i);
  const Info info{{"cohom_codec", "raw"}};
  const int code =
      MPIX_Allreduce_compressed(MPI_IN_PLACE, data.data(), 1000, MPI_FLOAT, MPI_SUM, comm, info);
  ASSERT_EQ(code, MPI_SUCCESS) << text_of(code);
  const float factor = static_cast<float>(ranks * (ranks + 1) / 2);
  for (std::size_t i = 0; i < data.size(); ++i)
    ASSERT_EQ(data[i], factor * static_cast<float>(i)) << "element " << i;
}

void MpixTest::expect_same_on_all_ranks(const void* data, std::size_t bytes, MPI_Comm comm) {
  std::vector<std::byte> first(bytes);
  std::memcpy(first.data(), data, bytes);
  MPI_Bcast(first.data(), static_cast<int>(bytes), MPI_BYTE, 0, comm);
  EXPECT_EQ(std::memcmp(first.data(), data, bytes), 0) << "differs from rank 0";
}

}  // namespace cohom::testing
