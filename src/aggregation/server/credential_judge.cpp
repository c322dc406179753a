#include "aggregation/server/credential_judge.hpp"

#include "aggregation/auth/munge.hpp"

#include <cohom/error.hpp>

#include <utility>

namespace cohom::offload {

namespace {

CredentialJudge::Verdict judge(const CredentialJudge::Question& question) {
  CredentialJudge::Verdict verdict;
  verdict.client = question.client;
  try {
    verdict.user = user_of_credential(question.credential, question.clients_text);
    verdict.credential = make_credential(question.servers_text);
  } catch (const Error& error) {
    verdict.user.reset();
    verdict.is_wrong = error.kind() == ErrorKind::invalid_argument;
    verdict.why_not = error.what();
  } catch (const std::exception& error) {  // no memory
    verdict.user.reset();
    verdict.why_not = error.what();
  }
  return verdict;
}

}  // namespace

CredentialJudge::CredentialJudge() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

CredentialJudge::~CredentialJudge() = default;

void CredentialJudge::ask(Question question) {
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back(std::move(question));
  }
  asked_.notify_one();
}

std::size_t CredentialJudge::waiting() const {
  const std::lock_guard lock(mutex_);
  return questions_.size();
}

std::vector<CredentialJudge::Verdict> CredentialJudge::take() {
  event_.take();
  const std::lock_guard lock(mutex_);
  return std::exchange(verdicts_, {});
}

void CredentialJudge::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (asked_.wait(lock, stop, [this] { return !questions_.empty(); })) {
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    Verdict verdict = judge(question);
    lock.lock();
    if (stop.stop_requested()) return;
    verdicts_.push_back(std::move(verdict));
    event_.set();
  }
}

}  // namespace cohom::offload
