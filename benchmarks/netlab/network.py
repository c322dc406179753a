"""Makes and removes the namespaces of a lab and the cables between them."""

import os
import pathlib

from tools import ip, run
from topology import (HOST_DEVICE, NAMESPACE_PREFIX, NETWORK, NETWORK_BITS, address, switch_address)

NAMESPACES = pathlib.Path("/run/netns")
BRIDGE = "bridge"


def namespaces_of(name):
    """Return the namespaces of the lab called so, whether or not anything else is known of it."""
    prefix = f"{NAMESPACE_PREFIX}{name}-"
    if not NAMESPACES.is_dir():
        return []
    return sorted(entry for entry in os.listdir(NAMESPACES) if entry.startswith(prefix))


def is_alive(namespace):
    """Return whether the namespace is mounted at its name, as it should be."""
    try:
        return os.stat(NAMESPACES / namespace).st_dev != os.stat(NAMESPACES).st_dev
    except FileNotFoundError:
        return False


def lab_names():
    """Return the names of all labs of which there is a namespace."""
    if not NAMESPACES.is_dir():
        return []
    return sorted({entry.split("-")[1] for entry in os.listdir(NAMESPACES)
                   if entry.startswith(NAMESPACE_PREFIX)})


def create(lab):
    """Make all namespaces and cables, without shaping them."""
    for node in lab.nodes:
        run("ip", "netns", "add", node.namespace)
        ip(node.namespace, "link", "set", "lo", "up")
    for switch in lab.switch_nodes:
        ip(switch.namespace, "link", "add", BRIDGE, "type", "bridge")
        _set_up(switch.namespace, BRIDGE, lab.mtu)
    for here, there in lab.cables:
        run("ip", "link", "add", here.device, "netns", here.sender.namespace, "type", "veth",
            "peer", "name", there.device, "netns", there.sender.namespace)
        for end in (here, there):
            _set_up(end.sender.namespace, end.device, lab.mtu)
            if end.device != HOST_DEVICE:
                ip(end.sender.namespace, "link", "set", end.device, "master", BRIDGE)
    for i, host in enumerate(lab.host_nodes):
        _set_address(lab, host, address(i))
    for i, switch in enumerate(lab.switch_nodes):
        ip(switch.namespace, "addr", "add", f"{switch_address(i)}/{NETWORK_BITS}", "dev", BRIDGE)


def _set_up(namespace, device, mtu):
    # Without an address of its own a device does not chatter about IPv6.
    ip(namespace, "link", "set", device, "mtu", str(mtu), "addrgenmode", "none", "up")


def _set_address(lab, host, own):
    network = f"{NETWORK}.0/{NETWORK_BITS}"
    ip(host.namespace, "addr", "add", f"{own}/{NETWORK_BITS}", "dev", HOST_DEVICE)
    # The machine's default may be a congestion control that wants a pacing queue and starves behind
    # a token bucket. A namespace may not choose by sysctl what only root of the machine may; a
    # route may.
    ip(host.namespace, "route", "change", network, "dev", HOST_DEVICE, "proto", "kernel",
       "scope", "link", "src", own, "congctl", "cubic")
    if lab.loss:
        # Several frames travel as one packet until they leave the machine, and would be lost
        # together.
        ip(host.namespace, "link", "set", HOST_DEVICE, "gso_max_segs", "1")


def remove(name):
    """Remove what there is of the lab; its devices go with their namespaces."""
    for namespace in namespaces_of(name):
        run("ip", "netns", "del", namespace)
