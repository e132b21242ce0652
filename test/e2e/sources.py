# SPDX-License-Identifier: Apache-2.0
"""Tables of every kind through the tool: what rows hold, orders, ranks, resume and bad rows."""
import io
import json
import os
import re
import resource
import shutil
import subprocess
import tarfile

import numpy
from PIL import Image

from pipelines import LanguageTest
from support import jpeg_bytes, main, read_hashes


class Sources(LanguageTest):
    def put(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def pictures(self, count, folder="images"):
        """Names of small pictures; each is of one colour, its number."""
        names = []
        for i in range(count):
            names.append(f"{i % 3}/{i:03}.png")
            path = os.path.join(self.folder, folder, names[-1])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Image.new("RGB", (5, 4), (i, 2 * i, 3 * i)).save(path)
        return names

    def values(self, text, count, **paths):
        settings = [word for name, path in paths.items() for word in ("--set", f"{name}={path}")]
        return [self.sample(text, position, *settings) for position in range(count)]

    def check_life(self, text, rows, **paths):
        """Shuffled, by ranks and resumed: the same samples as in one piece."""
        whole = self.hashes(text, **paths)
        self.assertEqual(len(whole), rows)
        parts = {}
        for rank in range(2):
            parts.update(self.hashes(text, "--rank", rank, "--world", 2, **paths))
        self.assertEqual(parts, whole)
        state = os.path.join(self.folder, "state")
        first = self.hashes(text, "--batches", 1, "--state", state, **paths)
        rest = self.hashes(text, "--state", state, **paths)
        self.assertEqual({**first, **rest}, whole)
        self.assertFalse(first.keys() & rest.keys())


class Csv(Sources):
    text = """
use vision
pipeline p(list: path, root: path) {
  for row in csv(list, root, data = column("file name", bytes), label = i64, weight = f32) ORDER
  let pixels = row.data |> decode(rgb) |> center_crop(4)
  batch 2 global last keep {
    output image: u8[n, h, w, c] = pixels
    output label: i64[n] = row.label
    output weight: f32[n] = row.weight
  }
}"""

    def table(self, count=8, rows=()):
        names = self.pictures(count)
        lines = ["label,note,file name,weight"]
        lines += [f'{10 + i},"a, ""b""\n{i}",{name},{i / 4}' for i, name in enumerate(names)]
        self.list = self.put("list.csv", "\ufeff" + "\r\n".join([*lines, *rows]) + "\r\n")
        return {"list": self.list, "root": os.path.join(self.folder, "images")}

    def test_rows_have_typed_columns(self):
        paths = self.table()
        for i, found in enumerate(self.values(self.text.replace("ORDER", ""), 8, **paths)):
            self.assertEqual(found["label"], 10 + i)
            self.assertEqual(found["weight"], i / 4)
            self.assertEqual(found["image"].tolist(), [[[i, 2 * i, 3 * i]] * 4] * 4)

    def test_where_and_order(self):
        paths = self.table()
        text = self.text.replace("ORDER", "where row.weight >= 1.0 and row.label < 16")
        self.assertEqual([found["label"] for found in self.values(text, 2, **paths)], [14, 15])
        self.check_life(self.text.replace("ORDER", "order shuffled"), 8, **paths)

    def test_picked_rows(self):
        paths = self.table()
        text = """
pipeline p(list: path) {
  let table = csv(list, label = i64)
  for row in table
  let at = draw int(0 .. table.length)
  let other = pick(table, at)
  batch 2 per rank last keep {
    output own: i64[n] = row.label
    output at: i64[n] = at
    output label: i64[n] = other.label
  }
}"""
        found = self.values(text, 8, list=paths["list"])
        self.assertGreater(len({int(one["at"]) for one in found}), 2)
        for one in found:
            self.assertEqual(one["label"], one["at"] + 10)

    def test_the_number_of_a_picked_row_stays_what_it_is(self):
        """Numbers beyond the table pick its ends, whether they are drawn, a parameter's, or the length of a table."""
        found = self.values("""
pipeline p(list: path, far: i64 = 99) {
  let table = csv(list, label = i64)
  for row in table
  let at = draw int(-9 .. 20)
  batch 2 per rank last keep {
    output own: i64[n] = row.label
    output at: i64[n] = at
    output far: i64[n] = far
    output length: i64[n] = table.length
    output labels: i64[n, k] = stack([pick(table, at).label, pick(table, far).label, pick(table, table.length).label], k)
  }
}""", 8, list=self.table()["list"])
        self.assertGreater(len({int(one["at"]) for one in found}), 2)
        for one in found:
            self.assertEqual((int(one["far"]), int(one["length"])), (99, 8))
            self.assertEqual(list(one["labels"]), [10 + min(max(int(one["at"]), 0), 7), 17, 17])
        self.assertTrue(any(not 0 <= int(one["at"]) < 8 for one in found))

    def test_tables_in_any_order(self):
        """A bank of rows beside the table of `for`, declared before or after it, and its length."""
        lists = {"list": self.table()["list"], "bank": self.put("bank.csv", "label\n" + "".join(f"{70 + i}\n" for i in range(5)))}
        for lets in ("let bank = csv(bank_list, label = i64)\n  let table = csv(list, label = i64)",
                     "let table = csv(list, label = i64)\n  let bank = csv(bank_list, label = i64)"):
            text = f"""
pipeline p(list: path, bank_list: path) {{
  {lets}
  for row in table where row.label < bank.length + 20
  let at = draw int(0 .. bank.length)
  let noise = pick(bank, at)
  let other = pick(table, table.length - 1 - at)
  batch 2 per rank last keep {{
    output own: i64[n] = row.label
    output at: i64[n] = at
    output noise: i64[n] = noise.label
    output other: i64[n] = other.label
    output lengths: i64[n] = table.length * 100 + bank.length
  }}
}}"""
            found = self.values(text, 8, list=lists["list"], bank_list=lists["bank"])
            self.assertGreater(len({int(one["at"]) for one in found}), 2)
            for i, one in enumerate(found):
                self.assertEqual([int(one[name]) for name in ("own", "noise", "other", "lengths")],
                                 [10 + i, 70 + one["at"], 17 - one["at"], 805])

    def test_what_stands_before_the_rows(self):
        """Lengths and picked rows of a bank that stands before `for`, which is the table of the samples then."""
        names = self.pictures(3)
        lists = {"list": self.table()["list"], "root": os.path.join(self.folder, "images"),
                 "bank": self.put("bank.csv", "file,label\n" + "".join(f"{name},{70 + i}\n" for i, name in enumerate(names)))}
        lets = ["let many = bank.length * 10", "let drawn = pick(bank, draw int(0 .. bank.length))", "let first = pick(bank, 1)",
                "let shown = i64(decode(first.data, rgb)[h = 0, w = 0, c = 2])", "let at = drawn.index"]
        for before in range(len(lets) + 1):
            text = "\n".join(["pipeline p(list: path, bank: path, root: path) {".replace("bank:", "bank_list:"),
                              "  let bank = csv(bank_list, root, data = column(\"file\", bytes), label = i64)", *lets[:before],
                              "  for row in csv(list, label = i64) order [5, 6, 7, 0]", *lets[before:],
                              "  batch 2 per rank last keep {", "    output own: i64[n] = row.label",
                              "    output of_bank: i64[n, k] = stack([many, drawn.label, first.label, shown, at], k)", "  }", "}"])
            found = self.values(text, 4, list=lists["list"], bank_list=lists["bank"], root=lists["root"])
            self.assertEqual([int(one["own"]) for one in found], [15, 16, 17, 10])
            for one in found:
                many, drawn, first, shown, at = one["of_bank"].tolist()
                self.assertEqual([many, drawn, first, shown], [30, 70 + at, 71, 3])

    def test_rows_without_a_number(self):
        """As pandas writes them: bad samples, about which `where` may decide; lines of blanks are none."""
        rows = [(0, "1.5", "true"), (1, "", "false"), (2, "2.5", ""), (3, '""', "1"), (4, "nan", "0")]
        lists = {"csv": self.put("gaps.csv", "id,y,b\n" + "".join(f"{i},{y},{b}\n  \t\n" for i, y, b in rows)),
                 "json_lines": self.put("gaps.jsonl", "".join(json.dumps(
                     {"id": i, **({"y": None if y in ("", '""') else float(y)} if i != 1 and y != "nan" else {}), **({"b": b in ("true", "1")} if b else {})}) + "\n" for i, y, b in rows))}
        for kind, path in lists.items():
            def delivered(columns, clause, outputs):
                text = f"""
pipeline p(list: path) with on_error = substitute(100%) {{
  for row in {kind}(list, id = i64, {columns}) {clause}
  batch 2 per rank last keep {{ output id: i64[n] = row.id  {outputs} }}
}}"""
                done = self.run_tool("run", self.write(text), "--set", f"list={path}")
                bad = set(re.findall(r"bad sample: epoch 0, position \d+: [^:]*: (.*)", done.stderr))
                count = int(re.match(r"(\d+) samples", done.stdout)[1])
                return bad, [int(self.sample(text, at, "--set", f"list={path}")["id"]) for at in range(count)]
            def places(name, what, *lines):
                return {f"{path}:{line}: column `{name}` has no {what}" for line in lines}
            lines = {0: 2, 1: 4, 2: 6, 3: 8, 4: 10} if kind == "csv" else {i: i + 1 for i in range(5)}
            lacking = (1, 3) if kind == "csv" else (1, 3, 4)
            bad, ids = delivered("y = f32", "", "output y: f32[n] = row.y")
            self.assertEqual(bad, places("y", "number", *(lines[i] for i in lacking)))
            self.assertEqual(len(ids), 5)
            self.assertFalse(set(ids) & set(lacking))
            self.assertEqual(delivered("y = f32", "where isfinite(row.y)", "output y: f32[n] = row.y"), (set(), [0, 2]))
            self.assertEqual(delivered("y = f32", "where isnan(row.y)", ""), (set(), [1, 3, 4])) # which no sample reads
            bad, ids = delivered("b = bool", "where row.id > 0", "output b: bool[n] = row.b")
            self.assertEqual((bad, 2 in ids, len(ids)), (places("b", "truth value", lines[2]), False, 4))
            self.assertIn(f"column `c` has no number, nor has any other row one" if kind == "json_lines" else "there is no column `c`",
                          self.failure(f"pipeline p(list: path) {{ for row in {kind}(list, c = i64)  batch 2 {{ output c: i64[n] = row.c }} }}", list=path))

    def test_the_place_of_a_row(self):
        """Whatever the order is, and whichever rows take part; a column of that name goes first."""
        lists = {"list": self.table()["list"], "bank": self.put("bank.csv", "label,index\n" + "".join(f"{70 + i},{i * i}\n" for i in range(5)))}
        for clause in ("", "order shuffled", "where row.label % 3 != 0 order shuffled", "order [6, 2, 2, 7, 0, 1]",
                       "order weighted(f64(row.index + 1))"):
            text = f"""
pipeline p(list: path, bank_list: path) {{
  let bank = csv(bank_list, label = i64)
  let squares = csv(bank_list, index = i64)
  let table = csv(list, label = i64)
  for row in table {clause}
  let beside = pick(bank, row.index - 1)
  let drawn = pick(bank, draw int(0 .. 2) + row.index)
  batch 2 per rank last keep {{
    output own: i64[n] = row.label
    output at: i64[n] = row.index
    output beside: i64[n] = beside.label
    output beside_at: i64[n] = beside.index
    output drawn: i64[n] = drawn.label
    output drawn_at: i64[n] = drawn.index
    output square: i64[n] = pick(squares, 3).index
  }}
}}"""
            found = self.values(text, 5, list=lists["list"], bank_list=lists["bank"])
            for one in found:
                at = int(one["at"])
                self.assertEqual([int(one[name]) for name in ("own", "beside_at", "beside", "square")],
                                 [10 + at, min(max(at - 1, 0), 4), 70 + min(max(at - 1, 0), 4), 9])
                self.assertIn(int(one["drawn_at"]), (min(at, 4), min(at + 1, 4)))
                self.assertEqual(int(one["drawn"]), 70 + one["drawn_at"])

    def test_what_goes_with_a_row_is_replaced_with_it(self):
        """Two tables side by side: where either has a bad file, both take another row, the same one."""
        names = self.pictures(8)
        images, masks = os.path.join(self.folder, "images"), os.path.join(self.folder, "masks")
        shutil.copytree(images, masks)
        for folder, bad in ((images, names[2]), (masks, names[5])):
            with open(os.path.join(folder, bad), "wb") as file:
                file.write(b"no picture")
        text = """
pipeline p(list: path, images: path, masks: path) with on_error = substitute(100%) {
  let others = file_list(list, masks)
  for row in file_list(list, images) order shuffled
  let mask = pick(others, row.index)
  batch 2 per rank last keep {
    output at: i64[n] = row.index
    output image: u8[n] = decode(row.data, rgb)[h = 0, w = 0, c = 0]
    output mask: u8[n] = decode(mask.data, rgb)[h = 0, w = 0, c = 0]
    output drawn: f64[n] = draw uniform(0.0 .. 1.0) per [n]
  }
}"""
        paths = {"list": self.put("both.txt", "".join(name + "\n" for name in names)), "images": images, "masks": masks}
        found = self.values(text, 8, **paths)
        for one in found:
            self.assertEqual([int(one["image"]), int(one["mask"])], [int(one["at"])] * 2)
            self.assertNotIn(int(one["at"]), (2, 5))
        done = self.run_tool("run", self.write(text), *(word for name, path in paths.items() for word in ("--set", f"{name}={path}")))
        self.assertIn(f"{names[2]}: not an image file", done.stderr)
        self.assertIn(f"{names[5]}: not an image file", done.stderr)
        self.check_life(text, 8, **paths)

    def test_no_row_can_be_picked_from_an_empty_table(self):
        text = """
pipeline p(count: int) {
  let bank = synthetic(count, label = 0 .. 7)
  for row in synthetic(10, label = 0 .. 7)
  let other = pick(bank, draw int(0 .. bank.length))
  batch 2 per rank last keep { output label: i64[n] = row.label + other.label }
}"""
        self.assertEqual(self.failure(text, count=0),
                         "penstock: error: a row is picked from a table of `p` that has none (synthetic)\n")
        self.run_tool("run", self.write(text), "--set", "count=3")

    def test_columns_by_number(self):
        names = self.pictures(3)
        path = self.put("list.txt", "".join(f"{name} {i}\n" for i, name in enumerate(names)))
        text = """
use vision
pipeline p(list: path, root: path) {
  for row in csv(list, root, separator = " ", data = column(0, bytes), label = column(1, i64))
  let pixels = row.data |> decode(rgb) |> center_crop(2)
  batch 1 per rank last keep {
    output image: u8[n, h, w, c] = pixels
    output label: i64[n] = row.label
  }
}"""
        for i, found in enumerate(self.values(text, 3, list=path,
                                              root=os.path.join(self.folder, "images"))):
            self.assertEqual((found["label"], found["image"][0, 0, 2]), (i, 3 * i))

    def test_a_list_that_is_no_file(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        text = """
pipeline p(list: path) {
  for row in csv(list, label = i64)
  batch 1 per rank last keep { output label: i64[n] = row.label }
}"""
        for path in (pipe, "/dev/zero"):
            self.assertEqual(self.failure(text, list=path),
                             f"penstock: error: cannot open {path}: it is neither a regular file nor a folder (parameter `list`)\n")

    def test_a_list_whose_lines_end_in_carriage_returns(self):
        text = """
pipeline p(list: path) {
  for row in csv(list, label = i64)
  batch 1 per rank last keep { output label: i64[n] = row.label }
}"""
        path = self.put("list.csv", "label,name\r7,a\r8,b\r")
        self.assertEqual([int(one["label"]) for one in self.values(text, 2, list=path)], [7, 8])

    def test_parameters_of_more_than_64_bits(self):
        text = """
pipeline p(count: int = 1, m: int = 2) {
  for row in synthetic(9, label = 0 .. 3)
  batch count per rank last keep { output label: i64[n] = row.label * m }
}"""
        for number in ("99999999999999999999", "-9223372036854775809"):
            said = self.run_tool("run", self.write(text), "--set", f"m={number}", expect=1).stderr
            self.assertIn(f"error: the value `{number}` given for `m` does not fit 64 bits\n", said)

    def test_lists_of_files(self):
        names = self.pictures(3)
        path = self.put("list.txt", "\n".join(names))
        text = """
use vision
pipeline p(list: path, root: path) {
  for row in file_list(list, root)
  let pixels = row.data |> decode(rgb) |> center_crop(2)
  batch 1 per rank last keep { output image: u8[n, h, w, c] = pixels }
}"""
        for i, found in enumerate(self.values(text, 3, list=path,
                                              root=os.path.join(self.folder, "images"))):
            self.assertEqual(found["image"][0, 0, 2], 3 * i)

    def test_files_that_cannot_be_read_are_substituted(self):
        paths = self.table(rows=['1,x,none.png,0', '2,x,../list.csv,0'])
        text = self.text.replace("ORDER", "").replace("root: path)", "root: path) with on_error = substitute(50%)")
        done = self.run_tool("run", self.write(text), *[word for name, path in paths.items()
                                                        for word in ("--set", f"{name}={path}")])
        self.assertIn("none.png: cannot read", done.stderr)
        self.assertIn("../list.csv: file ../list.csv lies outside of", done.stderr)

    def test_messages_have_the_line_of_the_file(self):
        text = self.text.replace("ORDER", "")
        for row, message in (("1,x,y.png,z", ":18: column `weight`: `z` is not a number"),
                             ("1,x,y.png", ":18: 3 cells, the first row has 4")):
            self.assertIn("list.csv" + message, self.failure(text, **self.table(rows=[row])))
        self.assertIn('list.csv:1: there is no column `class`; the first line has `label`, `note`, '
                      '`file name`, `weight`',
                      self.failure(text.replace("label = i64", 'label = column("class", i64)'),
                                   **self.table()))
        self.assertIn("No such file or directory",
                      self.failure(text, list=os.path.join(self.folder, "none.csv"),
                                   root=self.folder))


class Cifar(Sources):
    text = """
use vision
pipeline p(root: path, train: bool = true) {
  for row in cifar10(root, train = train) order shuffled
  let image = row.image |> flip(w)
  batch 4 global last keep {
    output image: u8[n, h, w, c] = row.image
    output planes: u8[n, c, h, w] = image
    output label: i64[n] = row.label
  }
}"""

    def test_cifar10(self):
        rng = numpy.random.default_rng(1)
        names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
        rows = {}
        for number, name in enumerate(names):
            data = rng.integers(0, 256, (4, 3073), dtype=numpy.uint8)
            data[:, 0] = (number * 4 + numpy.arange(4)) % 10
            data[:, 1] = number * 4 + numpy.arange(4)  # the first pixel says which row it is
            rows.update({int(row[1]): row for row in data})
            self.put(f"root/{name}", data.tobytes())
        root = os.path.join(self.folder, "root")
        seen = set()
        for found in self.values(self.text, 20, root=root):
            row = rows[int(found["image"][0, 0, 0])]
            planes = row[1:].reshape(3, 32, 32)
            self.assertEqual(found["label"], row[0])
            numpy.testing.assert_array_equal(found["image"], planes.transpose(1, 2, 0))
            numpy.testing.assert_array_equal(found["planes"], planes[:, :, ::-1])
            seen.add(int(row[1]))
        self.assertEqual(seen, set(range(20)))
        self.check_life(self.text, 20, root=root)
        test = self.values(self.text, 4, root=root, train="false")
        self.assertEqual(sorted(int(found["image"][0, 0, 0]) for found in test), [20, 21, 22, 23])
        self.put("root/test_batch.bin", bytes([17]) * 3073 + bytes(3 * 3073))
        done = self.run_tool("run", self.write(self.text), "--set", f"root={root}", "--set", "train=false",
                             "--on-error", "50%")
        self.assertIn("its `label` is 17, and there are 10 classes", done.stderr)

    def test_cifar100(self):
        data = numpy.zeros((4, 3074), numpy.uint8)
        data[:, 0], data[:, 1] = 7, numpy.arange(4)
        self.put("root/cifar-100-binary/train.bin", data.tobytes())
        text = """
pipeline p(root: path) {
  for row in cifar100(root)
  batch 1 per rank last keep { output label: i64[n] = row.label output coarse: i64[n] = row.coarse }
}"""
        found = self.values(text, 4, root=os.path.join(self.folder, "root"))
        self.assertEqual([(int(one["label"]), int(one["coarse"])) for one in found],
                         [(0, 7), (1, 7), (2, 7), (3, 7)])

    def test_messages(self):
        self.put("root/test_batch.bin", b"0" * 3000)
        self.assertIn("test_batch.bin has 3000 bytes, which is no multiple of the 3073 bytes",
                      self.failure(self.text, root=os.path.join(self.folder, "root"), train="false"))
        self.assertIn("folder cifar-10-batches-bin",
                      self.failure(self.text, root=os.path.join(self.folder, "root")))


class Npy(Sources):
    text = """
pipeline p(features: path, labels: path) {
  for row in raw(x = npy(features, f32[k = 6]), label = npy(labels, i64)) order shuffled
  let twice = map (v in row.x) { v + v }
  batch 4 global last keep {
    output twice: f32[n, k] = twice
    output label: i64[n] = row.label
  }
}"""

    def arrays(self, features, labels):
        paths = {}
        for name, array in (("features", features), ("labels", labels)):
            paths[name] = os.path.join(self.folder, name + ".npy")
            numpy.save(paths[name], array)
        return paths

    def test_rows(self):
        features = numpy.random.default_rng(1).normal(size=(10, 6)).astype(numpy.float32)
        paths = self.arrays(features, numpy.arange(10))
        for found in self.values(self.text, 10, **paths):
            numpy.testing.assert_array_equal(found["twice"], 2 * features[int(found["label"])])
        self.check_life(self.text, 10, **paths)

    def test_what_stands_behind_the_array_is_left_alone(self):
        """As NumPy has it: several arrays may follow one another, and `load` reads the first."""
        paths = self.arrays(numpy.ones((10, 6), numpy.float32), numpy.arange(10))
        for path in paths.values():
            with open(path, "ab") as file:
                file.write(b"something else")
            self.assertEqual(len(numpy.load(path)), 10)
        self.assertEqual(sorted(int(found["label"]) for found in self.values(self.text, 10, **paths)),
                         list(range(10)))

    def test_what_is_not_declared_is_refused(self):
        labels = numpy.arange(10)
        for features, message in (
                (numpy.zeros((10, 6)), "features.npy holds f64[10, 6], rows first, and rows of f32[6] are expected"),
                (numpy.zeros((10, 5), numpy.float32), "features.npy holds f32[10, 5], rows first"),
                (numpy.zeros((10, 6), ">f4"), ".npy file of big-endian numbers is not read as a column"),
                (numpy.asfortranarray(numpy.zeros((10, 6), numpy.float32)),
                 ".npy file in Fortran order is not read as a column"),
                (numpy.zeros((9, 6), numpy.float32), "10 rows, but column `label` has 9"),
        ):
            stderr = self.failure(self.text, **self.arrays(features, labels))
            if "but column" in message:
                self.assertRegex(stderr, "column `.*`: .* rows, but column")
            else:
                self.assertIn(message, stderr)


class Tar(Sources):
    text = """
use vision
pipeline p(shards: path) with on_error = substitute(50%) {
  for row in tar_shards(shards, data = column("png;jpg", bytes), cls = i64) ORDER
  let pixels = row.data |> decode(rgb) |> center_crop(4)
  batch 2 global last keep {
    output image: u8[n, h, w, c] = pixels
    output label: i64[n] = row.cls
  }
}"""

    def shard(self, name, members, mode="w", form=tarfile.PAX_FORMAT, time=1e9):
        os.makedirs(os.path.join(self.folder, "shards"), exist_ok=True)
        path = os.path.join(self.folder, "shards", name)
        with tarfile.open(path, mode, format=form) as file:
            for member, data in members:
                info = tarfile.TarInfo(member)
                info.size = len(data)
                file.addfile(info, io.BytesIO(data))
        os.utime(path, (time, time))  # what was changed just now is not kept
        return os.path.join(self.folder, "shards")

    @staticmethod
    def picture(i):
        stream = io.BytesIO()
        Image.new("RGB", (5, 4), (i, 2 * i, 3 * i)).save(stream, "PNG")
        return stream.getvalue()

    def shards(self, more=()):
        forms = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
        for number, form in enumerate(forms):
            long = "long/" * (40 if number else 1)  # ustar has room for some 250 letters
            members = []
            for i in range(4 * number, 4 * number + 4):
                members += [(f"{long}{i:04}.png", self.picture(i)),
                            (f"{long}{i:04}.cls", str(100 + i).encode())]
            path = self.shard(f"{number}.tar", [*members, *(more if number == 2 else ())], form=form)
        return {"shards": path}

    def indexes(self):
        return [name for folder, _, names in os.walk(self.shared_cache) for name in names
                if name.startswith("tar-shards")]

    def test_rows(self):
        paths = self.shards()
        text = self.text.replace("ORDER", "")
        for i, found in enumerate(self.values(text, 12, **paths)):
            self.assertEqual(found["label"], 100 + i)
            self.assertEqual(found["image"].tolist(), [[[i, 2 * i, 3 * i]] * 4] * 4)
        self.assertTrue(self.indexes())
        self.check_life(self.text.replace("ORDER", "where row.cls != 103 order shuffled"), 11, **paths)

    def test_one_file_and_lists_of_files(self):
        folder = self.shards()["shards"]
        text = self.text.replace("ORDER", "")
        found = self.values(text, 1, shards=os.path.join(folder, "1.tar"))
        self.assertEqual(found[0]["label"], 104)
        listed = self.put("shards/list.txt", "2.tar\n0.tar\n")
        found = self.values(text, 5, shards=listed)
        self.assertEqual([int(one["label"]) for one in found], [108, 109, 110, 111, 100])

    def test_more_shards_than_files_may_be_open(self):
        """Those that wait are closed, and no sample is bad."""
        paths = self.shards()
        for i in range(60):
            self.shard(f"more{i}.tar", [(f"m{i}.png", self.picture(i)), (f"m{i}.cls", b"%d\n" % i)])
        path = self.put("many.pipe", "pipe 1\nuse vision\n" + self.text.replace("ORDER", "order shuffled"))
        settings = [argument for name, value in paths.items() for argument in ("--set", f"{name}={value}")]
        report = json.loads(subprocess.run(
            self.command("run", path, *settings, "--epochs", "2", "--json"), capture_output=True, text=True, check=True, env=self.environment(),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))).stdout)
        self.assertEqual((report["samples"], report["bad_samples"]), (2 * 72, []))

    def test_a_changed_shard_is_read_anew(self):
        paths = self.shards()
        text = self.text.replace("ORDER", "")
        self.assertEqual(self.values(text, 1, **paths)[0]["label"], 100)
        self.shard("0.tar", [("a.png", self.picture(9)), ("a.cls", b"55\n")], time=1e9 + 1)
        self.assertEqual([int(one["label"]) for one in self.values(text, 2, **paths)], [55, 104])

    def test_what_is_overwritten_during_a_run_is_never_delivered(self):
        rng = numpy.random.default_rng(7)
        versions = []
        for version in range(2):
            members = []
            for i in range(12):
                stream = io.BytesIO()
                Image.fromarray(rng.integers(0, 256, (5, 4, 3), dtype=numpy.uint8)).save(stream, "BMP")
                members += [(f"{i:04}.bmp", stream.getvalue()), (f"{i:04}.cls", str(i).encode())]
            shards = self.shard("0.tar", members)
            with open(os.path.join(shards, "0.tar"), "rb") as file:
                versions.append(file.read())
        path = os.path.join(shards, "0.tar")
        text = self.text.replace("ORDER", "").replace("png;jpg", "bmp").replace("50%", "100%")
        clean = set(self.hashes(text, shards=shards).values())
        hashes = os.path.join(self.folder, "overwritten")
        with subprocess.Popen(self.command("run", self.write(text), "--set", f"shards={shards}", "--hashes", hashes,
                                           "--epochs", 20000), env=self.environment(), text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            while not os.path.exists(hashes) or not os.path.getsize(hashes):
                self.assertIsNone(run.poll())
            with open(path, "r+b") as file:  # in place: pictures that decode as well
                file.write(versions[0])
            messages = run.communicate(timeout=300)[1]
        self.assertEqual(len(versions[0]), len(versions[1]))
        self.assertLessEqual(set(read_hashes(hashes).values()), clean)
        self.assertIn("the file was changed while it was read", messages)

    def test_bad_members_are_bad_samples(self):
        paths = self.shards([("x.png", b"nothing"), ("x.cls", b"1"), ("y.png", self.picture(1)),
                             ("z.png", self.picture(1)), ("z.cls", b"cat")])
        done = self.run_tool("run", self.write(self.text.replace("ORDER", "")), "--set",
                             f"shards={paths['shards']}")
        for message in ("2.tar:x: not an image file", "2.tar:y: there is no member .cls",
                        "2.tar:z: member .cls: `cat` is not a whole number"):
            self.assertIn(message, done.stderr)

    def test_messages(self):
        text = self.text.replace("ORDER", "")
        folder = self.shard("0.tar", [("a.png", self.picture(1))])
        self.assertIn("column `cls`: no row has a member .cls; there are .png",
                      self.failure(text, shards=folder))
        with open(os.path.join(folder, "0.tar"), "r+b") as file:
            file.truncate(560)
        self.assertIn("0.tar: truncated tar file: `a.png` has", self.failure(text, shards=folder))
        os.remove(os.path.join(folder, "0.tar"))
        self.shard("1.tar", [("a.png", self.picture(1))], mode="w:gz")
        self.assertIn("1.tar: tar files compressed with gzip are not read",
                      self.failure(text, shards=folder))
        self.refused("pipeline p(s: path) {\n  for row in tar_shards(s, label = column(1, i64))\n"
                     "  batch 1 per rank last keep { output label: i64[n] = row.label }\n}",
                     "a column of `tar_shards` is named in quotes", "^")


class JsonLines(Sources):
    text = """pipeline p(list: path, root: path) with on_error = fail {
  let table = json_lines(list, root, data = column("the file", bytes), weight = f32, ids = i32[k = 0 ..= 5],
                         boxes = f32[b = 0 ..= 4, box = xyxy], ok = bool, words = text)
  for row in table where row.weight > 0.0
  let last = pick(table, table.length - 1)
  batch 1 per rank last keep {
    output weight: f32[n] = row.weight
    output ids: i32[n, k <= 5] ragged = row.ids
    output boxes: f32[n, b <= 4, box] pad -1 = row.boxes
    output ok: bool[n] = row.ok
    output length: i64[n] = table.length
    output last: f32[n] = last.weight
    output file: u8[n, byte <= 99] ragged = row.data |> decode(u8[byte])
  }
}"""

    def rows(self, rows):
        os.makedirs(self.data, exist_ok=True)
        for i in range(3):
            with open(os.path.join(self.data, f"é{i}.bin"), "wb") as file:
                file.write(bytes(range(10 * i + 1)))
        path = os.path.join(self.folder, "rows.jsonl")
        with open(path, "w") as file:
            file.writelines((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        return ["--set", f"list={path}", "--set", f"root={self.data}"]

    def test_texts_numbers_lists_and_files(self):
        rows = [{"the file": f"é{i}.bin", "weight": i / 4, "ids": list(range(i)), "ok": i == 1, "words": "\n\u2028",
                 "boxes": [[j, 1.5, -2, 1e3] for j in range(i)], "unread": {"a": [None, {}]}} for i in range(3)]
        settings = self.rows(rows)
        for position, row in enumerate(rows[1:]):  # the first is left out by `where`
            found = self.sample(self.text, position, *settings)
            self.assertEqual(found["weight"], row["weight"])
            self.assertEqual(found["ids"].tolist(), row["ids"])
            self.assertEqual(found["boxes"].tolist(), row["boxes"] + (4 - len(row["boxes"])) * [[-1] * 4])
            self.assertEqual((found["ok"], found["length"], found["last"]), (row["ok"], 3, 0.5))
            self.assertEqual(found["file"].tolist(), list(range(10 * (position + 1) + 1)))

    def test_what_is_wrong_is_told_with_its_line(self):
        good = {"the file": "é0.bin", "weight": 1, "ids": [], "ok": True, "words": "", "boxes": []}
        for row, message in (("{", "rows.jsonl:2: no JSON: a text stands in double quotes, and this line, which is to be one object, ends"),
                             ({**good, "weight": "1"}, "rows.jsonl:2: column `weight`: `\"1\"` is not a number"),
                             ({**good, "ids": [1.5]}, "rows.jsonl:2: column `ids`: `1.5` is not a whole number"),
                             ({**good, "ids": [0] * 6}, "rows.jsonl:2: column `ids` has 6 elements along axis 0, at most 5 are declared"),
                             ({**good, "boxes": [[1, 2, 3]]}, "rows.jsonl:2: column `boxes` has 3 elements along axis 1, 4 are declared")):
            path = self.write(self.text)
            done = self.run_tool("run", path, *self.rows([good, row]), expect=1)
            self.assertIn(message, done.stderr)
        done = self.run_tool("run", self.write(self.text), *self.rows([good, {**good, "the file": "none.bin"}]), expect=1)
        self.assertIn("bad sample at position 1: none.bin", done.stderr)

    def test_lists_in_csv(self):
        path = os.path.join(self.folder, "rows.csv")
        with open(path, "w") as file:
            file.write('ids,pairs\n1 2 3,"[[1, 2], [3, 4]]"\n"[7]",[]\n')
        text = """pipeline p(list: path) {
  for row in csv(list, ids = i64[k = 0 ..= 4], pairs = f32[p = 0 ..= 3, q = 2])
  batch 1 per rank last keep {
    output ids: i64[n, k <= 4] ragged = row.ids
    output pairs: f32[n, p <= 3, q] pad 0 = row.pairs
  }
}"""
        for position, (ids, pairs) in enumerate((([1, 2, 3], [[1, 2], [3, 4], [0, 0]]), ([7], [[0, 0]] * 3))):
            found = self.sample(text, position, "--set", f"list={path}")
            self.assertEqual((found["ids"].tolist(), found["pairs"].tolist()), (ids, pairs))


class Classes(Sources):
    """Columns of names, which are numbers in a batch."""
    NAMES = ["cat", "d\u00f6g", "bird"]

    def table(self, kind, names):
        if kind == "csv":
            return self.put("names.csv", "id,kind\n" + "".join(f'{i},"{name}"\n' if i % 2 else f"{i}, {name} \n" for i, name in enumerate(names)))
        if kind == "json_lines":
            return self.put("names.jsonl", "".join(json.dumps({"id": i, "kind": name or None}) + "\n" for i, name in enumerate(names)))
        path = os.path.join(self.folder, "names.tar")
        with tarfile.open(path, "w") as file:
            for i, name in enumerate(names):
                for member, data in ((f"{i:04}.id", str(i)), (f"{i:04}.kind", name + "\n")):
                    info = tarfile.TarInfo(member)
                    info.size = len(data.encode())
                    file.addfile(info, io.BytesIO(data.encode()))
        os.utime(path, (1e9, 1e9))
        return path

    def text(self, kind, classes, clause=""):
        return f"""
pipeline p(list: path, names: path) with on_error = substitute(50%) {{
  for row in {kind}(list, id = i64, label = column("kind", {classes})) {clause}
  batch 2 per rank last keep {{ output id: i64[n] = row.id  output label: i64[n] = row.label  output file: i64[n] = 0 }}
}}"""

    def test_names_are_numbers(self):
        written = "classes(" + ", ".join(f'"{name}"' for name in self.NAMES) + ")"
        given = self.put("classes.txt", "\ufeff" + "\r\n".join([*self.NAMES, "", "fish"]))
        wanted = [1, 0, 2, 2, 1]
        for kind in ("csv", "json_lines", "tar_shards"):
            path = self.table(kind, [self.NAMES[i] for i in wanted])
            for classes in (written, "classes(names)"):
                with self.subTest(kind=kind, classes=classes):
                    found = self.values(self.text(kind, classes), 5, list=path, names=given)
                    self.assertEqual([int(row["label"]) for row in found], wanted)
                    kept = self.values(self.text(kind, classes, "where row.label == 2"), 2, list=path, names=given)
                    self.assertEqual([int(row["id"]) for row in kept], [2, 3])
            bundle = os.path.join(self.folder, "names.pstk")
            self.run_tool("compile", self.write(self.text(kind, written)), "-o", bundle)
            hashes = self.hashes(self.text(kind, written), list=path, names=given)
            out = os.path.join(self.folder, f"{kind}-hashes")
            self.run_tool("run", bundle, "--set", f"list={path}", "--set", f"names={given}", "--hashes", out)
            self.assertEqual(read_hashes(out), hashes)

    def test_what_is_no_class(self):
        none = self.put("none.txt", "\n\n")
        twice = self.put("twice.txt", "cat\ncat\n")
        for kind, line in (("csv", 4), ("json_lines", 3)):
            path = self.table(kind, ["cat", "bird", "cow", "cat"])
            said = self.failure(self.text(kind, 'classes("cat", "bird")'), list=path, names=none)
            self.assertIn(f"{path}:{line}: column `label`: `cow` is none of the classes `cat` and `bird`", said)
            self.assertIn("none.txt: there are no classes", self.failure(self.text(kind, "classes(names)"), list=path, names=none))
            self.assertIn("twice.txt: there are two classes `cat`", self.failure(self.text(kind, "classes(names)"), list=path, names=twice))
            self.assertIn("missing.txt", self.failure(self.text(kind, "classes(names)"), list=path, names=os.path.join(self.folder, "missing.txt")))
            path = self.table(kind, ["cat", "", "bird", "cat"])
            done = self.run_tool("run", self.write(self.text(kind, 'classes("cat", "bird")')), "--set", f"list={path}", "--set", f"names={none}")
            self.assertIn(f"{path}:{line - 1}: column `label` has no class", done.stderr)
        path = self.table("tar_shards", ["cat", "cow", "bird", "cat"])
        done = self.run_tool("run", self.write(self.text("tar_shards", 'classes("cat", "bird")')), "--set", f"list={path}", "--set", f"names={none}")
        self.assertIn("`cow` is none of the classes `cat` and `bird`", done.stderr.replace("\n", ""))


class LeastExtents(Sources):
    """An extent that is a range has a lower end, too."""

    TEXT = """pipeline p(list: path) {
  for row in %s order sequential
  batch 1 per rank last keep { output x: i64[n, k <= 5] ragged = row.x }
}"""

    def test_synthetic_rows_have_at_least_as_many(self):
        text = """pipeline p() {
  for row in synthetic(200, x = f32[k = %s]) order sequential
  batch 200 { output k: i64[n] = extent(row.x, k) }
}"""
        for extents, allowed in (("3 ..= 5", {3, 4, 5}), ("3 .. 5", {3, 4}), ("4 ..= 4", {4}), ("0 ..= 2", {0, 1, 2})):
            self.assertEqual({int(self.sample(text % extents, at)["k"]) for at in range(16)}, allowed, extents)

    def test_rows_with_fewer_are_bad_samples(self):
        csv, lines = (os.path.join(self.folder, name) for name in ("rows.csv", "rows.jsonl"))
        with open(csv, "w") as file:
            file.write("x\n1 2 3\n1\n")
        with open(lines, "w") as file:
            file.write('{"x": [1, 2, 3]}\n{"x": [1]}\n')
        for source, path in (("csv", csv), ("json_lines", lines)):
            for least, status in ((1, 0), (2, 1)):
                text = self.TEXT % f"{source}(list, x = i64[k = {least} ..= 5])"
                done = self.run_tool("run", self.write(text), "--set", f"list={path}", "--on-error", "fail", expect=status)
            self.assertIn("has 1 elements along axis 0, at least 2 are declared", done.stderr)

    def test_rows_with_fewer_or_more_are_told_with_their_line_and_replaced(self):
        rows = [[1, 2, 3], [1], [4, 5, 6, 7, 8, 9], [6, 7]]
        csv, lines = (os.path.join(self.folder, name) for name in ("rows.csv", "rows.jsonl"))
        with open(csv, "w") as file:
            file.write("x,y\n\n" + "".join(" ".join(map(str, row)) + f",{len(row)}\n" for row in rows))
        with open(lines, "w") as file:
            file.write("\n\n" + "".join(json.dumps({"x": row, "y": len(row)}) + "\n" for row in rows))
        for source, path in (("csv", csv), ("json_lines", lines)):
            for where in ("", "where row.y > 0 ", "where extent(row.x, k) > 2 "):
                text = self.TEXT.replace("order", where + "order") % f"{source}(list, x = i64[k = 2 ..= 5], y = i64)"
                text = text.replace("p(list: path)", "p(list: path) with on_error = substitute(90%)")
                done = self.run_tool("run", self.write(text), "--set", f"list={path}")
                for line, what in ((4, "1 elements along axis 0, at least 2"), (5, "6 elements along axis 0, at most 5")):
                    self.assertIn(f"{path}:{line}: column `x` has {what} are declared", done.stdout + done.stderr, (source, where))
                self.assertIn("2 bad samples", done.stdout + done.stderr)


class Mistakes(Sources):
    """Faults of a source are reported when checking, at the user's line."""

    def pipeline(self, source):
        return f"""
pipeline p(list: path, root: path) {{
  for row in {source}
  batch 1 per rank last keep {{ output label: i64[n] = row.label }}
}}"""

    def test_sources(self):
        for source, message, mark in (
                ("csv(label = i64)", "`csv` takes its file first, then a folder, then named columns", "csv"),
                ("csv(list, root, label = column(1, i64), x = f32)",
                 "this column goes by number, and another one by name", "label = column(1, i64)"),
                ("csv(list, root, label = f16)",
                 "a column of `csv` is `bytes`, `text`, `bool`, an integer type, `f32`, `f64` or `classes(..)`, or a list such as `f32[k = 0 ..= 100]`", "f16"),
                ("json_lines(label = i64)", "`json_lines` takes its file first, then a folder, then named columns", "json_lines"),
                ("json_lines(list, label = f16[k = 3])",
                 "a column of `json_lines` is `bytes`, `text`, `bool`, an integer type, `f32`, `f64` or `classes(..)`, or a list such as", "f16[k = 3]"),
                ("json_lines(list, label = column(3, i64))", "a column of `json_lines` is named in quotes", "3"),
                ("json_lines(list, label = i64[k])", "axis `k` of a column needs an extent", "k"),
                ("tar_shards(list, label = i64[k = 3])",
                 "a column of `tar_shards` is `bytes`, `text`, `bool`, an integer type, `f32`, `f64` or `classes(..)`", "i64[k = 3]"),
                ("csv(list, root, label = column(root, i64))",
                 "a column of `csv` is named in quotes, or by its number from 0", "root"),
                ('csv(list, root, separator = "ab", label = i64)',
                 "a separator is one character in quotes", '"ab"'),
                ("file_list(list, root, 3)", "`file_list` takes the list and the folder of its files", "file_list"),
                ("audio_folder()", "`audio_folder` takes one argument, its root", "audio_folder"),
                ("cifar10(root, list)", "`cifar10` takes the folder of its files, and `train`", "cifar10"),
                ("cifar10(root, train = 3)", "`train`", "3"),
                ("raw(label = npy(list))", "`raw` takes named columns", "label = npy(list)"),
        ):
            with self.subTest(source):
                stderr = self.refused(self.pipeline(source), ":4:", message)
                self.assertIn("^" + "~" * (len(mark) - 1), stderr)


if __name__ == "__main__":
    main()
