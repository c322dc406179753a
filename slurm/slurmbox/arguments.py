"""The command line of box."""

import argparse

from slurmbox.place import DEFAULT_NODES
from units import count_from, parse_name

DESCRIPTION = "Slurm in a box: a controller and some nodes on this machine. Needs root."
MOST_NODES = 64


def parser_of_all():
    """Return the parser."""
    parser = argparse.ArgumentParser(prog="box", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="make a box; does nothing when it is up already",
                             description="Makes a box, and waits until its nodes take jobs. Does "
                             "nothing when it is up with the same arguments, and refuses when it "
                             "is up with others.")
    up.add_argument("--nodes", type=count_from(1, MOST_NODES),
                    help=f"how many (default: {DEFAULT_NODES}, or one a host of the lab)")
    up.add_argument("--netlab", metavar="LAB", type=parse_name,
                    help="nodes are the hosts of this lab (default: all on loopback)")
    up.add_argument("--switches", type=count_from(1, MOST_NODES), metavar="N",
                    help="tell Slurm that the nodes hang on so many leaf switches below a spine, "
                    "in blocks (default: a flat network)")
    execute = commands.add_parser("exec", help="run sbatch, squeue or another command in a box",
                                  usage="box exec [--name NAME] -- COMMAND [ARGUMENT...]")
    execute.add_argument("command", nargs="+", metavar="COMMAND")
    for command in (up, execute,
                    commands.add_parser("status", help="show nodes and jobs; exit status 1: it is "
                                        "not up"),
                    commands.add_parser("env", help="print settings for a shell: "
                                        'eval "$(box env)"'),
                    commands.add_parser("down", help="end all that runs in a box and remove it")):
        command.add_argument("--name", type=parse_name, default="box",
                             help="of the box (default: box); boxes do not meet")
    return parser
