// Reading .npy and .npz files, and refusing what is none.

#include "npy.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zip.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohom::bench {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

std::string header_text(const std::string& descr, const std::string& order,
                        const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

/// A .npy file as NumPy writes it, with any header text.
Bytes npy(const std::string& header, const Bytes& data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  const std::string padded = header + std::string(63 - header.size() % 64, ' ') + "\n";
  for (int byte = 0; byte < (version == 1 ? 2 : 4); ++byte)
    text += static_cast<char>(padded.size() >> 8 * byte & 0xff);
  text += padded;
  Bytes content = bytes_of<char>(text);
  content.insert(content.end(), data.begin(), data.end());
  return content;
}

const std::array<float, 6> six = {1, -2, 3.5F, 0, 1e-30F, 6};

Bytes good_file() { return npy(header_text("'<f4'", "False", "(2, 3)"), bytes_of<float>(six)); }

/// The message of the InputError that `read` throws.
std::string message_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no InputError";
  return {};
}

void expect_refusal(const Bytes& content, std::string_view says) {
  const std::string message = message_of([&] { parse_npy(content, "x.npy"); });
  EXPECT_TRUE(message.starts_with("x.npy: ")) << message;
  EXPECT_NE(message.find(says), std::string::npos) << message;
}

/// A folder of this test's own, gone with it.
class NpzTest : public ::testing::Test {
 protected:
  NpzTest() { std::filesystem::create_directory(folder_); }
  ~NpzTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const Bytes& content, const char* name = "input") {
    auto path = folder_ / name;
    std::ofstream stream(path, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(content.data()),
                 static_cast<std::streamsize>(content.size()));
    return path;
  }

  std::filesystem::path write_archive(const std::vector<std::pair<std::string, Bytes>>& members) {
    const auto path = folder_ / "archive.npz";
    zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    for (const auto& [name, content] : members)
      zip_file_add(archive, name.c_str(),
                   zip_source_buffer(archive, content.data(), content.size(), 0), 0);
    EXPECT_EQ(zip_close(archive), 0);
    return path;
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  ("cohom_npz_test_" + std::to_string(::getpid()));
};

TEST(Npy, ReadsAMatrix) {
  const NpyArray array = parse_npy(good_file(), "x.npy");
  EXPECT_EQ(array.type, ElementType::f32);
  EXPECT_EQ(array.rows, 2u);
  EXPECT_EQ(array.columns, 3u);
  EXPECT_EQ(array.row(0), (std::vector<double>{1, -2, 3.5}));
  EXPECT_EQ(array.row(1), (std::vector<double>{0, double{1e-30F}, 6}));
}

TEST(Npy, ReadsAVectorAsOneRow) {
  const NpyArray array =
      parse_npy(npy(header_text("'<f4'", "False", "(6,)"), bytes_of<float>(six)), "x.npy");
  EXPECT_EQ(array.rows, 1u);
  EXPECT_EQ(array.columns, 6u);
}

TEST(Npy, ReadsOtherTypesAndVersions) {
  const std::array<double, 2> doubles = {0.1, -3};
  const std::array<std::uint16_t, 2> halves = {0x3c00, 0xc500};
  for (const char version : {1, 2, 3}) {
    const auto f8 =
        npy(header_text("'<f8'", "False", "(1, 2)"), bytes_of<double>(doubles), version);
    EXPECT_EQ(parse_npy(f8, "x").row(0), (std::vector<double>{0.1, -3}));
    const auto f2 =
        npy(header_text("'<f2'", "False", "(1, 2)"), bytes_of<std::uint16_t>(halves), version);
    EXPECT_EQ(parse_npy(f2, "x").row(0), (std::vector<double>{1, -5}));
  }
}

TEST(Npy, WritesWhatItReads) {
  for (const std::size_t count : {1, 5, 6}) {
    const auto values = std::span(six).first(count);
    const std::string content = npy_content(ElementType::f32, std::as_bytes(values));
    EXPECT_EQ(content.find('\n') % 64, 63u);  // as NumPy aligns it
    const NpyArray array = parse_npy(std::as_bytes(std::span(content)), "written");
    EXPECT_EQ(array.type, ElementType::f32);
    EXPECT_EQ(array.rows, 1u);
    EXPECT_EQ(array.bytes, bytes_of<float>(values));
  }
  const std::array<double, 2> doubles = {1e300, -0.0};
  const std::string content = npy_content(ElementType::f64, std::as_bytes(std::span(doubles)));
  const NpyArray array = parse_npy(std::as_bytes(std::span(content)), "written");
  EXPECT_EQ(array.type, ElementType::f64);
  EXPECT_EQ(array.bytes, bytes_of<double>(doubles));
}

TEST(Npy, RefusesEveryTruncation) {
  const Bytes whole = good_file();
  for (std::size_t size = 0; size < whole.size(); ++size)
    expect_refusal({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)},
                   size == 0 ? "empty" : "truncated");
}

TEST(Npy, RefusesMoreThanTheShapeSays) {
  Bytes content = good_file();
  content.push_back(std::byte{0});
  expect_refusal(content, "take 24 bytes, 25 are there");
}

TEST(Npy, RefusesWhatIsNoNpyFile) {
  expect_refusal(bytes_of<char>(std::string("hello, world")), "does not start with");
  Bytes version = good_file();
  version[6] = std::byte{9};
  expect_refusal(version, "format version 9; versions 1 to 3");
}

TEST(Npy, RefusesHeadersItCannotUse) {
  const Bytes data = bytes_of<float>(six);
  const auto refuse = [&](const std::string& header, std::string_view says) {
    expect_refusal(npy(header, data), says);
  };
  refuse(header_text("'<i4'", "False", "(2, 3)"), "dtype '<i4'; it should be '<f4'");
  refuse(header_text("'>f4'", "False", "(2, 3)"), "dtype '>f4'; it should be '<f4'");
  refuse(header_text("[('a', '<f4')]", "False", "(2, 3)"), "without a usable 'descr'");
  refuse(header_text("'<f4'", "True", "(2, 3)"), "Fortran order; it should be in C order");
  refuse(header_text("'<f4'", "maybe", "(2, 3)"), "without a usable 'fortran_order'");
  refuse(header_text("'<f4'", "False", "6"), "without a usable 'shape'");
  refuse(header_text("'<f4'", "False", "(2, x)"), "no list of sizes");
  refuse(header_text("'<f4'", "False", "()"), "0 dimensions; it should be [ranks, d]");
  refuse(header_text("'<f4'", "False", "(1, 2, 3)"), "3 dimensions; it should be [ranks, d]");
  refuse(header_text("'<f4'", "False", "(0, 3)"), "no elements");
  refuse(header_text("'<f4'", "False", "(4294967296, 4294967296)"), "impossible shape");
  refuse("{}", "without a usable 'descr'");
}

TEST_F(NpzTest, TellsNpyFromNpzByContent) {
  EXPECT_EQ(read_array(write(good_file(), "no_ending")).columns, 3u);
  EXPECT_EQ(read_array(write_archive({{"gradients.npy", good_file()}})).columns, 3u);
}

TEST_F(NpzTest, ReadsWhatNumPyCompressed) {
  // numpy.savez_compressed(file, gradients=numpy.array([[1, -2], [0.5, 4]], '<f4'))
  constexpr std::string_view archive =
      "504b0304140000000800000021007386af6753000000900000000d0014006772616469656e74732e"
      "6e707901001000900000000000000053000000000000009bec17ea1b10c9c850c650ad9e925a9c5c"
      "a46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a"
      "463a0a469a3a0ab50a64032e0686067b06068603400ca41b1c00504b010214031400000008000000"
      "21007386af6753000000900000000d00000000000000000000008001000000006772616469656e74"
      "732e6e7079504b050600000000010001003b000000920000000000";
  Bytes content;
  for (std::size_t i = 0; i < archive.size(); i += 2)
    content.push_back(
        static_cast<std::byte>(std::stoi(std::string(archive.substr(i, 2)), nullptr, 16)));
  const NpyArray array = read_array(write(content));
  EXPECT_EQ(array.row(0), (std::vector<double>{1, -2}));
  EXPECT_EQ(array.row(1), (std::vector<double>{0.5, 4}));
}

TEST_F(NpzTest, TakesGradientsOrTheOnlyMember) {
  const Bytes other = npy(header_text("'<f4'", "False", "(6,)"), bytes_of<float>(six));
  EXPECT_EQ(read_array(write_archive({{"a.npy", other}, {"gradients.npy", good_file()}})).rows, 2u);
  EXPECT_EQ(read_array(write_archive({{"a.npy", other}})).rows, 1u);
  const auto two = write_archive({{"a.npy", other}, {"b.npy", other}});
  EXPECT_NE(message_of([&] { read_array(two); }).find("2 members (a.npy, b.npy)"),
            std::string::npos);
}

TEST_F(NpzTest, RefusesDamagedArchives) {
  const auto path = write_archive({{"gradients.npy", good_file()}});
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size / 2);
  EXPECT_NE(message_of([&] { read_array(path); }).find("truncated or damaged"), std::string::npos);
}

TEST_F(NpzTest, RefusesMembersWithFlippedBits) {
  const Bytes large = npy(header_text("'<f4'", "False", "(1, 250)"), Bytes(1000));
  const auto path = write_archive({{"gradients.npy", large}});
  std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(60);  // behind the local header of 43 bytes, in the compressed member
  stream.put('\x55');
  stream.close();
  EXPECT_NE(message_of([&] { read_array(path); }).find("damaged .npz archive"), std::string::npos);
}

TEST_F(NpzTest, NamesTheMemberThatIsWrong) {
  const auto path = write_archive({{"a.npy", bytes_of<char>(std::string("no array"))}});
  EXPECT_NE(message_of([&] { read_array(path); }).find("archive.npz[a.npy]: is no .npy file"),
            std::string::npos);
}

TEST_F(NpzTest, NamesFilesThatCannotBeRead) {
  EXPECT_NE(message_of([&] {
              read_array(folder_ / "missing.npy");
            }).find("missing.npy: cannot be opened"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read_array(folder_); }).find("is a directory"), std::string::npos);
}

}  // namespace
}  // namespace cohom::bench
