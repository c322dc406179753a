"""What a box needs of the machine, and a clear word about what is missing."""

import os
import shutil
import subprocess

from slurmbox.failure import Failure

PACKAGES = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd",
            "sbatch": "slurm-client", "unshare": "util-linux"}


def _path():
    """Return where to look for tools: daemons are where not every user's PATH leads."""
    return os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


def why_not():
    """Return why no box can be made here, or nothing."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root; run it with sudo"
    absent = [name for name in PACKAGES if shutil.which(name, path=_path()) is None]
    if absent:
        packages = " ".join(sorted({PACKAGES[name] for name in absent}))
        return (f"{', '.join(absent)} not found; install with: scripts/setup build slurm "
                f"(packages {packages})")
    probe = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"],
                           capture_output=True, text=True, check=False)
    return f"no namespaces: {probe.stderr.strip()}" if probe.returncode else None


def require():
    """Refuse without root, a tool or namespaces."""
    reason = why_not()
    if reason:
        raise Failure(reason)
    os.environ["PATH"] = _path()
