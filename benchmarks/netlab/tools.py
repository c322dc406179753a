"""Runs the tools of the system, and says which one is missing or what it complained about."""

import json
import os
import shutil
import subprocess

from failure import Failure

PACKAGES = {
    "ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "unshare": "util-linux",
    "mount": "mount", "hostname": "hostname", "setpriv": "util-linux", "clang": "clang",
    "mpirun": "openmpi-bin",
}
SYSTEM_FOLDERS = ":/usr/sbin:/sbin"  # which the PATH of `su` and of many users lacks
LAB_TOOLS = ["ip", "tc", "nsenter", "unshare", "mount", "hostname", "setpriv"]


def missing(names):
    """Return why these tools cannot be used, or nothing when all are there."""
    absent = [name for name in names if shutil.which(name, path=_path()) is None]
    if not absent:
        return None
    packages = sorted({PACKAGES[name] for name in absent})
    return (f"{', '.join(absent)} not found; install with: scripts/setup build netlab "
            f"(packages {', '.join(packages)})")


def _path():
    return os.environ.get("PATH", os.defpath).removesuffix(SYSTEM_FOLDERS) + SYSTEM_FOLDERS


def why_not(names):
    """Return why no lab can be made here, or nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root; run it with sudo"
    return missing(names)


def require(names):
    """Refuse without root or one of the tools."""
    reason = why_not(names)
    if reason:
        raise Failure(reason)
    os.environ["PATH"] = _path()


def run(*command, check=True):
    """Run a tool quietly and return its standard output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        complaint = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
        raise Failure(f"{' '.join(command)}: {complaint}")
    return done.stdout


def ip(namespace, *arguments, check=True):
    """Run ip in a namespace."""
    return run("ip", "-n", namespace, *arguments, check=check)


def tc(namespace, *arguments, check=True):
    """Run tc in a namespace."""
    return run("tc", "-n", namespace, *arguments, check=check)


def read_json(text):
    """Return what ip and tc print with -json; they print nothing for an empty list."""
    return json.loads(text) if text.strip() else []
