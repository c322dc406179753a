"""Where a box's daemons run: all on loopback, or one node on each host of a netlab lab."""

import dataclasses
import socket

import host
import lifecycle as labs
import topology
from slurmbox import state
from slurmbox.failure import Failure

DEFAULT_NODES = 4
FIRST_PORT, LAST_PORT = 16800, 28000  # below those that systems give to clients


@dataclasses.dataclass(frozen=True)
class Node:
    """One slurmd."""

    name: str
    host_name: str
    address: str
    port: int


class Loopback:
    """Nodes are told apart by their port."""

    device = "lo"

    def __init__(self, box):
        """Take the machine's own name: clients refuse a controller of another."""
        self.box = box
        self.host_name = socket.gethostname()

    def controller(self):
        """Return the name and the address of the controller's machine."""
        return self.host_name, "127.0.0.1"

    def nodes(self):
        """Return all nodes."""
        return [Node(f"n{i}", self.host_name, "127.0.0.1", self.box.port + i)
                for i in range(1, self.box.nodes + 1)]

    def on_controller(self, command):
        """Return the command line that runs the command where the controller is."""
        return command

    def on_node(self, _index, command):
        """Return the command line that runs the command on node number `index`."""
        return command

    def client(self, command):
        """Return the command line of what talks to the box."""
        return _with_configuration(self.box, command)


class Lab:
    """Each host of the lab is a node; the first one has the controller, too."""

    device = topology.HOST_DEVICE

    def __init__(self, box):
        """Find the lab, which must be up."""
        self.box = box
        self.lab = labs.loaded(box.netlab)
        self.hosts = self.lab.host_nodes

    def controller(self):
        """Return the name and the address of the controller's machine."""
        return self.hosts[0].name, topology.address(0)

    def nodes(self):
        """Return all nodes."""
        return [Node(host.name, host.name, topology.address(i), self.box.port + 1)
                for i, host in enumerate(self.hosts[:self.box.nodes])]

    def on_controller(self, command):
        """Return the command line that runs the command where the controller is."""
        return self.on_node(0, command)

    def on_node(self, index, command):
        """Return the command line that runs the command on node number `index`."""
        return host.command_on(self.lab, self.hosts[index], command)

    def client(self, command):
        """Return the command line of what talks to the box."""
        return self.on_controller(_with_configuration(self.box, command))


def place_of(box):
    """Return where the box is."""
    return Lab(box) if box.netlab else Loopback(box)


def box_of(name, nodes, netlab, switches):
    """Return the box that was asked for; without a number of nodes a lab's hosts are all nodes."""
    hosts = DEFAULT_NODES
    if netlab is not None:
        hosts = labs.loaded(netlab).hosts
        if nodes and nodes > hosts:
            raise Failure(f"--nodes {nodes}: lab {netlab} has {hosts} hosts")
    nodes = nodes or hosts
    if switches and switches > nodes:
        raise Failure(f"--switches {switches}: the box has {nodes} nodes, and a switch has one or "
                      "more")
    return state.Box(name, nodes, netlab, switches=switches)


def with_port(box):
    """Return the box with the first port from which on enough are free."""
    if box.netlab:  # labs have a network of their own
        return dataclasses.replace(box, port=FIRST_PORT)
    count = box.nodes + 1
    for first in range(FIRST_PORT, LAST_PORT, 100):
        if all(_is_free(first + i) for i in range(count)):
            return dataclasses.replace(box, port=first)
    raise Failure(f"no {count} free ports between {FIRST_PORT} and {LAST_PORT}")


def _with_configuration(box, command):
    return ["env", f"SLURM_CONF={state.folder_of(box.name)}/slurm.conf", *command]


def _is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
