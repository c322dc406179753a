"""Token buckets: they make a link as slow as asked, and drop what its queue does not hold."""

from tools import tc


def shape(lab):
    """Give every link of the lab its rate. A link that has one is never without."""
    for link in lab.links:
        rate = lab.rate_of(link)
        if rate is None:
            tc(link.sender.namespace, "qdisc", "del", "dev", link.device, "root", check=False)
            continue
        tc(link.sender.namespace, "qdisc", "replace", "dev", link.device, "root", "tbf",
           "rate", f"{rate}bit", "burst", f"{lab.shape.burst}b", "latency",
           f"{lab.shape.latency}us")
