"""What a lab consists of: its nodes, their names, and the cables between them.

A node is a network namespace with a host or a switch in it. With one switch:

    lab-h1 eth0 --- h1  lab-switch  h2 --- eth0 lab-h2   ...

With two levels the first half of the hosts hangs on lab-leaf1, the rest on lab-leaf2, and a spine
cable joins the two.
"""

import dataclasses

from units import format_duration, format_probability, format_rate, format_size

MOST_HOSTS = 250
NAMESPACE_PREFIX = "netlab-"
NETWORK = "10.77.0"
NETWORK_BITS = 24
FRAME_HEADER = 14  # bytes of Ethernet's, which come on top of the MTU
HOST_DEVICE = "eth0"
SPINE_DEVICE = "spine"

# A token bucket lets a burst pass at once: free bandwidth, which counts where runs are short.
LARGE_BURST = 256 * 1024
SMALL_BURST = 64 * 1024
SLOW = 200 * 10**6


def default_burst(rate):
    """Return the bucket's size in bytes for a rate in bits a second."""
    return SMALL_BURST if rate is not None and rate <= SLOW else LARGE_BURST


@dataclasses.dataclass(frozen=True)
class Shape:
    """How fast the links are."""

    rate: int | None  # bits a second; None: as fast as the machine
    spine_rate: int | None  # of the link between leaves
    burst: int  # bytes
    latency: int  # microseconds that a packet may wait in a queue before packets are dropped

    def __str__(self):
        """Return it as flags are written."""
        return (f"rate {format_rate(self.rate)}, burst {format_size(self.burst)}, "
                f"queue {format_duration(self.latency)}")


@dataclasses.dataclass(frozen=True)
class Node:
    """A host or a switch."""

    name: str  # of the machine, unique over all labs: it names files that hosts share

    @property
    def namespace(self):
        """Return the name of its network namespace."""
        return NAMESPACE_PREFIX + self.name


@dataclasses.dataclass(frozen=True)
class Link:
    """One direction of a cable: what is sent is queued in the sender's device."""

    sender: Node
    device: str
    receiver: Node
    spine: bool = False

    @property
    def title(self):
        """Return how tables name it."""
        return f"{self.sender.name} > {self.receiver.name}"


@dataclasses.dataclass(frozen=True)
class Lab:
    """Everything that `up` was asked for."""

    name: str
    hosts: int
    two_level: bool
    loss: float  # probability that a switch loses a packet that enters it
    mtu: int
    shape: Shape

    @property
    def host_nodes(self):
        """Return the hosts, the first one first."""
        return [Node(f"{self.name}-h{i}") for i in range(1, self.hosts + 1)]

    @property
    def switch_nodes(self):
        """Return the switches."""
        names = ["leaf1", "leaf2"] if self.two_level else ["switch"]
        return [Node(f"{self.name}-{name}") for name in names]

    @property
    def nodes(self):
        """Return all nodes."""
        return self.switch_nodes + self.host_nodes

    def nearest_switch(self, node):
        """Return the number of the switch that a host hangs on, or that the node is."""
        hosts, switches = self.host_nodes, self.switch_nodes
        if node in switches:
            return switches.index(node)
        return hosts.index(node) * len(switches) // self.hosts

    def switch_of(self, host):
        """Return the switch that host number `host`, from 0, hangs on."""
        return self.switch_nodes[self.nearest_switch(self.host_nodes[host])]

    @property
    def cables(self):
        """Return pairs of links: the two directions of each cable, the host's first."""
        cables = []
        for i, host in enumerate(self.host_nodes):
            switch = self.switch_of(i)
            cables.append((Link(host, HOST_DEVICE, switch), Link(switch, f"h{i + 1}", host)))
        if self.two_level:
            leaf1, leaf2 = self.switch_nodes
            cables.append((Link(leaf1, SPINE_DEVICE, leaf2, spine=True),
                           Link(leaf2, SPINE_DEVICE, leaf1, spine=True)))
        return cables

    @property
    def links(self):
        """Return both directions of all cables."""
        return [link for cable in self.cables for link in cable]

    def rate_of(self, link):
        """Return the link's rate."""
        return self.shape.spine_rate if link.spine else self.shape.rate

    def __str__(self):
        """Return one line that says what it is."""
        spine = f", spine {format_rate(self.shape.spine_rate)}" if self.two_level else ""
        loss = f", loss {format_probability(self.loss)}" if self.loss else ""
        levels = ", two levels" if self.two_level else ""
        return f"{self.hosts} hosts{levels}, {self.shape}{spine}{loss}, mtu {self.mtu}"


def address(host):
    """Return the address of host number `host`, from 0."""
    return f"{NETWORK}.{host + 1}"


def switch_address(switch):
    """Return the address of switch number `switch`, from 0: behind those of hosts."""
    return f"{NETWORK}.{MOST_HOSTS + 1 + switch}"
