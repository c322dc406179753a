"""The error that ends a command with one line: netlab's, so that its refusals pass through."""

from failure import Failure

__all__ = ["Failure"]
