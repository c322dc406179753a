"""Real programs under cohom-exec, unmodified: what they say of themselves holds.

usage: real_programs_test.py COHOM_EXEC TOOL MPIF90 LAUNCHER...

TOOL is a library that counts calls of MPI_Allreduce in front of MPI; MPIF90 may be empty. LAUNCHER
is mpirun with the flag behind which a number of ranks comes, or `netlab run` with a lab's name. A
program that is not there is skipped, by name: scripts/setup programs installs those of Debian, and
COHOM_TEST_IMB is the path of an IMB-MPI1 that was built with checks (-DCHECK).
COHOM_TEST_FORTRAN_BINDINGS are the bindings that an MPI has for the compiler: 12 without mpi_f08.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

EXEC, TOOL, MPIF90, *LAUNCHER = sys.argv[1:]
HERE = pathlib.Path(__file__).resolve().parent
IN_LAB = pathlib.Path(LAUNCHER[0]).name == "netlab"
RANKS = 4
# A cube of atoms that melts: 4000 of them, which repel and attract each other (Lennard-Jones).
MELT = """
units lj
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0
fix 1 all nve
thermo 20
thermo_style custom step temp pe etotal press
run 100
"""
# HPC Challenge: a system of 400 equations, matrices and vectors to match.
CHALLENGE = """HPLinpack benchmark input file

HPL.out      output file name
8            device out
1            number of sizes
400          sizes
1            number of block sizes
40           block sizes
0            PMAP process mapping
1            number of grids
2            Ps
2            Qs
16.0         threshold
1            number of panel factorisations
2            PFACTs
1            number of stopping criteria
4            NBMINs
1            number of panels in recursion
2            NDIVs
1            number of recursive panel factorisations
1            RFACTs
1            number of broadcasts
1            BCASTs
1            number of lookahead depths
1            DEPTHs
2            SWAP
64           swapping threshold
0            L1 in transposed form
0            U in transposed form
1            equilibration
8            memory alignment
"""


def started(program, starter=()):
    """Return the command that starts a program in all ranks, by way of a starter."""
    if not IN_LAB:
        return [*starter, *LAUNCHER, str(RANKS), *program]
    return [*LAUNCHER, *(["--with", shlex.join(starter)] if starter else []), "-n", str(RANKS),
            "--", *program]


class RealProgramsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_program(self, codec, *program):
        """Run a program under cohom-exec, or with codec None as it is; returns (output, log)."""
        for name in ("log.lammps", "hpccoutf.txt"):
            (self.folder / name).unlink(missing_ok=True)
        environment = {**os.environ, "COHOM_NATIVE": "never", "OMP_NUM_THREADS": "1"}
        if codec is None:
            command = started(["env", f"LD_PRELOAD={TOOL}", *program])
        else:
            command = started(program, [EXEC, "--codec", codec])
        done = subprocess.run(command, cwd=self.folder, env=environment, check=False,
                              capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def made(self, output, text="the tool saw"):
        """Return how many calls the program made, by what the tool saw or the program says."""
        found = re.search(rf"^{text} (\d+)$", output, re.MULTILINE)
        self.assertTrue(found, output)
        return int(found[1])

    def counted(self, log):
        """Return how many calls the summary has, and how many of them went by a codec."""
        calls = re.search(r"(\d+) calls of MPI_Allreduce(?: and MPI_Reduce_scatter_block)?:", log)
        by_codec = re.search(r"(\d+) by \"codec=", log)
        self.assertTrue(calls, log)
        return int(calls[1]), int(by_codec[1]) if by_codec else 0

    def need_open_mpi(self):
        """Skip the test where the launcher is another MPI's: Debian builds for Open MPI."""
        version = subprocess.run([LAUNCHER[0], "--version"], capture_output=True, text=True,
                                 check=False).stdout
        if not IN_LAB and not re.search("Open MPI|OpenRTE|prterun", version):
            self.skipTest("Debian's programs are for Open MPI")

    def find(self, program):
        """Return a program's path, or skip the test."""
        self.need_open_mpi()
        path = shutil.which(program)
        if path is None:
            self.skipTest(f"{program} is not there; scripts/setup programs installs it")
        return path

    def states(self, output):
        """Return what LAMMPS prints of the atoms, step by step."""
        rows = re.findall(r"^ +(\d+)((?: +-?[0-9.e+-]+){4}) *$", output, re.MULTILINE)
        self.assertEqual([int(step) for step, _ in rows], [0, 20, 40, 60, 80, 100], output)
        return [[float(number) for number in row.split()] for _, row in rows]

    def test_lammps_melts_atoms(self):
        program = [self.find("lmp"), "-in", "melt.in", "-log", "none"]
        (self.folder / "melt.in").write_text(MELT)
        plain, _ = self.run_program(None, *program)
        expected = self.states(plain)
        # thc makes other numbers of the energies: here it must run, and be counted.
        for codec, tolerance in (("exact", 1e-6), ("raw", 1e-6), ("thc", 0.5)):
            with self.subTest(codec):
                output, log = self.run_program(codec, *program)
                for step, (wanted, found) in enumerate(zip(expected, self.states(output))):
                    for one, other in zip(wanted, found):
                        self.assertLessEqual(abs(one - other), tolerance * (1 + abs(one)),
                                             f"row {step}: {wanted}, {found}")
                calls, by_codec = self.counted(log)
                self.assertEqual(calls, self.made(plain), log)
                self.assertGreater(by_codec, 0, log)

    def test_hpcc_checks_itself(self):
        program = self.find("hpcc")
        (self.folder / "hpccinf.txt").write_text(CHALLENGE)
        plain, _ = self.run_program(None, program)
        for codec in ("exact", "raw"):
            with self.subTest(codec):
                _, log = self.run_program(codec, program)
                found = (self.folder / "hpccoutf.txt").read_text()
                self.assertIn("\nSuccess=1\n", found)
                self.assertIn("1 tests completed and passed residual checks", found)
                self.assertNotIn("FAILED", found)
                # It takes maxima of real numbers and sums of integers, which stay MPI's.
                calls, by_codec = self.counted(log)
                self.assertEqual((calls, by_codec), (self.made(plain), 0), log)
                self.assertGreater(calls, 100)

    def expect_sums(self, *program):
        """Run a program that checks its sums, and says how many it made, by each codec."""
        for codec, tolerance in (("exact", 0), ("raw", 0), ("thc", 0.3)):
            with self.subTest(codec):
                output, log = self.run_program(codec, *program, str(tolerance))
                calls, by_codec = self.counted(log)
                self.assertEqual(calls, self.made(output, "calls"), log)
                self.assertEqual(by_codec, calls - 1, log)  # one is a maximum of integers

    def test_fortran_by_each_binding(self):
        if not MPIF90:
            self.skipTest("no Fortran compiler of this MPI")
        for binding in os.environ.get("COHOM_TEST_FORTRAN_BINDINGS", "123"):
            program = self.folder / f"fortran_app{binding}"
            # mpif.h knows no types of buffers, of which gfortran wants one a function.
            subprocess.run([MPIF90, f"-DBINDING={binding}", "-fallow-argument-mismatch", "-w",
                            "-o", program, HERE / "fortran_app.F90"], check=True, cwd=self.folder)
            with self.subTest(binding=binding):
                self.expect_sums(str(program))

    def test_mpi4py(self):
        self.need_open_mpi()
        if subprocess.run([sys.executable, "-c", "import mpi4py"], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no mpi4py; scripts/setup python installs it")
        # As a module it ends all ranks with the first that fails.
        self.expect_sums(sys.executable, "-m", "mpi4py", str(HERE / "python_app.py"))

    def test_intel_mpi_benchmarks_check_their_sums(self):
        program = os.environ.get("COHOM_TEST_IMB")
        if not program:
            self.skipTest("COHOM_TEST_IMB names no IMB-MPI1")
        self.need_open_mpi()
        program = [program, "-npmin", str(RANKS), "-iter_policy", "off", "-iter", "20", "-msglog",
                   "2:20", "Allreduce"]
        plain, _ = self.run_program(None, *program)
        # thc loses more than the check allows: it must run to its end, and be counted.
        for codec in ("exact", "raw", "thc"):
            with self.subTest(codec):
                output, log = self.run_program(codec, *program)
                defects = [float(row.split()[-1]) for row in output.splitlines()
                           if re.match(r" +\d+ +\d+ +[\d.]+ ", row)]
                self.assertEqual(len(defects), 20, output)  # of 0 bytes, and 2^2 to 2^20
                if codec != "thc":
                    self.assertEqual(defects, [0] * len(defects), output)
                calls, by_codec = self.counted(log)
                self.assertEqual(calls, self.made(plain), log)
                self.assertGreater(by_codec, 0, log)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
