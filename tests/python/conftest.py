"""Tests run the package of the checkout, with the library that COHOM_PYTHON_LIBRARY names."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
