"""Tests of the model: costs by hand, crossovers by trying link rates."""

import math
import random
import unittest

from report_case import CloseCase, FolderCase, bench, bench_row

import documents
import model
import predictions
import rates


class CostTest(FolderCase):
    def row(self, **columns):
        """Return a row that was read."""
        self.write("x.json", bench(bench_row(**columns)))
        (row,) = documents.collect([self.folder]).rows
        return row

    def test_rates_of_a_profile_are_of_the_time_on_a_core(self):
        found = rates.profile_rates(self.row())
        # 0.5 ms at work, all of it on a core; a ring of four merges 3/4 of the vector.
        self.assert_close(found.encode, 1e-4 / 2**18)
        self.assert_close(found.merge, 1e-4 / 2**18 / 0.75)
        profile = {**bench_row()["profile_s"], "processor": 2.5e-4}
        self.assert_close(rates.profile_rates(self.row(profile_s=profile)).encode,
                          0.5e-4 / 2**18)

    def test_ring(self):
        row = self.row()
        cost = model.codec_cost(row, rates.Rates(1e-9, 2e-9, 4e-9, 3e-9, ""), 8, 1e-6)
        self.assert_close(cost.latency, (2 * 7 + 3) * 1e-6)
        self.assertEqual(cost.wire_bytes, 458752)
        # A payload has 458752 / (14/8) = 262144 bytes, on four ranks 393216 / (6/4) as well.
        self.assert_close(cost.work, 2**18 * (1 + 2 + 3 + 7 / 8 * 4) * 1e-9)

    def test_wider_sums_take_longer_to_merge(self):
        row = self.row(wire_bytes_formula_by_ranks={"8": 2 * 458752})
        cost = model.codec_cost(row, rates.Rates(0, 0, 1e-9, 0, ""), 8, 0)
        self.assert_close(cost.work, 2**18 * 7 / 8 * 2e-9)

    def test_tree_and_doubling(self):
        one_merge = rates.Rates(0, 0, 1e-9, 0, "")
        for algorithm, messages, wire in (("tree", 6 + 3, 2 * 3 * 1000),
                                          ("recursive_doubling", 3 + 3, 3 * 1000)):
            row = self.row(algorithm=algorithm, wire_bytes_formula=2 * 1000,
                           wire_bytes_formula_by_ranks={"8": 3 * 1000})
            cost = model.codec_cost(row, one_merge, 8, 1e-6)
            self.assert_close(cost.latency, messages * 1e-6)
            self.assertEqual(cost.wire_bytes, wire)
            self.assert_close(cost.work, 2**18 * 3e-9)

    def test_native(self):
        ring = model.native_cost("ring", 2**20, "f32", 8, 1e-6, 1e-9)
        other = model.native_cost("Rabenseifner", 2**20, "f32", 8, 1e-6, 1e-9)
        self.assert_close(ring.seconds(8e9, False),
                          14e-6 + 7 / 4 * 2**22 / 1e9 + 7 / 8 * 2**20 * 1e-9)
        self.assert_close(ring.latency - other.latency, (14 - 6) * 1e-6)
        self.assertEqual(ring.wire_bytes, other.wire_bytes)

    def test_codec_bench_is_taken_before_a_profile(self):
        speeds = {"thc/measure/f32": 8e9, "thc/encode_wide/f32": 4e9, "thc/decode/f32": 2e9,
                  "merge/add": 1e9}
        entries = [{"name": f"{name}/{size}K", "bytes_per_second": speed * factor}
                   for name, speed in speeds.items() for size, factor in ((256, 1), (4096, 0.5))]
        bench_rates = rates.CodecBench([("", {"benchmarks": entries, "context": {}})])
        found = rates.rates_of(self.row(), bench_rates)
        self.assertEqual((found.agree, found.encode, found.decode), (4 / 8e9, 4 / 4e9, 4 / 2e9))
        # A payload of four ranks has 262144 bytes for 2^18 elements.
        self.assert_close(found.merge, 1 / 1e9)
        self.assertIn("profile", rates.rates_of(self.row(codec="thc:bits=2"), bench_rates).source)

    def test_what_is_left_out_has_a_reason(self):
        for columns, reason in (({"bypass": True}, "sent raw"),
                                ({"algorithm": "fabric", "mpi_bytes": 1 << 20}, "MPI sums"),
                                ({"algorithm": "offload", "offload": {"offloaded": 1}},
                                 "the network sums"),
                                ({"algorithm": "star"}, "no costs of star"),
                                ({"wire_bytes_formula": None}, "follow from no formula"),
                                ({"wire_bytes_formula_by_ranks": {}}, "follow from no formula")):
            self.write("x.json", bench(bench_row(**columns)))
            found = predictions.predictions_of(documents.collect([self.folder]), 1e-6)
            self.assertEqual(found.groups, [])
            (text,) = found.left_out.values()
            self.assertIn(reason, text)
        row = bench_row()
        del row["agreement_rounds"]
        self.write("x.json", bench(row))
        found = predictions.predictions_of(documents.collect([self.folder]), 1e-6)
        self.assertIn("how many rounds agree", "".join(found.left_out.values()))
        row = bench_row()
        del row["profile_s"]
        self.write("x.json", bench(row))
        found = predictions.predictions_of(documents.collect([self.folder]), 1e-6)
        self.assertIn("--profile", "".join(found.left_out.values()))


class CrossoverTest(CloseCase):
    def test_by_hand(self):
        native = model.Cost(0, 8e6, 0)
        self.assertEqual(model.paying_rates(model.Cost(0, 1e6, 0), native, False), [(0, math.inf)])
        self.assertEqual(model.paying_rates(model.Cost(0, 9e6, 1), native, False), [])
        self.assertEqual(model.paying_rates(native, native, True), [])
        # 7e6 bytes saved are worth 7 ms at 8 Gbit/s.
        ((lowest, highest),) = model.paying_rates(model.Cost(0, 1e6, 7e-3), native, False)
        self.assertEqual(lowest, 0)
        self.assert_close(highest / 8e9, 1)
        # With overlap work of 7 ms is no longer than native's wire up to 8/7 of it.
        ((_, highest),) = model.paying_rates(model.Cost(0, 1e6, 7e-3), native, True)
        self.assert_close(highest / 8e9, 8 / 7)

    def test_fewer_messages_pay_on_fast_links_alone(self):
        ((lowest, highest),) = model.paying_rates(
            model.Cost(1e-6, 9e6, 0), model.Cost(2e-6, 8e6, 0), False)
        self.assertEqual(highest, math.inf)
        self.assert_close(lowest, 8 * 1e6 / 1e-6)

    def test_agrees_with_trying_rates(self):
        seed = random.randrange(1 << 32)
        draw = random.Random(seed)
        for _ in range(500):
            codec, native = (model.Cost(draw.uniform(0, 1e-4), draw.uniform(1, 1e7),
                                        draw.choice([0, draw.uniform(0, 1e-2)]))
                             for _ in range(2))
            overlap = draw.random() < 0.5
            intervals = model.paying_rates(codec, native, overlap)
            for _ in range(50):
                rate = 10 ** draw.uniform(6, 13)
                pays = codec.seconds(rate, overlap) < native.seconds(rate, overlap)
                near = any(0.999 < rate / end < 1.001 for ends in intervals for end in ends if end)
                listed = any(low < rate < high for low, high in intervals)
                self.assertTrue(near or pays == listed, f"seed {seed}: {codec} {native} {rate}")


if __name__ == "__main__":
    unittest.main()
