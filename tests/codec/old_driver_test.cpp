// The entry point of libcohom_cuda.so where the driver is older than what it was built with. No
// device is needed.

#include "fake_driver.hpp"
#include "kernels/device_runtime/device_library.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <string>

namespace cohom::test {
namespace {

TEST(OldDriver, IsNamedWithItsVersion) {
  load_fake_driver(COHOM_FAKE_DRIVER);
  void* const library = dlopen(COHOM_BUILT_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto entry_point = reinterpret_cast<kernels::DeviceLibraryEntryPoint>(
      dlsym(library, kernels::device_library_entry_point));
  ASSERT_NE(entry_point, nullptr);
  const char* why = nullptr;
  EXPECT_EQ(entry_point(&why), nullptr);
  ASSERT_NE(why, nullptr);
  EXPECT_NE(std::string(why).find("the driver is for CUDA 11.4"), std::string::npos) << why;
  EXPECT_NE(std::string(why).find("or newer"), std::string::npos) << why;
}

}  // namespace
}  // namespace cohom::test
