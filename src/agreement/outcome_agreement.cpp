#include "agreement/outcome_agreement.hpp"

#include <cohom/error.hpp>

#include <span>

namespace cohom {

OutcomeAgreement::OutcomeAgreement(Channel& channel, int rank, int ranks)
    : channel_(channel),
      rank_(rank),
      ranks_(ranks),
      hops_(static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1)))) {
  pending_ = hops_;
  for (std::size_t hop = 0; hop < hops_; ++hop)
    channel_.receive(std::as_writable_bytes(std::span(arriving_).subspan(hop, 1)), peer_of(hop),
                     outcome_tag(hop), outcome_cookie(hop, false));
}

/// Whose word comes in a hop.
int OutcomeAgreement::peer_of(std::size_t hop) const {
  return (rank_ + ranks_ - (1 << hop)) % ranks_;
}

std::string OutcomeAgreement::waits_for() const {
  for (std::size_t hop = 0; hop < hops_; ++hop)
    if (!arrived_[hop])
      return "rank " + std::to_string(peer_of(hop)) + " to tell how the sums went";
  return "ranks that do not hear how the sums went";
}

void OutcomeAgreement::tell(bool failed) {
  told_ = true;
  failed_ |= failed;
  send_what_may_go();
}

void OutcomeAgreement::complete(const Completion& completion) {
  --pending_;
  if (is_sent(completion.cookie)) return;
  const std::size_t hop = index_of_cookie(completion.cookie);
  arrived_[hop] = true;
  if (completion.bytes != sizeof arriving_[hop] ||
      (arriving_[hop] != all_well && arriving_[hop] != some_failed))
    throw Error(ErrorKind::transport, "how the sums went: the word of rank " +
                                          std::to_string(peer_of(hop)) + " was changed on its way");
  failed_ |= arriving_[hop] == some_failed;
  send_what_may_go();
}

/// A hop passes on what all hops before it brought. A failure is all that can be passed on.
void OutcomeAgreement::send_what_may_go() {
  while (sent_ < hops_ && (failed_ || (told_ && (sent_ == 0 || arrived_[sent_ - 1])))) {
    const std::size_t hop = sent_++;
    leaving_[hop] = failed_ ? some_failed : all_well;
    ++pending_;
    channel_.send(std::as_bytes(std::span(leaving_).subspan(hop, 1)), (rank_ + (1 << hop)) % ranks_,
                  outcome_tag(hop), outcome_cookie(hop, true));
  }
}

}  // namespace cohom
