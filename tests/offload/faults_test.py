"""Workers and aggregators die and come back; those who do not belong get nowhere."""

import fault_cases
from offload_case import main


class FaultsTest(fault_cases.FaultCases):
    group_slots = 256

    def check_killed(self):
        self.assertIn("cohom_aggregate", self.filters("switch", "h1"))

    def check_back(self):
        self.assertEqual(self.filters("switch", "h1").count(" id "), 1)

    def check_stopped(self):
        self.assertEqual(self.filters("switch", "h1"), "")

    def test_a_second_aggregator_is_refused(self):
        self.up(2)
        self.aggregators()
        with self.assertRaisesRegex(AssertionError, "port 10.77.0.251:47000"):
            self.aggregators()

    def test_a_group_that_does_not_form(self):
        self.up(2)
        aggregator, = self.aggregators("--patience", "1")
        worker = self.worker(0, 2, 1, "--seconds-to-form", "3")
        self.assertIn("lock failed (retry): 1 of 2 workers have come", worker.result()["failure"])
        self.assertEqual(aggregator.status()["groups_admitted"], 0)


if __name__ == "__main__":
    main()
