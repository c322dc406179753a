#pragma once
// PlanCodec: the codec that a spec asks for, or raw where a plan bypasses it.

#include "codecs/codec_table.hpp"
#include "codecs/common/codec_context.hpp"
#include "memory/device_work.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace cohom {

class PlanCodec {
 public:
  /// `context` says all but the parameters, and is the host's.
  /// @throws Error(invalid_argument) for a spec that is none.
  PlanCodec(std::string_view spec, const CodecContext& context);
  /// `context` has the parameters, too.
  PlanCodec(const CodecRow& row, const CodecContext& context) : row_(&row), context_(context) {}

  /// A new one for the host's memory, or for a device's.
  /// @throws Error(invalid_argument) for wrong parameters; Error(unsupported) for a codec with more
  /// rounds than messages can tell apart.
  [[nodiscard]] std::unique_ptr<Codec> make() const { return made(context_); }
  [[nodiscard]] std::unique_ptr<Codec> make(DeviceWork& device) const;

  /// Codecs that are made from now on compress parts of so many elements, each as the vector of one
  /// rank. make() then throws Error(unsupported) for a codec that keeps state.
  void compress_parts(std::size_t elements);
  /// Takes raw instead of what was asked for.
  void bypass();
  /// Of codecs that are made from now on.
  void set_elements(std::size_t elements) { context_.elements = elements; }
  /// Of a pool whose workers run slices of codecs that are made from now on, in the host's memory.
  void set_workers(std::size_t workers) { context_.workers = workers; }

  [[nodiscard]] const CodecRow& row() const { return *row_; }
  [[nodiscard]] std::string_view name() const { return row_->info.name; }
  /// The full spec, with every parameter that differs from its default.
  [[nodiscard]] std::string spec() const { return canonical_spec(*row_, context_.parameters); }
  /// Whether errors are bounded, which raw's are not.
  [[nodiscard]] bool bounds_errors() const;
  /// Whether raw keeps, among so many ranks, all that it promises.
  [[nodiscard]] bool may_be_bypassed(int ranks) const {
    return parts_ || row_->may_be_bypassed(context_.parameters, ranks);
  }
  /// Whether ranks may contribute any number of vectors each.
  [[nodiscard]] bool takes_many() const;
  /// Whether parts may be decoded alone, where each is a chunk.
  [[nodiscard]] bool decodes_parts() const { return parts_ || row_->decodes_parts; }
  /// Empty: workers may run slices of it. Else why not, for the log.
  [[nodiscard]] std::string why_not_in_workers() const;
  /// Empty: there are kernels for it on a device. Else why not, for the log.
  [[nodiscard]] std::string why_not_on_device() const;

 private:
  [[nodiscard]] std::unique_ptr<Codec> made(const CodecContext& context) const;
  [[nodiscard]] std::unique_ptr<Codec> made_for_parts(std::unique_ptr<Codec> own,
                                                      const CodecContext& context) const;

  const CodecRow* row_;
  CodecContext context_;
  bool parts_ = false;
};

/// The codec of a call to which this rank brings vectors that it added up, where the user asks for
/// `codec` (empty: for none). @throws Error(invalid_argument) for one that takes one vector a rank
std::string codec_of_many_vectors(const std::string& codec);

}  // namespace cohom
