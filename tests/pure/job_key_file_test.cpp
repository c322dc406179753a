// The file in which a job leaves its keys for its owner: what is in it, and what is refused.

#include "aggregation/auth/job_key_file.hpp"
#include "job_keys.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace cohom::offload {
namespace {

class JobKeyFile : public testing::Test {
 protected:
  JobKeyFile() {
    std::string name = testing::TempDir() + "job_key_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ / "keys";
    ::setenv(job_key_file_variable, path_.c_str(), 1);
  }
  ~JobKeyFile() override {
    ::unsetenv(job_key_file_variable);
    std::filesystem::remove_all(folder_);
  }

  void write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
  }
  [[nodiscard]] std::string text() const {
    std::ifstream stream(path_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  [[nodiscard]] std::vector<JobSecret> read() const {
    return read_job_secrets(path_.string(), "--job-key-file");
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }
  /// What a job says of the file.
  static std::string refusal(std::uint64_t job = 1) {
    try {
      keep_job_secret(test::job_secret(job));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "kept";
  }
  void expect_refusal(const std::string& why) const {
    EXPECT_EQ(
        refusal().find(std::string(job_key_file_variable) + " is '" + path_.string() + "': " + why),
        0u)
        << refusal();
  }

  std::filesystem::path folder_, path_;
};

TEST_F(JobKeyFile, HasEachKeyOnceForThisUserAlone) {
  const ::mode_t before = ::umask(0);
  for (const std::uint64_t number : {7, 8, 7}) keep_job_secret(test::job_secret(number));
  ::umask(before);
  struct stat about {};
  ASSERT_EQ(::stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  EXPECT_EQ(text(), "07" + std::string(62, '0') + "\n08" + std::string(62, '0') + "\n");
  EXPECT_EQ(read(), (std::vector{test::job_secret(7), test::job_secret(8)}));
}

TEST_F(JobKeyFile, KeepsTheNewest) {
  for (std::uint64_t number = 0; number < 70; ++number) keep_job_secret(test::job_secret(number));
  const auto secrets = read();
  ASSERT_EQ(secrets.size(), 64u);
  EXPECT_EQ(secrets.front(), test::job_secret(6));
  EXPECT_EQ(secrets.back(), test::job_secret(69));
}

TEST_F(JobKeyFile, IsNotMadeOfAFileOfSomethingElse) {
  for (const std::string& content :
       {std::string("a token\n"), std::string(64, 'g') + "\n", std::string(64, '0')}) {
    write(content);
    expect_refusal("line 1 is no key of a job");
    EXPECT_EQ(text(), content);
  }
  write(std::string(64, '0') + "\nmore\n");
  expect_refusal("line 2 is no key of a job");
  write(std::string(100000, '0'));
  expect_refusal("it has 100000 bytes; it should have at most 4160");
  write("", 0640);
  expect_refusal("others may use it; it should have mode 600");
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("elsewhere", path_);
  expect_refusal("it is a symbolic link");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_F(JobKeyFile, IsWholeWhoeverChangesIt) {
  keep_job_secret(test::job_secret(1));
  std::atomic<bool> done = false;
  {
    const std::jthread reader([&] {
      while (!done) EXPECT_FALSE(read().empty());
    });
    std::vector<std::jthread> jobs;
    for (std::uint64_t job = 0; job < 4; ++job)
      jobs.emplace_back([job] {
        for (std::uint64_t i = 0; i < 12; ++i) keep_job_secret(test::job_secret(10 + 12 * job + i));
      });
    jobs.clear();
    done = true;
  }
  EXPECT_EQ(read().size(), 49u);
  EXPECT_EQ(files(), 1);
}

TEST_F(JobKeyFile, StaysAsItIsWhereTheDiskIsFull) {
  keep_job_secret(test::job_secret(1));
  const std::string before = text();
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit less{before.size() + 10, limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &less);
  const std::string why = refusal(2);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(why.find("it cannot be written: File too large"), std::string::npos) << why;
  EXPECT_EQ(text(), before);
  EXPECT_EQ(files(), 1);
}

TEST_F(JobKeyFile, WithoutAKeyIsAnError) {
  EXPECT_THROW(read(), Error);
  write("");
  EXPECT_THROW(read(), Error);
  ::unsetenv(job_key_file_variable);
  keep_job_secret(test::job_secret(1));
  EXPECT_EQ(text(), "");
}

}  // namespace
}  // namespace cohom::offload
