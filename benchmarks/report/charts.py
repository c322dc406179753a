"""How figures look, as SVG within the page and as PNG beside it.

Ink and grid are drawn in marked colours, which become the page's own in the SVG: so one drawing
serves light and dark.
"""

import dataclasses
import io
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of backend)
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator  # noqa: E402

import units  # noqa: E402

INK = "#010203"
GRID = "#d0d1d2"
COLOURS = ["#1f77b4", "#d9730d", "#2ca02c", "#d64541", "#9467bd", "#a0694b", "#e377c2", "#7f8c1f",
           "#17a5b8", "#6b7fd7"]
STYLES = [("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"), ((0, (5, 1)), "v"), ((0, (1, 1)), "P"),
          ((0, (3, 1, 1, 1)), "X")]
WIDTH = 4.9  # inches: readable where a phone shows it on all its width

plt.rcParams.update({
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "cohom",
    "text.parse_math": False,
    "font.size": 9, "figure.titlesize": 10, "legend.fontsize": 8,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK,
    "ytick.color": INK, "grid.color": GRID, "grid.linewidth": 0.6, "axes.grid": True,
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False})


@dataclasses.dataclass
class Chart:
    """A finished figure."""

    name: str  # of its element and its PNG
    title: str
    caption: str
    series: list  # labels of what it shows
    svg: str
    png: bytes


class Canvas:
    """A figure that is being drawn."""

    def __init__(self, name, title, height=2.8):
        """Begin a figure of so many inches, to which its legend comes."""
        self.name, self.title, self._height = name, title, height
        self.figure, (self.axes, self._below) = plt.subplots(2, 1, layout="constrained")
        self._below.axis("off")
        self.series = []

    def line(self, label, x, y, **style):
        """Draw a curve."""
        style = {"linewidth": 1.4, "markersize": 4} | style
        (line,) = self.axes.plot(x, y, label=label, **style)
        line.set_gid(f"series-{len(self.series)}")
        self.series.append(label)

    def bars(self, label, positions, widths, lefts, colour):
        """Draw one part of horizontal stacked bars."""
        for number, bar in enumerate(self.axes.barh(positions, widths, 0.7, lefts, label=label,
                                                    color=colour)):
            if number == 0:
                bar.set_gid(f"series-{len(self.series)}")
        self.series.append(label)

    def scales(self, x=None, y=None):
        """Set the axes' units: "size", "time", "rate", "ranks", "number"; logarithmic all."""
        for which, kind in (("x", x), ("y", y)):
            if kind:
                set_scale(self.axes, which, kind)

    def finish(self, caption):
        """Return the chart."""
        columns = 2 if max(map(len, self.series)) <= 32 else 1
        below = 0.1 + 0.18 * -(-len(self.series) // columns)
        self.figure.set_size_inches(WIDTH, self._height + below)
        self.axes.get_gridspec().set_height_ratios([self._height, below])
        self._below.legend(*self.axes.get_legend_handles_labels(), loc="upper center",
                           ncols=columns, frameon=False, borderaxespad=0)
        # Over the figure and not the axes, which begin where their labels end.
        self.figure.suptitle(self.title)
        drawing, picture = io.StringIO(), io.BytesIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        self.figure.savefig(drawing, format="svg", transparent=True, metadata=nothing)
        self.figure.savefig(picture, format="png", dpi=170, facecolor="white")
        plt.close(self.figure)
        return Chart(self.name, self.title, caption, self.series,
                     inline_svg(drawing.getvalue(), self.name, self.title), picture.getvalue())


def set_scale(axes, which, kind):
    """Make an axis logarithmic, with a unit."""
    text = {"size": units.size_text, "time": units.time_text, "rate": units.rate_text,
            "ranks": str, "number": units.number_text}[kind]
    axis = getattr(axes, f"{which}axis")
    getattr(axes, f"set_{which}scale")("log", base=2 if kind in ("size", "ranks") else 10)
    low, high = axis.get_view_interval()
    narrow = kind not in ("size", "ranks") and high < 30 * low
    axis.set_major_locator(LogLocator(axis.get_transform().base, [1, 2, 5] if narrow else [1],
                                      numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _position: text(value)))
    axis.set_minor_locator(NullLocator())
    if which == "x" and kind == "size":
        axes.tick_params(axis="x", labelrotation=30)


def ticks(axes, values, kind, which="x"):
    """Mark exactly these values on a logarithmic axis."""
    set_scale(axes, which, kind)
    getattr(axes, f"{which}axis").set_major_locator(FixedLocator(list(values)))
    if kind == "ranks":
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:.0f}"))


def inline_svg(text, name, title):
    """Return a drawing as it stands within a page: no sizes, colours of the page, names unique."""
    text = text[text.index("<svg"):]
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    text = text.replace(INK, "currentColor").replace(GRID, "var(--grid)")
    return text.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)


class Palette:
    """One colour a codec all over the report, one style an algorithm."""

    def __init__(self, codecs, algorithms):
        """Give colours to codecs, and styles to algorithms, in their order."""
        self._colours = {codec: COLOURS[i % len(COLOURS)] for i, codec in enumerate(codecs)}
        self._styles = {name: STYLES[i % len(STYLES)] for i, name in enumerate(algorithms)}

    def style(self, codec, algorithm):
        """Return what a curve is drawn with."""
        line, marker = self._styles[algorithm]
        return {"color": self._colours[codec], "linestyle": line, "marker": marker}
