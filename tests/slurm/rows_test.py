"""What the job files share, run by bash with a squeue of our own: needs neither Slurm nor root."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = ROOT / "slurm" / "rows.sh"


class RowsCase(unittest.TestCase):
    """A test with a folder of its own, which jobs are submitted from."""

    def setUp(self):
        """Make the folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bash(self, script, status=0, **variables):
        """Run a script that has the functions of the job files; returns its output and errors."""
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}",
                       "SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "sweep", "SLURM_JOB_NODELIST": "n1",
                       "SITE_RESULTS": str(self.folder / "results"), **variables}
        done = subprocess.run(["bash", "-c", f'set -euo pipefail\n. "{ROWS}"\n{script}'],
                              env=environment, cwd=self.folder, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr


class JobGoesOnTest(RowsCase):
    def goes_on(self, squeue):
        """Return whether a job goes on when squeue is this script."""
        path = self.folder / "squeue"
        path.write_text(f"#!/bin/sh\n{squeue}\n", encoding="ascii")
        path.chmod(0o755)
        return "goes on" in self.bash("if job_goes_on; then echo goes on; fi")

    def test_while_it_runs_and_has_time(self):
        self.assertTrue(self.goes_on('echo RUNNING "$(date --date "+1 minute" +%FT%T)"'))
        self.assertFalse(self.goes_on('echo RUNNING "$(date --date "+2 seconds" +%FT%T)"'))
        self.assertFalse(self.goes_on('echo COMPLETING "$(date --date "+1 minute" +%FT%T)"'))

    def test_without_a_limit(self):
        self.assertTrue(self.goes_on("echo RUNNING N/A"))

    def test_without_an_answer(self):
        self.assertTrue(self.goes_on("echo slurm_load_jobs error >&2; exit 1"))


class BeginJobTest(RowsCase):
    def test_site_env_is_found_from_where_the_job_is_submitted(self):
        (self.folder / "mine.env").write_text(
            f'. "{ROOT}/slurm/site.env"\nSITE_BUILD=elsewhere\n', encoding="utf-8")
        text = self.bash(f'begin_job "{ROOT}"\npwd\necho "$programs"', SITE_ENV="./mine.env")
        self.assertEqual(text.splitlines()[-2:], [str(ROOT), f"{ROOT}/elsewhere/bin"])

    def test_refuses_what_is_no_number_of_seconds(self):
        for seconds in ("15m", "0", "-1", "1.5"):
            text = self.bash(f'begin_job "{ROOT}"', status=2, SITE_ROW_SECONDS=seconds)
            self.assertIn(f"sweep: SITE_ROW_SECONDS: '{seconds}' should be a whole number", text)


class PlaceFileTest(RowsCase):
    def place(self, target, status=0):
        """Place a file with the text "new" and return what lies in its folder afterwards."""
        (self.folder / "row.running").write_text("new", encoding="ascii")
        self.bash(f'place_file row.running "{target}"', status)
        return sorted(path.name for path in self.folder.iterdir())

    def test_replaces_files_and_what_links_name(self):
        (self.folder / "elsewhere").mkdir()
        (self.folder / "row.json").symlink_to("elsewhere/row.json")
        self.assertEqual(self.place("row.json"), ["elsewhere", "row.json"])
        self.assertTrue((self.folder / "row.json").is_symlink())
        self.assertEqual((self.folder / "elsewhere/row.json").read_text(), "new")
        self.assertEqual(len(list((self.folder / "elsewhere").iterdir())), 1)

    def test_a_full_device_is_an_error_and_stays(self):
        (self.folder / "row.json").symlink_to("/dev/full")
        self.assertEqual(self.place("row.json", status=1), ["row.json", "row.running"])
        self.assertTrue((self.folder / "row.json").is_char_device())


class JsonTest(RowsCase):
    def test_any_message_is_a_string_of_json(self):
        text = self.bash("json_text \"$MESSAGE\"", MESSAGE='a "b"\\\n\tc \x1b\N{MICRO SIGN}')
        self.assertEqual(json.loads(text), 'a "b"\\\n c ')


if __name__ == "__main__":
    unittest.main()
