# SPDX-License-Identifier: Apache-2.0
"""`penstock.from_dataset`: data sets of Python's, and Hugging Face's Arrow tables, as rows of `external_source`."""
import io
import os
import pathlib
import socket
import sys
import tempfile
import threading
import time
import types
import unittest
import wave
from unittest import mock

import numpy
import penstock
from PIL import Image

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from store import Store

# Not in Debian 12: scripts/setup fetches its wheel.
sys.path.append(os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "penstock", "pyarrow"))
try:
    import pyarrow
except ImportError:
    pyarrow = None

ROWS = 24
IMAGES = """pipe 1
use vision
pipeline images() {
  for row in external_source(data = bytes, label = i64) order shuffled
  batch 4 per rank last keep {
    output image: u8[n, h, w, c] = row.data |> decode(rgb) |> crop(0, 0, 10, 12)
    output label: i64[n] = row.label
  }
}
"""
ARRAYS = """pipe 1
pipeline arrays() {
  for row in external_source(x = f32[h = 4, w = 3], boxes = i16[k = 0 ..= 3, q = 4], weight = f32)
  batch 4 per rank last keep {
    output x: f32[n, h, w] = row.x
    output boxes: i16[n, k <= 3, q] ragged = row.boxes
    output weight: f32[n] = row.weight
  }
}
"""


def pixels(row):
    return (numpy.arange(10 * 12 * 3) * (row + 1) % 251).astype(numpy.uint8).reshape(10, 12, 3)


def png(row):
    out = io.BytesIO()
    Image.fromarray(pixels(row)).save(out, "png")
    return out.getvalue()


class Rows:
    """Items made by a function."""

    def __init__(self, make, length=ROWS):
        self.make, self.length = make, length

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        return self.make(row)


def load(ds, text=IMAGES, **options):
    return penstock.load(text, dataset=ds, cache="", **options)


class Datasets(unittest.TestCase):
    def check_images(self, ds, **options):
        with load(ds, **options) as loader:
            seen = []
            for image, label in loader:
                for found, row in zip(numpy.asarray(image), numpy.asarray(label)):
                    self.assertTrue((found == pixels(row)).all(), row)
                    seen.append(int(row))
            self.assertEqual(loader.bad_samples(), [])
        self.assertEqual(sorted(seen), list(range(ROWS)))

    def test_every_form_of_an_image(self):
        import torch
        with tempfile.TemporaryDirectory() as folder:
            def path(row):
                (file := pathlib.Path(folder, f"{row}.png")).write_bytes(png(row))
                return file
            files = [path(row) for row in range(ROWS)]
            forms = [png, lambda row: bytearray(png(row)), lambda row: memoryview(png(row)), lambda row: files[row],
                     lambda row: str(files[row]), lambda row: Image.fromarray(pixels(row)), pixels,
                     lambda row: pixels(row)[::-1][::-1], lambda row: numpy.asfortranarray(pixels(row)),
                     lambda row: Image.fromarray(pixels(row)).convert("RGBA"),
                     lambda row: torch.from_numpy(pixels(row)).permute(2, 0, 1), lambda row: torch.from_numpy(pixels(row))]
            for form in forms:
                self.check_images(penstock.from_dataset(Rows(lambda row: (form(row), row))))

    def test_gray_images_have_three_equal_channels(self):
        gray = pixels(1)[:, :, 0]
        for form in (gray, gray[:, :, None], Image.fromarray(gray)):
            with load(Rows(lambda row: (form, row))) as loader:
                image, _ = next(iter(loader))
                self.assertTrue((numpy.asarray(image)[0] == gray[:, :, None]).all())

    def test_tuples_mappings_and_names(self):
        self.check_images(Rows(lambda row: (png(row), numpy.int32(row), "not asked for")))
        self.check_images(Rows(lambda row: {"data": png(row), "label": row, "extra": None}))
        self.check_images(penstock.from_dataset(Rows(lambda row: {"img": png(row), "y": row}), {"data": "img", "label": "y"}))
        self.check_images(penstock.from_dataset(Rows(lambda row: (row, png(row))), ("label", "data")))
        self.check_images(penstock.from_dataset(Rows(lambda row: (row, png(row))), {"label": 0, "data": 1}))

    def test_sound_as_bytes_and_as_files(self):
        """Bytes are decoded where they lie, files are read in parts: the same samples."""
        text = """pipe 1
pipeline sounds() {
  for row in external_source(data = bytes, label = i64) order sequential
  let sound = row.data |> decode(mono)
  batch 1 per rank last keep {
    output part: f32[n, t] = sound[t = 30000 .. 30500]
    output label: i64[n] = row.label
  }
}
"""
        values = numpy.random.default_rng(1).integers(-9999, 9999, 60000, dtype=numpy.int16)
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, f"{i}.wav") for i in range(4)]
            for file in files:
                with wave.open(str(file), "wb") as sound:
                    sound.setparams((1, 2, 16000, 0, "NONE", ""))
                    sound.writeframes(values.tobytes())
            for form in (lambda row: files[row].read_bytes(), lambda row: files[row]):
                with load(penstock.from_dataset(Rows(lambda row: (form(row), row), len(files))), text) as loader:
                    found = [(int(numpy.asarray(label)[0]), numpy.asarray(part)[0].copy()) for part, label in loader]
                    self.assertEqual(loader.bad_samples(), [])
                self.assertEqual([label for label, _ in found], [0, 1, 2, 3])
                for _, part in found:
                    numpy.testing.assert_array_equal(part, values[30000:30500] / numpy.float32(32768))

    def test_arrays_and_numbers(self):
        import torch
        def item(row):
            x = numpy.arange(12, dtype=numpy.float32).reshape(3, 4).T + row # Fortran order
            return {"x": torch.from_numpy(x) if row % 2 else x, "boxes": numpy.full((row % 4, 4), row, numpy.int16),
                    "weight": torch.tensor(row / 2) if row % 2 else row}
        with load(Rows(item), ARRAYS) as loader:
            for batch in loader:
                for slot, row in enumerate(batch.rows):
                    self.assertTrue((numpy.asarray(batch["x"])[slot] == numpy.asarray(item(row)["x"])).all())
                    at = numpy.asarray(batch["boxes"].offsets)[slot:slot + 2]
                    self.assertTrue((numpy.asarray(batch["boxes"])[at[0]:at[1]] == numpy.full((row % 4, 4), row)).all())
                    self.assertEqual(at[1] - at[0], row % 4)
                    self.assertEqual(numpy.asarray(batch["weight"])[slot], row / 2 if row % 2 else row)

    def test_bf16_of_other_libraries(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        values = numpy.arange(8).reshape(4, 2).astype(ml_dtypes.bfloat16) / 4
        text = """pipe 1
pipeline p(x: path) {
  for row in raw(x = column(x, bf16[k = 2])) order sequential
  batch 4 per rank last keep { output x: f32[n, k] = map (one in row.x) { f32(one) } }
}
"""
        rows = text.replace("(x: path)", "()").replace("raw(x = column(x, bf16[k = 2]))", "external_source(x = bf16[k = 2])")
        for one, options in ((text, {"columns": {"x": values}}), (rows, {"dataset": penstock.from_dataset(list(values), "x")})):
            with penstock.load(one, **options) as loader:
                self.assertEqual(numpy.asarray(next(iter(loader))["x"]).tolist(), values.astype(numpy.float32).tolist())
                self.assertEqual(loader.bad_samples(), [])

    def test_what_goes_wrong_is_a_bad_sample(self):
        def raises(row):
            raise KeyError("gone")
        def tells_much(row):
            raise ValueError("x" * 10 ** 6)
        wrong = {f"ValueError: {'x' * 988} ... (dataset.py:": tells_much, "KeyError: 'gone' (dataset.py:": raises, "ValueError: 1 values for the columns data, label": lambda row: (b"",),
                 "TypeError: an image is bytes, a path, an image of Pillow's, or u8 pixels, not f32 of [10, 12, 3]":
                     lambda row: (pixels(row).astype(numpy.float32), row),
                 "TypeError: an image of mode F has no 8-bit pixels": lambda row: (Image.new("F", (12, 10)), row),
                 "TypeError: a number is expected in column `label`, not str": lambda row: (png(row), "three"),
                 "the caller gave nothing for column `label`": lambda row: {"data": png(row)},
                 "the caller gave nothing for column `data`, and gave `image`, `name`": lambda row: {"image": png(row), "label": row, "name": "x"},
                 "column `label` is i64, and the caller gave 9223372036854775808": lambda row: (png(row), 2 ** 63),
                 "column `label` is i64, and the caller gave the float 0.5": lambda row: (png(row), 0.5),
                 "TypeError: a masked array, of which elements are missing; hint: `array.filled(value)`": lambda row: (png(row), numpy.ma.masked),
                 "not an image file": lambda row: (b"no image at all", row)}
        for reason, make in wrong.items():
            with load(Rows(lambda row: make(row) if row == 5 else (png(row), row))) as loader:
                self.assertEqual(sum(len(batch.rows) for batch in loader), ROWS)
                bad, = [sample for sample in loader.bad_samples() if sample.epoch == 0]
                self.assertEqual((bad.row, bad.reason[:len(reason)]), (5, reason))
            with load(Rows(lambda row: make(row) if row == 5 else (png(row), row)), on_error="fail") as loader:
                with self.assertRaises(penstock.SessionError):
                    list(loader)

    def test_lists_take_the_type_of_their_column(self):
        """Numbers of a list are converted as single ones are; what has no elements has no type."""
        text = """pipe 1
pipeline lists() with on_error = substitute(100%) {
  for row in external_source(x = TYPE[k = 0 ..= 3], y = f32[k = 0 ..= 3, q = 2], z = TYPE)
  batch 4 per rank last keep { output x: TYPE[n, k <= 3] ragged = row.x  output y: f32[n, k <= 3, q] ragged = row.y  output z: TYPE[n] = row.z }
}
"""
        kinds = {"u8": ([0, 255], [256, -1, 0.5, 1e300]), "i16": ([-32768, True], [32768, 0.5, 10 ** 30]), "i64": ([2 ** 63 - 1, -2 ** 63], [2 ** 63, 0.5, "a", None]),
                 "f16": ([0.5, 2, True, float("inf")], [70000, 70000.0, -65520.0]), "bf16": ([0.5, 2, 3e38], [1e39]),
                 "f32": ([0.5, 1e-50, 3e38, float("-inf"), 10 ** 20, 2 ** 63], [1e39, -3.5e38, "a", [1]]), "f64": ([1e300, 2, 10 ** 20], ["a", None, 10 ** 400]), "bool": ([True, 0, 1], [2, 0.5])}
        for kind, (good, bad) in kinds.items():
            items = [([value], [[value, 1]] if kind == "f32" else [], value) for value in good]
            items += [([], [], good[0]), ((), numpy.zeros((0, 2)), good[0]), (numpy.array([]), numpy.zeros((0, 0), numpy.int8), good[0]), (good[:2] * 1, [], good[0])]
            wrong = [([value], [], good[0]) for value in bad] + [([], [[1, 2, 3]], good[0]), ([1] * 4, [], good[0]), ([[1], [2, 3]], [], good[0]),
                     ([], [[[]]], good[0]), (numpy.ma.array([1, 0], mask=[0, 1]), [], good[0]), ([], numpy.zeros((0, 3)), good[0])]
            wrong += [([], [], value) for value in bad]
            with load(penstock.from_dataset([dict(zip("xyz", item)) for item in items + wrong]), text.replace("TYPE", kind)) as loader:
                self.assertEqual(len(list(loader)), (len(items + wrong) + 3) // 4)
                self.assertEqual({sample.row for sample in loader.bad_samples() if sample.epoch == 0}, set(range(len(items), len(items) + len(wrong))), kind)
            with load(penstock.from_dataset([dict(zip("xyz", item)) for item in items]), text.replace("TYPE", kind)) as loader:
                for number, batch in enumerate(loader):
                    for slot, (x, y, z) in enumerate(items[4 * number:4 * number + 4]):
                        if kind == "bf16": # no type of NumPy's
                            continue
                        at = numpy.asarray(batch["x"].offsets)[slot:slot + 2]
                        dtype = numpy.asarray(batch["x"]).dtype
                        numpy.testing.assert_array_equal(numpy.asarray(batch["x"])[at[0]:at[1]], numpy.array(list(x), dtype))
                        numpy.testing.assert_array_equal(numpy.asarray(batch["z"])[slot], numpy.array(z, dtype))
                        at = numpy.asarray(batch["y"].offsets)[slot:slot + 2]
                        self.assertEqual(at[1] - at[0], len(y))
                self.assertEqual(loader.bad_samples(), [])

    def test_rows_in_the_place_of_data_sets(self):
        for rows, item in (([(1, 2), (3, 4)], r"\(1, 2\)"), ([1, 2], "1"), (["a.png"], "'a.png'"), ((pathlib.Path("a"), 1), r"PosixPath\('a'\)")):
            with self.assertRaisesRegex(TypeError, f"and this has {item} in it; hint: rows are one data set, `dataset=penstock.from_dataset"):
                load(rows)

    def test_numbers_that_are_masked(self):
        text = """pipe 1
pipeline p() with on_error = substitute(100%) {
  for row in external_source(x = f32, y = f32[k = 2, q = 1]) order sequential
  batch 9 per rank last keep { output x: f32[n] = row.x  output y: f32[n, k, q] = row.y }
}
"""
        some = numpy.ma.array([1.0, 2.0], numpy.float32, mask=[False, True])
        rows = [(some[0], some[:1].reshape(1, 1).repeat(2, 0)), (some[1], [[1.0], [2.0]]), (1.0, some.reshape(2, 1)), (1.0, [[1.0], [some[1]]]), (1.0, [some[:1], some[1:]]),
                (1.0, [some[:1], [2]])]
        rows += [(1.0, [[1.0], [2.0]])] * 20
        with penstock.load(text, dataset=penstock.from_dataset(rows, ("x", "y"))) as loader:
            self.assertEqual(sum(len(batch.rows) for batch in loader), len(rows))
            bad = loader.bad_samples()
            self.assertEqual({sample.row for sample in bad}, {1, 2, 3, 4})
            for sample in bad:
                self.assertRegex(sample.reason, "^TypeError: a masked array, of which elements are missing; hint: `array.filled")

    def test_what_is_no_data_set(self):
        class Frame:
            iloc = to_dict = None
        class Splits(dict):
            num_rows = {}
        for ds, hint in ((Frame(), "to_dict"), ({"x": numpy.zeros(3)}, "columns="), (Splits(test=[1]), r"ds\['test'\]"), (iter([1]), "list"), (3, "builtins.int")):
            with self.assertRaisesRegex(TypeError, hint):
                penstock.from_dataset(ds)

    def test_rows_that_are_a_list_of_mappings(self):
        """As to_dict("records") and to_pylist() give them: one data set, not one for each."""
        text = """pipe 1
pipeline p() {
  for row in external_source(a = i64)
  batch 2 per rank last keep { output a: i64[n] = row.a }
}
"""
        for rows in [{"a": 1}, {"a": 5}, {"a": 2}], ({"a": 1}, {"a": 5}, {"a": 2}):
            with penstock.load(text, dataset=rows) as loader:
                self.assertEqual([number for batch in loader for number in numpy.asarray(batch["a"])], [1, 5, 2])

    def test_an_image_of_pillows_as_an_array(self):
        text = IMAGES.replace("data = bytes", "data = u8[h = 10, w = 12, c = 3]").replace("row.data |> decode(rgb) |> crop(0, 0, 10, 12)", "row.data")
        with load(Rows(lambda row: (Image.fromarray(pixels(row)), row)), text) as loader:
            for image, label in loader:
                for found, row in zip(numpy.asarray(image), numpy.asarray(label)):
                    self.assertTrue((found == pixels(row)).all())
            self.assertEqual(loader.bad_samples(), [])

    def test_one_call_at_a_time_unless_more_are_fine(self):
        def watch(any_thread):
            inside, most = [0], [0]
            lock = threading.Lock()
            def item(row):
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                until = time.monotonic() + 10
                while any_thread and most[0] < 2 and time.monotonic() < until:
                    time.sleep(0.001)
                time.sleep(0.001)
                with lock:
                    inside[0] -= 1
                return png(row), row
            self.check_images(penstock.from_dataset(Rows(item), any_thread=any_thread))
            return most[0]
        self.assertEqual(watch(False), 1)
        self.assertGreaterEqual(watch(True), 2)

    def test_state_sampler_and_leaving_early(self):
        ds = Rows(lambda row: (png(row), row))
        with load(ds) as loader:
            batches = [batch.rows for batch in loader]
        with load(ds) as loader:
            for batch, _ in zip(loader, range(2)):
                pass
            state = loader.state_dict()
        with load(ds) as loader:
            loader.load_state_dict(state)
            rest = [batch.rows for batch in loader]
        self.assertEqual([list(rows) for rows in rest], [list(rows) for rows in batches[len(batches) - len(rest):]])
        self.assertIn(len(rest), (3, 4))
        with load(ds, rows=lambda epoch: [[3, 3], [1]]) as loader:
            self.assertEqual([list(batch.rows) for batch in loader], [[3, 3], [1]])
            for _ in range(3): # left while rows are read
                next(iter(loader))

    def test_closing_does_not_wait_for_a_server_that_rows_name(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/0.jpg"
            loader = load(penstock.from_dataset([{"data": url, "label": 0}] * 4))
            waiting = threading.Thread(target=lambda: self.assertRaises(penstock.CancelledError, next, iter(loader)))
            waiting.start()
            silent.accept()  # it asks, and nobody answers
            begin = time.monotonic()
            loader.close()
            waiting.join()
            self.assertLess(time.monotonic() - begin, 5)

    def test_files_that_rows_name_are_kept_on_a_disk(self):
        store = Store({f"/{i}.jpg": png(i) for i in range(ROWS)})
        self.addCleanup(store.close)
        rows = [{"data": store.url(f"/{i}.jpg"), "label": i} for i in range(ROWS)]
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(folder, "kept")
            images = []
            for _ in range(2):
                store.log.clear()
                with load(penstock.from_dataset(rows), remote_cache=kept, remote_cache_bytes=1 << 30) as loader:
                    images.append([numpy.array(batch["image"]) for batch in loader])
            self.assertTrue(all((one == two).all() for one, two in zip(*images)))
            self.assertEqual({(first, last) for _, first, last in store.log}, {(0, 0)})  # a byte says whether it is the same
            os.chmod(kept, 0o777)
            with self.assertRaisesRegex(penstock.SessionError, "others may write to it"):
                load(penstock.from_dataset(rows), remote_cache=kept)
        with self.assertRaisesRegex(ValueError, "remote_cache_bytes is -1"):
            load(penstock.from_dataset(rows), remote_cache_bytes=-1)

    def test_tables_must_fit(self):
        with self.assertRaisesRegex(penstock.SessionError, "external_source: its rows come from the program"):
            load(None)
        with self.assertRaisesRegex(penstock.SessionError, "2 tables of rows are given, and `images` has 1"):
            load([Rows(png), Rows(png)])


def arrow_dataset(table, indices=None):
    """A table with the attributes of `datasets.Dataset` that its readers use."""
    return types.SimpleNamespace(
        data=types.SimpleNamespace(table=table), features=dict(zip(table.schema.names, table.schema.types)), format={"type": None},
        _indices=None if indices is None else pyarrow.table({"indices": pyarrow.array(indices, pyarrow.uint64())}),
        __len__=lambda: len(table))


class Sized:
    """The same with a length and no item: Python is not asked for rows."""

    def __init__(self, plain, length):
        self.__dict__.update(vars(plain), length=length)

    def __len__(self):
        return self.length

    def __getitem__(self, row):
        raise AssertionError("asked for a row")


@unittest.skipIf(pyarrow is None, "pyarrow is not installed")
class Arrow(unittest.TestCase):
    def table(self, files=(), image=None):
        values = [{"bytes": None if row in files else png(row), "path": str(files[row]) if row in files else f"{row}.png"}
                  for row in range(ROWS)]
        kind = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
        array = pyarrow.array(values, kind) if image is None else image([value["bytes"] for value in values])
        column = pyarrow.chunked_array([array[:5], array[5:5], array[5:17], array[17:]])
        return pyarrow.table({"image": column, "label": pyarrow.array(range(ROWS), pyarrow.int32())})

    def check(self, ds, rows):
        with load(penstock.from_dataset(ds, {"data": "image", "label": "label"})) as loader:
            seen = []
            for image, label in loader:
                for found, row in zip(numpy.asarray(image), numpy.asarray(label)):
                    self.assertTrue((found == pixels(row)).all(), row)
                    seen.append(int(row))
            self.assertEqual(sorted(seen), sorted(rows))
            return loader.bad_samples()

    def test_bytes_are_read_where_they_lie(self):
        self.assertEqual(self.check(Sized(arrow_dataset(self.table()), ROWS), range(ROWS)), [])
        for kind in (pyarrow.binary(), pyarrow.large_binary()):
            table = self.table(image=lambda values: pyarrow.array(values, kind))
            self.assertEqual(self.check(Sized(arrow_dataset(table), ROWS), range(ROWS)), [])

    def test_what_decoding_in_python_converts_is_asked_for(self):
        """A column of images with a mode of their own, as `datasets.Image(mode="L")`."""
        ds = arrow_dataset(self.table())
        ds.features = {"image": types.SimpleNamespace(mode="L"), "label": None}
        rows = Sized(ds, ROWS)
        with load(penstock.from_dataset(rows, {"data": "image", "label": "label"}), on_error="fail") as loader:
            with self.assertRaisesRegex(penstock.SessionError, "asked for a row"):
                list(loader)
        ds.features = {"image": types.SimpleNamespace(mode=None, sampling_rate=16000), "label": None}
        with self.assertWarnsRegex(UserWarning, "16000 Hz"):
            penstock.from_dataset(Sized(ds, ROWS))

    def test_rows_that_were_selected(self):
        order = [20, 3, 3, 0, 11]
        self.assertEqual(self.check(Sized(arrow_dataset(self.table(), order), len(order)), order), [])

    def test_files_beside_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {}
            for row in (2, 19):
                files[row] = pathlib.Path(folder, f"{row}.png")
                files[row].write_bytes(png(row))
            self.assertEqual(self.check(Sized(arrow_dataset(self.table(files)), ROWS), range(ROWS)), [])

    def test_rows_with_too_few_elements_are_bad_samples(self):
        text = """pipe 1
pipeline lists() with on_error = substitute(100%) {
  for row in external_source(x = i64[k = 2 ..= 3])
  batch 5 per rank last keep { output x: i64[n, k <= 3] ragged = row.x }
}
"""
        table = pyarrow.table({"x": pyarrow.array([[1] * count for count in range(5)])})
        with load(penstock.from_dataset(Sized(arrow_dataset(table), 5)), text) as loader:
            self.assertEqual(len(list(loader)), 1)
            self.assertEqual({bad.row for bad in loader.bad_samples()}, {0, 1, 4})
            self.assertIn("i64[2 <= k <= 3]", loader.bad_samples()[0].reason)

    def test_lists_and_missing_numbers(self):
        text = """pipe 1
pipeline lists() with on_error = substitute(100%) {
  for row in external_source(boxes = f32[k = 4], points = i16[k = 0 ..= 3, q = 2], score = f32, label = i64)
  batch 4 per rank last keep {
    output boxes: f32[n, k] = row.boxes
    output points: i16[n, k <= 3, q] ragged = row.points
    output score: f32[n] = row.score
    output label: i64[n] = row.label
  }
}
"""
        boxes = [[row, 1.5, 2, 3] for row in range(ROWS)]
        points = [[[row, k] for k in range(row % 3)] for row in range(ROWS)]
        score = [None if row == 5 else row / 2 for row in range(ROWS)]
        two = pyarrow.list_(pyarrow.int16(), 2)
        for kind in (pyarrow.list_(pyarrow.float32()), pyarrow.large_list(pyarrow.float32()), pyarrow.list_(pyarrow.float32(), 4)):
            table = pyarrow.table({"boxes": pyarrow.array(boxes, kind), "points": pyarrow.array(points, pyarrow.list_(two)),
                                   "score": pyarrow.array(score, pyarrow.float32()), "label": pyarrow.array(range(ROWS)),
                                   "words": pyarrow.array([["a", None]] * ROWS)})
            for order in (None, [20, 3, 3, 5, 0, 11]):
                rows = list(range(ROWS)) if order is None else order
                with load(penstock.from_dataset(Sized(arrow_dataset(table, order), len(rows))), text) as loader:
                    for batch in loader:
                        offsets = numpy.asarray(batch["points"].offsets)
                        for slot, row in enumerate(numpy.asarray(batch["label"]).tolist()):
                            self.assertEqual(numpy.asarray(batch["boxes"])[slot].tolist(), boxes[row])
                            self.assertEqual(numpy.asarray(batch["points"])[offsets[slot]:offsets[slot + 1]].tolist(), points[row])
                            self.assertEqual(numpy.asarray(batch["score"])[slot], score[row])
                    self.assertEqual({(rows[bad.row], bad.reason.split(" (")[0]) for bad in loader.bad_samples()},
                                     {(5, "TypeError: a number is expected in column `score`, not NoneType")})

    def test_lists_that_are_no_array(self):
        text = """pipe 1
pipeline lists() with on_error = substitute(100%) {
  for row in external_source(x = i64[k = 2, q = 2])
  batch 4 per rank last keep { output x: i64[n, k, q] = row.x }
}
"""
        good = [[1, 2], [3, 4]]
        table = pyarrow.table({"x": pyarrow.array([good, [[1], [2, 3]], [[1, None], [2, 3]], [None, [2, 3]], good])})
        with load(penstock.from_dataset(Sized(arrow_dataset(table), 5)), text) as loader:
            self.assertEqual([numpy.asarray(batch["x"]).tolist() for batch in loader], [[good] * 4, [good]])
            self.assertEqual({bad.row for bad in loader.bad_samples()}, {1, 2, 3})
            self.assertIn("a list with a null in it, or with lists of several lengths, is no array", loader.bad_samples()[0].reason)

    def test_python_is_not_asked_for_columns_that_nobody_uses(self):
        table = self.table().append_column("words", pyarrow.array([["a"]] * ROWS))
        with mock.patch("penstock.dataset._ArrowTable._row", return_value=0) as asked:
            self.assertEqual(self.check(Sized(arrow_dataset(table), ROWS), range(ROWS)), [])
            with load(penstock.from_dataset(Sized(arrow_dataset(table.rename_columns(["data", "label", "words"])), ROWS))) as loader:
                self.assertEqual(sum(batch.count for batch in loader), ROWS)
                self.assertEqual(loader.bad_samples(), [])
            asked.assert_not_called()

    def test_a_column_that_is_not_there_is_an_error_of_load(self):
        with self.assertRaisesRegex(penstock.SessionError, "the caller's table has no column `data`; it has `image`, `label`$"):
            load(penstock.from_dataset(Sized(arrow_dataset(self.table()), ROWS)))

    def test_a_key_that_is_no_column(self):
        for columns, message in (({"label": "zz"}, "no 'zz' for the column `label`, but 'image', 'label'"), ("zz", "no 'zz' for the column `zz`, but 'image'")):
            with self.assertRaisesRegex(KeyError, message):
                penstock.from_dataset(Sized(arrow_dataset(self.table()), ROWS), columns)

    def test_keys_that_an_item_does_not_have(self):
        with load(penstock.from_dataset(Rows(lambda row: {"image": png(row), "label": row}), {"data": "img", "label": "label"})) as loader:
            with self.assertRaisesRegex(penstock.SessionError, "KeyError: \"no 'img' for the column `data`, but 'image', 'label'\""):
                list(loader)

    def test_a_row_without_an_image_is_bad(self):
        table = self.table(image=lambda values: pyarrow.array([None if row == 4 else value for row, value in enumerate(values)],
                                                              pyarrow.binary()))
        with load(penstock.from_dataset(Sized(arrow_dataset(table), ROWS), {"data": "image", "label": "label"})) as loader:
            list(loader)
            self.assertEqual({(bad.row, bad.reason) for bad in loader.bad_samples()},
                             {(4, "the caller gave nothing for column `data`")})


if __name__ == "__main__":
    unittest.main()
