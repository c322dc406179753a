"""Rows of cohom-bench, and the settings that make rows comparable."""

import pathlib

import units


class Row:
    """One codec, algorithm and size, with what was measured of it."""

    def __init__(self, values, run):
        """Take a checked row and the run that it belongs to."""
        self.values = values
        self.run = run
        self.lab = None
        self.link_rate = None  # bits a second, where it is known

    def __getitem__(self, key):
        """Return a column."""
        return self.values[key]

    @property
    def identical(self):
        """Return whether all ranks had the same bits."""
        return self["identical_across_ranks"]

    @property
    def ranks(self):
        """Return the number of ranks."""
        return self.run.facts["ranks"]

    @property
    def series(self):
        """Return the name of the curve that the row is a point of."""
        return f"{self['codec']} \N{MIDDLE DOT} {self['algorithm']}"

    @property
    def size(self):
        """Return the vector's size as text."""
        return units.size_text(self["bytes"])

    @property
    def input_name(self):
        """Return the input's short name: of a file, its stem."""
        name = self["input"]
        return pathlib.Path(name).stem if name.endswith((".npy", ".npz")) else name

    @property
    def seconds(self):
        """Return the median time of a call, or None."""
        return self["time_s"]["median"] if self["time_s"] else None

    @property
    def native_seconds(self):
        """Return the median time of the best native call, or None."""
        return self["native_time_s"]["median"] if self["native_time_s"] else None

    @property
    def profile(self):
        """Return the seconds of every phase, or None."""
        return self.values.get("profile_s")

    @property
    def counters(self):
        """Return what the network counted during the row."""
        return self.values.get("counters", {})

    @property
    def wire_seconds(self):
        """Return the time that the busiest rank's link takes for its bytes, or None."""
        sent = self["wire_bytes_per_rank"]
        return 8 * sent / self.link_rate if self.link_rate and sent is not None else None

    @property
    def native_bytes(self):
        """Return the bytes that a rank sends uncompressed in a ring or by Rabenseifner's."""
        return 2 * (self.ranks - 1) / self.ranks * self["bytes"]

    @property
    def bytes_a_value(self):
        """Return bytes of all ranks for a value and hop: 4 in a ring of uncompressed f32."""
        sent, hops = self["wire_bytes_all_ranks"], 2 * (self.ranks - 1)
        return sent / (hops * self["elements"]) if sent and hops else None

    @property
    def formulas(self):
        """Return the busiest rank's bytes by theory for other numbers of ranks."""
        found = self.values.get("wire_bytes_formula_by_ranks", {})
        return {int(ranks): wire for ranks, wire in found.items()}

    @property
    def sent_to_network(self):
        """Return whether an aggregator in the network was to sum."""
        return self.values.get("offload") is not None

    @property
    def summed_by_mpi(self):
        """Return whether words were handed to the MPI library."""
        return self.values.get("mpi_bytes") is not None

    @property
    def agreement_rounds(self):
        """Return the rounds before the payload, log2(n) messages each; None in older files."""
        return self.values.get("agreement_rounds")

    @property
    def link_title(self):
        """Return what is known of the links."""
        rate = units.rate_text(self.link_rate) if self.link_rate else "links of unknown rate"
        return f"{rate} ({self.lab.title})" if self.lab else rate

    @property
    def setting(self):
        """Return what rows must share to be drawn together."""
        return self._setting(self.run.launch, [f"{self.ranks} ranks"])

    @property
    def setting_but_shape(self):
        """Return what rows must share that differ in nodes and ranks a node."""
        return self._setting(" ".join(self.run.launch).split()[1:], [])

    def _setting(self, launch, ranks):
        flags = [name for name in ("in_place", "nonblocking") if self[name]]
        steps = [f"{self['steps']} steps"] if self["steps"] > 1 else []
        return (f"job {self.run.job}", *launch, *ranks, self.link_title,
                self["dtype"], self["op"], f"input {self.input_name}", *flags, *steps)


def by_setting(rows):
    """Return lists of comparable rows, by the text of their setting."""
    groups = {}
    for row in rows:
        groups.setdefault(", ".join(row.setting), []).append(row)
    return groups


def by_shape(rows):
    """Return, by the text of what they share, rows that were measured with several shapes.

    Each is a dictionary by series and size of dictionaries by shape; of a repeated row, the last.
    """
    groups = {}
    for row in rows:
        if row.run.shape:
            lines = groups.setdefault(", ".join(row.setting_but_shape), {})
            lines.setdefault((row.series, row["bytes"]), {})[row.run.shape] = row
    return {title: lines for title, lines in groups.items()
            if len({shape for line in lines.values() for shape in line}) > 1}


def by_series(rows):
    """Return the rows of every curve, the smallest first."""
    groups = {}
    for row in rows:
        groups.setdefault(row.series, []).append(row)
    return {name: sorted(group, key=lambda row: row["bytes"]) for name, group in groups.items()}


def largest(rows):
    """Return the rows of the largest vector of every curve; the last one where it was repeated."""
    return [group[-1] for group in by_series(rows).values()]
