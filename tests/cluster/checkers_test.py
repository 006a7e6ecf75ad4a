# SPDX-License-Identifier: Apache-2.0
"""The checkers find what they are there for."""
import unittest

import counted
import cycles
from cycles import Transaction


def done(*actions):
    return Transaction(list(actions), committed=True)


class Cycles(unittest.TestCase):
    def test_a_serial_history_is_sound(self):
        history = [done(("append", 1, 10)), done(("read", 1, (10,)), ("append", 1, 11)), done(("read", 1, (10, 11)))]
        self.assertEqual([], list(cycles.problems(history, {1: (10, 11)})))

    def test_a_lost_append(self):
        self.assertTrue(list(cycles.problems([done(("append", 1, 10))], {1: ()})))

    def test_an_append_without_an_answer_may_be_missing(self):
        self.assertEqual([], list(cycles.problems([Transaction([("append", 1, 10)])], {1: ()})))

    def test_an_append_twice(self):
        self.assertTrue(list(cycles.problems([done(("append", 1, 10))], {1: (10, 10)})))

    def test_a_read_of_another_history(self):
        history = [done(("append", 1, 10)), done(("append", 1, 11)), done(("read", 1, (11,)))]
        self.assertTrue(list(cycles.problems(history, {1: (10, 11)})))

    def test_a_lost_update_is_a_cycle_with_one_rw(self):
        # Both read the empty list, both appended: the second overlooked the first.
        history = [done(("read", 1, ()), ("append", 1, 10)), done(("read", 1, ()), ("append", 1, 11))]
        self.assertTrue(any(p.startswith("G-single") for p in cycles.problems(history, {1: (10, 11)})))

    def test_a_fractured_read(self):
        history = [done(("append", 1, 10), ("append", 2, 20)), done(("read", 1, (10,)), ("read", 2, ()))]
        self.assertTrue(any(p.startswith("G-single") for p in cycles.problems(history, {1: (10,), 2: (20,)})))

    def test_write_skew_is_allowed(self):
        history = [done(("read", 1, ()), ("append", 2, 20)), done(("read", 2, ()), ("append", 1, 10))]
        self.assertEqual([], list(cycles.problems(history, {1: (10,), 2: (20,)})))

    def test_circular_information_flow(self):
        history = [done(("append", 1, 10), ("read", 2, (20,))), done(("append", 2, 20), ("read", 1, (10,)))]
        self.assertTrue(any(p.startswith("G1c") for p in cycles.problems(history, {1: (10,), 2: (20,)})))


if __name__ == "__main__":
    counted.main()
