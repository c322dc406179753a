#!/usr/bin/env bash
# check_install.sh BUILD TREE [LINKED]: installs BUILD below TREE, then builds and runs programs
# that know only what was installed: with CMake, with CMake and no MPI, and with pkg-config.
# With LINKED, a folder of shared libraries of the objects of BUILD, it installs what BUILD with
# BUILD_SHARED_LIBS=ON would, without compiling that: it configures and takes these libraries.
set -euo pipefail
# shellcheck source=tests/install/install_checks.sh
. "$(dirname "${BASH_SOURCE[0]}")/install_checks.sh"
linked=${3:-}
: "${MPICC:=mpicc}" "${MPICXX:=mpicxx}" "${MPIEXEC:=mpirun}"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# check_cpp_output TEXT: the mean of ranks 0 and 1, and fewer bytes than half of the vector's 4 MiB.
check_cpp_output() {
  awk '/^mean of 2 ranks:/ { ok = $5 > 0.1 && $5 < 0.9 && $7 > 0 && $7 < 2097152 }
       END { exit !ok }' <<<"$1" || fail "allreduce.cpp printed '$1'"
}

# check_c_output TEXT: sums of i + 0 and i + 1.
check_c_output() {
  awk '/^sum:/ { for (i = 0; i < 3; ++i) if (($(i + 2) - (2 * i + 1)) ^ 2 > 4) exit; ok = 1 }
       END { exit !ok }' <<<"$1" || fail "allreduce.c printed '$1'"
}

# check_exact_sums FOLDER: of any number of ranks, and of both languages.
check_exact_sums() {
  local printed program ranks
  printed=$("$MPIEXEC" -n 1 "$1/exact_sum_cpp")
  [[ $printed == "sum of 24 blocks: "*0x* ]] || fail "exact_sum.cpp printed '$printed'"
  for program in exact_sum_cpp exact_sum_c; do
    for ranks in 2 3; do
      [[ $("$MPIEXEC" -n "$ranks" "$1/$program") == "$printed" ]] ||
        fail "$program on $ranks ranks prints something else"
    done
  done
}

# build_with_cmake PROJECT ARGUMENT...
build_with_cmake() {
  local project=$1
  shift
  "$CMAKE" -S "$here/$project" -B "$tree/$project" -D CMAKE_PREFIX_PATH="$prefix" \
    -D CMAKE_BUILD_TYPE=Release "$@"
  "$CMAKE" --build "$tree/$project"
}

with_cmake() {
  build_with_cmake outside -D examples="$root/examples"
  check_cpp_output "$("$MPIEXEC" -n 2 "$tree/outside/allreduce_cpp")"
  check_c_output "$("$MPIEXEC" -n 2 "$tree/outside/allreduce_c")"
  check_cpp_output "$("$MPIEXEC" -n 2 "$tree/outside/rounds_cpp")"
  check_cpp_output "$("$MPIEXEC" -n 2 "$tree/outside/rounds_cpp" packed)"
  check_exact_sums "$tree/outside"
  "$MPIEXEC" -n 2 "$tree/outside/own_names" ||
    fail "a user's function of an internal name is called"
  if [[ ${MPIF90:-} ]]; then
    build_with_cmake outside_fortran -D examples="$root/examples" -D MPI_Fortran_COMPILER="$MPIF90"
    check_fortran_output "$("$MPIEXEC" -n 2 "$tree/outside_fortran/allreduce_fortran")"
    [[ $("$MPIEXEC" -n 2 "$tree/outside_fortran/reductions_fortran") == "reductions are right" ]] ||
      fail "reductions.F90"
  fi
}

with_cmake_without_mpi() {
  build_with_cmake outside_core
  "$tree/outside_core/list_codecs" | grep -qx thc || fail "list_codecs names no thc"
  if [[ -e $(find "$prefix" -name ucx.hpp) ]]; then
    [[ $("$tree/outside_core/one_rank") == "ucx 3" ]] || fail "one_rank does not run over UCX"
  fi
}

with_pkg_config() {
  local flags
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name cohom.pc)")
  export PKG_CONFIG_PATH LD_LIBRARY_PATH="${PKG_CONFIG_PATH%/pkgconfig}:${LD_LIBRARY_PATH:-}"
  read -ra flags <<<"$(pkg-config --cflags --libs cohom-mpi)"
  "$MPICXX" -std=c++20 "$root/examples/allreduce.cpp" "${flags[@]}" -o "$tree/allreduce_cpp"
  "$MPICC" "$root/examples/allreduce.c" "${flags[@]}" -o "$tree/allreduce_c"
  check_cpp_output "$("$MPIEXEC" -n 2 "$tree/allreduce_cpp")"
  check_c_output "$("$MPIEXEC" -n 2 "$tree/allreduce_c")"
  if [[ ${MPIF90:-} ]]; then with_fortran; fi
}

# check_fortran_output TEXT: 0.5 and 1.5 make 2, then 4, then 8.
check_fortran_output() {
  check_c_output "$1"
  grep -q '^sums of sums: *8.00$' <<<"$1" || fail "allreduce.F90 printed '$1'"
}

with_fortran() {
  local flags
  read -ra flags <<<"$(pkg-config --libs cohom-mpi)"
  "$MPIF90" -J "$tree" "$(pkg-config --variable=includedir cohom-mpi)/cohom/cohom.F90" \
    "$root/examples/allreduce.F90" "${flags[@]}" -o "$tree/allreduce_fortran"
  check_fortran_output "$("$MPIEXEC" -n 2 "$tree/allreduce_fortran")"
}

# configure_shared: puts the linked libraries where those of a build of their own would be.
configure_shared() {
  local option options=()
  for option in MPI UCX HWLOC; do
    options+=("-D" "$(grep -E "^COHOM_$option:" "$build/CMakeCache.txt")")
  done
  for option in CMAKE_GENERATOR CMAKE_BUILD_TYPE CMAKE_CXX_FLAGS CMAKE_C_FLAGS; do
    options+=("-D" "$(grep -E "^$option:" "$build/CMakeCache.txt")")
  done
  for option in TESTS BENCHMARKS AGGREGATOR CUDA EBPF; do options+=("-D" "COHOM_$option=OFF"); done
  "$CMAKE" -S "$root" -B "$tree/build" -D BUILD_SHARED_LIBS=ON \
    -D CMAKE_BUILD_WITH_INSTALL_RPATH=ON "${options[@]}"
  cp -a "$linked"/libcohom.so* "$tree/build/src/"
  cp -a "$linked"/libcohom_mpi_*.so* "$tree/build/mpi_ext/"
  mkdir -p "$tree/build/lib" "$tree/build/bin"
  cp -a "$build"/lib/libcohom_drop_in_*.so "$tree/build/lib/"
  if [[ -e $linked/libcohom_ucx.so ]]; then
    cp -a "$linked"/libcohom_ucx.so* "$tree/build/ucx_transport/"
    cp -a "$build/bin/cohom-ucx-probe" "$tree/build/bin/"
  fi
  build=$tree/build
}

# with_absolute_libdir: the libraries apart from the rest. Nothing can be moved then.
with_absolute_libdir() {
  "$CMAKE" -S "$root" -B "$build" -D CMAKE_INSTALL_PREFIX="$tree/apart" \
    -D CMAKE_INSTALL_LIBDIR="$tree/libraries/lib64" >/dev/null
  "$CMAKE" --install "$build" >/dev/null
  [[ -e $(echo "$tree"/libraries/lib64/libcohom_mpi_*.so) && ! -e $tree/apart/lib ]] ||
    fail "libraries are not in LIBDIR"
  rm -rf "$tree/outside_core"
  prefix="$tree/apart;$tree/libraries/lib64/cmake/cohom"
  build_with_cmake outside_core
  "$tree/outside_core/list_codecs" | grep -qx thc || fail "list_codecs names no thc"
  prefix=$tree/libraries
  with_pkg_config
}

# What is installed must not depend on where: it is moved before it is used.
if [[ $linked ]]; then configure_shared; fi
install_build
mv "$tree/installed" "$tree/moved"
prefix=$tree/moved

with_cmake
with_cmake_without_mpi
with_pkg_config
said=$("$prefix/bin/cohom-exec" --codec thc "$MPIEXEC" -n 2 true 2>&1) || fail "cohom-exec: $said"
[[ -z $said ]] || fail "cohom-exec says '$said'"
if [[ $linked ]]; then with_absolute_libdir; fi
if [[ ! $linked ]]; then
  "$prefix/bin/cohom-info" >/dev/null || fail "the installed cohom-info does not run"
  for said in cohom-report cohom-netlab; do
    "$prefix/bin/$said" --help >/dev/null || fail "the installed $said does not run"
  done
fi
if grep -rIq --include='*.cmake' --include='*.pc' --include='*.hpp' -F "$build" "$prefix"; then
  fail "the installed files name the build tree"
fi
