#include "mpi_ext/api/mpi_handles.hpp"

#include "mpi_ext/base/finalize_hook.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <mutex>
#include <optional>
#include <string>

namespace cohom::mpi {

namespace {

/// The two datatypes of ours. One mutex for all threads; what MPI does inside takes no lock of
/// ours.
struct HalfDatatypes {
  std::mutex mutex;
  bool made = false;
  MPI_Datatype f16 = MPI_DATATYPE_NULL;
  MPI_Datatype bf16 = MPI_DATATYPE_NULL;
};

HalfDatatypes& half_datatypes() {
  static HalfDatatypes the_datatypes;
  return the_datatypes;
}

MPI_Datatype make_half(const char* name) {
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(2, MPI_BYTE, &datatype), "MPI_Type_contiguous");
  check(MPI_Type_commit(&datatype), "MPI_Type_commit");
  MPI_Type_set_name(datatype, name);
  return datatype;
}

void free_half_datatypes() {
  HalfDatatypes& types = half_datatypes();
  const std::lock_guard lock(types.mutex);
  MPI_Type_free(&types.f16);
  MPI_Type_free(&types.bf16);
}

/// MPI's own handles for 4- and 8-byte floats. Fortran's have the size its compiler chose, and are
/// missing where MPI was built without it.
bool is_float_handle(MPI_Datatype datatype) {
  if (datatype == MPI_FLOAT || datatype == MPI_DOUBLE) return true;
#ifdef MPI_REAL
  if (datatype == MPI_REAL) return true;
#endif
#ifdef MPI_DOUBLE_PRECISION
  if (datatype == MPI_DOUBLE_PRECISION) return true;
#endif
#ifdef MPI_REAL4
  if (datatype == MPI_REAL4) return true;
#endif
#ifdef MPI_REAL8
  if (datatype == MPI_REAL8) return true;
#endif
  return false;
}

std::string name_of_datatype(MPI_Datatype datatype) {
  if (datatype == MPI_DATATYPE_NULL) return "MPI_DATATYPE_NULL";
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  MPI_Type_get_name(datatype, name, &length);
  return length > 0 ? std::string(name, static_cast<std::size_t>(length))
                    : "a datatype of your own";
}

std::string name_of_op(MPI_Op op) {
  const struct {
    MPI_Op op;
    const char* name;
  } known[] = {{MPI_OP_NULL, "MPI_OP_NULL"}, {MPI_MAX, "MPI_MAX"},       {MPI_MIN, "MPI_MIN"},
               {MPI_PROD, "MPI_PROD"},       {MPI_LAND, "MPI_LAND"},     {MPI_BAND, "MPI_BAND"},
               {MPI_LOR, "MPI_LOR"},         {MPI_BOR, "MPI_BOR"},       {MPI_LXOR, "MPI_LXOR"},
               {MPI_BXOR, "MPI_BXOR"},       {MPI_MAXLOC, "MPI_MAXLOC"}, {MPI_MINLOC, "MPI_MINLOC"},
               {MPI_REPLACE, "MPI_REPLACE"}, {MPI_NO_OP, "MPI_NO_OP"}};
  for (const auto& row : known)
    if (row.op == op) return row.name;
  return "an operation of your own";
}

}  // namespace

MPI_Datatype half_datatype(ElementType type) {
  if (!usable()) return MPI_DATATYPE_NULL;
  HalfDatatypes& types = half_datatypes();
  const std::lock_guard lock(types.mutex);
  if (!types.made) {
    types.f16 = make_half("MPIX_FLOAT16");
    types.bf16 = make_half("MPIX_BFLOAT16");
    at_finalize(free_half_datatypes);
    types.made = true;
  }
  return type == ElementType::f16 ? types.f16 : types.bf16;
}

namespace {

std::optional<ElementType> float_type(MPI_Datatype datatype) {
  if (is_float_handle(datatype)) {
    int bytes = 0;
    MPI_Type_size(datatype, &bytes);
    if (bytes == 4) return ElementType::f32;
    if (bytes == 8) return ElementType::f64;
  }
  return std::nullopt;
}

/// How a datatype was made, and of how many of each kind of argument.
struct Envelope {
  int integers = 0, addresses = 0, datatypes = 0, combiner = MPI_COMBINER_NAMED;

  explicit Envelope(MPI_Datatype datatype) {
    check(MPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner),
          "MPI_Type_get_envelope");
  }
};

/// Floats of MPI's alone: Open MPI gives the contents of what was made of ours as another handle.
std::optional<Item> float_item(MPI_Datatype datatype) {
  if (const auto type = float_type(datatype)) return Item{*type};
  const Envelope made(datatype);
  if (made.combiner != MPI_COMBINER_DUP && made.combiner != MPI_COMBINER_CONTIGUOUS)
    return std::nullopt;
  int length = 1;  // which a duplicate leaves alone
  MPI_Aint no_address = 0;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  check(MPI_Type_get_contents(datatype, made.integers, made.addresses, made.datatypes, &length,
                              &no_address, &inner),
        "MPI_Type_get_contents");
  auto item = float_item(inner);
  if (Envelope(inner).combiner != MPI_COMBINER_NAMED) MPI_Type_free(&inner);
  if (item) item->elements *= static_cast<std::size_t>(length);
  return item;
}

}  // namespace

Item item_of(MPI_Datatype datatype) {
  if (datatype != MPI_DATATYPE_NULL) {
    if (const auto type = float_type(datatype)) return {*type};  // most are
    for (const ElementType half : {ElementType::f16, ElementType::bf16})
      if (datatype == half_datatype(half)) return {half};
    if (const auto item = float_item(datatype)) return *item;
  }
  throw Error(ErrorKind::unsupported,
              "datatype " + name_of_datatype(datatype) +
                  " cannot be compressed; MPI_FLOAT and MPI_DOUBLE can, what MPI_Type_dup and "
                  "MPI_Type_contiguous make of them, MPIX_Float16() and MPIX_Bfloat16()");
}

void check_op(MPI_Op op) {
  if (op == MPI_SUM) return;
  throw Error(ErrorKind::unsupported, "op " + name_of_op(op) +
                                          " cannot be compressed; MPI_SUM can, and a mean by "
                                          "MPI_SUM with the info key cohom_op=mean");
}

}  // namespace cohom::mpi
