#pragma once
// BegunAgreement: an agreement by messages that has begun before there was a call for it, with the
// channel that it goes by.

#include "agreement/call_agreement.hpp"

#include <cohom/transport.hpp>

#include <exception>
#include <memory>
#include <utility>

namespace cohom {

struct BegunAgreement {
  /// The signature outlives it.
  BegunAgreement(std::unique_ptr<Channel> opened, const Transport& transport,
                 const CallSignature& signature)
      : channel(std::move(opened)),
        agreement(*channel, transport.rank(), transport.ranks(), signature, std::nullopt) {}
  BegunAgreement(const BegunAgreement&) = delete;
  BegunAgreement& operator=(const BegunAgreement&) = delete;
  /// The channel ends first: it may still write to the agreement.
  ~BegunAgreement() { channel.reset(); }

  std::unique_ptr<Channel> channel;  ///< null: the call has it
  CallAgreement agreement;
  std::exception_ptr failure;  ///< what ended it on this rank; null: it goes on
};

}  // namespace cohom
