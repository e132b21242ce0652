# SPDX-License-Identifier: Apache-2.0
"""Rows of an epoch: `where`, weights, lists; and the image folder's index."""
import os
import re

import numpy

from support import ToolTest, make_folder, main


class Orders(ToolTest):
    def pipeline(self, text):
        path = os.path.join(self.folder, "orders.pipe")
        with open(path, "w") as file:
            file.write("pipe 1\n" + text)
        return path

    def values(self, row_clause, count, *settings):
        """The values that the first positions deliver, of a table with value r in row r."""
        numbers = os.path.join(self.folder, "numbers.bin")
        numpy.arange(100, dtype=numpy.int64).tofile(numbers)
        path = self.pipeline(f"""
const chosen: i64[k] = [9, 3, 9, 40]
pipeline p(numbers: path, least: int = 90) {{
  for row in raw(value = column(numbers, i64)) {row_clause}
  batch 1 per rank last keep {{ output value: i64[n] = row.value }}
}}""")
        found = []
        for position in range(count):
            out = os.path.join(self.folder, "out")
            self.run_tool("sample", path, "--set", f"numbers={numbers}", *settings,
                          "--position", position, "-o", out)
            found.append(int(numpy.fromfile(os.path.join(out, "value.raw"), numpy.int64)[0]))
        return found

    def test_where_leaves_rows_out(self):
        self.assertEqual(self.values("where row.value >= least", 10), list(range(90, 100)))
        self.assertEqual(self.values("where row.value >= least", 3, "--set", "least=97"),
                         [97, 98, 99])

    def test_where_looks_at_places(self):
        """The first rows, those behind them, and a fold of five, as they stand in the table."""
        self.assertEqual(self.values("where row.index < 3", 3), [0, 1, 2])
        self.assertEqual(self.values("where row.index >= least", 10), list(range(90, 100)))
        self.assertEqual(self.values("where row.index % 5 == 2 and row.value > 50", 10), list(range(52, 100, 5)))
        self.assertEqual(self.values("where row.index > 8 order [9, 3, 40]", 2), [9, 40])
        found = self.values("order weighted(if row.index < 98 then 0.0 else 1.0)", 12)
        self.assertEqual(set(found), {98, 99})

    def table(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_a_row_that_cannot_be_looked_at_is_bad(self):
        """It is not left out in silence, nor taken for 0: whether samples read the number or not."""
        path = self.table("gaps.csv", "v,label,b\n1,0,true\n2,,false\n3,1,false\n4,0,\n")
        for where, taken, bad in (("row.label == 0", 3, [1]), ("not row.b", 3, [3]), ("row.v > 1", 3, [])):
            text = self.pipeline(f"""pipeline p(list: path) with on_error = substitute(100%) {{
  for row in csv(list, v = i64, label = i64, b = bool) where {where} order sequential
  batch 4 per rank last keep {{ output v: i64[n] = row.v }}
}}""")
            done = self.run_json("run", text, "--set", f"list={path}")
            self.assertEqual(done["samples"], taken)
            self.assertEqual(sorted({one["row"] for one in done["bad_samples"]}), bad)

    def test_rows_that_lack_another_cell_keep_their_length(self):
        path = self.table("lengths.csv", "v,l\n" + "".join(f"{'' if i % 25 == 7 else i},{10 + i % 20}\n" for i in range(100)))
        text = self.pipeline("""pipeline p(list: path) with on_error = substitute(100%) {
  for row in csv(list, v = i64, l = i64) order shuffled
  batch <= 60 elements by row.l buckets 4 last keep { output v: i64[n] = row.v output l: i64[n] = row.l }
}""")
        done = self.run_json("run", text, "--set", f"list={path}", "--epochs", "20")
        self.assertEqual(done["samples"], 2000)
        self.assertEqual({one["row"] for one in done["bad_samples"]}, {7, 32, 57, 82})
        with open(text) as file:
            text = self.pipeline(file.read().removeprefix("pipe 1\n").replace("shuffled", "sequential"))
        done = self.run_json("run", text, "--set", f"list={path}")
        lengths = sorted(range(100), key=lambda i: (10 + i % 20, i))
        self.assertEqual({one["row"]: one["position"] for one in done["bad_samples"] if one["row"] in (7, 32, 57, 82)},
                         {row: lengths.index(row) for row in (7, 32, 57, 82)})

    def test_rows_that_fill_no_batch_are_told_from_the_table(self):
        path = self.table("v.csv", "v\n" + "".join(f"{i}\n" for i in range(17)))
        for clause, told in (("where row.v < 3", "the order takes 3 of 17 rows (`where`, or a list), which do not fill one batch of 20"),
                             ("order [1, 1, 4]", "the order takes 3 of 17 rows"), ("", "the table has 17 rows, which do not fill one batch of 20")):
            text = self.pipeline(f"pipeline p(list: path) {{ for row in csv(list, v = i64) {clause} batch 20 per rank last drop {{ output v: i64[n] = row.v }} }}")
            self.assertIn(told, self.run_tool("run", text, "--set", f"list={path}", expect=1).stderr)

    def test_a_state_goes_on_over_the_same_rows_alone(self):
        path = self.table("v.csv", "v\n" + "".join(f"{i}\n" for i in range(100)))
        text = self.pipeline("""pipeline p(list: path, m: int = 2) {
  for row in csv(list, v = i64) where row.v % m == 0 order sequential batch 5 per rank last keep { output v: i64[n] = row.v }
}""")
        state = os.path.join(self.folder, "state")
        run = ["run", text, "--set", f"list={path}", "--state", state]
        self.run_tool(*run, "--batches", "3")
        done = self.run_tool(*run, "--set", "m=5", expect=1)
        self.assertIn("goes over 50 of 100 rows, and this one over 20: `where` or its parameters have changed", done.stderr)
        self.assertEqual(self.run_json(*run)["samples"], 35)
        with open(state) as file:
            text_of_state = file.read()
        self.assertIn(" epoch=1 position=0 ", text_of_state)
        self.assertEqual(self.run_json(*run, "--set", "m=5", "--epochs", "2")["samples"], 20)  # between two epochs it may
        self.table("state", text_of_state.replace("position=0", "position=60"))
        self.assertIn("behind the end of an epoch", self.run_tool(*run, "--epochs", "9", expect=1).stderr)

    def test_a_state_at_the_end_of_an_epoch_is_one(self):
        """Behind the last batch, full or not, of one rank or of several; a state of some ranks is one of others."""
        path = self.table("v.csv", "v,l\n" + "".join(f"{i},{1 + i % 7}\n" for i in range(37)))
        for batch in ("batch 5 per rank last keep", "batch 5 per rank last pad", "batch 5 per rank last drop",
                      "batch <= 21 elements by row.l buckets 3 last keep", "batch <= 21 elements by row.l buckets 3 last drop"):
            text = self.pipeline(f"pipeline p(list: path) {{ for row in csv(list, v = i64, l = i64) order shuffled {batch} {{ output v: i64[n] = row.v }} }}")
            run = ["run", text, "--set", f"list={path}"]
            for world in (1, 2, 3):
                of = ["--world", world, "--rank", world - 1]
                state = self.table("state", "")
                os.remove(state)
                batches = self.run_json(*run, *of)["batches"]
                self.assertEqual(self.run_json(*run, *of, "--batches", batches, "--state", state)["batches"], batches)
                with open(state) as file:
                    of_the_end = file.read()
                self.assertIn(" epoch=0 ", of_the_end)
                for other in (1, 2, 3):
                    went_on = self.table("other", of_the_end)
                    of = ["--world", other, "--rank", other - 1]
                    left = self.run_json(*run, *of, "--state", went_on, "--epochs", 2)
                    with open(went_on) as file:
                        self.assertIn(" epoch=2 position=0 ", file.read(), (batch, world, other))
                    if other == world:
                        self.assertEqual(left["batches"], batches, batch)

    def test_a_shuffled_choice(self):
        found = self.values("where row.value >= least order shuffled", 10)
        self.assertEqual(sorted(found), list(range(90, 100)))
        self.assertNotEqual(found, sorted(found))

    def test_a_list(self):
        self.assertEqual(self.values("order chosen", 4), [9, 3, 9, 40])
        self.assertEqual(self.values("where row.value < 40 order [7, 50, 2]", 2), [7, 2])

    def test_weights(self):
        found = self.values("order weighted(if row.value == 5 or row.value == 6 then 1.0 else 0.0)",
                            12)
        self.assertEqual(set(found), {5, 6})

    def test_what_samples_compute_too(self):
        """The block of a row, where it is chosen, has nothing of what the samples' blocks have."""
        numbers = os.path.join(self.folder, "numbers.bin")
        numpy.arange(20, dtype=numpy.int64).tofile(numbers)
        for clause, output in (("where row.value > 16", "bool[n] = row.value > 16"),
                               ("order weighted(f64(row.value / 17) * 2.0)", "f64[n] = f64(row.value / 17) * 2.0"),
                               ("where row.value * 3 > 50 order weighted(f64(row.value * 3))", "i64[n] = row.value * 3")):
            path = self.pipeline(f"""
pipeline p(numbers: path) {{
  for row in raw(value = column(numbers, i64)) {clause}
  batch 3 per rank last drop {{
    output value: i64[n] = row.value
    output again: {output}
  }}
}}""")
            out = os.path.join(self.folder, "again")
            self.run_tool("sample", path, "--set", f"numbers={numbers}", "--position", 1, "-o", out)
            self.assertIn(int(numpy.fromfile(os.path.join(out, "value.raw"), numpy.int64)[0]), (17, 18, 19))
            self.assertTrue(numpy.fromfile(os.path.join(out, "again.raw"), numpy.uint8).any())

    def test_a_choice_that_leaves_nothing(self):
        numbers = os.path.join(self.folder, "numbers.bin")
        numpy.arange(4, dtype=numpy.int64).tofile(numbers)
        path = self.pipeline("""
pipeline p(numbers: path) {
  for row in raw(value = column(numbers, i64)) where row.value > 10
  batch 1 per rank last keep { output value: i64[n] = row.value }
}""")
        done = self.run_tool("run", path, "--set", f"numbers={numbers}", expect=1)
        self.assertIn("`where` leaves none of 4 rows", done.stderr)

    def test_one_fetch_for_a_field_that_is_decoded_twice(self):
        make_folder(self.data, per_class=4)
        path = self.pipeline("""
use vision
pipeline p(root: path) {
  for row in image_folder(root)
  let colour = row.data |> decode(rgb) |> resize(8, 8)
  let gray = row.data |> decode(gray) |> resize(8, 8)
  batch 2 per rank last drop {
    output colour: u8[n, h, w, c] = colour
    output gray: u8[n, h, w, c] = gray
  }
}""")
        report = self.run_json("run", path, "--set", f"root={self.data}")
        self.assertEqual(report["samples"], 8)
        self.assertEqual(report["stages"]["fetch"]["count"], 8)
        self.assertEqual(report["stages"]["decode"]["count"], 16)


class Index(ToolTest):
    text = """pipe 1
pipeline p(root: path, kept: path) with index = %s {
  for row in image_folder(root)
  batch 4 per rank last drop { output label: i64[n] = row.label }
}"""

    def indexes(self, option, expect=0):
        make_folder(self.data, per_class=4)
        for folder, _, _ in os.walk(self.data):
            os.utime(folder, (1e9, 1e9))  # what was changed just now is not kept
        kept = os.path.join(self.folder, "kept")
        path = os.path.join(self.folder, "index.pipe")
        with open(path, "w") as file:
            file.write(self.text % option)
        done = self.run_tool("run", path, "--set", f"root={self.data}", "--set", f"kept={kept}",
                             expect=expect)
        found = [os.path.relpath(os.path.join(folder, name), self.folder)
                 for folder, _, names in os.walk(self.folder) for name in names
                 if re.fullmatch(r"image-folder-.*\.index", name)]
        return done, found

    def environment(self):
        return {**os.environ, "XDG_CACHE_HOME": os.path.join(self.folder, "cache")}

    def test_auto_keeps_it_in_the_cache(self):
        _, found = self.indexes("auto")
        self.assertEqual([os.path.dirname(path) for path in found], ["cache/penstock"])

    def test_off_keeps_none(self):
        self.assertEqual(self.indexes("off")[1], [])

    def test_a_folder_keeps_it_there(self):
        _, found = self.indexes("kept")
        self.assertEqual([os.path.dirname(path) for path in found], ["kept"])

    def test_a_folder_that_others_may_write_is_refused(self):
        os.mkdir(os.path.join(self.folder, "kept"))
        os.chmod(os.path.join(self.folder, "kept"), 0o777)
        done, found = self.indexes("kept", expect=1)
        self.assertIn("no index can be kept", done.stderr)
        self.assertEqual(found, [])


if __name__ == "__main__":
    main()
