"""What a file of convergence.py must have to be drawn. What is wrong is a ValueError."""

import sys

CURVE = ("steps", "bytes", "losses")


def check(reports, curves):
    """Check a list of dictionaries with the keys of reports, each of which has so many curves."""
    expect(reports, "it is empty")
    for number, report in enumerate(reports, 1):
        where = f"report {number}"
        expect(isinstance(report["title"], str), f"{where}: its title is no text")
        expect(is_number(report["ranks"]) and report["ranks"] > 1,
               f"{where}: its ranks are no number above 1")
        expect(is_positive(report["parameters"]), f"{where}: its parameters are no number above 0")
        expect(isinstance(report["curves"], list) and len(report["curves"]) == curves,
               f"{where}: its curves are no list of {curves}")
        for index, curve in enumerate(report["curves"], 1):
            check_curve(curve, f"{where}, curve {index}")


def check_curve(curve, where):
    """Check one curve: as many steps, bytes and losses. A loss may be null: it was not finite."""
    expect(isinstance(curve, dict), f"{where}: it is no object")
    for key in (*CURVE, "last"):
        expect(key in curve, f"{where}: it has no '{key}'")
    for key in CURVE:
        expect(isinstance(curve[key], list) and
               all(is_number(each) or (key == "losses" and each is None) for each in curve[key]),
               f"{where}: its {key} are no list of numbers")
        expect(len(curve[key]) == len(curve["steps"]),
               f"{where}: it has {len(curve['steps'])} steps and {len(curve[key])} {key}")
    expect(curve["steps"] and is_positive(curve["steps"][-1]), f"{where}: it has no last step")
    expect(is_positive(curve["last"]), f"{where}: its last loss is no number above 0")


def expect(condition, message):
    """Raise ValueError unless the condition holds."""
    if not condition:
        raise ValueError(message)


def is_number(value):
    """Return whether a value of JSON is a finite number. Python's true is one, JSON's is not."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool) and
            abs(value) <= sys.float_info.max)


def is_positive(value):
    """Return whether it is a number above 0."""
    return is_number(value) and value > 0
