"""The command line of netlab."""

import argparse

import topology
from failure import Failure
from units import (count_from, format_duration, format_rate, format_size, parse_duration,
                   parse_name, parse_probability, parse_rate, parse_size, parse_words)

DESCRIPTION = "A cluster in a box: hosts are network namespaces, links have a rate. Needs root."
FEWEST_TICKS = 16  # of 64 ns, in a burst: with fewer its size is a rough guess


def _add_shape(parser):
    parser.add_argument("--burst", type=parse_size, help="bytes that may pass at once "
                        "(default: 64k up to 200mbit, above 256k)")
    parser.add_argument("--latency", type=parse_duration, default="20ms", metavar="TIME",
                        help="how long a queue is before it drops (default: 20ms)")
    parser.add_argument("--spine-rate", type=parse_rate, metavar="RATE", default=argparse.SUPPRESS,
                        help="of the link between the leaves (default: the rate)")


def _add_up(commands):
    parser = commands.add_parser("up", help="make a lab; does nothing when it is up already",
                                 description="Makes a lab. Does nothing when it is up with the "
                                 "same arguments, and refuses when it is up with others.")
    parser.add_argument("--hosts", type=count_from(1, topology.MOST_HOSTS), default=4)
    parser.add_argument("--rate", type=parse_rate, default="1gbit",
                        help="of every link, e.g. 200mbit; none: as fast as the machine "
                        "(default: 1gbit)")
    _add_shape(parser)
    parser.add_argument("--two-level", action="store_true",
                        help="two switches, each with half of the hosts")
    parser.add_argument("--loss", type=parse_probability, default=0.0, metavar="P",
                        help="probability that a switch loses what enters it, e.g. 0.1%%")
    parser.add_argument("--mtu", type=count_from(576, 65535), default=9000,
                        help="bytes of a frame (default: 9000)")
    return parser


def _add_run(commands):
    parser = commands.add_parser(
        "run", help="run a program with mpirun on the hosts",
        usage="netlab run [--name NAME] [--mpi ob1|ucx] [-n N] [--mca NAME VALUE]... [--json FILE] "
        "[--with COMMAND] -- PROGRAM [ARGUMENT...]",
        description="Runs a program with mpirun on the hosts and shows what the links carried and "
        "dropped. Ctrl-C ends all of it.")
    parser.add_argument("--mpi", choices=["ob1", "ucx"], default="ob1",
                        help="how Open MPI sends (default: ob1)")
    parser.add_argument("-n", dest="ranks", type=count_from(1, 10000),
                        help="ranks (default: one a host)")
    parser.add_argument("--mca", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"),
                        help="a parameter of Open MPI; may be repeated")
    parser.add_argument("--json", metavar="FILE", help="write what the links did to this file")
    parser.add_argument("--with", dest="starter", type=parse_words, default=[], metavar="COMMAND",
                        help="what starts mpirun, e.g. 'cohom-exec --codec thc'")
    parser.add_argument("command", nargs="+", metavar="PROGRAM")
    return parser


def parser_of_all():
    """Return the parser."""
    parser = argparse.ArgumentParser(prog="netlab", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    rate = commands.add_parser("rate", help="change the rate of a lab's links")
    rate.add_argument("rate", type=parse_rate)
    rate.add_argument("--in-run", action="store_true",
                      help="also while a run is in progress, whose result then says so")
    _add_shape(rate)
    execute = commands.add_parser("exec", help="run a command on one host",
                                  usage="netlab exec [--name NAME] HOST -- COMMAND [ARGUMENT...]")
    execute.add_argument("host", help="e.g. h2, or lab-h2")
    execute.add_argument("command", nargs="+", metavar="COMMAND")
    for command in (_add_up(commands), _add_run(commands), rate, execute,
                    commands.add_parser("status", help="show what is up; exit status 1: it is not"),
                    commands.add_parser("counters", help="print drops and lost packets as JSON"),
                    commands.add_parser("down", help="end all that runs in a lab and remove it")):
        command.add_argument("--name", type=parse_name, default="lab",
                             help="of the lab (default: lab); labs do not meet")
    return parser


def shape_of(options, lab_has_spine, mtu):
    """Return the shape of links that the options of up or rate describe."""
    if not lab_has_spine and hasattr(options, "spine_rate"):
        raise Failure(f"--spine-rate {format_rate(options.spine_rate)} has a meaning only with "
                      "--two-level")
    burst = options.burst or topology.default_burst(options.rate)
    frame = mtu + topology.FRAME_HEADER
    if burst < frame:
        raise Failure(f"--burst {format_size(burst)} lets no frame of {mtu} bytes pass; it should "
                      f"be at least {frame}")
    shape = topology.Shape(options.rate, getattr(options, "spine_rate", options.rate), burst,
                           options.latency)
    for rate in {shape.rate, shape.spine_rate} - {None}:
        _check_bucket(rate, shape)
    return shape


def _check_bucket(rate, shape):
    """Refuse what tc would cut off without a word: it keeps 32 bits of the queue's bytes and of the
    burst's time in ticks of 64 ns."""
    burst_ticks = shape.burst * 8 / rate / 64e-9
    if not FEWEST_TICKS <= burst_ticks < 2**32:
        raise Failure(f"a burst of {format_size(shape.burst)} at {format_rate(rate)} takes "
                      f"{burst_ticks * 64e-9:.2g} s; a token bucket needs from 1 us to 270 s")
    queue = rate / 8 * shape.latency / 1e6 + shape.burst
    if queue >= 2**32:
        raise Failure(f"a queue of {format_duration(shape.latency)} at {format_rate(rate)} holds "
                      f"{queue:.2g} bytes; a token bucket holds less than 4g")


def lab_of(options):
    """Return the lab that the options of up describe."""
    if options.two_level and options.hosts < 2:
        raise Failure(f"--hosts {options.hosts}: --two-level needs at least 2 hosts")
    return topology.Lab(options.name, options.hosts, options.two_level, options.loss, options.mtu,
                        shape_of(options, options.two_level, options.mtu))
