#pragma once
// Prediction: what an allreduce of f32 should take by each codec and algorithm, and by MPI's own,
// on a network of these parameters.

#include "predict/codec_meter.hpp"
#include "scale/network_shape.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cohom::bench {

struct PredictionQuestion {
  NetworkShape network;
  double ranks_a_thread = 1;  ///< by which a rank's work takes longer
  std::size_t bytes = 0;
  int ranks = 2;
  std::vector<MeteredCodec> codecs = {};  ///< raw is the first, and shown only where it comes again
};

struct PredictedRow {
  std::string codec = {};  ///< empty: MPI's own
  std::string algorithm = {};
  std::optional<Nanoseconds> time = {};  ///< none: nobody can say
  std::string why_not = {};              ///< then the reason
  bool chosen = false;                   ///< algorithm=auto takes it
};

/// MPI's own first, as fast as the best of three algorithms; then codec by codec, the fastest
/// algorithm first.
std::vector<PredictedRow> predict(const PredictionQuestion& question);

/// A table, several lines.
std::string table_of(const std::vector<PredictedRow>& rows);

}  // namespace cohom::bench
