"""Measures shortly, makes a report and looks at it in headless Chromium.

usage: browser_test.py COHOM_BENCH MPIRUN...
  MPIRUN...  launcher with its flags, up to where the number of ranks stands, e.g. mpirun -n
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import matplotlib.image

from report_case import ROOT, netlab
import rendered

SKIPPED = 77  # CTest's
CODECS = ["raw", "thc", "signcount"]
ALGORITHMS = ["ring", "direct"]
SERIES = [f"{codec} \N{MIDDLE DOT} {algorithm}" for codec in CODECS for algorithm in ALGORITHMS]
COMPRESSED = [name for name in SERIES if not name.startswith("raw")]
PHASES = ["agree", "encode", "merge", "decode", "wire", "wait", "other"]
SHOWN = {"speedup-1": [*SERIES, "native = 1"],
         "time-1": [*SERIES, "native, 2(n-1)/n of the vector", "bound of the link, 1 Gbit/s"],
         "error-1": SERIES,
         "wire-1": [*SERIES, "counted = formula"],
         "profile-1": [*PHASES, "the link's own time"]}


def measure(folder, bench, launcher):
    """Make results: rows, the links that they are said to have gone over, and a failure."""
    results = folder / "results" / "job"
    results.mkdir(parents=True)
    flags = ["--size", "64K,256K", "--algorithm", ",".join(ALGORITHMS), "--iterations", "3",
             "--input", "gauss", "--profile", "--quiet", "--json", str(results / "rows.json")]
    for codec in CODECS:
        flags += ["--codec", codec]
    subprocess.run([*launcher, "3", bench, *flags], check=True, stdout=subprocess.DEVNULL,
                   timeout=100)
    lab = json.dumps(netlab(command=[bench, *flags]))
    (results / "links.json").write_text(lab, encoding="utf-8")
    (results / "thk.json").write_text(json.dumps(
        {"schema": "cohom-bench/1", "command": "cohom-bench --codec thk",
         "failed": {"message": "unknown codec thk", "exit_status": 2}}), encoding="utf-8")
    return folder / "results"


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Measure, report and render once."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        results = measure(cls.folder, BENCH, LAUNCHER)
        cls.path = cls.folder / "report.html"
        subprocess.run([ROOT / "benchmarks" / "report" / "cohom-report", results, "-o", cls.path],
                       check=True, timeout=100)
        cls.dom = rendered.run(BROWSER, cls.folder, "--dump-dom", cls.path.as_uri())
        cls.figures = rendered.Figures(cls.dom)

    def assert_shows(self, name, series):
        """Fail unless a figure has these series, drawn and named."""
        for number, label in enumerate(series):
            self.assertIn(label, self.figures.texts[name], name)
            self.assertIn(f"{name}-series-{number}", self.figures.drawn[name], label)
        self.assertNotIn(f"{name}-series-{len(series)}", self.figures.drawn[name])

    def test_each_figure_has_its_series(self):
        for name, series in SHOWN.items():
            self.assert_shows(name, series)

    def test_the_model_has_its_series(self):
        for algorithm in ALGORITHMS:
            own = [name for name in SERIES if name.endswith(algorithm)]
            for rate in (10, 25, 100, 400):
                self.assert_shows(f"model-{rate}gbit-1-{algorithm}",
                                  [*own, "native ring", "native Rabenseifner"])
        self.assertIn("This part is a model, not a measurement.", self.dom)

    def test_the_failure_is_there_with_its_message(self):
        self.assertIn("unknown codec thk (exit status 2)", self.dom)

    def test_a_phone_shows_it_without_scrolling_sideways(self):
        page = self.path.read_text(encoding="utf-8")
        self.assertLessEqual(rendered.overflow(BROWSER, self.folder, page), 0)
        wide = page.replace("<nav>", '<div style="width:500px">wide</div><nav>')
        self.assertGreater(rendered.overflow(BROWSER, self.folder, wide), 0)

    def test_pictures_at_phone_width_in_light_and_dark(self):
        brightness = {}
        for mode, value in (("dark", 0), ("light", 1)):
            picture = self.folder / f"{mode}.png"
            rendered.run(BROWSER, self.folder, f"--window-size={rendered.PHONE},3000",
                         f"--blink-settings=preferredColorScheme={value}",
                         f"--screenshot={picture}", self.path.as_uri())
            pixels = matplotlib.image.imread(picture)[..., :3]
            self.assertEqual(pixels.shape[:2], (3000, rendered.PHONE))
            brightness[mode] = pixels.mean()
            # Ink over all its length: rows that are not of one colour.
            self.assertGreater((pixels.std(axis=1).max(axis=1) > 0.01).mean(), 0.3)
        self.assertLess(brightness["dark"], 0.3)
        self.assertGreater(brightness["light"], 0.7)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    BENCH, *LAUNCHER = sys.argv[1:]
    BROWSER = rendered.find_browser()
    if BROWSER is None:
        print("skipped: no chromium (scripts/setup report)")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
