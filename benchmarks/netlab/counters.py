"""What the links of a lab have carried, dropped and lost since they were made."""

import dataclasses

from failure import Broken
from tools import ip, read_json, tc


@dataclasses.dataclass
class LinkCount:
    """Of one link; `lost` is what the receiving switch's loss program took."""

    bytes: int = 0
    packets: int = 0
    drops: int = 0
    lost: int = 0

    def __sub__(self, earlier):
        """Return what happened in between."""
        return LinkCount(*(now - then for now, then in
                           zip(dataclasses.astuple(self), dataclasses.astuple(earlier))))

    def __add__(self, other):
        """Return both together."""
        return LinkCount(*(a + b for a, b in
                           zip(dataclasses.astuple(self), dataclasses.astuple(other))))


def _queues(namespace):
    """Return by device what its bucket dropped and what its loss program lost."""
    drops, lost = {}, {}
    for queue in read_json(tc(namespace, "-s", "-json", "qdisc", "show")):
        if queue["kind"] == "tbf":
            drops[queue["dev"]] = queue["drops"]
        elif queue["kind"] == "clsact":
            lost[queue["dev"]] = queue["drops"]
    return drops, lost


def read(lab):
    """Return the count of every link of a lab; refuse when one has lost its device or its rate."""
    counts = {}
    device = {}
    buckets = set()
    for node in lab.nodes:
        drops, lost = _queues(node.namespace)
        buckets |= {(node, name) for name in drops}
        for entry in read_json(ip(node.namespace, "-s", "-json", "link", "show")):
            sent = entry["stats64"]["tx"]
            name = entry["ifname"]
            device[node, name] = LinkCount(sent["bytes"], sent["packets"], drops.get(name, 0),
                                           lost.get(name, 0))
    for link in lab.links:
        if (link.sender, link.device) not in device:
            raise Broken(lab.name, f"{link.sender.name} has no device {link.device}")
        if lab.rate_of(link) is not None and (link.sender, link.device) not in buckets:
            raise Broken(lab.name, f"{link.title} has lost its rate")
    for here, there in lab.cables:
        for link, other in ((here, there), (there, here)):
            count = device[link.sender, link.device]
            counts[link] = dataclasses.replace(
                count, lost=device[other.sender, other.device].lost)
    return counts


def difference(now, before):
    """Return what every link did in between."""
    return {link: count - before[link] for link, count in now.items()}


def total(counts):
    """Return the sum over links."""
    return sum(counts.values(), LinkCount())
