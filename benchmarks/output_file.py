"""Writing what a command line names, whatever lies there; as output_file.hpp does it for C++.

A regular file, or none yet, is replaced as a whole: a reader never meets a part, and what failed
leaves the old content. Links are followed. Anything else (a device, a pipe, a descriptor of the
program such as /dev/stdout) cannot be replaced: it gets the content, once.
"""

import errno
import os
import pathlib
import stat

MAX_LINKS = 40  # Linux's own bound
MAX_NAMES = 100  # of partial files that ended programs have left behind


class OutputFile:
    """Where one file goes. All errors are OSErrors whose filename is the path as it was given."""

    def __init__(self, path):
        """Find out now what can be known: the folder, the mode, the device.

        Waits for a reader if the path is a pipe without one.
        """
        self.path = str(path)
        self.target = None  # of all links; None when the content goes to a descriptor
        self._descriptor = None
        try:
            self._open()
        except OSError as error:
            raise self._error(error) from None

    def _error(self, error, text=None):
        return OSError(error.errno, text or error.strerror, self.path)

    def _open(self):
        target = pathlib.Path(self.path)
        for links in range(MAX_LINKS + 1):
            own = own_descriptor(target)
            if own is not None:
                self._descriptor = os.dup(own)
                return
            if not target.is_symlink():
                break
            if links == MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = target.parent / os.readlink(target)
        try:
            mode = os.stat(target).st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if mode is not None and not stat.S_ISREG(mode):
            self._descriptor = os.open(target, os.O_WRONLY | os.O_NOCTTY)
            return
        # Replacing it needs no right to write it, so ask for that as well.
        if mode is not None and not os.access(target, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        try:
            descriptor, partial = open_partial(target)
        except OSError as error:
            text = f"folder {target.parent}: {error.strerror}"
            raise OSError(error.errno, text) from None
        os.close(descriptor)
        os.unlink(partial)
        self.target = target

    def write(self, content):
        """Write all of the content, text or bytes, and close."""
        data = content.encode("utf-8") if isinstance(content, str) else content
        try:
            if self.target is None:
                descriptor, self._descriptor = self._descriptor, None
                write_all(descriptor, data)
            else:
                replace(self.target, data)
        except OSError as error:
            raise self._error(error) from None


def write(path, content):
    """Write the content, text or bytes, to a path. Raises OSError whose filename is the path."""
    OutputFile(path).write(content)


def own_descriptor(path):
    """Return the descriptor of this program that the path stands for, as /proc/self/fd/1 does.

    It cannot be opened by that name where it is a socket, and a second opening of a file begins at
    its start.
    """
    if os.path.realpath(path.parent) != f"/proc/{os.getpid()}/fd" or not path.name.isdecimal():
        return None
    return int(path.name)


def write_all(descriptor, data):
    """Write all bytes and close."""
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def replace(target, data):
    """Replace a regular file, or make it."""
    descriptor, partial = open_partial(target)
    try:
        write_all(descriptor, data)
        os.rename(partial, target)
    except BaseException:
        os.unlink(partial)
        raise


def open_partial(target):
    """Return a new file beside the target, with the target's mode, and its name."""
    for number in range(MAX_NAMES):
        partial = f"{target}.partial-{os.getpid()}-{number}"
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            break
        except FileExistsError:
            if number == MAX_NAMES - 1:
                raise
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return descriptor, partial
    try:
        # The owner first: a change of owner may take bits of the mode away. Not everyone may.
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except PermissionError:
        pass
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    return descriptor, partial
