"""The errors that end a command with one line."""


class Failure(Exception):
    """Says what is wrong and what would be right."""


class Broken(Failure):
    """Says what was taken away from a lab since it came up."""

    def __init__(self, name, what):
        super().__init__(f"lab {name} is broken: {what}; make it anew with `netlab up`, or clear "
                         "it away with `netlab down`")
