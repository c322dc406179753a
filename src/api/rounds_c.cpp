#include <cohom/rounds.h>
#include <cohom/rounds.hpp>

#include <cohom/codec.hpp>
#include <cohom/error.hpp>
#include <cohom/version.hpp>

#include <exception>
#include <memory>
#include <new>
#include <string>

struct cohom_rounds {
  cohom::Rounds rounds;
  std::string error;
  std::string name;  ///< of the step's round
};

namespace cohom {

namespace {

thread_local std::string error_of_make;

/// Runs `function`, which returns 0 or more; an exception becomes a code, and its text `error`.
template <class Function>
int guarded_call(std::string& error, Function&& function) noexcept {
  try {
    try {
      return function();
    } catch (const Error& thrown) {
      error = thrown.what();
      return -static_cast<int>(thrown.kind());
    } catch (const std::bad_alloc&) {
      error = "not enough memory";
      return COHOM_NO_MEMORY;
    } catch (const std::exception& thrown) {
      error = thrown.what();
      return COHOM_WRONG_STATE;
    }
  } catch (...) {  // no memory for the text
    return COHOM_NO_MEMORY;
  }
}

RoundsOptions options_of(unsigned options) {
  constexpr unsigned all = COHOM_ROUNDS_MEAN | COHOM_ROUNDS_ALL_TO_ALL | COHOM_ROUNDS_NO_BIT_OR |
                           COHOM_ROUNDS_NO_SMALL_MAX | COHOM_ROUNDS_NO_UNSIGNED |
                           COHOM_ROUNDS_CHECK_ONCE | COHOM_ROUNDS_REDUCE_SCATTER |
                           COHOM_ROUNDS_ALLGATHER;
  if ((options & ~all) != 0)
    throw Error(ErrorKind::invalid_argument,
                "options is " + std::to_string(options) + "; it should be a sum of COHOM_ROUNDS_");
  const auto has = [options](unsigned bit) { return (options & bit) != 0; };
  if (has(COHOM_ROUNDS_REDUCE_SCATTER) && has(COHOM_ROUNDS_ALLGATHER))
    throw Error(ErrorKind::invalid_argument,
                "options is " + std::to_string(options) +
                    ", a reduce_scatter and an allgather; it should be one of them");
  return {.collective = has(COHOM_ROUNDS_REDUCE_SCATTER) ? ReductionKind::reduce_scatter
                        : has(COHOM_ROUNDS_ALLGATHER)    ? ReductionKind::allgather
                                                         : ReductionKind::allreduce,
          .op = has(COHOM_ROUNDS_MEAN) ? ReduceOp::mean : ReduceOp::sum,
          .all_to_all = has(COHOM_ROUNDS_ALL_TO_ALL),
          .has_bit_or = !has(COHOM_ROUNDS_NO_BIT_OR),
          .has_small_max = !has(COHOM_ROUNDS_NO_SMALL_MAX),
          .has_unsigned = !has(COHOM_ROUNDS_NO_UNSIGNED),
          .checks_once = has(COHOM_ROUNDS_CHECK_ONCE)};
}

ElementType element_type_of(int type) {
  if (type < COHOM_F32 || type > COHOM_F64)
    throw Error(ErrorKind::invalid_argument,
                "type is " + std::to_string(type) + "; it should be COHOM_F32, F16, BF16 or F64");
  return static_cast<ElementType>(type);
}

static_assert(static_cast<int>(ElementType::f64) == COHOM_F64 &&
              static_cast<int>(ElementType::bf16) == COHOM_BF16);
static_assert(static_cast<int>(Collective::all_gather) == COHOM_ALL_GATHER);
static_assert(static_cast<int>(MergeKind::bit_or) == COHOM_BIT_OR &&
              static_cast<int>(MergeKind::max) == COHOM_MAX);
static_assert(static_cast<int>(StepNumbers::i64) == COHOM_I64);
static_assert(-static_cast<int>(ErrorKind::transport) == COHOM_TRANSPORT);

[[noreturn]] void refuse_null(const char* what) {
  throw Error(ErrorKind::invalid_argument, std::string(what) + " is null");
}

}  // namespace

}  // namespace cohom

using cohom::guarded_call;

extern "C" {

int cohom_rounds_make(const char* codec, size_t count, int type, int rank, int ranks,
                      unsigned options, cohom_rounds** rounds) {
  if (rounds != nullptr) *rounds = nullptr;
  return guarded_call(cohom::error_of_make, [&] {
    if (codec == nullptr) cohom::refuse_null("codec");
    if (rounds == nullptr) cohom::refuse_null("rounds");
    *rounds = std::make_unique<cohom_rounds>(
                  cohom_rounds{.rounds = cohom::Rounds(codec, count, cohom::element_type_of(type),
                                                       rank, ranks, cohom::options_of(options)),
                               .error = {},
                               .name = {}})
                  .release();
    return 0;
  });
}

void cohom_rounds_free(cohom_rounds* rounds) { const std::unique_ptr<cohom_rounds> owner(rounds); }

int cohom_rounds_begin(cohom_rounds* rounds, const void* input, void* output, uint64_t step) {
  if (rounds == nullptr) return COHOM_INVALID_ARGUMENT;
  return guarded_call(rounds->error, [&] {
    rounds->rounds.begin(input, output, step);
    return 0;
  });
}

int cohom_rounds_next(cohom_rounds* rounds, cohom_round_step* step) {
  if (rounds == nullptr) return COHOM_INVALID_ARGUMENT;
  return guarded_call(rounds->error, [&] {
    if (step == nullptr) cohom::refuse_null("step");
    const cohom::RoundStep* const next = rounds->rounds.next();
    if (next == nullptr) return 0;
    rounds->name = next->name;
    *step = {.kind = static_cast<int>(next->kind),
             .name = rounds->name.c_str(),
             .operation = static_cast<int>(next->operation),
             .type = static_cast<int>(next->type),
             .numbers = next->numbers,
             .words = next->words.data(),
             .send = next->send.data(),
             .send_counts = next->send_counts.data(),
             .receive = next->receive.data(),
             .receive_counts = next->receive_counts.data()};
    return 1;
  });
}

size_t cohom_rounds_state(cohom_rounds* rounds, void** bytes) {
  if (rounds == nullptr) return 0;
  const std::span<std::byte> state = rounds->rounds.state();
  if (bytes != nullptr) *bytes = state.data();
  return state.size();
}

const char* cohom_rounds_error(const cohom_rounds* rounds) {
  return rounds != nullptr ? rounds->error.c_str() : cohom::error_of_make.c_str();
}

const char* cohom_version() { return cohom::version_string; }

const char* cohom_codec_names() {
  static const std::string names = [] {
    std::string all;
    for (const cohom::CodecInfo& codec : cohom::codecs())
      all.append(all.empty() ? "" : " ").append(codec.name);
    return all;
  }();
  return names.c_str();
}

}  // extern "C"
