"""Predictions: amounts, lists of ranks and changes of a machine, as people write them.

usage: predict_words_test.py [RUEDA]  (which is not asked)
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from reader.predict.changes import parse_changes  # noqa: E402
from reader.predict.model import ComputeModel, CostModel, Link, Machine, Noise  # noqa: E402
from reader.predict.quantities import (parse_measured, parse_rank_list, parse_rate, parse_seconds,  # noqa: E402
                                       parse_share)  # fmt: skip
from reader.start import Unusable  # noqa: E402

MODEL = CostModel(ComputeModel(0.010, 0.002, 0.5, 0.001, 0.005),
                  Machine(Link(1e-6, 1e-10), Link(1e-5, 1e-9), 1e-11, 4, 1),
                  Noise([0.8, 1.2]), rank_factors=(1.0, 1.5))


def changed(text):
    model = MODEL
    for change in parse_changes(text):
        model = change.apply(model)
    return model


class Amounts(unittest.TestCase):
    def test_times_rates_and_shares_with_their_units(self):
        for parse, text, value in (
                (parse_seconds, "5us", 5e-6), (parse_seconds, "544 ms", 0.544), (parse_seconds, "1.5s", 1.5),
                (parse_seconds, "20ns", 20e-9), (parse_seconds, "0s", 0), (parse_rate, "10GB/s", 1e10),
                (parse_rate, "1Gbit/s", 125e6), (parse_rate, "8kbit/s", 1000), (parse_rate, "118.5 MB/s", 118.5e6),
                (parse_share, "80%", 0.8), (parse_share, "0.8", 0.8)):  # fmt: skip
            self.assertAlmostEqual(parse("--option", text), value, delta=1e-12 * value)

    def test_amounts_that_are_none(self):
        for parse, texts in ((parse_seconds, ("", "5", "us", "-1us", "5 uus", "nans", "1e999s", "5us ", "٥us", "0x5s")),
                             (parse_rate, ("", "0GB/s", "10", "10GB", "-1GB/s", "10gb/s", "inf")),
                             (parse_share, ("80percent", "-1", "%"))):  # fmt: skip
            for text in texts:
                with self.subTest(text=text), self.assertRaisesRegex(Unusable, "--option"):
                    parse("--option", text)

    def test_lists_of_ranks(self):
        for text, ranks in (("1", [1]), ("1,2,4,...,64", [1, 2, 4, 8, 16, 32, 64]), ("1,2,...,8", [1, 2, 4, 8]),
                            ("1,2,3,...,6", [1, 2, 3, 4, 5, 6]), ("1,4,8,...,20", [1, 4, 8, 12, 16, 20]),
                            ("4,8,12,...,20,100", [4, 8, 12, 16, 20, 100]),
                            ("1,2,4,...,100", [1, 2, 4, 8, 16, 32, 64, 100])):  # fmt: skip
            self.assertEqual(parse_rank_list("--ranks", text), ranks)
        for text in ("", "0", "1,,2", "2,1", "1,1", "...", "1,...,8", "1,2,...", "16385", "1,2,...,...,8", "two",
                     "1,2,...,2", "-1", "1,2,...,99999999999999999999"):  # fmt: skip
            with self.subTest(text=text), self.assertRaisesRegex(Unusable, "--ranks"):
                parse_rank_list("--ranks", text)

    def test_epochs_that_others_measured(self):
        epoch = parse_measured("4:5.4s")
        self.assertEqual((epoch.ranks, epoch.seconds), (4, 5.4))
        for word, said in (("5.4s", "by number of ranks"), ("4:0s", "must be above 0"), ("4:5", "--measured"),
                           ("x:5s", "--measured")):
            with self.assertRaisesRegex(Unusable, said):
                parse_measured(word)


class Changes(unittest.TestCase):
    def test_changes_of_a_machine(self):
        for text, inside, between, gamma in (
                ("", (1e-6, 1e-10), (1e-5, 1e-9), 1e-11),
                ("bandwidth=2x,latency=0.5x", (1e-6, 1e-10), (5e-6, 5e-10), 1e-11),
                ("bandwidth=10GB/s,latency=3us", (1e-6, 1e-10), (3e-6, 1e-10), 1e-11),
                ("inside-bandwidth=4x,inside-latency=2us,add-rate=1GB/s", (2e-6, 2.5e-11), (1e-5, 1e-9), 1e-9)):
            machine = changed(text).machine
            found = (*vars(machine.inside).values(), *vars(machine.between).values(), machine.gamma)
            for value, expected in zip(found, (*inside, *between, gamma)):
                self.assertAlmostEqual(value / expected, 1)

    def test_changes_of_computing_and_noise(self):
        slow = changed("compute-time=3x").compute
        self.assertAlmostEqual(slow.fixed + 10 * slow.per_image, 0.090)
        self.assertAlmostEqual(10 * slow.input_per_image + slow.update, 0.045)
        self.assertEqual(changed("noise=0x").noise.json(), {"values": [0.8, 1.2], "spread_by": 0})
        self.assertEqual(changed("noise=2x,noise=3x").noise.factor, 6)
        self.assertEqual(MODEL.noise.json(), {"values": [0.8, 1.2]})

    def test_balance_needs_to_know_the_ranks(self):
        self.assertTrue(changed("balance").shares_by_speed)
        with self.assertRaisesRegex(Unusable, "no run shows how fast each rank is"):
            parse_changes("balance")[0].apply(CostModel())

    def test_changes_that_are_none(self):
        for text, words in (("bandwith=2x", ("bandwith", "inside-bandwidth")), ("bandwidth", ("--what-if bandwidth",)),
                            ("bandwidth=0x", ("above 0",)), ("bandwidth=2", ("Gbit/s",)),
                            ("latency=-1x", ("--what-if latency",)), ("compute-time=5ms", ("factor",)),
                            ("balance=2x", ("--what-if balance '2x': it has no value",)),
                            ("latency=5us,,bandwidth=2x", ("--what-if ''",))):  # fmt: skip
            with self.assertRaises(Unusable) as refused:
                parse_changes(text)
            for word in words:
                self.assertIn(word, str(refused.exception))


if __name__ == "__main__":
    sys.argv[1:2] = []
    unittest.main()
