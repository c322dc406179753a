"""Pieces of HTML. Texts are escaped here and nowhere else."""

import html


def text(value):
    """Return a value as text of HTML; None is a dash."""
    return html.escape("\N{EN DASH}" if value is None or value == "" else str(value))


def element(tag, content, css=""):
    """Return an element with text in it."""
    attribute = f' class="{css}"' if css else ""
    return f"<{tag}{attribute}>{text(content)}</{tag}>"


def paragraph(content, css=""):
    """Return a paragraph of text."""
    return element("p", content, css)


def table(head, rows):
    """Return a table, which scrolls by itself where it is wider than the screen."""
    lines = ['<div class="scroll" tabindex="0"><table>', "<thead><tr>",
             *(element("th", cell) for cell in head), "</tr></thead><tbody>"]
    for row in rows:
        lines.append("<tr>" + element("th", row[0]) + "".join(
            element("td", cell) for cell in row[1:]) + "</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


def details(summary, body, is_open=False):
    """Return HTML behind a line of text that opens it."""
    state = " open" if is_open else ""
    return f"<details{state}>{element('summary', summary)}\n{body}\n</details>"


def section(name, title, body):
    """Return a part of the page that links can name."""
    return f'<section id="{name}">{element("h2", title)}\n{body}\n</section>'


def figure(chart):
    """Return a drawing with its caption."""
    return (f'<figure id="{chart.name}">{chart.svg}'
            f"{element('figcaption', chart.caption)}</figure>")
