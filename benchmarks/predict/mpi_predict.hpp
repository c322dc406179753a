#pragma once
// What `cohom-info --predict` prints where there is MPI and no network was named.

#include "predict/predict_options.hpp"

namespace cohom::bench {

/// Rank 0 prints what was measured between the ranks of the job, and the predicted times.
/// Collective: initialises MPI and finalises it again. @returns the exit status, on all ranks;
/// errors that all ranks have are told by rank 0 alone.
int print_job_prediction(const PredictOptions& options);

}  // namespace cohom::bench
