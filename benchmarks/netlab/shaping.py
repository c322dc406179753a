"""Token buckets: they make a link as slow as asked, and drop what its queue does not hold."""

from tools import tc


def shape(lab):
    """Give every link of the lab its rate."""
    for link in lab.links:
        tc(link.sender.namespace, "qdisc", "del", "dev", link.device, "root", check=False)
        rate = lab.rate_of(link)
        if rate is None:
            continue
        tc(link.sender.namespace, "qdisc", "add", "dev", link.device, "root", "tbf",
           "rate", f"{rate}bit", "burst", f"{lab.shape.burst}b", "latency",
           f"{lab.shape.latency}us")
