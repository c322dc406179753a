#pragma once
// TaskQueue: tasks first in, first out, in memory that is taken once and kept.

#include "executor/round_layout.hpp"

#include <cstddef>
#include <vector>

namespace cohom {

class TaskQueue {
 public:
  void reserve(std::size_t tasks) { tasks_.reserve(tasks); }
  [[nodiscard]] bool empty() const { return head_ == tasks_.size(); }
  [[nodiscard]] std::size_t size() const { return tasks_.size() - head_; }
  [[nodiscard]] const Task& front() const { return tasks_[head_]; }

  void push(const Task& task) {
    if (2 * head_ > tasks_.capacity()) {
      tasks_.erase(tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    tasks_.push_back(task);
  }

  Task pop() {
    const Task task = tasks_[head_++];
    if (empty()) clear();
    return task;
  }

  void clear() {
    tasks_.clear();
    head_ = 0;
  }

 private:
  std::vector<Task> tasks_;  ///< waiting from head_ on
  std::size_t head_ = 0;
};

}  // namespace cohom
