// What is said of a driver that may be too old.

#include "kernels/device_runtime/library/cuda_versions.hpp"

#include <gtest/gtest.h>

namespace cohom::test {
namespace {

using kernels::device::versions_text;

TEST(CudaVersions, SayWhatDriverIsNeeded) {
  EXPECT_EQ(versions_text(0, 13000), "there is no NVIDIA driver");
  EXPECT_EQ(versions_text(13010, 13000),
            "the driver is for CUDA 13.1, the library was built with CUDA 13.0");
  EXPECT_EQ(versions_text(12000, 12090),
            "the driver is for CUDA 12.0, the library was built with CUDA 12.9, whose PTX it does "
            "not compile");
  EXPECT_EQ(versions_text(11040, 13010),
            "the driver is for CUDA 11.4, the library was built with CUDA 13.1 and needs a driver "
            "for CUDA 13.0 or newer");
}

}  // namespace
}  // namespace cohom::test
