# SPDX-License-Identifier: Apache-2.0
"""Run-time parameters that change from epoch to epoch, and states in the midst of one."""
import tempfile
import unittest

import numpy
import penstock

CACHE = tempfile.TemporaryDirectory()
TEXT = """pipe 1
pipeline train(noise: f64 = 0.0, least: int = 0) {
  for row in synthetic(24, z = 0 .. 1000) where row.z >= least order shuffled
  let x = f64(row.z) + noise * draw uniform(0.0 .. 1.0)
  batch 4 per rank last drop { output x: f64[n] = x }
}
"""


def load(**options):
    return penstock.load(TEXT, seed=3, cache=CACHE.name, **options)


def contents(batches):
    return [(batch.rows, numpy.asarray(batch["x"]).tolist()) for batch in batches]


class Curriculum(unittest.TestCase):
    def setUp(self):
        with load() as loader:
            loader.set_epoch(2, noise=0.5, least=100)
            batches = iter(loader)
            next(batches)
            self.state = loader.state_dict()
            self.rest, self.after = contents(batches), contents(loader)
        self.assertGreater(len(self.rest), 1)

    def test_a_state_has_its_parameters(self):
        with load(threads=1) as loader:
            loader.load_state_dict(self.state)
            self.assertEqual(contents(loader), self.rest)
            self.assertEqual(contents(loader), self.after)
            self.assertEqual(loader.state_dict()["parameters"], {"noise": 0.5, "least": 100})

    def test_an_epoch_may_be_set_before_and_after(self):
        for before, after in (({"noise": 0.5, "least": 100}, None), (None, {}), (None, {"noise": 0.5}), ({"noise": 0.1}, {"least": 100})):
            with self.subTest(before=before, after=after), load() as loader:
                if before is not None:
                    loader.set_epoch(2, **before)
                loader.load_state_dict(self.state)
                if after is not None:
                    loader.set_epoch(2, **after)
                self.assertEqual(contents(loader), self.rest)

    def test_other_values_change_what_is_left(self):
        with load() as loader:
            loader.load_state_dict(self.state)
            loader.set_epoch(2, noise=0.0)
            left = contents(loader)
            self.assertEqual([rows for rows, _ in left], [rows for rows, _ in self.rest])
            self.assertNotEqual(left, self.rest)
            loader.load_state_dict(self.state)
            with self.assertRaisesRegex(penstock.SessionError, "goes over 22 of 24 rows, and this one over 14: `where` or its parameters have changed"):
                loader.set_epoch(2, least=500)

    def test_once_a_batch_was_taken_the_epoch_begins_again(self):
        with load() as loader:
            loader.load_state_dict(self.state)
            next(iter(loader))
            loader.set_epoch(2, noise=0.5)
            self.assertEqual(len(contents(loader)), len(self.rest) + 1)
            loader.load_state_dict(self.state)
            loader.set_epoch(3, noise=0.5)
            self.assertEqual(contents(loader), self.after)

    def test_what_is_no_state(self):
        with load() as loader, self.assertRaisesRegex(penstock.SessionError, "`parameters` is a mapping"):
            loader.load_state_dict({**self.state, "parameters": 3})
        with load() as loader, self.assertRaisesRegex(penstock.SessionError, "loud"):
            loader.load_state_dict({**self.state, "parameters": {"loud": 3}})


if __name__ == "__main__":
    unittest.main()
