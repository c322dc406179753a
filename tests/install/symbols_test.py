#!/usr/bin/env python3
"""What names a program gets when it links our libraries: ours alone.

usage: symbols_test.py NM LIBRARY...

Lists every global symbol that each library, static or shared, defines, and fails with those that
are not allowed:
* cohom_* and MPIX_*: the C API;
* cohom::, mangled: functions and variables, the tables, type information, thunks and guards of its
  types, and static variables of its inline functions;
* in static libraries alone, weak or unique copies of templates and inline functions of the
  libraries whose headers are used (std, __gnu_cxx, fmt, spdlog): the linker merges them with a
  program's own, which are the same, so they cannot clash. Shared libraries keep theirs to
  themselves;
* in static libraries alone, weak DW.ref.*: references of exception tables, made by the compiler.
"""

import collections
import re
import subprocess
import sys

C_API = r"(cohom|MPIX)_\w+"
SPECIAL = r"(GV|T[VTIS]|T[hv]n?\d+_(n?\d+_)?)?"  # guards, tables and type information, thunks
OF_COHOM = rf"_Z{SPECIAL}Z*N[KRO]*5cohom.+"
OTHERS = (r"(St|S[absiod]|N9__gnu_cxx|N3fmt|N6spdlog|N[KRO]*S[abtsiod]"
          r"|N[KRO]*(9__gnu_cxx|3fmt|6spdlog))")
TYPES = r"[PKRFv]*"  # type information of a pointer or a function
COPY = rf"_Z{SPECIAL}Z*{TYPES}{OTHERS}.+"
OWN = re.compile(rf"^({C_API}|{OF_COHOM})$")
MERGED = re.compile(rf"^({COPY}|DW\.ref\..+)$")


def symbols(nm, library):
    """Return pairs of type and mangled name: dynamic ones of a shared library."""
    dynamic = [] if library.endswith(".a") else ["--dynamic"]
    flags = ["--extern-only", "--defined-only", "--portability", *dynamic]
    lines = subprocess.run([nm, *flags, library], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    words = [line.split() for line in lines if line and not line.endswith(":")]
    return sorted({(kind, name.split("@")[0]) for name, kind, *_ in words})


def main():
    """Check all libraries; returns the exit status."""
    nm, *libraries = sys.argv[1:]
    status = 0
    for library in libraries:
        found = symbols(nm, library)
        static = library.endswith(".a")
        allowed = {(kind, name) for kind, name in found
                   if OWN.match(name) or (static and kind in "WVu" and MERGED.match(name))}
        wrong = [pair for pair in found if pair not in allowed]
        own = sum(bool(OWN.match(name)) for _, name in found)
        print(f"{library}: {len(found)} symbols, {own} of them ours, {len(wrong)} not allowed")
        names = subprocess.run(["c++filt"], input="\n".join(name for _, name in wrong[:20]),
                               check=True, capture_output=True, text=True).stdout.splitlines()
        for (kind, _), name in zip(wrong, names):
            print(f"  not allowed: {kind} {name}")
        if len(wrong) > 20:
            counts = collections.Counter(kind for kind, _ in wrong)
            print(f"  and others; by type: {dict(counts)}")
        status |= bool(wrong) or own == 0
    return status


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main())
