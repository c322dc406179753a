"""Writing a figure of matplotlib as output_file writes."""

import io
import pathlib

import output_file


def save(figure, path, **arguments):
    """Write a figure in the format that the path's suffix names, PNG without one.

    Raises OSError whose filename is the path.
    """
    file = output_file.OutputFile(path)
    picture = io.BytesIO()
    figure.savefig(picture, format=pathlib.Path(path).suffix[1:] or "png", **arguments)
    file.write(picture.getvalue())
