"""Reading the JSON files that a command line names."""

import json
import pathlib


def read(path, kind, keys, row_keys=()):
    """Return the document of a file, a dictionary or a list as `kind` is.

    Each dictionary, of a list each one in it, has the keys. With `row_keys` its "results" are a
    list of dictionaries that have those. Raises ValueError with one line that names the file and
    what is wrong.
    """
    try:
        document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # also of a wrong encoding
        raise ValueError(f"{path}: is no JSON: {error}") from None
    found = document if isinstance(document, list) else [document]
    if not isinstance(document, kind) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"{path}: is not such a report, but other JSON")
    for each in found:
        expect_keys(each, keys, f"{path}: is not such a report: it")
        rows = each["results"] if row_keys else []
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ValueError(f"{path}: is not such a report: its results are no list of rows")
        for number, row in enumerate(rows, 1):
            expect_keys(row, row_keys, f"{path}: is not such a report: row {number}")
    return document


def expect_keys(found, keys, name):
    """Raise ValueError for a dictionary, called so, that lacks a key."""
    for key in keys:
        if key not in found:
            raise ValueError(f"{name} has no '{key}'")
