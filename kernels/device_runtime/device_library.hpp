#pragma once
// The entry point of a library with kernels for a device: libcohom_cuda.so, which is loaded when it
// is needed, or the emulated device, which tests link.

#include "kernels/device_runtime/device_runtime.hpp"

#include <cstdint>

namespace cohom::kernels {

class DeviceContext;
struct KernelTable;

/// Changes with anything that both sides of the entry point see: this row, DeviceRuntime,
/// DeviceContext, KernelTable.
inline constexpr std::uint32_t device_library_version = 10;

struct DeviceLibrary {
  std::uint32_t version;
  DeviceRuntime* runtime;

  /// What the kernels were compiled to, as nvcc names it, with spaces between: "compute_80", and
  /// more.
  const char* code;

  /// Pointers to elements, feedback and words are device or pinned memory here, elements aligned to
  /// their size, words to 8 bytes; so are the names of a sketch's items, what is known of them, and
  /// the room to peel them. Everything else is host memory: formats, codes, SignBlocks, scales,
  /// bins, lists of pointers and spans, outliers; parts of a sketch, blocks that cells cannot
  /// hold, positions and what is gathered from there. Rows that give the host something have
  /// synchronised the stream when they return; the others only put work into it, and what they read
  /// of the host may be changed at once.
  ///
  /// They throw DeviceError, and Error(invalid_argument) for addresses that are not aligned. They
  /// work on the stream of the calling thread's context: see DeviceScope. Functions of a family
  /// that the library does not have are null.
  const KernelTable* kernels;

  /// Brings all kernels to the current device, so that none is loaded in a call.
  /// @throws DeviceError
  void (*load)();

  /// Makes a context (or none) the calling thread's; returns the one before.
  DeviceContext* (*enter)(DeviceContext* context);
};

/// The one function that libcohom_cuda.so exports. Null where there is no device, and *why says so
/// in words.
using DeviceLibraryEntryPoint = const DeviceLibrary* (*)(const char** why);
inline constexpr const char* device_library_entry_point = "cohom_device_library";
inline constexpr const char* device_library_file = "libcohom_cuda.so";

}  // namespace cohom::kernels
