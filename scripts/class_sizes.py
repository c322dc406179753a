#!/usr/bin/env python3
"""Fails where a class has more than 15 data members, or x.hpp and x.cpp of a folder 400 lines.

Such a class does several things. Members are counted by the text, not by a compiler: declarations
directly in a class's braces that are no function, type or static member, and each name of them.
Heads of specialisations are not seen, nor members whose type or default value has parentheses.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "mpi_ext", "ucx_transport")
MOST_MEMBERS, MOST_LINES = 15, 400
NO_MEMBER = re.compile(r"(using|friend|enum|struct|class|static|template|typedef|constexpr)\b")


def without_comments(text):
    """Return the text of a source without comments, strings emptied."""
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def classes(text):
    """Yield each class's name in a text without comments, and what stands in its own braces."""
    head_of_class = r"\b(?:class|struct)\s+(\w+)(?:\s+final)?\s*(?::[^:{;][^{;]*)?\{"
    for head in re.finditer(head_of_class, text):
        depth, own = 1, []
        for letter in text[head.end():]:
            depth += (letter == "{") - (letter == "}")
            if depth == 0:
                break
            if depth == 1:
                own.append(";" if letter == "}" else letter)
        yield head[1], "".join(own)


def members(own):
    """Return how many data members are declared in a class's own braces."""
    count = 0
    for declaration in own.split(";"):
        text = re.sub(r"\b(public|private|protected)\s*:", "", declaration).strip()
        text = re.sub(r"\[\[.*?\]\]|\balignas\([^)]*\)", "", text).strip()
        while (shorter := re.sub(r"<[^<>;]*>", "", text)) != text:
            text = shorter
        if NO_MEMBER.match(text) or "(" in text or not re.fullmatch(r"[\w:&*\s\[\]{},=.+-]+", text):
            continue
        declared = text.split("=")[0] if "," not in text else text
        if re.search(r"\w[\s&*]+\w", declared):
            count += 1 + declared.count(",")
    return count


def complaints():
    """Return a line for each class that is too large."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others",
                            "--exclude-standard", *FOLDERS],
                           check=True, capture_output=True, text=True).stdout.split()
    lines = collections.Counter()
    found = []
    for name in sorted(names):
        path = ROOT / name
        if path.suffix not in (".cpp", ".hpp") or not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        lines[str(path.relative_to(ROOT).with_suffix(""))] += text.count("\n")
        for cls, own in classes(without_comments(text)):
            if (count := members(own)) > MOST_MEMBERS:
                found.append(f"{name}: {cls} has {count} data members, at most {MOST_MEMBERS} are "
                             "right")
    found += [f"{stem}: header and source have {count} lines, at most {MOST_LINES} are right"
              for stem, count in lines.items() if count > MOST_LINES]
    return found


if __name__ == "__main__":
    problems = complaints()
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
