#include "node_window/process_watch.hpp"

#include "base/log.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <system_error>

namespace cohom {

namespace {

using SharedDescriptor = std::shared_ptr<const offload::FileDescriptor>;

/// One descriptor for all communicators: files are few, and processes of a node may be many.
SharedDescriptor descriptor_of(pid_t process) {
  static std::mutex mutex;
  static std::map<pid_t, std::weak_ptr<const offload::FileDescriptor>> known;
  const std::lock_guard lock(mutex);
  auto& entry = known[process];
  if (auto fd = entry.lock()) return fd;
  auto fd = std::make_shared<const offload::FileDescriptor>(
      static_cast<int>(syscall(SYS_pidfd_open, process, 0u)));
  if (fd->is_open()) entry = fd;
  return fd;
}

}  // namespace

ProcessWatch::ProcessWatch(pid_t process) : fd_(descriptor_of(process)) {
  if (fd_->is_open()) return;
  is_gone_ = errno == ESRCH;
  if (is_gone_) return;
  log_once("ranks of this node that die are not noticed: pidfd_open: " +
           std::generic_category().message(errno));
}

bool ProcessWatch::has_ended() const {
  if (!fd_ || !fd_->is_open()) return is_gone_;
  pollfd asked{.fd = fd_->get(), .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;
}

}  // namespace cohom
