#!/usr/bin/python3
"""What programs do to the files that their command lines name: devices, links, pipes, full disks.

usage: output_files_test.py BIN, the folder of cohom-bench, cohom-convergence and codec_bench
"""

import errno
import functools
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"  # Debian's has Debian's matplotlib
WRITER = """import sys
sys.path.append(sys.argv[1])
import output_file
try:
    output_file.write(sys.argv[2], '{"results": ' + '[' + '1,' * 3000 + '1]}')
except OSError as error:
    sys.exit(f"{error.filename}: cannot be written: {error.strerror}")"""


def programs(folder, bench):
    """Return commands, to which the path is to be added, by name."""
    return {
        "cohom-bench": [f"{folder}/cohom-bench", *"--codec raw --algorithm ring --size 8K "
                        "--check-only --quiet --json".split()],
        "cohom-convergence": [f"{folder}/cohom-convergence",
                              *"--codec raw --steps 4 --json".split()],
        "codec_bench": [f"{folder}/codec_bench", "--benchmark_filter=^memcpy/256K$",
                        "--benchmark_min_time=0.001", "--benchmark_out_format=json",
                        "--benchmark_out="],
        "cohom-report": [PYTHON, f"{ROOT}/benchmarks/report/cohom-report", bench, "-o"],
        "output_file.py": [PYTHON, "-B", "-c", WRITER, f"{ROOT}/benchmarks"],
    }


def words(command, path):
    """Return the command with its path."""
    if command[-1].endswith("="):
        return [*command[:-1], command[-1] + str(path)]
    return [*command, str(path)]


def is_ours(content):
    """Tell whether the content is a whole document of one of the programs."""
    if content.startswith("<!DOCTYPE html>"):
        return content.rstrip().endswith("</html>")
    return isinstance(json.loads(content), dict)


def why_no_mounts():
    """Return why this user cannot mount, or nothing."""
    if os.geteuid() != 0:
        return "tiny and read-only file systems need root"
    done = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                          check=False, capture_output=True, text=True)
    return done.stderr.strip() or None if done.returncode else None


def for_each_program(test):
    """Make a test of a command and a folder one of all programs."""
    @functools.wraps(test)
    def run(self):
        for name, command in self.commands.items():
            with self.subTest(name):
                folder = self.folder / name
                folder.mkdir()
                test(self, command, folder)
    return run


class OutputFilesTest(unittest.TestCase):
    """Every program against every kind of path."""

    @classmethod
    def setUpClass(cls):
        """Measure what cohom-report is to report."""
        cls.results = tempfile.TemporaryDirectory()
        bench = f"{cls.results.name}/bench.json"
        commands = programs(BIN, bench)
        subprocess.run(words(commands["cohom-bench"], bench), check=True, capture_output=True)
        cls.commands = commands

    @classmethod
    def tearDownClass(cls):
        """Remove it."""
        cls.results.cleanup()

    def setUp(self):
        """Make a folder."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_program(self, command, path, prefix=()):
        """Return the finished program."""
        return subprocess.run([*prefix, *words(command, path)], check=False, capture_output=True,
                              text=True, timeout=60)

    def accept(self, done):
        """Check that a program succeeded."""
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")

    def refuse(self, done, path, error):
        """Check that a program failed with one line that names the path and the reason."""
        self.assertNotIn(done.returncode, (0, -6, -11), done.stdout + done.stderr)
        lines = [line for line in done.stderr.splitlines() if f"{path}: cannot be written" in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(os.strerror(error), lines[0])

    @for_each_program
    def test_device(self, command, folder):
        """A device says that it is full and stays a device."""
        path = folder / "full"
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
            os.close(os.open(path, os.O_WRONLY))
        except PermissionError:  # not root, or no devices here
            path.unlink(missing_ok=True)
            path.symlink_to("/dev/full")
        self.refuse(self.run_program(command, path), path, errno.ENOSPC)
        self.assertTrue(stat.S_ISCHR(path.stat().st_mode))
        self.assertEqual(os.listdir(folder), ["full"])

    @for_each_program
    def test_link(self, command, folder):
        """A link stays one; the target's content changes, its mode does not."""
        (folder / "there").mkdir()
        (folder / "links").mkdir()
        target, path = folder / "there/target", folder / "links/link"
        target.write_text("old")
        target.chmod(0o600)
        path.symlink_to("second")
        (folder / "links/second").symlink_to("../there/target")
        self.accept(self.run_program(command, path))
        self.assertEqual(os.readlink(path), "second")
        self.assertTrue(is_ours(target.read_text()))
        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o600)
        self.assertEqual(os.listdir(folder / "there"), ["target"])

    @for_each_program
    def test_dangling_link(self, command, folder):
        """What a link names is made."""
        (folder / "link").symlink_to("target")
        self.accept(self.run_program(command, folder / "link"))
        self.assertTrue((folder / "link").is_symlink() and is_ours((folder / "target").read_text()))

    @for_each_program
    def test_pipe(self, command, folder):
        """A pipe gets one whole document."""
        path, got = folder / "pipe", []
        os.mkfifo(path)
        reader = threading.Thread(target=lambda: got.append(path.read_text()), daemon=True)
        reader.start()
        self.accept(self.run_program(command, path))
        reader.join(20)
        self.assertTrue(stat.S_ISFIFO(path.stat().st_mode))
        self.assertTrue(got and is_ours(got[0]))
        self.assertEqual(os.listdir(folder), ["pipe"])

    @for_each_program
    def test_process_substitution(self, command, folder):
        """A shell's >(command) gets one whole document."""
        last = command[-1] if command[-1].endswith("=") else ""
        plain = command[:-1] if last else command
        script = f'"$@" {last}>(cat >"$OUT"; echo >>"$OUT.done")'
        out = folder / "out"
        if last:  # not at the beginning of a word
            script = f'exec 9> >(cat >"$OUT"; echo >>"$OUT.done"); "$@" {last}/dev/fd/9; exec 9>&-'
        script += '; status=$?; for i in {1..200}; do [[ -e $OUT.done ]] && break; sleep 0.05; done'
        done = subprocess.run(["bash", "-c", script + "; exit $status", "bash", *plain],
                              check=False, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "OUT": str(out)})
        self.accept(done)
        self.assertTrue(is_ours(out.read_text()))

    @for_each_program
    def test_own_output(self, command, folder):
        """/dev/stdout goes where the program's output goes, also where that is a file."""
        with open(folder / "out", "w", encoding="utf-8") as out:
            out.write("begin ")
            out.flush()
            done = subprocess.run(words(command, "/dev/stdout"), check=False, stdout=out,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        self.accept(done)
        content = (folder / "out").read_text()
        self.assertTrue(content.startswith("begin "), content[:40])
        self.assertIn('{' if "report" not in command[1] else "</html>", content)
        self.assertTrue(os.path.islink("/dev/stdout"))

    @for_each_program
    def test_closed_pipe(self, command, folder):
        """A reader that goes away is an error and no signal."""
        path = folder / "pipe"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        filler = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.write(filler, bytes(1 << 16))  # all that the pipe holds: the program waits in its write
        process = subprocess.Popen(words(command, path), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        wait_until_opened(process, path)
        os.close(reader)
        os.close(filler)
        out, err = process.communicate(timeout=60)
        done = subprocess.CompletedProcess([], process.returncode, out, err)
        self.refuse(done, path, errno.EPIPE)

    @for_each_program
    def test_full_disk(self, command, folder):
        """What does not fit leaves the old content and nothing else."""
        self.need_mounts()
        script = (f"mount -t tmpfs -o size=4k none '{folder}' && echo old >'{folder}/file' && "
                  f"{{ \"$@\"; status=$?; cat '{folder}/file'; ls '{folder}'; exit $status; }}")
        done = self.run_program(command, folder / "file",
                                ["unshare", "--mount", "sh", "-c", script, "sh"])
        self.refuse(done, folder / "file", errno.ENOSPC)
        files = set(done.stdout.splitlines()) - {"file-png"}
        self.assertTrue(done.stdout.splitlines().count("old") == 1 and "file" in files, done.stdout)
        self.assertNotIn("partial", done.stdout)

    @for_each_program
    def test_read_only_folder(self, command, folder):
        """A folder that cannot be written is named at once."""
        self.need_mounts()
        script = f"mount -t tmpfs -o ro none '{folder}' && \"$@\""
        done = self.run_program(command, folder / "file",
                                ["unshare", "--mount", "sh", "-c", script, "sh"])
        self.refuse(done, folder / "file", errno.EROFS)

    @for_each_program
    def test_missing_folder(self, command, folder):
        """A missing folder is named, and not made."""
        path = folder / "no/file"
        self.refuse(self.run_program(command, path), path, errno.ENOENT)
        self.assertEqual(os.listdir(folder), [])

    @for_each_program
    def test_folder(self, command, folder):
        """A folder is no file."""
        self.refuse(self.run_program(command, folder), folder, errno.EISDIR)
        self.assertEqual(os.listdir(folder), [])

    def need_mounts(self):
        """Skip a test where nothing can be mounted."""
        reason = why_no_mounts()
        if reason:
            print(f"skipped: {reason}")
            self.skipTest(reason)


def wait_until_opened(process, path):
    """Wait until a process has opened a path, or has ended."""
    while process.poll() is None:
        try:
            folder = f"/proc/{process.pid}/fd"
            if str(path) in [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]:
                return
        except OSError:
            pass


class SourcesTest(unittest.TestCase):
    """No program writes files in another way."""

    # Folders of their own, made for one run; nothing there is the user's.
    OWN_FOLDERS = {"benchmarks/netlab/launch.py", "benchmarks/netlab/state.py",
                   "benchmarks/scale/smpi_check", "slurm/slurmbox/config.py",
                   "slurm/slurmbox/lifecycle.py", "slurm/slurmbox/state.py",
                   "slurm/slurmbox/supervisor.py"}
    WRITERS = {"benchmarks/output_file.cpp", "benchmarks/output_file.py"}
    # Keys of jobs: follows no link, and takes no file that has anything else in it.
    SECRETS = {"src/aggregation/auth/secret_file.cpp"}
    # Of the library, named by COHOM_DECISIONS: regular files alone, replaced as a whole.
    DECISIONS = {"src/base/replaced_file.cpp"}
    PATTERNS = {".py": r"\bopen\([^)]*[\"'][wax]b?\+?[\"']|\.write_(text|bytes)\("
                       r"|\.savefig\(path|\.(rename|replace)\(partial",
                ".cpp": r"ofstream|\bfopen\(|\brename\(|O_CREAT"}

    def test_sources(self):
        """Look for calls that open files for writing."""
        names = subprocess.run(["git", "-C", ROOT, "ls-files", "benchmarks", "scripts", "slurm",
                                "src", "kernels", "mpi_ext", "ucx_transport", "examples"],
                               check=True, capture_output=True, text=True).stdout.split()
        self.assertGreater(len(names), 100)
        found = set()
        for name in names:
            path = ROOT / name
            first = b"" if path.suffix else path.read_bytes()[:40].splitlines()[0]
            suffix = {".hpp": ".cpp", ".c": ".cpp"}.get(path.suffix, path.suffix)
            suffix = ".py" if b"python" in first else suffix
            if suffix in self.PATTERNS and not name.endswith("_test.py"):
                if re.search(self.PATTERNS[suffix], path.read_text(encoding="utf-8")):
                    found.add(name)
        self.assertEqual(found - self.OWN_FOLDERS - self.WRITERS - self.SECRETS
                         - self.DECISIONS, set())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BIN = sys.argv.pop(1)
    unittest.main()
