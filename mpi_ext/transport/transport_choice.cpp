#include "mpi_ext/transport/transport_choice.hpp"

#include "agreement/call_differences.hpp"
#include "base/environment.hpp"
#include "base/text.hpp"
#include "mpi_ext/base/mpi_agreement.hpp"
#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/base/owned_comm.hpp"
#include "mpi_ext/transport/mpi_transport.hpp"

#if COHOM_HAVE_UCX
#include <cohom/ucx.hpp>
#endif

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohom::mpi {

namespace {

constexpr std::string_view names[] = {"mpi", "ucx"};
constexpr int number_of_ucx = 1;

/// @throws Error(invalid_argument)
int number_of(std::string_view given) {
  const std::string name = option_or_environment(given, "COHOM_TRANSPORT", names[0]);
  const auto* const found = std::ranges::find(names, name);
  if (found == std::end(names))
    throw Error(ErrorKind::invalid_argument, "transport \"" + name + "\" is unknown" +
                                                 suggestion(name, names) +
                                                 "; transports: " + listed(names));
#if !COHOM_HAVE_UCX
  if (found == names + number_of_ucx)
    throw Error(ErrorKind::unsupported,
                "transport \"ucx\": this library was built without UCX; transports: mpi");
#endif
  return static_cast<int>(found - names);
}

/// The same number on all ranks.
int agreed_number(std::string_view given, const OwnedComm& comm) {
  int mine = 0;
  std::optional<Error> error;
  try {
    mine = number_of(given);
  } catch (const Error& wrong) {
    error = wrong;
  }
  throw_on_all_ranks(comm.get(), error);
  std::vector<std::string> chosen;
  for (const std::uint64_t number : gather_numbers(comm.get(), static_cast<std::uint64_t>(mine)))
    chosen.emplace_back(number < std::size(names) ? names[number] : "of another version of cohom");
  expect_same("transport", chosen);
  return mine;
}

}  // namespace

std::shared_ptr<Transport> make_transport(std::string_view name, MPI_Comm comm) {
  OwnedComm own(comm);
  const int number = agreed_number(name, own);
#if COHOM_HAVE_UCX
  if (number == number_of_ucx)
    return ucx::transport(own.rank(), own.ranks(), [&](std::span<const std::byte> bytes) {
      return gather_bytes(own.get(), bytes);
    });
#else
  static_cast<void>(number);
#endif
  return std::make_shared<MpiTransport>(std::move(own));
}

}  // namespace cohom::mpi
