#!/usr/bin/env bash
# check_cmake.sh BUILD TREE [DEVICE]: what CMake says to users whose projects cannot find cohom, and
# what it refuses; where installed programs find libraries. Installs BUILD below TREE, and needs
# little but configuring. DEVICE is an emulated device library, for device_bench of BUILD.
set -euo pipefail
# shellcheck source=tests/install/install_checks.sh
. "$(dirname "${BASH_SOURCE[0]}")/install_checks.sh"
device=${3:-}
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# project LANGUAGES TEXT: a user's project, in $tree/project.
project() {
  rm -rf "$tree/project" "$tree/configured"
  mkdir -p "$tree/project"
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(x LANGUAGES %s)\n%s\n' "$1" "$2" \
    >"$tree/project/CMakeLists.txt"
}

# refuses WORDS ARGUMENT...: configuring fails and says WORDS, whatever lines it is broken into.
refuses() {
  local words=$1 said
  shift
  if said=$("$CMAKE" "$@" 2>&1); then
    fail "configured, and should have said: $words"
  elif [[ $(tr -s '[:space:]' ' ' <<<"$said") != *"$words"* ]]; then
    fail "should have said '$words', but said: $said"
  fi
}

# project_refuses WORDS ARGUMENT...
project_refuses() {
  refuses "$1" -S "$tree/project" -B "$tree/configured" \
    -D CMAKE_PREFIX_PATH="$tree/installed" "${@:2}"
}

says_why_it_is_not_found() {
  project C 'find_package(cohom REQUIRED)'
  project_refuses 'this project has not enabled C++: project(... LANGUAGES C CXX)'
  # shellcheck disable=SC2016  # CMake expands it
  project C 'find_package(cohom QUIET)
if(cohom_FOUND OR NOT cohom_NOT_FOUND_MESSAGE MATCHES "C\\+\\+")
  message(FATAL_ERROR "found: ${cohom_FOUND}, ${cohom_NOT_FOUND_MESSAGE}")
endif()'
  "$CMAKE" -S "$tree/project" -B "$tree/configured" \
    -D CMAKE_PREFIX_PATH="$tree/installed" >/dev/null ||
    fail "a package that is not required ends the project"
  project CXX 'find_package(cohom REQUIRED COMPONENTS mpx)'
  project_refuses "'mpx' is no component of cohom; its components are mpi, ucx and fortran"
  project CXX 'find_package(cohom REQUIRED COMPONENTS mpi)'
  project_refuses 'component mpi: find_package(MPI COMPONENTS CXX) finds no MPI' \
    -D CMAKE_DISABLE_FIND_PACKAGE_MPI=ON
}

refuses_a_switch_without_its_loader() {
  refuses 'COHOM_EBPF=ON, but COHOM_AGGREGATOR=OFF' -S "$root" -B "$tree/ebpf" \
    -D COHOM_EBPF=ON -D COHOM_AGGREGATOR=OFF
}

# The library is where no loader looks by itself, and no variable says where.
programs_find_libraries_in_odd_prefixes() {
  mkdir -p "$tree/odd/lib"
  "$CXX" -shared -fPIC "$here/odd_prefix/odd_number.cpp" -o "$tree/odd/lib/libodd_number.so"
  "$CMAKE" -S "$here/odd_prefix" -B "$tree/odd_build" -D settings="$root/cmake" \
    -D library="$tree/odd/lib/libodd_number.so" \
    -D CMAKE_INSTALL_PREFIX="$tree/odd_installed" >/dev/null
  "$CMAKE" --build "$tree/odd_build" >/dev/null
  "$CMAKE" --install "$tree/odd_build" >/dev/null
  env -i "$tree/odd_installed/bin/odd-prefix" ||
    fail "an installed program does not find its library"
}

programs_find_the_device_library() {
  local folder said
  for folder in lib lib64 "lib/$("$CXX" -print-multiarch)"; do
    rm -rf "$tree/device"
    mkdir -p "$tree/device/bin" "$tree/device/$folder"
    cp "$build/bin/device_bench" "$tree/device/bin"
    cp "$device" "$tree/device/$folder/libcohom_cuda.so"
    said=$("$tree/device/bin/device_bench" --mebibytes 2 --repeats 1 --json 2>&1) || true
    [[ $said == *emulated* ]] ||
      fail "a program in bin does not find the device library in $folder: $said"
  done
}

# Of each header alone: one error, and no page of others.
headers_refuse_old_standards() {
  local header said
  for header in "$tree"/installed/include/cohom/*.hpp; do
    said=$("$CXX" -std=c++17 -fsyntax-only -x c++ -I "$tree/installed/include" "$header" 2>&1) &&
      fail "${header##*/} compiles as C++17"
    [[ $(grep -c 'error: #error' <<<"$said") == 1 && $(grep -c 'error:' <<<"$said") == 2 ]] ||
      fail "${header##*/} as C++17: $said"
  done
}

# What others have put there stays.
uninstalls_what_it_installed() {
  local left
  rm -rf "$tree/installed"
  install_build
  touch "$tree/installed/include/cohom/of_others.hpp"
  "$CMAKE" -D MANIFEST="$build/install_manifest_Unspecified.txt" \
    -P "$root/cmake/uninstall.cmake" 2>/dev/null || fail "uninstalling failed"
  left=$(cd "$tree/installed" && find . ! -type d -o -name cohom | sort | tr '\n' ' ')
  [[ $left == "./include/cohom ./include/cohom/of_others.hpp " ]] || fail "left behind: $left"
  refuses 'nothing was installed from this build folder' \
    -D MANIFEST="$build/install_manifest_Unspecified.txt" -P "$root/cmake/uninstall.cmake"
}

unset COHOM_CUDA_LIBRARY
install_build
headers_refuse_old_standards
says_why_it_is_not_found
refuses_a_switch_without_its_loader
programs_find_libraries_in_odd_prefixes
uninstalls_what_it_installed
if [[ $device ]]; then programs_find_the_device_library; fi
((failures == 0))
