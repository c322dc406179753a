"""The library's C functions, and errors as exceptions. Calls give the interpreter's lock up."""

import ctypes
import os
import pathlib

LIBRARY = "libcohom_python.so"


class Error(Exception):
    """What the library says. `kind`: "invalid argument", "unsupported", "mismatch" and others."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.kind, str(self))


KINDS = {-1: "invalid argument", -2: "unsupported", -3: "mismatch", -4: "wrong state",
         -5: "out of memory", -6: "transport"}


class RawStep(ctypes.Structure):
    """struct cohom_round_step of cohom/rounds.h."""

    _fields_ = [("kind", ctypes.c_int), ("name", ctypes.c_char_p), ("operation", ctypes.c_int),
                ("type", ctypes.c_int), ("numbers", ctypes.c_size_t),
                ("words", ctypes.POINTER(ctypes.c_uint64)),
                ("send", ctypes.POINTER(ctypes.c_uint64)),
                ("send_counts", ctypes.POINTER(ctypes.c_size_t)),
                ("receive", ctypes.POINTER(ctypes.c_uint64)),
                ("receive_counts", ctypes.POINTER(ctypes.c_size_t))]


def _load() -> ctypes.CDLL:
    """Return the library beside this file, or the one that COHOM_PYTHON_LIBRARY names."""
    path = os.environ.get("COHOM_PYTHON_LIBRARY")
    library = ctypes.CDLL(path or str(pathlib.Path(__file__).with_name(LIBRARY)))
    pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    for name, result, arguments in (
            ("make", ctypes.c_int, [text, size, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                                    ctypes.c_uint, ctypes.POINTER(pointer)]),
            ("free", None, [pointer]),
            ("begin", ctypes.c_int, [pointer, pointer, pointer, ctypes.c_uint64]),
            ("next", ctypes.c_int, [pointer, ctypes.POINTER(RawStep)]),
            ("state", size, [pointer, ctypes.POINTER(pointer)]),
            ("error", text, [pointer])):
        function = getattr(library, f"cohom_rounds_{name}")
        function.restype, function.argtypes = result, arguments
    library.cohom_version.restype = text
    library.cohom_codec_names.restype = text
    return library


library = _load()


def check(status: int, rounds: ctypes.c_void_p | None = None) -> int:
    """Return what a function returned, unless it is an error."""
    if status < 0:
        raise Error(KINDS[status], library.cohom_rounds_error(rounds).decode())
    return status


def version() -> str:
    """Return the library's version, such as "0.1.0"."""
    return str(library.cohom_version().decode())


def codecs() -> list[str]:
    """Return the names of all codecs."""
    return list(library.cohom_codec_names().decode().split())
