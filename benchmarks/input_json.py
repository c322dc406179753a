"""Reading the JSON files that a command line names."""

import json
import pathlib


def read(path, kind, keys):
    """Return the document of a file, a dictionary or a list as `kind` is.

    Each dictionary, of a list each one in it, has the keys. Raises ValueError with one line that names
    the file and what is wrong.
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
        for key in keys:
            if key not in each:
                raise ValueError(f"{path}: is not such a report: it has no '{key}'")
    return document
