#pragma once
// FreeList, RecyclingAllocator, Recycled: memory of objects that come and go with every call. What
// was given back is kept for the next one, so that a call allocates nothing.

#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace cohom {

/// Blocks of one size. Each thread keeps those that were given back in it, until it ends.
template <std::size_t bytes>
class FreeList {
 public:
  /// @throws std::bad_alloc
  static void* take() {
    if (kept_.count != 0) return kept_.blocks[--kept_.count];
    return ::operator new(bytes);
  }
  static void give_back(void* block) noexcept {
    if (kept_.count == kept_.room) return ::operator delete(block);
    static thread_local const EndOfThread end;
    kept_.blocks[kept_.count++] = block;
  }

 private:
  static constexpr std::size_t max_blocks = 8;

  /// Without a destructor: objects may be given back while the thread ends.
  struct Kept {
    std::array<void*, max_blocks> blocks;
    std::size_t count;
    std::size_t room;
  };
  struct EndOfThread {
    EndOfThread() = default;
    EndOfThread(const EndOfThread&) = delete;
    EndOfThread& operator=(const EndOfThread&) = delete;
    ~EndOfThread() {
      while (kept_.count != 0) ::operator delete(kept_.blocks[--kept_.count]);
      kept_.room = 0;
    }
  };

#ifdef __SANITIZE_ADDRESS__
  static constexpr std::size_t room_at_first = 0;  // who uses a block after its end is to be seen
#else
  static constexpr std::size_t room_at_first = max_blocks;
#endif
  static inline constinit thread_local Kept kept_{{}, 0, room_at_first};
};

/// For std::allocate_shared.
template <class T>
struct RecyclingAllocator {
  using value_type = T;

  RecyclingAllocator() = default;
  template <class U>
  explicit(false) RecyclingAllocator(const RecyclingAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (count != 1) throw std::bad_alloc();  // it makes one object
    return static_cast<T*>(FreeList<sizeof(T)>::take());
  }
  void deallocate(T* object, std::size_t /*count*/) noexcept {
    FreeList<sizeof(T)>::give_back(object);
  }
  template <class U>
  friend bool operator==(const RecyclingAllocator&, const RecyclingAllocator<U>&) {
    return true;
  }
};

/// Base of a class, `T` itself, whose objects are made one by one.
template <class T>
struct Recycled {
  static void* operator new(std::size_t /*bytes*/) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    return FreeList<sizeof(T)>::take();
  }
  static void operator delete(void* object) noexcept { FreeList<sizeof(T)>::give_back(object); }
};

}  // namespace cohom
