"""Runs an MPI program over the hosts of a lab, and ends it whatever happens."""

import math
import os
import pathlib
import re
import shlex
import subprocess

import processes
from command import INTERRUPTED
from host import command_on
from state import folder_of
from topology import HOST_DEVICE

HERE = pathlib.Path(__file__).resolve().parent
WITH_ENV = HERE.parents[1] / "scripts" / "with-env"


def shared_memory(version):
    """Return the name of Open MPI's layer over memory, given what `mpirun --version` prints.

    It was vader up to Open MPI 4, whose sm does not work any more; it is sm since 5.
    """
    release = re.search(r"\(Open MPI\) (\d+)", version)
    return "sm" if release and int(release[1]) >= 5 else "vader"


def _layer(name, version):
    """Return flags of mpirun: hosts reach each other by their device, ranks of one by memory."""
    if name == "ob1":
        return ["--mca", "pml", "ob1", "--mca", "btl", f"tcp,{shared_memory(version)},self",
                "--mca", "btl_tcp_if_include", HOST_DEVICE]
    # By default Open MPI takes UCX for fast networks only.
    return ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any",
            "--mca", "osc", "^ucx", "-x", f"UCX_NET_DEVICES={HOST_DEVICE}",
            "-x", "UCX_TLS=tcp,self,sm"]


def _write_agent(lab):
    """Write the program by which mpirun starts its daemons on other hosts, as it would by ssh."""
    agent = folder_of(lab.name) / "agent"
    entry = shlex.quote(str(HERE / "netlab"))
    agent.write_text("#!/bin/sh\n# agent HOST TEXT...: has a shell on HOST run TEXT\n"
                     "host=$1\nshift\n"
                     f'exec {entry} exec --name {lab.name} "$host" -- sh -c "$*"\n')
    agent.chmod(0o755)
    return agent


def _write_hostfile(lab, ranks):
    path = folder_of(lab.name) / "hostfile"
    slots = math.ceil(ranks / lab.hosts)
    path.write_text("".join(f"{host.name} slots={slots}\n" for host in lab.host_nodes))
    return path


def mpirun(lab, layer, ranks, settings, command):
    """Return the command line of mpirun; settings are pairs of MCA parameters and values."""
    scratch = folder_of(lab.name) / "tmp"
    scratch.mkdir(exist_ok=True)
    parameters = {
        "plm": "rsh", "plm_rsh_agent": _write_agent(lab), "plm_rsh_no_tree_spawn": 1,
        "oob_tcp_if_include": HOST_DEVICE, "orte_keep_fqdn_hostnames": 1,
        "orte_tmpdir_base": scratch,
    }
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True,
                             check=False).stdout
    arguments = [text for name, value in parameters.items() for text in ("--mca", name, str(value))]
    arguments += [text for name, value in settings for text in ("--mca", name, value)]
    return ["mpirun", "--hostfile", str(_write_hostfile(lab, ranks)), "--map-by", "node",
            *arguments, *_layer(layer, version), "-n", str(ranks), *command]


def threads_of(ranks):
    """Return how many threads a rank's codec has, unless the user has said it.

    Hosts share the machine's cores, and each of them would take all for its own.
    """
    if "COHOM_THREADS" in os.environ:
        return {}
    return {"COHOM_THREADS": str(max(0, min(15, len(os.sched_getaffinity(0)) // ranks - 1)))}


def launch(lab, command, environment):
    """Run mpirun's command line on the first host; returns its exit status.

    Nothing is left running afterwards: not after Ctrl-C either, nor when this process is
    terminated.
    """
    # Killed outright, this process cannot clean up; then at least mpirun is told to.
    tied = ["setpriv", "--pdeathsig", "TERM", "--", str(WITH_ENV), *command]
    try:
        return processes.shell_status(
            subprocess.run(command_on(lab, lab.host_nodes[0], tied), check=False,
                           env={**os.environ, **environment}).returncode)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        processes.end_on_hosts(lab)
