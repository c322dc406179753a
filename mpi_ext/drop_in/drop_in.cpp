#include "mpi_ext/drop_in/drop_in.hpp"

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/replaced_file.hpp"
#include "base/text.hpp"
#include "mpi_ext/api/mpi_communicator.hpp"
#include "mpi_ext/api/mpi_errors.hpp"
#include "mpi_ext/base/finalize_hook.hpp"
#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/base/mpi_family.hpp"
#include "mpi_ext/drop_in/advice.hpp"
#include "mpi_ext/drop_in/drop_in_comm.hpp"
#include "mpi_ext/drop_in/drop_in_counts.hpp"
#include "mpi_ext/drop_in/drop_in_rules.hpp"
#include "mpi_ext/drop_in/native_calls.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/reductions.hpp>

#include <xxhash.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace cohom::mpi {

namespace {

/// What MPI and the library call on the way of a call is MPI's.
thread_local bool inside = false;

class Inside {
 public:
  Inside() { inside = true; }
  ~Inside() { inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// MPI_Finalize has begun: all that is kept on communicators goes.
std::atomic<bool> over = false;

/// Of the process, from the first call on.
struct DropIn {
  DropIn(DropInRules its_rules, std::unique_ptr<Advice> its_advice, std::optional<Error> its_error,
         std::uint64_t its_hash)
      : rules(std::move(its_rules)),
        advice(std::move(its_advice)),
        error(std::move(its_error)),
        hash(its_hash) {}

  DropInRules rules;
  std::unique_ptr<Advice> advice;  ///< null: calls go by the rules
  std::optional<Error> error;      ///< of what the environment says
  std::uint64_t hash;              ///< of what the environment says
  DropInCounts counts{rules.all()};
  std::atomic<bool> has_keys = false;  ///< some communicator has a rule of its own

  /// Whether the environment gives rules, codecs to try, or an error.
  [[nodiscard]] bool has_environment() const { return !rules.empty() || advice || error; }
  static DropIn& instance();
};

std::unique_ptr<DropIn> read_environment() {
  DropInRules rules;
  std::unique_ptr<Advice> advice;
  std::optional<Error> error;
  const std::string codecs = option_or_environment({}, "COHOM_ADVISE", "");
  try {
    rules = DropInRules::of_environment();
    if (!codecs.empty()) advice = std::make_unique<Advice>(codecs);
    if (advice && !rules.empty())
      throw Error(ErrorKind::invalid_argument,
                  "COHOM_ADVISE and COHOM_DROP_IN are set; advice is of calls that stay MPI's, so "
                  "one of them should be left out");
  } catch (const Error& wrong) {
    error = wrong;
  }
  const std::uint64_t hash = rules.hash() ^ XXH3_64bits(codecs.data(), codecs.size());
  return std::make_unique<DropIn>(std::move(rules), std::move(advice), std::move(error), hash);
}

/// Never destroyed: threads may still call when the process ends.
DropIn& DropIn::instance() {
  static DropIn& the_one = *read_environment().release();
  return the_one;
}

int rank_of_job() {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return rank;
}

/// To the file that a variable names, if it does.
void write_to(const char* variable, const std::string& content) {
  const std::string path = option_or_environment({}, variable, "");
  if (path.empty()) return;
  if (const std::string why = replace_file(path, content); !why.empty())
    warn_once(std::string(variable) + ", " + path + ": " + why);
}

void tell(const AdviceFindings& findings) {
  warn_once(findings.text());
  write_to("COHOM_ADVISE_JSON", findings.json());
  write_to("COHOM_ADVISE_RULES", findings.rules());
}

std::string memory_text() {
  const std::size_t most = plan_memory_use().most_bytes;
  return most == 0 ? std::string() : "\n  workspaces of these took at most " + bytes_text(most);
}

void end() noexcept {
  over = true;
  try {
    DropIn& drop_in = DropIn::instance();
    drop_in.counts.count(NotOurs::no_rule, NativeCalls::count());
    if (rank_of_job() != 0 || (!drop_in.has_environment() && !drop_in.has_keys)) return;
    if (drop_in.advice) {
      tell(drop_in.advice->findings());
    } else {
      warn_once(drop_in.counts.summary() + memory_text());
    }
  } catch (const std::exception&) {
    return;  // a program without a summary
  }
}

void begin() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!DropIn::instance().has_environment())
      warn_once_for_all(rank_of_job(),
                        "the drop-in library changes nothing: COHOM_DROP_IN has no rules");
    at_finalize([] { end(); });
  });
}

int leave(const DropInCall& call, NotOurs reason) {
  DropIn::instance().counts.count(reason);
  return call.by_mpi();
}

/// Of the vector that is summed.
std::size_t bytes_of(const DropInCall& call, ElementType type, int ranks) {
  const std::size_t parts = call.scatters() ? static_cast<std::size_t>(ranks) : 1;
  return call.elements() * parts * size_of(type);
}

void compress(const DropInCall& call, const DropInRule& rule, ElementType type, int ranks) {
  Communicator& communicator = cached_communicator(call.comm, rule.options);
  const std::uint64_t native = communicator.native_calls();
  const std::uint64_t bypassed = communicator.bypassed_calls();
  if (call.scatters())
    reduce_scatter(call.input(), call.recvbuf, call.elements(), type, communicator, rule.options);
  else
    allreduce(call.input(), call.recvbuf, call.elements(), type, communicator, rule.options);
  DropIn::instance().counts.count(rule, bytes_of(call, type, ranks),
                                  {.native = communicator.native_calls() - native,
                                   .bypassed = communicator.bypassed_calls() - bypassed});
}

/// A sum of elements that codecs take.
int decide_on_sum(const DropInCall& call, DropInComm& known, ElementType type) {
  DropIn& drop_in = DropIn::instance();
  if (drop_in.advice && call.scatters()) return leave(call, NotOurs::scatters);
  if (drop_in.advice) {
    const std::uint64_t turn = known.turns[{type, call.elements()}]++;
    return drop_in.advice->make(call, type, known.ranks, turn);
  }
  const DropInRule* const rule =
      known.own ? &*known.own
                : drop_in.rules.find(bytes_of(call, type, known.ranks), known.ranks, type);
  if (rule == nullptr) return leave(call, NotOurs::no_rule);
  if (rule->native) return leave(call, NotOurs::rule);
  if (call.scatters() && !rule->scatters) return leave(call, NotOurs::scatters);
  compress(call, *rule, type, known.ranks);
  return MPI_SUCCESS;
}

int decide(const DropInCall& call) {
  begin();
  DropIn& drop_in = DropIn::instance();
  if (call.scatters()) drop_in.counts.have_scattered();
  DropInComm& known = drop_in_comm(call.comm);
  if (known.inter) return leave(call, NotOurs::inter);
  if (!known.agreed) agree_on_rules(call.comm, known, drop_in.hash, drop_in.error);
  if (known.error) throw Error(*known.error);
  if (!drop_in.has_environment() && !known.own) {
    NativeCalls::agreed(call.comm);
    return leave(call, NotOurs::no_rule);
  }
  if (known.ranks == 1) return leave(call, NotOurs::alone);
  if (call.is_wrong()) return leave(call, NotOurs::arguments);
  if (call.op != MPI_SUM) return leave(call, NotOurs::operation);
  const auto type = element_type(call.datatype);
  return type ? decide_on_sum(call, known, *type) : leave(call, NotOurs::type);
}

/// Where several ranks end at once, MPI's own message may be lost.
int decide_or_say_why_not(const DropInCall& call) {
  try {
    return decide(call);
  } catch (const Error& error) {
    DropIn::instance().counts.count(NotOurs::error);
    int rank = 0;
    check(MPI_Comm_rank(call.comm, &rank), "MPI_Comm_rank");
    warn_once_for_all(
        rank, std::string(call.scatters() ? "MPI_Reduce_scatter_block: " : "MPI_Allreduce: ") +
                  error.what());
    throw;
  }
}

/// Only where there is something to do is another family of MPI an error.
bool is_others_call() {
  if (why_other_mpi().empty()) return false;
  if (DropIn::instance().has_environment()) expect_own_mpi();
  return true;
}

}  // namespace

int drop_in_reduction(const DropInCall& call) noexcept {
  if (is_others_call()) return call.by_mpi();
  // MPI itself says what is wrong with a communicator, or with a call before MPI_Init.
  if (inside || over || !usable()) return call.by_mpi();
  if (call.comm == MPI_COMM_NULL) return leave(call, NotOurs::arguments);
  const Inside guard;
  int status = MPI_SUCCESS;
  const int error =
      guarded([&] { status = decide_or_say_why_not(call); }, [&] { return call.comm; });
  return error != MPI_SUCCESS ? error : status;
}

void drop_in_other_form(OtherForm form) noexcept {
  if (!inside) OtherForms::count(form);
}

int drop_in_keys(MPI_Comm comm, MPI_Info info) noexcept {
  if (!why_other_mpi().empty() || inside || comm == MPI_COMM_NULL || over || !usable())
    return MPI_SUCCESS;
  const Inside guard;
  return guarded(
      [&] {
        begin();
        DropInComm& known = drop_in_comm(comm);
        take_keys(known, info);
        if (known.own || known.own_error) DropIn::instance().has_keys = true;
      },
      [&] { return comm; });
}

}  // namespace cohom::mpi
