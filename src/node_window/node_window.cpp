#include "node_window/node_window.hpp"

#include <cohom/error.hpp>

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace cohom {

namespace {

[[noreturn]] void fail(ErrorKind kind, const std::string& what) {
  const int code = errno;
  throw Error(kind, "node window: " + what + ": " + std::generic_category().message(code));
}

/// What all ranks of the node may use together.
std::size_t heap_bytes(std::size_t ranks) {
  const auto pages = static_cast<std::size_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const auto page = static_cast<std::size_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  constexpr std::size_t unit = std::size_t{64} << 20;
  const std::size_t share = pages / ranks * page / unit * unit;
  return std::clamp(share, unit, NodeWindow::max_heap_bytes);
}

WindowHeader::Token random_token() {
  WindowHeader::Token token{};
  if (getrandom(token.data(), sizeof token, 0) != static_cast<ssize_t>(sizeof token))
    fail(ErrorKind::memory, "no random numbers");
  return token;
}

/// A longer file would be a signal, and no error.
void expect_file_size(std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
    throw Error(ErrorKind::memory, "node window: " + std::to_string(bytes) +
                                       " bytes are more than the limit of a file's size (ulimit "
                                       "-f), which is " +
                                       std::to_string(limit.rlim_cur));
}

offload::FileDescriptor make_file(std::size_t bytes) {
  expect_file_size(bytes);
  offload::FileDescriptor fd(memfd_create("cohom", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_open()) fail(ErrorKind::memory, "memfd_create");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) fail(ErrorKind::memory, "ftruncate");
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail(ErrorKind::memory, "F_ADD_SEALS");
  return fd;
}

/// Takes the pages, so that there is an error and no signal where the system has none.
bool pages_taken(int fd, std::size_t offset, std::size_t bytes) {
  while (fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0)
    if (errno != EINTR) return false;
  return true;
}

}  // namespace

MappedMemory::MappedMemory(int fd, std::size_t bytes, bool writable)
    : size_(bytes), writable_(writable) {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const memory = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) fail(ErrorKind::memory, "mapping " + std::to_string(bytes) + " bytes");
  data_ = static_cast<std::byte*>(memory);
  // Hints; refusal only costs speed, or disk space after a crash.
  if (!writable) madvise(memory, bytes, MADV_DONTDUMP);
  madvise(memory, bytes, MADV_HUGEPAGE);
}

void MappedMemory::map_pages(std::size_t offset, std::size_t bytes) const {
#ifdef MADV_POPULATE_READ  // since Linux 5.14
  const std::size_t first = offset / WindowLayout::page * WindowLayout::page;
  // A hint; refusal only costs speed.
  madvise(data_ + first, offset + bytes - first,
          writable_ ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#else
  static_cast<void>(offset), static_cast<void>(bytes), static_cast<void>(writable_);
#endif
}

MappedMemory::~MappedMemory() { munmap(data_, size_); }

NodeWindow::NodeWindow(std::size_t ranks)
    : layout_(ranks), process_(getpid()), token_(random_token()), heap_(heap_bytes(ranks)) {
  const std::size_t bytes = layout_.heap() + heap_bytes(ranks);
  fd_ = make_file(bytes);
  // Bounce slots are many, and most are never used: they are taken when they first are.
  take_pages(0, layout_.slot(0, 0));
  memory_ = std::make_shared<const MappedMemory>(fd_.get(), bytes, true);
  new (memory_->data()) WindowHeader{
      .magic = WindowHeader::right_magic, .token = token_, .ranks = ranks, .bytes = bytes};
}

bool NodeWindow::is_of_this_process() const { return process_ == getpid(); }

void NodeWindow::take_pages(std::size_t offset, std::size_t bytes) const {
  if (!pages_taken(fd_.get(), offset, bytes)) fail(ErrorKind::memory, "fallocate");
}

bool NodeWindow::holds(std::span<const std::byte> data) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_->data());
  const auto first = reinterpret_cast<std::uintptr_t>(data.data());
  return first >= begin && first - begin < memory_->size() &&
         data.size() <= memory_->size() - (first - begin);
}

/// Keeps the window, and gives its range back.
class NodeWindow::Lent final : public MessageMemory {
 public:
  Lent(std::shared_ptr<NodeWindow> window, std::size_t offset, std::size_t bytes)
      : window_(std::move(window)), offset_(offset), bytes_(bytes) {}
  ~Lent() override { window_->give_back(offset_, bytes_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const override {
    return {window_->at<std::byte>(offset_), bytes_};
  }

 private:
  std::shared_ptr<NodeWindow> window_;
  std::size_t offset_, bytes_;
};

std::unique_ptr<MessageMemory> NodeWindow::take_memory(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  std::unique_ptr<Lent> lent;
  {
    const std::lock_guard lock(mutex_);
    const auto first = heap_.take(bytes);
    if (!first) return nullptr;
    lent = std::make_unique<Lent>(shared_from_this(), layout_.heap() + *first, bytes);
  }
  if (!pages_taken(fd_.get(), offset_of(lent->bytes().data()), bytes)) return nullptr;
  std::memset(lent->bytes().data(), 0, bytes);
  return lent;
}

void NodeWindow::give_back(std::size_t offset, std::size_t bytes) noexcept {
  if (!is_of_this_process()) return;
  const std::lock_guard lock(mutex_);
  fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(WindowHeap::whole(bytes)));
  heap_.give_back(offset - layout_.heap(), bytes);
}

PeerWindow::PeerWindow(pid_t process, int fd, const WindowHeader::Token& token, std::size_t ranks)
    : layout_(ranks) {
  const std::string name = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(fd);
  // Not of a device, or a pipe, which another process may have there: opening one may wait.
  const offload::FileDescriptor file(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) fail(ErrorKind::unsupported, name);
  struct stat status {};
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(file.get(), &status) != 0 ||
      static_cast<std::size_t>(status.st_size) < layout_.heap())
    throw Error(ErrorKind::unsupported, "node window: " + name + " is none");
  memory_ = std::make_shared<const MappedMemory>(file.get(),
                                                 static_cast<std::size_t>(status.st_size), false);
  const WindowHeader& header = *at<WindowHeader>(0);
  if (header.magic != WindowHeader::right_magic || header.token != token || header.ranks != ranks ||
      header.bytes != memory_->size())
    throw Error(ErrorKind::unsupported, "node window: " + name + " is another one");
}

}  // namespace cohom
