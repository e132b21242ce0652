# SPDX-License-Identifier: Apache-2.0
"""Batches by length: shapes that differ, the limit, exact resume, threads and ranks, torch's loader."""
import tempfile
import unittest

import numpy
import penstock

LIMIT, ROWS = 300, 200
CACHE = tempfile.TemporaryDirectory()
TEXT = """pipe 1
pipeline sound(values: path, lengths: path, most: int = 300, kinds: int = 4) with on_error = substitute(50%) {
  for row in raw(value = column(values, i16[t = 60]), length = column(lengths, i64)) WHERE order ORDER
  let wave = row.value[t = 0 .. row.length]
  let good = check(row.length, row.length != 13, "a length of {0}")
  batch <= most elements by row.length buckets kinds last LAST {
    output wave: f32[n, t <= 60] pad -1.0 = f32(wave) + f32(draw uniform(0.0 .. 0.5))
    output pairs: i32[n, c, t <= 60] stored [n, t, c] pad -2 = stack([i32(wave), i32(wave) + 1], c)
    output parts: i16[n, t <= 60] ragged = wave
    output length: i64[n] = good
    output mean: f64[n] = mean(f64(row.length) over [n])
  }
}
"""


def table(bad=False):
    rng = numpy.random.default_rng(3)
    lengths = rng.integers(1, 61, ROWS)
    if not bad:
        lengths[lengths == 13] = 14
    return {"value": rng.integers(0, 1000, (ROWS, 60), dtype=numpy.int16), "length": lengths}


def load(columns=None, order="shuffled", ending="drop", where="", **options):
    text = TEXT.replace("ORDER", order).replace("LAST", ending).replace("WHERE", where)
    return penstock.load(text, columns=columns or table(), cache=CACHE.name, **options)


def contents(batch):
    """The identity of a batch: rows, positions and bytes."""
    return (tuple(batch.rows), tuple(batch.positions), *(numpy.asarray(batch[name]).tobytes() for name in ("wave", "pairs", "parts", "length")))


def epoch(loader):
    return [contents(batch) for batch in loader]


class Lengths(unittest.TestCase):
    def test_a_batch_is_as_long_as_its_longest(self):
        columns, seen, shapes = table(), [], set()
        with load(columns) as loader:
            for batch in loader:
                lengths = numpy.asarray(batch["length"])
                longest, count = lengths.max(), len(batch.rows)
                self.assertLessEqual(longest * count, LIMIT)
                wave, pairs, parts = (numpy.asarray(batch[name]) for name in ("wave", "pairs", "parts"))
                self.assertEqual((wave.shape, pairs.shape), ((count, longest), (count, 2, longest)))
                offsets = numpy.asarray(batch["parts"].offsets)
                numpy.testing.assert_array_equal(numpy.diff(offsets), lengths)
                numpy.testing.assert_array_equal(numpy.asarray(batch["mean"]), lengths.mean())
                for slot, row in enumerate(batch.rows):
                    length, values = columns["length"][row], columns["value"][row]
                    self.assertEqual(lengths[slot], length)
                    self.assertTrue((numpy.floor(wave[slot, :length]) == values[:length]).all())
                    self.assertTrue((wave[slot, length:] == -1).all())
                    numpy.testing.assert_array_equal(pairs[slot, :, :length], [values[:length], values[:length].astype(int) + 1])
                    self.assertTrue((pairs[slot, :, length:] == -2).all())
                    numpy.testing.assert_array_equal(parts[offsets[slot]:offsets[slot + 1]], values[:length])
                seen += batch.rows
                shapes.add(wave.shape)
            self.assertGreater(len(shapes), 8)
            self.assertEqual(len(seen), len(set(seen)))
            self.assertEqual(len(loader), len(list(loader)), "every epoch has as many")

    def test_threads_prefetch_and_resume_change_nothing(self):
        columns = table(bad=True)
        with load(columns, threads=1) as loader:
            expected = [epoch(loader), epoch(loader)]
            self.assertTrue(loader.bad_samples())
        self.assertNotEqual(*expected)
        for options in ({"threads": 2, "prefetch": 1}, {"threads": 5, "prefetch": 7}):
            with load(columns, **options) as loader:
                self.assertEqual([epoch(loader), epoch(loader)], expected)
        for given in (1, 4, len(expected[0]) - 1):
            with load(columns) as loader:
                batches = iter(loader)
                for _ in range(given):
                    next(batches)
                state = loader.state_dict()
                self.assertEqual(loader.info["position"], sum(len(batch[0]) for batch in expected[0][:given]))
            with load(columns, threads=3) as loader:
                loader.load_state_dict(state)
                self.assertEqual([epoch(loader), epoch(loader)], [expected[0][given:], expected[1]])

    def test_ranks_share_the_batches(self):
        with load() as loader:
            every = epoch(loader)
        for last, world in (("drop", 3), ("keep", 3), ("keep", 60)):
            ranks = []
            for rank in range(world):
                with load(ending=last, rank=rank, world=world) as loader:
                    ranks.append(epoch(loader))
                    self.assertEqual(len(ranks[-1]), len(loader))
            self.assertEqual(len({len(batches) for batches in ranks}), 1)
            rounds = [batch for together in zip(*ranks) for batch in together]
            if last == "drop":
                self.assertEqual(rounds, every[:len(rounds)])
                continue
            rows = [row for batch in rounds for row in batch[0]]
            self.assertEqual(set(rows), set(range(ROWS)))
            again = len(rounds) - len({batch[0] for batch in rounds})
            self.assertEqual([batch[0] for batch in rounds[len(rounds) - again:]],
                             [rounds[i % (len(rounds) - again)][0] for i in range(again)], "the first ones come again")

    def test_a_substitute_is_of_the_bucket(self):
        columns = table(bad=True)
        with load(columns) as loader:
            for batch in loader:
                count, longest = numpy.asarray(batch["wave"]).shape
                self.assertLessEqual(count * longest, LIMIT)
                self.assertNotIn(13, numpy.asarray(batch["length"]))
            bad = loader.bad_samples()
        self.assertEqual({columns["length"][found.row] for found in bad}, {13})
        lengths = sorted(columns["length"])
        total, sums = sum(lengths), numpy.cumsum(lengths)
        bucket = lambda length: int(4 * (sums[lengths.index(length)] - length) // total)
        for found in bad:
            self.assertEqual(bucket(columns["length"][found.substitute]), bucket(13), found)

    def test_a_sample_alone_is_the_batchs(self):
        with load() as loader:
            batch = next(iter(loader))
            for slot, position in enumerate(batch.positions):
                sample = loader.sample(position)
                length = numpy.asarray(batch["length"])[slot]
                numpy.testing.assert_array_equal(numpy.asarray(sample["wave"]), numpy.asarray(batch["wave"])[slot, :length])
                numpy.testing.assert_array_equal(numpy.asarray(sample["pairs"]), numpy.asarray(batch["pairs"])[slot, :, :length])

    def test_orders_and_choices(self):
        columns = table()
        with load(columns, order="sequential", ending="keep", where="where row.length > 30") as loader:
            lengths = [length for batch in loader for length in numpy.asarray(batch["length"])]
        self.assertEqual(lengths, sorted(columns["length"][columns["length"] > 30]))
        with load(columns, order="[3, 9, 4, 9]", ending="keep") as loader:
            self.assertEqual(sorted(row for batch in loader for row in batch.rows), [3, 4, 9, 9])

    def test_parameters_change_the_batches_and_not_the_code(self):
        with load(most=600, kinds=2) as other, load() as loader:
            expected = epoch(other)
            next(iter(loader))
            state = loader.state_dict()
            loader.set_epoch(0, most=600, kinds=2)
            self.assertEqual(epoch(loader), expected)
            with self.assertRaisesRegex(penstock.PenstockError, "midst of an epoch that has other batches"):
                loader.load_state_dict(state)

    def test_what_is_refused(self):
        columns = table()
        columns["length"][7] = 301
        for options, message in (({"columns": columns}, r"row 7: its length is 301, and a batch takes 300 elements: leave it out with `where`, or raise the limit \(.*:6:3\)"),
                                 ({"most": 0}, "a batch takes 1 to 2\\^53 elements, not 0"),
                                 ({"most": 30000}, "which do not fill one batch of .*: ask for fewer buckets, or write `last keep`"),
                                 ({"world": 90}, "batches, fewer than the 90 ranks"),
                                 ({"last": "pad"}, "`last pad` gives all ranks as many samples"),
                                 ({"rows": lambda epoch: range(9)}, "rows come from the caller")):
            with self.subTest(message), self.assertRaisesRegex(penstock.PenstockError, message):
                load(**options)

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch")
        import penstock.torch
        text = TEXT.replace("ORDER", "shuffled").replace("LAST", "drop").replace("WHERE", "")
        with load() as plain:
            expected = [numpy.array(batch["wave"]) for batch in plain]
        loader = penstock.torch.Loader(penstock.load(text, columns=table(), cache=""))
        found = list(wave.clone() for wave, *_ in loader)
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertTrue(torch.equal(a, torch.from_numpy(b)))


if __name__ == "__main__":
    unittest.main()
