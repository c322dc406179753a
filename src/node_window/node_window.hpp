#pragma once
// NodeWindow, PeerWindow: memory of one rank that the other ranks of its node can read.

#include "base/file_descriptor.hpp"
#include "node_window/window_heap.hpp"
#include "node_window/window_layout.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include <sys/types.h>

namespace cohom {

/// Memory that was mapped, until this is destroyed.
class MappedMemory {
 public:
  /// Of a file; `writable` or only readable. @throws Error(memory)
  MappedMemory(int fd, std::size_t bytes, bool writable);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Maps pages that the file has, which else takes the time of the first call that comes there.
  void map_pages(std::size_t offset, std::size_t bytes) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool writable_;
};

/// This rank's own. It has no name in a file system, so nothing is left of it after a crash, and
/// it cannot shrink, so whoever mapped it can read all of it for ever.
class NodeWindow : public std::enable_shared_from_this<NodeWindow> {
 public:
  /// Most bytes of payloads that a window has room for. They take memory only where they are used.
  static constexpr std::size_t max_heap_bytes = std::size_t{8} << 30;

  /// Of a node with so many ranks. @throws Error(memory)
  explicit NodeWindow(std::size_t ranks);

  [[nodiscard]] const WindowLayout& layout() const { return layout_; }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const WindowHeader::Token& token() const { return token_; }
  [[nodiscard]] std::size_t bytes() const { return memory_->size(); }
  [[nodiscard]] const std::shared_ptr<const MappedMemory>& memory() const { return memory_; }

  /// What lies at an offset of the layout.
  template <class T>
  [[nodiscard]] T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(memory_->data() + offset);
  }
  /// Whether all of it lies in the window.
  [[nodiscard]] bool holds(std::span<const std::byte> data) const;
  [[nodiscard]] std::size_t offset_of(const std::byte* data) const {
    return static_cast<std::size_t>(data - memory_->data());
  }

  /// False in a process that was forked off: what it did to the window would be done to this one's.
  [[nodiscard]] bool is_of_this_process() const;

  /// Takes pages that are about to be written to. @throws Error(memory): the system has none
  void take_pages(std::size_t offset, std::size_t bytes) const;
  /// Zeros for payloads. Null: there is no room, or the system has no memory.
  [[nodiscard]] std::unique_ptr<MessageMemory> take_memory(std::size_t bytes);

 private:
  class Lent;
  void give_back(std::size_t offset, std::size_t bytes) noexcept;

  WindowLayout layout_;
  pid_t process_;
  offload::FileDescriptor fd_;
  WindowHeader::Token token_{};
  std::shared_ptr<const MappedMemory> memory_;
  std::mutex mutex_;  ///< of the heap: plans may end in any thread
  WindowHeap heap_;
};

/// Another rank's window.
class PeerWindow {
 public:
  /// Of a rank of this process.
  explicit PeerWindow(const NodeWindow& window)
      : layout_(window.layout()), memory_(window.memory()) {}
  /// Of another process. @throws Error(unsupported) where it cannot be read, or is another one
  PeerWindow(pid_t process, int fd, const WindowHeader::Token& token, std::size_t ranks);

  [[nodiscard]] const WindowLayout& layout() const { return layout_; }
  [[nodiscard]] const std::shared_ptr<const MappedMemory>& memory() const { return memory_; }
  template <class T>
  [[nodiscard]] const T* at(std::size_t offset) const {
    return reinterpret_cast<const T*>(memory_->data() + offset);
  }
  /// Null where not all of it lies in the window.
  [[nodiscard]] const std::byte* words(std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t size = memory_->size();
    return offset <= size && bytes <= size - offset ? memory_->data() + offset : nullptr;
  }

 private:
  WindowLayout layout_;
  std::shared_ptr<const MappedMemory> memory_;
};

}  // namespace cohom
