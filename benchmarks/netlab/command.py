"""How a command ends: with its exit status, a line of what is wrong, or cleaned up after Ctrl-C."""

import signal
import sys

from failure import Failure

INTERRUPTED = 128 + signal.SIGINT


def _interrupt(_number, _frame):
    """Treat a request to end like Ctrl-C: with cleaning up."""
    raise KeyboardInterrupt


def end_with_reader():
    """End quietly, as other programs do, when who reads the output goes: `netlab status | head`."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def finish(program, subcommands, options, keep_output=()):
    """Run the subcommand that was asked for; returns its exit status, 1 for what cannot be done.
    Those named in keep_output go on when nobody reads any more."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    if options.subcommand not in keep_output:
        end_with_reader()
    try:
        return subcommands[options.subcommand](options) or 0
    except (Failure, OSError) as failure:
        sys.stdout.flush()  # what was said before it comes before it
        print(f"{program} {options.subcommand}: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
