#include "mpi_ext/api/mpix_arguments.hpp"

#include "mpi_ext/api/mpi_handles.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>

namespace cohom::mpi {

namespace {

/// What `function` returns, or the error that it throws.
template <class Result, class Function>
Result or_error(Function&& function) {
  try {
    return function();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::state, "out of memory");
  }
}

}  // namespace

CallShape checked_shape(MPI_Count count, MPI_Datatype datatype) {
  if (count < 0)
    throw Error(ErrorKind::invalid_argument,
                "count is " + std::to_string(count) + "; it must not be negative");
  const Item item = item_of(datatype);
  const auto items = static_cast<std::size_t>(count);
  if (item.elements > 1 && items > PTRDIFF_MAX / item.elements)
    throw Error(ErrorKind::invalid_argument, "count is " + std::to_string(count) + " items of " +
                                                 std::to_string(item.elements) +
                                                 " elements each: more than memory can hold");
  return {.count = items * item.elements, .type = item.type};
}

std::variant<CallShape, Error> read_shape(MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                          const InfoOptions& options) {
  return or_error<std::variant<CallShape, Error>>([&]() -> std::variant<CallShape, Error> {
    const CallShape shape = checked_shape(count, datatype);
    check_op(op);
    if (options.error) return *options.error;
    return shape;
  });
}

std::optional<Error> check_op_and_options(MPI_Op op, const InfoOptions& options) {
  return or_error<std::optional<Error>>([&] {
    check_op(op);
    return options.error;
  });
}

const void* input_of(const void* sendbuf, const void* recvbuf, const BufferRules& rules,
                     const CallShape& shape) {
  if (sendbuf != MPI_IN_PLACE) return sendbuf;
  if (recvbuf == nullptr) return nullptr;
  return static_cast<const std::byte*>(recvbuf) + rules.part * shape.count * size_of(shape.type);
}

std::optional<Error> check_buffers(const void* sendbuf, const void* recvbuf,
                                   const BufferRules& rules) {
  if (rules.output && recvbuf == MPI_IN_PLACE)
    return Error(ErrorKind::invalid_argument, "recvbuf is MPI_IN_PLACE, which only sendbuf may be");
  if (!rules.in_place && sendbuf == MPI_IN_PLACE)
    return Error(ErrorKind::invalid_argument,
                 "sendbuf is MPI_IN_PLACE on a rank that is not the root; give its vector");
  return std::nullopt;
}

void require(const void* pointer, const char* name) {
  if (pointer == nullptr)
    throw Error(ErrorKind::invalid_argument, std::string(name) + " is a null pointer");
}

void copy_state(std::span<const std::byte> saved, void* state, MPI_Count* bytes) {
  const MPI_Count capacity = *bytes;
  *bytes = static_cast<MPI_Count>(saved.size());
  if (state == nullptr) return;
  if (capacity < *bytes)
    throw Error(ErrorKind::invalid_argument, "the state has " + std::to_string(*bytes) +
                                                 " bytes, and there is room for " +
                                                 std::to_string(capacity));
  std::ranges::copy(saved, static_cast<std::byte*>(state));
}

std::span<const std::byte> saved_state(const void* state, MPI_Count bytes) {
  if (bytes < 0)
    throw Error(ErrorKind::invalid_argument,
                "bytes is " + std::to_string(bytes) + "; it must not be negative");
  if (bytes > 0) require(state, "state");
  return {static_cast<const std::byte*>(state), static_cast<std::size_t>(bytes)};
}

}  // namespace cohom::mpi
