"""Commands on a host of a lab."""

import pathlib

from failure import Failure
from state import hosts_file

HERE = pathlib.Path(__file__).resolve().parent


def command_on(lab, host, command):
    """Return the command line that runs `command` on the host."""
    return [str(HERE / "enter_host.sh"), host.namespace, host.name,
            str(hosts_file(lab, lab.nearest_switch(host))), *command]


def find(lab, name):
    """Return the node called h2 or lab-h2, leaf1, switch ..."""
    for node in lab.nodes:
        if name in (node.name, node.name.removeprefix(f"{lab.name}-")):
            return node
    known = ", ".join(node.name for node in lab.nodes)
    raise Failure(f"lab {lab.name} has no host '{name}'; it has {known}")
