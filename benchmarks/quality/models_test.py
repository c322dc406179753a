#!/usr/bin/python3
"""Tests of the reference models. Run: /usr/bin/python3 benchmarks/quality/models_test.py"""

import unittest

import numpy as np

import bench_inputs
import dynamiq
import mxfp8
import requantising


def all_e4m3():
    """Return all finite magnitudes of FP8 E4M3, decoded bit by bit."""
    subnormal = [m * 2.0**-9 for m in range(8)]
    normal = [(8 + m) * 2.0**(e - 10) for e in range(1, 16) for m in range(8)]
    return np.array(subnormal + normal[:-1])  # the last code is NaN


class Exact:
    """A quantiser that loses nothing."""

    def requantise(self, values, _first, _hop):
        """Return the values."""
        return values


class Mxfp8Test(unittest.TestCase):
    def test_rounds_to_the_nearest_even_code(self):
        codes = all_e4m3()
        np.testing.assert_array_equal(mxfp8.round_to_e4m3(codes), codes)
        middles = (codes[1:] + codes[:-1]) / 2
        even = np.where(np.arange(len(middles)) % 2 == 0, codes[:-1], codes[1:])
        np.testing.assert_array_equal(mxfp8.round_to_e4m3(middles), even)
        np.testing.assert_array_equal(mxfp8.round_to_e4m3(middles * (1 + 1e-12)), codes[1:])

    def test_no_block_saturates(self):
        for largest in (448.0, 449.0, 464.0, 500.0, 1e-30, 1e30):
            values = np.full(40, largest, dtype=np.float32)
            found = mxfp8.Mxfp8().requantise(values, 0, 0)
            self.assertLessEqual(np.abs(found / values - 1).max(), 1 / 16)

    def test_zeros_stay(self):
        self.assertFalse(mxfp8.Mxfp8().requantise(np.zeros(33, np.float32), 0, 0).any())


class DynamiqLikeTest(unittest.TestCase):
    def setUp(self):
        self.rows = bench_inputs.make_rows("mixture", 4, 20_000, seed=1)

    def test_meets_the_budget_and_spends_it(self):
        for budget in (3, 4, 5, 6, 8):
            bits = dynamiq.DynamiqLike(self.rows, budget).bits
            self.assertLessEqual(bits, budget + 0.02)
            self.assertGreater(bits, budget - 0.1)

    def test_rounding_is_unbiased(self):
        row = self.rows[:1]
        mean = np.zeros(row.shape[1])
        rounds = 400
        for seed in range(rounds):
            mean += dynamiq.DynamiqLike(row, 5, seed=seed).requantise(row[0], 0, 0) / rounds
        once = dynamiq.DynamiqLike(row, 5).requantise(row[0], 0, 0) - row[0]
        ratio = np.square(mean - row[0]).sum() / np.square(once).sum()
        self.assertLess(ratio, 1.5 / rounds)

    def test_hops_of_an_element_draw_from_all_strata(self):
        quantiser = dynamiq.DynamiqLike(self.rows, 5)
        chosen = np.arange(len(quantiser.widths))
        draws = np.sort([quantiser._draws(chosen, hop) for hop in range(4)], axis=0)
        np.testing.assert_allclose(np.diff(draws, axis=0), 0.25, atol=1e-5)

    def test_loud_super_groups_get_the_bits(self):
        energies = np.array([1e-6, 1.0, 1e6, 1.0])
        widths = dynamiq.choose_widths(energies, 5.2)
        self.assertEqual(widths[2], 8)
        self.assertEqual(widths[0], 2)


class ScheduleTest(unittest.TestCase):
    def test_every_rank_is_added_once(self):
        rows = (4.0 ** np.arange(7))[:, None] * np.ones((7, 3000))
        for schedule in requantising.SCHEDULES.values():
            found = schedule(rows.astype(np.float32), Exact())
            np.testing.assert_array_equal(found, rows.sum(axis=0))

    def test_an_element_is_encoded_once_a_hop_and_once_as_a_sum(self):
        for schedule in requantising.SCHEDULES.values():
            hops = np.zeros((5, 3000), dtype=int)

            class Counting(Exact):
                """Counts encodings by hop and element."""

                def requantise(self, values, first, hop):
                    hops[hop, first:first + len(values)] += 1
                    return values

            schedule(np.ones((5, 3000), dtype=np.float32), Counting())
            self.assertTrue((hops == 1).all())


class InputsTest(unittest.TestCase):
    def test_random_numbers_are_those_of_the_bench(self):
        # Pinned in tests/pure/inputs_test.cpp as well.
        np.testing.assert_allclose(
            bench_inputs.gauss(1, 3, 4),
            [1.0231382565412974, 2.019183914365875, -0.53346619005368678, 0.33259636344495486])


if __name__ == "__main__":
    unittest.main()
