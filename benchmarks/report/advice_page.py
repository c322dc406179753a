"""The part of the page about advice: what programs that nobody changed would gain."""

from markup import element, paragraph, table
import units


def advice_section(advices):
    """Return a table a program, of (path, document)."""
    if not advices:
        return paragraph("No JSON of cohom-advise was given.")
    parts = []
    for path, document in advices:
        share = 100 * document["seconds"] / document["run_seconds"]
        parts += [element("h3", path), paragraph(
            f"{document['calls']} calls of MPI_Allreduce on real numbers took "
            f"{units.time_text(document['seconds'])} of {units.time_text(document['run_seconds'])} "
            f"({share:.0f}%) of rank 0.")]
        parts += [paragraph(rule_text(kind, document["rules"][kind]))
                  for kind in ("lossless", "lossy")]
        parts.append(table(["call site", "vector", "ranks", "calls", "time", *codecs_of(document)],
                           [site_line(site, codecs_of(document)) for site in document["sites"]]))
    return "\n".join([paragraph(
        "Of each codec: how many times as fast as MPI's own calls, on copies of the program's "
        "vectors, and the error (vNMSE).", "soft"), *parts])


def rule_text(kind, rule):
    """Return what a rule would save."""
    name = {"lossless": "Without loss", "lossy": "With the errors below"}[kind]
    if rule is None:
        return f"{name}: no codec saves a twentieth of that time."
    return f"{name}: {units.time_text(rule['saved_seconds'])} less with the rule {rule['rule']}"


def codecs_of(document):
    """Return the codecs that were tried, in their order."""
    return list(dict.fromkeys(trial["codec"] for site in document["sites"]
                              for trial in site["trials"]))


def site_line(site, codecs):
    """Return a call site's cells."""
    trials = {trial["codec"]: trial for trial in site["trials"]}
    return [site["site"], f"{units.size_text(site['bytes'])} {site['type']}", site["ranks"],
            site["calls"], units.time_text(site["seconds"]),
            *(trial_cell(trials.get(codec), site["native_seconds"]) for codec in codecs)]


def trial_cell(trial, native_seconds):
    """Return a codec's speed and error, or why it made none."""
    if trial is None:
        return None
    if trial["refusal"] is not None:
        return f"not: {trial['refusal']}"
    error = "not finite" if trial["error"] is None else units.number_text(trial["error"])
    return f"{units.number_text(native_seconds / trial['seconds'])} x, error {error}"
