#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the benches' own arithmetic and rules."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))
from bench import data, harness, mixed_jpegs  # noqa: E402
from bench.peers import peer, penstock  # noqa: E402


class Numbers(unittest.TestCase):
    def test_median_of_odd_and_even_counts(self):
        self.assertEqual(harness.median([3, 1, 2]), 2)
        self.assertEqual(harness.median([4, 1, 2, 3]), 2.5)
        self.assertEqual(harness.median([7]), 7)

    def test_median_of_nothing_is_an_error(self):
        with self.assertRaises(ValueError):
            harness.median([])

    def test_quantile_is_linear_between_neighbours(self):
        self.assertEqual(harness.quantile([10, 20, 30], 0.5), 20)
        self.assertEqual(harness.quantile([0, 10], 0.25), 2.5)
        self.assertEqual(harness.quantile([5, 1], 1.0), 5)

    def test_spread_is_half_the_quartile_distance_as_a_share(self):
        self.assertAlmostEqual(harness.spread([8, 9, 10, 11, 12]), 0.1)
        self.assertEqual(harness.spread([4, 4, 4]), 0.0)

    def test_spread_ignores_one_outlier(self):
        self.assertLess(harness.spread([10, 10, 10, 10, 1000]), 0.01)


class FakeContestant:
    def __init__(self, times):
        self.slices = [{"samples": 2, "wall": 2 * t, "cpu": 2 * t} for t in times]
        self.wall = lambda: harness.Contestant.wall(self)
        self.cpu = lambda: harness.Contestant.cpu(self)


class Pairs(unittest.TestCase):
    def test_ratios_are_taken_within_a_round(self):
        # The machine is three times slower in the second round.
        ours, theirs = FakeContestant([1.0, 3.0]), FakeContestant([2.0, 6.0])
        self.assertEqual(harness.paired(ours, theirs, "wall"), [0.5, 0.5])
        self.assertEqual(harness.paired(theirs, ours, "cpu"), [2.0, 2.0])

    def test_rounds_that_only_one_ran_are_left_out(self):
        self.assertEqual(len(harness.paired(FakeContestant([1.0]), FakeContestant([1.0, 1.0]), "wall")), 1)


class Names(unittest.TestCase):
    def test_kinds(self):
        for name in ("time_vs_turbo_full_decode", "decode_time_vs_x", "cold_compile_ms", "transfer_cost",
                     "cpu_seconds_per_epoch"):
            self.assertEqual(harness.kind_of(name), "time", name)
        for name in ("speed_vs_dali", "share_of_memcpy", "scaling_2_threads", "generated_vs_handwritten_cifar",
                     "runtime_share"):
            self.assertEqual(harness.kind_of(name), "speed", name)
        self.assertEqual(harness.kind_of("operators_slower_than_pillow"), "count")
        self.assertEqual(harness.kind_of("imagenet_global_accesses_per_sample"), "count")
        self.assertEqual(harness.kind_of("imagenet_load_sectors"), "time")

    def test_units(self):
        self.assertEqual(harness.units_of("first_batch_ms"), ("ms",))
        self.assertEqual(harness.units_of("time_vs_turbo_full_decode"), ("ratio",))
        self.assertEqual(harness.units_of("operators_slower_than_pillow"), ("count",))


class Schema(unittest.TestCase):
    good = {"speed_vs_dali": {"value": 8.1, "unit": "ratio", "n": 9},
            "cold_compile_ms": {"value": 300.0, "unit": "ms", "n": 5, "note": "empty cache"}}

    def test_good_measures_have_no_faults(self):
        self.assertEqual(harness.check_measures(self.good), [])

    def faults(self, name="speed_vs_dali", **changes):
        entry = dict({"value": 1.0, "unit": "ratio", "n": 1}, **changes)
        return harness.check_measures({name: entry})

    def test_each_fault_is_found(self):
        self.assertEqual(self.faults(), [])
        for name, changes in (("speed_vs_dali", {"unit": "%"}), ("speed_vs_dali", {"unit": "percent"}),
                              ("cold_compile_ms", {"unit": "s"}), ("speed_vs_dali", {"value": float("nan")}),
                              ("speed_vs_dali", {"value": "1.0"}), ("speed_vs_dali", {"value": True}),
                              ("speed_vs_dali", {"value": -1.0}), ("speed_vs_dali", {"n": 0}),
                              ("speed_vs_dali", {"n": 2.5}), ("speed_vs_dali", {"note": 3}),
                              ("speed_vs_dali", {"extra": 1}), ("Speed vs DALI", {})):
            self.assertEqual(len(self.faults(name, **changes)), 1, (name, changes))

    def test_a_missing_field_is_a_fault(self):
        self.assertEqual(len(harness.check_measures({"speed_vs_dali": {"value": 1.0, "unit": "ratio"}})), 1)

    def test_file_has_one_object_with_measures(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            harness.write_json(file.name, self.good)
            self.assertEqual(json.loads(pathlib.Path(file.name).read_text()), {"measures": self.good})

    def test_faulty_measures_are_not_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            with self.assertRaises(ValueError):
                harness.write_json(path, {"speed_vs_dali": {"value": 1, "unit": "%", "n": 1}})
            self.assertFalse(path.exists())

    def test_record_keeps_the_median_and_the_count(self):
        bench = harness.Bench("test", [])
        bench.record("first_batch_ms", [3.0, 1.0, 2.0])
        bench.record("speed_vs_dali", [])
        self.assertEqual(bench.measures, {"first_batch_ms": {"value": 2.0, "unit": "ms", "n": 3}})
        bench.record("cpu_seconds_vs_dataloader", [0.5], unit="ratio")
        self.assertEqual(harness.check_measures(bench.measures), [])
        self.assertEqual(bench.measures["cpu_seconds_vs_dataloader"]["unit"], "ratio")


class Workers(unittest.TestCase):
    def contestant(self, module, function, job):
        contestant = harness.Contestant(harness.Entry("test", module, function, job, debian=True))
        self.addCleanup(contestant.close)
        contestant.await_setup()
        return contestant

    def test_a_peer_that_cannot_start_is_listed_with_its_error(self):
        contestant = self.contestant("no_such_peer", "imagenet", {})
        self.assertEqual(contestant.missing, "ModuleNotFoundError: No module named 'bench.peers.no_such_peer'")

    def test_a_bench_fails_where_our_own_side_is_missing(self):
        bench = harness.Bench("test", [])
        bench.start([harness.Entry("theirs", "no_such_peer", "imagenet", {}, debian=True),
                     harness.Entry("ours", "penstock", "no_such_bench", {}, debian=True)])
        self.assertEqual([failure.split(":")[0] for failure in bench.failed], ["ours"])
        for contestant in bench.contestants:
            contestant.close()

    def test_our_own_adapter_says_what_to_build(self):
        with tempfile.TemporaryDirectory() as empty, \
                unittest.mock.patch.object(penstock, "ROOT", pathlib.Path(empty)), \
                unittest.mock.patch.dict("os.environ"):
            os.environ.pop("PENSTOCK_LIBRARY", None)
            with self.assertRaisesRegex(peer.Missing, "libpenstock.so is not built: cmake --preset release"):
                penstock.library_path()

    def test_memory_in_a_slice_is_its_peak(self):
        contestant = self.contestant("fake", "large", {"samples": 4, "bytes": 200_000_000})
        before = contestant.order(order="peak_memory")["peak_memory"]
        self.assertTrue(200_000_000 < before < 400_000_000, before)

    def test_a_failing_slice_ends_the_contestant_not_the_bench(self):
        contestant = self.contestant("fake", "failing", {"samples": 4, "fail_at": 2})
        self.assertIsNone(contestant.missing)
        self.assertEqual(contestant.slice()["samples"], 4)
        contestant.slice()
        self.assertEqual(contestant.missing, "RuntimeError: slice 2 fails as asked")
        self.assertEqual(len(contestant.slices), 1)


class Peers(unittest.TestCase):
    def test_boxes_lie_in_the_image(self):
        rng = random.Random(1)
        for width, height in ((500, 375), (1, 1), (1, 900), (900, 1), (224, 224)):
            for _ in range(200):
                top, left, h, w = peer.random_box(rng, width, height)
                self.assertTrue(h >= 1 and w >= 1 and top >= 0 and left >= 0)
                self.assertTrue(top + h <= height and left + w <= width)

    def test_batches_cover_all_items_once(self):
        self.assertEqual(list(peer.batches([1, 2, 3, 4, 5], 2)), [[1, 2], [3, 4], [5]])


class Data(unittest.TestCase):
    def test_quantiles_of_a_known_set(self):
        self.assertEqual(data.quantiles(range(100)), {"p5": 5, "p25": 25, "p50": 50, "p75": 75, "p95": 95})

    def test_summary_counts_samplings_and_depends_on_every_file(self):
        rows = [{"path": f"a/{i}.jpg", "bytes": 100 + i, "width": 10, "height": 10, "sampling": s, "quality": 90,
                 "sha256": str(i)} for i, s in enumerate(["4:2:0", "4:2:0", "gray"])]
        told = data.summary(rows)
        self.assertEqual(told["sampling"], {"4:2:0": 2, "gray": 1})
        self.assertEqual(told["bits_per_pixel"]["p50"], 8.08)
        rows[1]["sha256"] = "other"
        self.assertNotEqual(data.summary(rows)["hash"], told["hash"])


    def test_a_tenth_of_the_mixed_files_is_progressive(self):
        kinds = mixed_jpegs.kinds_of(640, data.SEED)
        self.assertEqual({kind: kinds.count(kind) for kind in kinds},
                         {"progressive": 64, "several scans": 10, "fill bytes": 6, "odd header": 6, "no end": 3,
                          mixed_jpegs.AS_IT_WAS: 551})
        self.assertEqual(kinds, mixed_jpegs.kinds_of(640, data.SEED))

    def test_mixed_kinds_change_what_they_say(self):
        def segment(marker, body):
            return bytes([0xFF, marker]) + (len(body) + 2).to_bytes(2, "big") + body
        head = [segment(0xE0, b"JFIF"), segment(0xC0, b"frame"), segment(0xDA, b"\x01\x01\x00\x00\x3f\x00")]
        encoded = b"\xff\xd8" + b"".join(head) + b"data\xff\xd9"
        self.assertEqual(mixed_jpegs.segments(encoded), (head, b"data\xff\xd9"))
        self.assertEqual(mixed_jpegs.change(encoded, "no end", False), encoded[:-2])
        self.assertEqual(mixed_jpegs.change(encoded, "fill bytes", False),
                         b"\xff\xd8" + b"".join(b"\xff\xff" + one for one in head) + b"data\xff\xff\xd9")
        odd = mixed_jpegs.change(encoded, "odd header", False)
        self.assertIn(head[0] + b"stray\xff\xfe", odd)
        self.assertTrue(odd.endswith(b"\x01\x01\x00" + bytes(3) + b"data\xff\xd9"))


class Scripts(unittest.TestCase):
    def test_every_bench_is_executable_and_explains_itself(self):
        for name in ("imagenet_cpu", "cifar_cpu", "jpeg", "kernels", "startup", "torch_loader"):
            result = subprocess.run([str(ROOT / "bench" / name), "--help"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            for option in ("--quick", "--json"):
                self.assertIn(option, result.stdout)


if __name__ == "__main__":
    unittest.main()
