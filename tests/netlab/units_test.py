"""Tests of what netlab reads and plans, without root."""

import argparse
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "netlab"))

import arguments  # noqa: E402
import launch  # noqa: E402
import state  # noqa: E402
import topology  # noqa: E402
import units  # noqa: E402
from failure import Failure  # noqa: E402


def lab_of(*flags):
    """Return the lab that `netlab up` with these flags is asked for."""
    return arguments.lab_of(arguments.parser_of_all().parse_args(["up", *flags]))


class UnitsTest(unittest.TestCase):
    def check(self, parse, good, bad):
        """Hold a parser to values that it reads and texts that it refuses."""
        for text, value in good.items():
            self.assertEqual(parse(text), value, text)
        for text in bad:
            with self.assertRaisesRegex(argparse.ArgumentTypeError, "should be", msg=text):
                parse(text)

    def test_names(self):
        self.check(units.parse_name, {name: name for name in ("a", "lab", "t1234567890")},
                   ["", "1lab", "Lab", "lab-1", "a b", "a/b", "l" * 13])

    def test_counts(self):
        self.check(units.count_from(1, 250), {"1": 1, "250": 250},
                   ["", "0", "251", "-1", "1.5", "1k"])

    def test_rates(self):
        self.check(units.parse_rate,
                   {"1gbit": 10**9, "200mbit": 2 * 10**8, "0.2gbit": 2 * 10**8, "8bit": 8,
                    "2.5gbit": 25 * 10**8, "none": None},
                   ["", "1", "1gb", "1Gbit", "-1gbit", "0gbit", "7bit", "0.1bit", "gbit", "1 gbit",
                    "1e9bit", "inf"])

    def test_sizes(self):
        self.check(units.parse_size, {"64k": 65536, "1m": 2**20, "1500": 1500, "1.5k": 1536},
                   ["", "0", "64K", "64kb", "-1", "0.3"])

    def test_durations(self):
        self.check(units.parse_duration, {"20ms": 20000, "500us": 500, "1s": 10**6, "1.5ms": 1500},
                   ["", "20", "0ms", "20 ms", "1m", "0.1us"])

    def test_probabilities(self):
        self.check(units.parse_probability, {"0": 0.0, "0.1%": 0.001, "0.001": 0.001, "99%": 0.99},
                   ["", "1", "100%", "-0.1", "0.1 %", "p", "nan"])

    def test_commands(self):
        self.check(units.parse_words, {"env": ["env"], "env 'A=1 2' b": ["env", "A=1 2", "b"]},
                   ["", "no-such-program x", "/nowhere/x", "env 'A"])

    def test_what_is_written_is_read_again(self):
        for rate in (None, 8, 1000, 1500, 10**9, 25 * 10**8):
            self.assertEqual(units.parse_rate(units.format_rate(rate)), rate)
        for size in (1, 1500, 65536, 2**20, 3 * 2**19):
            self.assertEqual(units.parse_size(units.format_size(size)), size)
        for duration in (1, 500, 1500, 20000, 10**6):
            self.assertEqual(units.parse_duration(units.format_duration(duration)), duration)
        self.assertEqual(units.format_probability(0.001), "0.1%")


class TopologyTest(unittest.TestCase):
    def test_burst_is_small_on_slow_links(self):
        self.assertEqual(lab_of("--rate", "1gbit").shape.burst, 256 * 1024)
        self.assertEqual(lab_of("--rate", "200mbit").shape.burst, 64 * 1024)
        self.assertEqual(lab_of("--rate", "none").shape.burst, 256 * 1024)
        self.assertEqual(lab_of("--rate", "200mbit", "--burst", "1m").shape.burst, 2**20)

    def test_one_switch(self):
        lab = lab_of("--hosts", "3")
        self.assertEqual([link.title for link in lab.links],
                         ["lab-h1 > lab-switch", "lab-switch > lab-h1", "lab-h2 > lab-switch",
                          "lab-switch > lab-h2", "lab-h3 > lab-switch", "lab-switch > lab-h3"])

    def test_two_levels(self):
        lab = lab_of("--hosts", "5", "--two-level", "--spine-rate", "500mbit")
        self.assertEqual([lab.switch_of(i).name for i in range(5)],
                         ["lab-leaf1"] * 3 + ["lab-leaf2"] * 2)
        self.assertEqual([lab.rate_of(link) for link in lab.links], [10**9] * 10 + [5 * 10**8] * 2)
        self.assertEqual(lab_of("--two-level").shape.spine_rate, 10**9)
        self.assertIsNone(lab_of("--two-level", "--spine-rate", "none").shape.spine_rate)

    def test_no_two_devices_of_a_node_have_one_name(self):
        for flags in (["--hosts", "250"], ["--hosts", "7", "--two-level"]):
            devices = [(link.sender, link.device) for link in lab_of(*flags).links]
            self.assertEqual(len(devices), len(set(devices)))


class StateTest(unittest.TestCase):
    """What is remembered of a lab, in a folder of the test's own."""

    def setUp(self):
        """Make the folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        change = mock.patch.object(state, "FOLDER", pathlib.Path(folder.name))
        change.start()
        self.addCleanup(change.stop)

    def test_a_lab_is_remembered_until_it_is_forgotten(self):
        lab = lab_of("--two-level", "--loss", "1%", "--spine-rate", "none")
        self.assertIsNone(state.load("lab"))
        state.make_folder(lab)
        state.save(lab)
        self.assertEqual(state.load("lab"), lab)
        state.forget("lab")
        self.assertIsNone(state.load("lab"))

    def test_a_lab_of_another_version_is_refused(self):
        folder = state.make_folder(lab_of())
        for text in ('{"name": "lab", "shape": {}}', '{"name": "lab"}'):
            (folder / "lab.json").write_text(text, encoding="utf-8")
            with self.assertRaisesRegex(Failure, "lab lab is another version's; end it with"):
                state.load("lab")


class CommandLineTest(unittest.TestCase):
    def test_refusals_name_what_is_wrong(self):
        for flags, message in {("up", "--rate", "1gb"): "'1gb' should be a rate",
                               ("up", "--hosts", "0"): "'0' should be a number from 1 to 250",
                               ("up", "--loss", "100%"): "should be a probability",
                               ("up", "--name", "a-b"): "'a-b' should be a letter",
                               ("up", "--mtu", "100"): "from 576 to 65535",
                               ("run", "--mpi", "tcp", "--", "true"): "invalid choice: 'tcp'",
                               ("run",): "PROGRAM", ("rate",): "rate", (): "COMMAND"}.items():
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as end:
                arguments.parser_of_all().parse_args(flags)
            self.assertEqual(end.exception.code, 2)
            self.assertIn(message, errors.getvalue())

    def test_combinations_without_a_meaning(self):
        with self.assertRaisesRegex(Failure, "--spine-rate 1gbit .* only with --two-level"):
            lab_of("--spine-rate", "1gbit")
        with self.assertRaisesRegex(Failure, "--hosts 1: .* at least 2 hosts"):
            lab_of("--hosts", "1", "--two-level")
        with self.assertRaisesRegex(Failure,
                                    "no frame of 9000 bytes pass; it should be at least 9014"):
            lab_of("--burst", "9000")

    def test_what_a_token_bucket_cannot_hold(self):
        for flags, message in {("--rate", "1kbit"): "a burst of 64k at 1kbit takes 5.2e+02 s",
                               ("--rate", "9000gbit", "--latency", "1us"): "256k at 9000gbit takes",
                               ("--two-level", "--spine-rate", "1kbit"): "at 1kbit",
                               ("--burst", "4096m", "--rate", "8gbit"): "holds 4.3e+09 bytes",
                               ("--latency", "35s"): "a queue of 35s at 1gbit holds 4.4e+09 bytes",
                               }.items():
            with self.assertRaisesRegex(Failure, message.replace("+", r"\+")):
                lab_of(*flags)
        for flags in (("--rate", "2kbit"), ("--rate", "1000gbit"), ("--latency", "34s")):
            lab_of(*flags)

    def test_name_of_open_mpis_shared_memory(self):
        for version, name in {"mpirun (Open MPI) 4.1.4\n\nReport bugs to ...": "vader",
                              "mpirun (Open MPI) 5.0.11\n\nReport bugs to ...": "sm",
                              "mpirun (Open MPI) 10.0.0rc1": "sm", "HYDRA build details:": "vader",
                              }.items():
            self.assertEqual(launch.shared_memory(version), name, version)

    def test_arguments_of_the_program_stay_its_own(self):
        options = arguments.parser_of_all().parse_args(
            ["run", "-n", "3", "--mca", "a", "b", "--", "program", "--name", "x", "-n", "7"])
        self.assertEqual((options.ranks, options.mca, options.command, options.name),
                         (3, [["a", "b"]], ["program", "--name", "x", "-n", "7"], "lab"))


if __name__ == "__main__":
    unittest.main()
