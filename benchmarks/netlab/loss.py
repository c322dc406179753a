"""Random loss at the switches, by a BPF program on every port through which packets enter."""

import pathlib
import platform

from tools import missing, run, tc

SOURCE = pathlib.Path(__file__).parent / "loss.bpf.c"
PLACE = ["pref", "1", "handle", "1"]  # of the program on a port


def why_not():
    """Return why no loss can be had here, or nothing."""
    return missing(["clang"])


def compile_program(probability, target):
    """Compile the program for this probability."""
    # The kernel's headers of one machine type lie in a folder that clang does not look into when it
    # compiles for BPF.
    headers = f"/usr/include/{platform.machine()}-linux-gnu"
    run("clang", "-O2", "-target", "bpf", "-I", headers,
        f"-DLOSS_OF_2_32={round(probability * 2**32)}ull", "-c", str(SOURCE), "-o", str(target))


def attach(lab, program):
    """Let every switch of a lab lose what enters it with the program's probability from now on."""
    for port in _ports(lab):
        tc(port[0], "qdisc", "add", *port[1:], "clsact", check=False)  # it may be there
        # First of all programs on the port: what is lost, none of them sees.
        tc(port[0], "filter", "replace", *port[1:], "ingress", *PLACE, "bpf", "direct-action",
           "object-file", str(program), "section", "tc")


def detach(lab):
    """Let the switches lose nothing any more, after attach()."""
    for port in _ports(lab):
        tc(port[0], "filter", "del", *port[1:], "ingress", *PLACE, "bpf")


def _ports(lab):
    """Return the ports of all switches, as tc names them: the namespace and the device.

    A port's device both sends to the other end and receives from it.
    """
    switches = set(lab.switch_nodes)
    return [(link.sender.namespace, "dev", link.device)
            for link in lab.links if link.sender in switches]
