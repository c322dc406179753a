"""How a command ends: with its exit status, one line of what is wrong, or cleaned up after Ctrl-C."""

import signal
import sys

from failure import Failure

INTERRUPTED = 128 + signal.SIGINT


def _interrupt(_number, _frame):
    """Treat a request to end like Ctrl-C: with cleaning up."""
    raise KeyboardInterrupt


def finish(program, subcommands, options):
    """Run the subcommand that was asked for; returns its exit status, 1 for what cannot be done."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        return subcommands[options.subcommand](options) or 0
    except (Failure, OSError) as failure:
        sys.stdout.flush()  # what was said before it comes before it
        print(f"{program} {options.subcommand}: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
