# SPDX-License-Identifier: Apache-2.0
"""`penstock.load`: batches, epochs, state, errors, and ends."""
import copy
import dis
import gc
import io
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import weakref
from unittest import mock

import numpy
import penstock
from penstock._dlpack import make_capsules

NUMBERS = """pipe 1
/// Numbers of which every byte tells the row.
pipeline numbers(values: path, per_rank: int = 8) {
  for row in raw(value = column(values, i64)) order shuffled
  batch per_rank per rank last keep {
    output square: i64[n] = row.value * row.value
    output table: f32[n, k] = map (k in 0 .. 4) { f32(row.value) + f32(k) }
  }
}
"""
DTYPES = """pipe 1
pipeline types(length: int = 3) {
  for row in synthetic(length, x = f32[k = 5])
  batch 3 per rank last keep {
""" + "".join(f"    output {t}: {t}[n, k] = {t}(row.x * 100.0)\n" for t in
              ("u8", "i8", "u16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")) + """    output bool: bool[n, k] = row.x > 0.5
  }
}
"""
RAGGED = """pipe 1
pipeline ragged() {
  for row in synthetic(6, boxes = f32[k = 0 ..= 5, box = xyxy])
  batch 6 per rank last keep { output boxes: f32[n, k <= 5, box: xyxy] ragged = row.boxes }
}
"""


class Versioned:
    """Gives versioned capsules, whatever NumPy asks for."""

    def __init__(self, output):
        self.output = output

    def __dlpack__(self, **options):
        return self.output.__dlpack__(max_version=(1, 0))

    def __dlpack_device__(self):
        return self.output.__dlpack_device__()


def numbers(**options):
    return penstock.load(NUMBERS, columns={"value": numpy.arange(100)}, cache="", **options)


def squares(loader):
    return [numpy.asarray(batch["square"]).tolist() for batch in loader]


class Loading(unittest.TestCase):
    def test_an_epoch_has_every_row_once(self):
        with numbers() as loader:
            self.assertEqual((len(loader), loader.batch_size), (13, 8))
            batches = squares(loader)
        self.assertEqual([len(batch) for batch in batches], [8] * 12 + [4])
        self.assertEqual(sorted(sum(batches, [])), [i * i for i in range(100)])

    def test_outputs_by_name_by_number_and_unpacked(self):
        with numbers() as loader:
            batch = next(iter(loader))
            square, table = batch
            self.assertEqual(batch.keys(), ["square", "table"])
            self.assertEqual([key in batch for key in ("square", "table", "cube", 0, table, None)], [True, True] + 4 * [False])
            self.assertEqual((table.name, table.axes, table.shape, table.dtype), ("table", ("n", "k"), (8, 4), "f32"))
            self.assertEqual(list(dict(batch)), ["square", "table"])
            values = numpy.array(batch.rows)
            self.assertEqual(batch.positions, list(range(8)))
            for one in (square, batch[0], batch[-2], batch["square"]):
                self.assertTrue((numpy.asarray(one) == values * values).all())
            self.assertTrue((numpy.asarray(table) == values[:, None] + numpy.arange(4)).all())
            self.assertTrue((numpy.asarray(batch[numpy.int64(1)]) == numpy.asarray(table)).all())
            with self.assertRaisesRegex(KeyError, "no output `cube`, there are `square`, `table`"):
                batch["cube"]
            for key, found in ((table, "the output `table` itself"), (1.0, "a float"), (None, "a NoneType"), (slice(1), "a slice"), (values, "a ndarray")):
                with self.assertRaisesRegex(TypeError, f"by its name or number, not by {found}: there are `square`, `table`"):
                    batch[key]
            with self.assertRaises(IndexError):
                batch[2]
            self.assertEqual((batch.get("table").name, batch.get("cube"), batch.get("cube", 5)), ("table", None, 5))

    def test_each_type_arrives_as_itself(self):
        with penstock.load(DTYPES, cache="") as loader:
            batch = next(iter(loader))
            expected = numpy.asarray(batch["f64"])
            for output in batch:
                array = numpy.asarray(output)
                if output.dtype == "bool":
                    self.assertTrue((array == (expected > 50)).all())
                elif output.dtype == "bf16": # the bits: the upper half of an f32's
                    wide = (array.astype(numpy.uint32) << 16).view(numpy.float32)
                    self.assertLess(abs(wide / expected - 1).max(), 2.0 ** -8)
                else:
                    self.assertEqual(array.dtype.name[0] + str(8 * array.itemsize), output.dtype)
                    self.assertLess(abs(array / expected - 1).max(), 1 / expected.min())

    def test_ragged_outputs_have_offsets(self):
        with penstock.load(RAGGED, cache="") as loader:
            boxes = next(iter(loader))["boxes"]
            offsets = numpy.asarray(boxes.offsets)
            self.assertEqual((len(offsets), offsets[0], offsets[-1]), (7, 0, len(boxes)))
            self.assertEqual(boxes.shape[1], 4)

    def test_a_path_and_parameters(self):
        with tempfile.TemporaryDirectory() as folder:
            path, values = f"{folder}/numbers.pipe", f"{folder}/values"
            with open(path, "w") as file:
                file.write(NUMBERS)
            numpy.arange(10).tofile(values)
            with penstock.load(path, values=values, per_rank=5, cache="") as loader:
                self.assertEqual([p.name for p in loader.program.parameters], ["values", "per_rank"])
                self.assertEqual(len(loader), 2)
            with penstock.load(path, parameters={"values": values, "per_rank": 3}, cache="") as loader:
                self.assertEqual(len(loader), 4)
            with self.assertRaises(FileNotFoundError):
                penstock.load(f"{folder}/none.pipe")

    def test_a_bundle_loads_as_its_text_does(self):
        with tempfile.TemporaryDirectory() as folder:
            values, bundle = os.path.join(folder, "values"), os.path.join(folder, "numbers.pstk")
            numpy.arange(20).tofile(values)
            penstock.compile_bundle(NUMBERS, bundle, targets=["x86-64-v2"], values=values, per_rank=5)
            with penstock.load(NUMBERS, values=values, per_rank=5) as text, penstock.load(bundle) as loader:
                for ours, theirs in zip(text, loader, strict=True):
                    self.assertEqual(numpy.asarray(ours["square"]).tolist(), numpy.asarray(theirs["square"]).tolist())
            with penstock.load(bundle, values=values, per_rank=4) as loader:
                self.assertEqual(len(loader), 5)
            program = penstock.Program.of_bundle(bundle, {})
            self.assertEqual(program.name, "numbers")
            with self.assertRaisesRegex(penstock.CompileError, "needs the .pipe file"):
                program.explain()
            with self.assertRaisesRegex(penstock.CompileError, "no parameter `per`; those of this pipeline are `values`, `per_rank`"):
                penstock.load(bundle, per=3)
            with self.assertRaisesRegex(penstock.CompileError, "do not apply to a bundle"):
                penstock.load(bundle, target="x86-64-v2")
            with self.assertRaisesRegex(penstock.CompileError, "cannot write"):
                penstock.compile_bundle(NUMBERS, os.path.join(folder, "none", "numbers.pstk"), values=values)
            with self.assertRaisesRegex(penstock.CompileError, "No such file"):
                penstock.load(os.path.join(folder, "none.pstk"))

    def test_a_bundle_replaces_nothing_that_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            source, link, machine = (os.path.join(folder, name) for name in ("numbers.pipe", "link.pstk", "machine.pstk"))
            pathlib.Path(source).write_text(NUMBERS)
            pathlib.Path(machine).write_text("{}")
            os.symlink(source, link)
            for given in ({"path": source}, {"path": os.path.join(folder, "numbers")}, {"path": link}, {"path": os.fsencode(link)}, {"path": machine, "machine": machine}):
                with self.assertRaisesRegex(ValueError, "a bundle has a name that ends in .pstk|is a file that is read, .*; give the bundle another name"):
                    penstock.compile_bundle(source, targets="x86-64-v2", **given)
                self.assertEqual((pathlib.Path(source).read_text(), pathlib.Path(machine).read_text()), (NUMBERS, "{}"))

    def test_ranks_share_an_epoch(self):
        parts = []
        for rank in range(2):
            with numbers(rank=rank, world=2, per_rank=5) as loader:
                parts.append(sum(squares(loader), []))
        self.assertEqual(sorted(parts[0] + parts[1]), [i * i for i in range(100)])

    def test_padding_gives_all_ranks_as_many_samples(self):
        parts = []
        for rank in range(3):
            with numbers(rank=rank, world=3, per_rank=5, last="pad") as loader:
                parts.append(sum(squares(loader), []))
        self.assertEqual([len(part) for part in parts], [34] * 3)
        self.assertEqual(set(sum(parts, [])), {i * i for i in range(100)})
        for last, count in (("drop", 12), ("keep", 13)):
            with numbers(last=last) as loader:
                self.assertEqual(len(list(loader)), count)
        with self.assertRaisesRegex(ValueError, '"drop", "keep" or "pad"'):
            numbers(last="pda")

    def test_classes_and_names_of_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("cat", "dog"):
                os.mkdir(f"{folder}/{name}")
                with open(f"{folder}/{name}/1.ppm", "wb") as file:
                    file.write(b"P6 1 1 255\nabc")
            text = """pipe 1
pipeline files(root: path) {
  for row in image_folder(root) order shuffled
  batch 2 per rank last keep { output label: i64[n] = row.label }
}
"""
            with penstock.load(text, root=folder, cache="") as loader:
                self.assertEqual(loader.classes, ["cat", "dog"])
                batch = next(iter(loader))
                names = [loader.row_text(row) for row in batch.rows]
                self.assertEqual(names, [f"{loader.classes[i]}/1.ppm" for i in numpy.asarray(batch["label"])])
                with self.assertRaises(penstock.SessionError):
                    loader.row_text(2)
                with self.assertRaises(penstock.SessionError):
                    loader.row_text(0, "nmae")
        with numbers() as loader:
            self.assertEqual(loader.classes, [])

    def test_classes_of_videos_and_texts_of_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("run", "swim"):
                os.mkdir(f"{folder}/{name}")
                with open(f"{folder}/{name}/1.mp4", "wb") as file: # one row all the same
                    file.write(b"no video")
            text = """pipe 1
pipeline clips(root: path) {
  for row in video_clips(root)
  batch 2 per rank last keep { output label: i64[n] = row.label }
}
"""
            try:
                loader = penstock.load(text, root=folder, cache="")
            except penstock.SessionError as error: # a build without FFmpeg
                self.assertIn("penstock_video", str(error))
            else:
                with loader:
                    self.assertEqual(loader.classes, ["run", "swim"])
            with open(f"{folder}/list.csv", "w") as file:
                file.write('label,caption\n3,"a dog, sleeping"\n4,a cat\n')
            table = text.replace("root: path", "list: path").replace("video_clips(root)", "csv(list, label = i64)")
            with penstock.load(table, list=f"{folder}/list.csv", cache="") as loader:
                self.assertEqual([loader.row_text(row, "caption") for row in (0, 1)], ["a dog, sleeping", "a cat"])
                self.assertEqual(loader.row_text(1, "label"), "4")
                with self.assertRaisesRegex(penstock.SessionError, "no column `captoin` of text"):
                    loader.row_text(0, "captoin")
            with open(f"{folder}/list.csv", "w") as file:
                file.write("label,caption\n3,a\0dog\n4,a cat\n")
            with penstock.load(table, list=f"{folder}/list.csv", cache="") as loader:
                with self.assertRaisesRegex(penstock.SessionError, "^column `caption` of row 0 holds a zero byte, where a text of C would end$"):
                    loader.row_text(0, "caption")
                self.assertEqual(loader.row_text(1, "caption"), "a cat")

    def test_what_is_no_text_of_a_pipeline(self):
        for text in ("", pathlib.PurePosixPath("/dev/zero"), "/dev/full"):
            with self.assertRaisesRegex((ValueError, OSError), "this is empty" if text == "" else "a pipeline is no device"):
                penstock.load(text)

    def test_statistics_are_data(self):
        with numbers(threads=1) as loader:
            squares(loader)
            told = loader.statistics()
            self.assertEqual((told["samples"], told["batches"], told["threads"]), (100, 13, 1))
            self.assertGreater(told["stages"]["kernels"]["count"], 0)
            self.assertEqual(told["jpeg_entropy"]["own"], 0)
            self.assertEqual(loader.info["table_length"], 100)

    def test_a_sample_alone_tells_what_was_drawn(self):
        text = NUMBERS.replace("order shuffled", "let by = draw int(1 ..= 6)").replace("f32(k) }", "f32(by) }")
        with penstock.load(text, columns={"value": numpy.arange(100)}, cache="") as loader:
            sample = loader.sample(17)
            (path, by), = sample.draws.items()
            self.assertIn("by", path)
            self.assertEqual((sample.row, sample.bad_reason), (17, ""))
            self.assertEqual(numpy.asarray(sample["table"]).tolist(), [17 + by] * 4)


    def test_a_notebook_shows_a_contact_sheet(self):
        try:
            from PIL import Image
        except ImportError as error:
            self.skipTest(str(error))
        images = numpy.random.default_rng(0).integers(0, 256, (5, 9, 7, 3), dtype=numpy.uint8)
        text = """pipe 1
pipeline pictures(images: path) {
  for row in raw(image = column(images, u8[h = 9, w = 7, c = rgb]))
  batch 2 per rank last keep {
    output brightest: u8[n] = max(row.image over [h, w, c])
    output image: u8[n, c, h, w] = row.image
  }
}
"""
        with penstock.load(text, columns={"image": images}, cache="") as loader:
            sheet = numpy.asarray(Image.open(io.BytesIO(loader._repr_png_())))
        self.assertEqual(sheet.shape, (9, 5 * 9 - 2, 3))
        for i in range(5):
            self.assertTrue((sheet[:, 9 * i:9 * i + 7] == images[i]).all())
        self.assertTrue((sheet[:, 7:9] == 255).all())
        self.assertIsNone(loader._repr_png_())
        with numbers() as loader:
            self.assertIsNone(loader._repr_png_())


class Epochs(unittest.TestCase):
    def test_each_loop_is_the_next_epoch(self):
        with numbers() as loader:
            first, second = squares(loader), squares(loader)
        self.assertNotEqual(first, second)
        with numbers(epoch=1) as loader:
            self.assertEqual(squares(loader), second)

    def test_behind_the_greatest_epoch_comes_0(self):
        with numbers() as loader:
            loader.set_epoch(2 ** 32 - 1)
            epochs = [next(iter(loader)).epoch, loader.epoch]
            loader.set_epoch(2 ** 32 - 1)
            for _ in range(2):
                epochs += [{batch.epoch for batch in loader}, loader.epoch]
            epochs += [next(iter(loader)).epoch, loader.epoch]
        self.assertEqual(epochs, [2 ** 32 - 1] * 2 + [{2 ** 32 - 1}, 0, {0}, 1, 1, 1])

    def test_leaving_early_and_starting_again(self):
        with numbers() as loader:
            expected = [squares(loader) for _ in range(3)]
        with numbers() as loader:
            for batch in loader:
                break
            self.assertEqual(squares(loader), expected[1])
            loader.set_epoch(0)
            self.assertEqual((loader.epoch, squares(loader)), (0, expected[0]))
            loader.set_epoch(2)
            self.assertEqual(squares(loader), expected[2])

    def test_a_new_iterator_ends_the_old_one(self):
        with numbers() as loader:
            old = iter(loader)
            next(old)
            new = iter(loader)
            with self.assertRaisesRegex(penstock.SessionError, "one iterator at a time"):
                next(old)
            self.assertEqual(next(new).epoch, 1)

    def test_set_epoch_ends_an_iterator(self):
        with numbers() as loader:
            old = iter(loader)
            next(old)
            loader.set_epoch(3)
            with self.assertRaisesRegex(penstock.SessionError, "one iterator at a time"):
                next(old)
            self.assertEqual([batch.epoch for batch in loader], [3] * 13)

    def test_an_iterator_of_which_nothing_was_taken(self):
        with numbers() as loader:
            wanted = [squares(loader) for _ in range(4)]
        with numbers() as loader:
            probe, batches = iter(loader), iter(loader)
            with self.assertRaisesRegex(penstock.SessionError, "another epoch or iterator since; one iterator at a time"):
                next(probe)
            loader.set_epoch(0) # where it is
            self.assertEqual((loader.epoch, squares(batches)), (0, wanted[0]))
            batches = iter(loader)
            next(batches)
            rest, loaded = iter(loader), loader.state_dict() # leaves epoch 1
            iter(loader)
            with self.assertRaisesRegex(penstock.SessionError, "one iterator at a time"):
                next(rest)
            self.assertEqual((loader.epoch, squares(loader)), (2, wanted[2]))
            loader.load_state_dict(loaded)
            self.assertEqual(squares(loader), wanted[2])
            batches = iter(loader)
            loader.set_epoch(1)
            self.assertEqual((loader.epoch, squares(batches), loader.epoch), (1, wanted[1], 2))
            loader.set_epoch(3)
            batches = iter(loader)
            next(batches), next(batches)
            state = loader.state_dict()
            loader.set_epoch(3) # from its start, as something was taken
            with self.assertRaisesRegex(penstock.SessionError, "one iterator at a time"):
                next(batches)
            self.assertEqual(squares(loader), wanted[3])
            loader.load_state_dict(state)
            iter(loader)
            batches = iter(loader)
            loader.set_epoch(3) # what was restored stays
            self.assertEqual(squares(batches), wanted[3][2:])

    def test_an_error_or_an_interrupt_takes_an_epoch(self):
        def rows(epoch):
            if epoch == 0:
                raise error
            yield [epoch]
        for error in (ValueError("no"), KeyboardInterrupt()):
            with numbers(rows=rows) as loader:
                with self.assertRaises(type(error)):
                    next(iter(loader))
                self.assertEqual(squares(loader), [[1]])

    def test_an_iterator_that_was_made_before_parameters_were_set(self):
        text = NUMBERS.replace("per_rank: int = 8", "more: int = 1, per_rank: int = 8").replace("row.value * row.value", "row.value + more")
        with penstock.load(text, columns={"value": numpy.zeros(8, numpy.int64)}, cache="") as loader:
            batches = iter(loader)
            loader.set_epoch(0, more=5)
            self.assertEqual(squares(batches), [[5] * 8])

    def test_threads_that_share_an_iterator_have_one_epoch(self):
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        self.addCleanup(sys.setswitchinterval, before)
        with numbers(per_rank=50) as loader:
            for epoch in range(150):
                batches, found = iter(loader), []
                def take():
                    for batch in batches:
                        found.append((batch.epoch, batch.count))
                threads = [threading.Thread(target=take) for _ in range(4)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual(found, [(epoch, 50)] * 2)

    def test_two_loaders_at_once(self):
        with numbers() as a, numbers(seed=5) as b:
            mixed = [[x[0].shape[0], y[0].shape[0]] for x, y in zip(a, b)]
        self.assertEqual(len(mixed), 13)

    def test_an_exception_in_the_loop_leaves_the_loader_usable(self):
        with numbers() as loader:
            with self.assertRaises(ZeroDivisionError):
                for batch in loader:
                    1 / 0
            self.assertEqual(len(squares(loader)), 13)

    def test_a_list_holds_all_batches(self):
        with numbers() as loader:
            expected = squares(loader)
        with numbers() as loader:
            found = list(loader)
            self.assertEqual([numpy.asarray(batch["square"]).tolist() for batch in found], expected)
            self.assertGreater(loader.statistics()["batch_slots"], 4)
            self.assertGreaterEqual(found[0].waited, 0.0)
        with numbers(held="error") as loader:
            with self.assertRaisesRegex(penstock.SessionError, "all 4 batches are held"):
                list(loader)

    def test_other_values_of_run_time_parameters(self):
        text = NUMBERS.replace("per_rank: int = 8", "more: int = 1, per_rank: int = 8").replace("row.value * row.value", "row.value + more")
        with penstock.load(text, columns={"value": numpy.zeros(8, numpy.int64)}, cache="") as loader:
            self.assertEqual(squares(loader), [[1] * 8])
            loader.set_epoch(1, more=5)
            self.assertEqual(squares(loader), [[5] * 8])
            self.assertEqual(squares(loader), [[5] * 8])
            with self.assertRaisesRegex(penstock.SessionError, "mroe"):
                loader.set_epoch(1, mroe=5)

    def test_parameters_that_change_how_many_batches_there_are(self):
        text = NUMBERS.replace("per_rank: int = 8", "upto: int = 1000, per_rank: int = 8").replace("order shuffled", "where row.value < upto order shuffled")
        with penstock.load(text, columns={"value": numpy.arange(100)}, cache="") as loader:
            for epoch, parameters, wanted in ((0, {}, (13, 8)), (1, {"per_rank": 10}, (10, 10)), (2, {"upto": 25}, (3, 10)), (3, {}, (3, 10)),
                                              (3, {"upto": 30, "per_rank": 8}, (4, 8))):
                loader.set_epoch(epoch, **parameters)
                self.assertEqual((len(loader), loader.batch_size), wanted)
                self.assertEqual(len(squares(loader)), wanted[0])
                self.assertEqual((len(loader), loader.batch_size), wanted)
            with self.assertRaisesRegex(penstock.SessionError, "prerank"):
                loader.set_epoch(4, prerank=5)
            self.assertEqual((len(loader), loader.batch_size), (4, 8))

    def test_a_parameter_that_is_given_twice(self):
        with self.assertRaisesRegex(TypeError, "the parameter `much` is given by name and in `parameters`"):
            numbers(parameters={"much": 1}, much=2)

    def test_rows_from_the_caller(self):
        with numbers(rows=lambda epoch: ([i, i, epoch] for i in range(5))) as loader:
            for epoch in range(3):
                self.assertEqual([batch.rows for batch in loader], [[i, i, epoch] for i in range(5)])
            for batch in loader:
                break
            loader.set_epoch(7)
            self.assertEqual([batch.rows for batch in loader], [[i, i, 7] for i in range(5)])
            for batch in loader:
                break
            loader.set_epoch(8)
            self.assertEqual([batch.rows for batch in loader], [[i, i, 8] for i in range(5)])
            with self.assertRaises(TypeError):
                len(loader)
            batches = iter(loader)
            next(batches), next(batches)
            state = loader.state_dict()
        with numbers(rows=lambda epoch: ([i, i, epoch] for i in range(5))) as loader:
            loader.load_state_dict(state)
            self.assertEqual([batch.rows for batch in loader], [[i, i, 9] for i in range(2, 5)])
            self.assertEqual(next(iter(loader)).rows, [0, 0, 10])

        def failing(epoch):
            yield [1, 2]
            raise KeyError("mine")
        with numbers(rows=failing) as loader:
            batches = iter(loader)
            self.assertEqual(next(batches).rows, [1, 2])
            with self.assertRaisesRegex(KeyError, "mine"):
                next(batches)
        for wrong, reason in (([], "rows for a batch are 1 to 8, not 0"), (list(range(9)), "rows for a batch are 1 to 8, not 9"),
                              ([10 ** 6], "row 1000000 of a table of")):
            with numbers(rows=lambda epoch: [[5], [6], wrong, [7]]) as loader:
                batches = iter(loader)
                self.assertEqual([next(batches).rows, next(batches).rows], [[5], [6]])
                with self.assertRaisesRegex(penstock.SessionError, reason):
                    next(batches)
                self.assertEqual([batch.rows for batch in batches], [[7]])

    def test_a_state_restores_what_is_left(self):
        with numbers() as loader:
            batches = iter(loader)
            for _ in range(5):
                next(batches)
            state = loader.state_dict()
            rest = squares(batches)
            after = squares(loader)
        with numbers(threads=1, prefetch=1) as other:
            other.load_state_dict(state)
            self.assertEqual(squares(other), rest)
            self.assertEqual((other.epoch, squares(other)), (1, after))
            with self.assertRaisesRegex(penstock.SessionError, "not the state of a session"):
                other.load_state_dict({"penstock": "something"})

    def interrupted(self, place, **options):
        """The squares of an epoch, and how often each call of next() was interrupted: at the line `place` of `_next`, as often as it
        comes there, and not twice in a row."""
        found, states, times, last = [], [], 0, False
        code, first = penstock.loader.Loader._next.__code__, penstock.loader.Loader._next.__code__.co_firstlineno
        def look(frame, event, _):
            if frame.f_code is code:
                frame.f_trace_lines = True
                if event == "line" and frame.f_lineno == first + place and not last:
                    raise KeyboardInterrupt
            return look
        with numbers(**options) as loader:
            batches = iter(loader)
            while True:
                sys.settrace(look)
                try:
                    batch = next(batches)
                    sys.settrace(None)
                    found.append(numpy.asarray(batch["square"]).tolist())
                    last = False
                except KeyboardInterrupt:
                    sys.settrace(None)
                    times += 1
                    last = True
                except StopIteration:
                    sys.settrace(None)
                    break
                state = loader.state_dict()
                info = loader.info
                self.assertEqual(min(info["position"], 100), 0 if info["epoch"] else min(8 * len(found), 100))
                states.append((len(found), state))
            self.assertEqual((loader.epoch, loader.info["epoch"]), (1, 1))
            after = squares(loader)
        return found, states, times, after

    def test_what_a_handler_raises_loses_no_batch(self):
        rows = lambda epoch: [list(range(at, min(at + 8, 100))) for at in range(epoch, 100, 8)] # noqa: E731
        for options in ({}, {"rows": rows}):
            with numbers(**options) as loader:
                wanted, after = squares(loader), squares(loader)
            code = penstock.loader.Loader._next.__code__
            lines = {line - code.co_firstlineno for _, line in dis.findlinestarts(code) if line} - {0}
            interrupted = 0
            for place in sorted(lines):
                with self.subTest(place=place, options=options):
                    found, states, times, later = self.interrupted(place, **options)
                    self.assertEqual((found, later), (wanted, after))
                    interrupted += times
                    if times > 10:
                        count, state = states[len(states) // 2]
                        with numbers(**options) as other:
                            other.load_state_dict(state)
                            self.assertEqual(squares(other), wanted[count:])
            self.assertGreater(interrupted, 100)

    def test_a_batch_that_is_left_goes_with_its_epoch(self):
        within = penstock._c.library.session_next_within
        def interrupt(*arguments):
            self.assertEqual(within(*arguments), penstock._c.OK)
            self.assertEqual(loader.info["position"], 8) # a handler may ask; the batch is not handed over
            raise KeyboardInterrupt
        with numbers() as loader:
            batches = iter(loader)
            next(batches)
            with mock.patch.object(penstock._c.library, "session_next_within", lambda s, ns, to: within(s, 10 ** 12, to)):
                next(batches)
            loader.set_epoch(0)
            batches = iter(loader)
            first = numpy.asarray(next(batches)["square"]).tolist()
            with mock.patch.object(penstock._c.library, "session_next_within", lambda s, ns, to: interrupt(s, 10 ** 12, to)):
                with self.assertRaises(KeyboardInterrupt):
                    next(batches)
            state = loader.state_dict()
            loader.set_epoch(0)
            again = squares(loader)
            self.assertEqual((again[0], len(again)), (first, 13))
            loader.load_state_dict(state)
            self.assertEqual(squares(loader), again[1:])


class Memory(unittest.TestCase):
    def test_an_array_keeps_its_memory_and_nothing_else_does(self):
        with numbers(threads=1) as loader:
            batches = iter(loader)
            held = numpy.asarray(next(batches)["table"])
            kept, address = held.copy(), held.ctypes.data
            addresses = [numpy.asarray(batch["table"]).ctypes.data for batch in batches]
            self.assertNotIn(address, addresses)
            self.assertTrue((held == kept).all())
            del held
            loader.set_epoch(0)
            self.assertTrue((numpy.asarray(next(iter(loader))["table"]) == kept).all())

    def test_nothing_of_pythons_runs_when_a_batch_is_released(self):
        """What a handler of a signal raises in a `__del__` would be ignored."""
        with numbers(threads=1) as loader:
            address = numpy.asarray(next(iter(loader))["table"]).ctypes.data
            held = [next(iter(loader)), loader.sample(0)]
            while held:
                kept, ran = held.pop(), []
                sys.setprofile(lambda frame, event, argument: ran.append(frame.f_code.co_name) if event == "call" else None)
                del kept
                sys.setprofile(None)
                self.assertEqual(ran, [])
            self.assertIn(address, [numpy.asarray(batch["table"]).ctypes.data for batch in loader])

    def test_slots_are_used_again(self):
        with numbers(threads=1) as loader:
            addresses = {numpy.asarray(batch["table"]).ctypes.data for batch in loader}
        self.assertLessEqual(len(addresses), 4)

    def test_arrays_outlive_loader_and_batch(self):
        loader = numbers()
        batch = next(iter(loader))
        view, rows = numpy.asarray(batch["square"])[::2], batch.rows
        loader.close()
        del loader, batch
        gc.collect()
        self.assertEqual(view.tolist(), [row * row for row in rows[::2]])

    def test_dlpack_tensors_keep_their_memory(self):
        with numbers(threads=1) as loader:
            batches = iter(loader)
            held = numpy.from_dlpack(next(batches)["table"])
            kept, address = held.copy(), held.ctypes.data
            self.assertNotIn(address, [numpy.asarray(batch["table"]).ctypes.data for batch in batches])
            self.assertTrue((held == kept).all())
        self.assertTrue((held == kept).all()) # after the session

    def test_dlpack_capsules_that_nobody_takes_are_deleted(self):
        with numbers(threads=1, held="error") as loader, mock.patch("sys.unraisablehook") as failed:
            for batch in loader: # or there would be no slot left
                batch[0].__dlpack__()
                numpy.from_dlpack(batch[0])
                batch[1].__dlpack__(max_version=(1, 0))
                for versioned, name in enumerate(("dltensor", "dltensor_versioned")):
                    capsules = make_capsules(batch._owner, versioned, None)
                    self.assertEqual([f'"{name}"' in repr(capsule) for capsule in capsules], [True] * len(batch))
                    del capsules
                self.assertEqual(batch[0].__dlpack_device__(), (1, 0))
            with self.assertRaises(BufferError):
                batch[0].__dlpack__(copy=True)
            with self.assertRaises(BufferError):
                batch[0].__dlpack__(dl_device=(2, 0))
            with self.assertRaises(BufferError):
                loader.sample(0)[0].__dlpack__()
            failed.assert_not_called()

    def test_a_tensor_that_its_consumer_refuses_gives_its_batch_back(self):
        text = DTYPES.replace("length: int = 3", "length: int = 60")
        with penstock.load(text, threads=1, held="error", cache="") as loader:
            for batch in loader: # or there would be no slot left
                for maker in (batch["bf16"], Versioned(batch["bf16"])):
                    # NumPy has no bf16, and before 2.1 no versions. Python's code in a destructor made it a SystemError.
                    with self.assertRaises((RuntimeError, TypeError, BufferError, ValueError)):
                        numpy.from_dlpack(maker)
                self.assertEqual(numpy.from_dlpack(batch["f32"]).tolist(), numpy.asarray(batch["f32"]).tolist())

    def test_offsets_as_dlpack(self):
        with penstock.load(RAGGED, cache="") as loader:
            boxes = next(iter(loader))["boxes"]
            self.assertEqual(numpy.from_dlpack(boxes.offsets).tolist(), numpy.asarray(boxes.offsets).tolist())

    def test_what_holds_pointers_is_not_copied(self):
        loader, ragged = numbers(), penstock.load(RAGGED, cache="")
        batch, sample, boxes = next(iter(loader)), loader.sample(3), next(iter(ragged))["boxes"]
        kept = numpy.array(batch[0])
        array, memory = r"numpy\.array\(output\)", "is memory of this process"
        for one, said in ((batch, f"a batch {memory}.*{array}"), (batch._owner, "a batch"), (sample, f"a sample {memory}.*{array}"),
                          (sample._owner, "a sample"), (batch[0], f"an output {memory}.*{array}"), (boxes, "an output"),
                          (boxes.offsets, "an output"), (loader, "open one in each process"),
                          (loader.program, "call penstock.load in each process"), ([batch], "a batch"),
                          (penstock.from_dataset([1]), "call penstock.from_dataset in each process")):
            for use in (copy.deepcopy, pickle.dumps, lambda one: pickle.dumps(one, 0)):
                with self.assertRaisesRegex(TypeError, said):
                    use(one)
        for one in (batch._owner, loader, loader.program):
            with self.assertRaises(TypeError):
                copy.copy(one)
        also, output = copy.copy(batch), copy.copy(batch[0])
        del batch, sample, boxes
        gc.collect()
        self.assertEqual(len(squares(loader)), 13)
        self.assertEqual((numpy.asarray(also[0]).tolist(), numpy.asarray(output).tolist()), (kept.tolist(), kept.tolist()))
        loader.close()
        ragged.close()

    def test_columns_are_kept(self):
        array = numpy.arange(100) + 1000
        kept = weakref.ref(array)
        loader = penstock.load(NUMBERS, columns={"value": array}, cache="")
        del array
        gc.collect()
        self.assertIsNotNone(kept())
        self.assertEqual(sorted(sum(squares(loader), []))[0], 1000 * 1000)
        loader.close()
        del loader
        self.assertIsNone(kept())


class Errors(unittest.TestCase):
    def test_a_compile_error_has_the_caret_text(self):
        with self.assertRaises(penstock.CompileError) as caught:
            penstock.load("pipe 1\npipeline p() {\n  for row in synthetic(4, x = f32)\n"
                          "  batch 2 per rank last keep { output x: f32[n] = row.y }\n}\n", cache="")
        self.assertEqual(str(caught.exception), """\
<text>:4:55: error: a row has no field `y`
  4 |   batch 2 per rank last keep { output x: f32[n] = row.y }
    |                                                       ^
hint: its fields are x""")
        self.assertEqual(caught.exception.messages[0]["line"], 4)

    def test_what_the_session_refuses(self):
        with self.assertRaisesRegex(penstock.SessionError, "prefetch is 5000; it is 1 to 1024"):
            numbers(prefetch=5000)
        with self.assertRaisesRegex(penstock.SessionError, "memory"):
            numbers(memory_budget=10)
        with self.assertRaisesRegex(penstock.SessionError, "column `value`: the array is not contiguous"):
            penstock.load(NUMBERS, columns={"value": numpy.arange(100)[::2]}, cache="")
        with self.assertRaisesRegex(penstock.SessionError, "column `value`: no element type for an array of `<c8`"):
            penstock.load(NUMBERS, columns={"value": numpy.zeros(4, numpy.complex64)}, cache="")

    def test_numbers_that_do_not_fit(self):
        for options, said in (({"epoch": -1}, "epoch is -1; it is 0 to 4294967295"), ({"epoch": 2 ** 32}, "epoch is 4294967296"),
                              ({"rank": -1}, "rank is -1"), ({"world": 0}, "world is 0; it is 1 to"), ({"threads": -1}, "threads is -1"),
                              ({"threads": 2 ** 32 + 1}, "threads is 4294967297; it is 0 to 2147483647"), ({"prefetch": 0}, "prefetch is 0"), ({"fetch_threads": -1}, "fetch_threads is -1"),
                              ({"ranks_here": 2 ** 32 + 1}, "ranks_here is"), ({"memory_budget": -1}, "memory_budget is -1"),
                              ({"memory_budget": 2 ** 64 + 10 ** 9}, "memory_budget is"), ({"device": 2 ** 32}, "device is"),
                              ({"seed": 2 ** 64 - 1}, "seed is 18446744073709551615; it is -9223372036854775808 to"),
                              ({"on_error": float("nan")}, "on_error is a share"), ({"on_error": -0.5}, "on_error is a share"),
                              ({"on_error": "500%"}, "on_error is a share"), ({"on_error": "five%"}, "on_error is a share")):
            with self.assertRaisesRegex(ValueError, said):
                numbers(**options)
        with self.assertRaisesRegex(TypeError, "threads is an integer, not 2.5"):
            numbers(threads=2.5)
        with numbers(epoch=numpy.int64(2 ** 32 - 1), rank=numpy.int32(0)) as loader:
            self.assertEqual(loader.epoch, 2 ** 32 - 1)
            for use, said in ((lambda: loader.set_epoch(-1), "epoch is -1"), (lambda: loader.set_epoch(2 ** 32), "epoch is 4294967296"),
                              (lambda: loader.sample(0, -1), "epoch is -1"), (lambda: loader.sample(2 ** 64), "position is"),
                              (lambda: loader.row_text(2 ** 64), "row is 18446744073709551616")):
                with self.assertRaisesRegex(ValueError, said):
                    use()
            with self.assertRaisesRegex(TypeError, "epoch is an integer, not 1.5"):
                loader.set_epoch(1.5)
        for row, error in ((1.7, TypeError), (2 ** 64 + 3, OverflowError)):
            with numbers(rows=lambda epoch: [[row]]) as loader, self.assertRaisesRegex(error, "rows are integers of 64 bits"):
                list(loader)

    def test_options_of_another_kind(self):
        for use, kind, said in (
                (lambda: loader.set_epoch(0, per_rank=10 ** 12), penstock.SessionError,
                 "the batch has 1000000000000 samples; it may have at most 4294967296"),
                (lambda: loader.set_epoch(0, per_rank=0), penstock.SessionError, "the batch has 0 samples; it needs at least 1"),
                (lambda: loader.set_epoch(0, per_rank=None), TypeError, "parameter `per_rank` is None, which is no value of the language"),
                (lambda: numbers(parameters={"values": None}), TypeError, "parameter `values` is None"),
                *((lambda name=name: numbers(**{name: ""}), ValueError, f"{name} is empty; leave it out where there is none")
                  for name in ("pipeline", "target", "gpu", "transfer")),
                *((lambda source=source: penstock.load(source), TypeError, "a pipeline is a path or its text, a str or an os.PathLike, not "
                   + name) for source, name in ((b"pipe 1\n", "bytes"), (None, "NoneType"), (3, "int"))),
                *((lambda state=state: loader.load_state_dict(state), penstock.SessionError, "this is not the state of a session: that is what "
                   "state_dict\\(\\) gives, a mapping with a text for `penstock`") for state in ({}, "x", None, {"penstock": None})),
                (lambda: numbers(without="fusion"), penstock.CompileError, "^error: unknown pass `fusion`\nhint: [^\n]*$")):
            with numbers() as loader, self.subTest(said), self.assertRaisesRegex(kind, said):
                use()

    def test_one_text_for_several(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/photos/a")
            os.mkdir(f"{folder}/e")
            for i in range(2):
                with open(f"{folder}/e/{i}.ppm", "wb") as file:
                    file.write(b"P6 1 1 255\n\0\0\0")
                os.symlink(f"{folder}/e/{i}.ppm", f"{folder}/photos/a/{i}.ppm")
            text = """pipe 1
pipeline files(root: path) {
  for row in image_folder(root)
  batch 2 per rank last keep { output x: u8[n, h = 1, w = 1, c] = row.data |> decode(rgb) }
}
"""
            for allowed in (f"{folder}/e", pathlib.Path(folder, "e"), [f"{folder}/e"]):
                with penstock.load(text, root=f"{folder}/photos", allowed_folders=allowed, without="fuse", cache="") as loader:
                    self.assertEqual([batch.count for batch in loader], [2])
            penstock.compile_bundle(text, f"{folder}/files.pstk", targets="x86-64-v2", cache="")

    def test_texts_do_not_end_at_a_nul(self):
        with self.assertRaisesRegex(ValueError, "has a NUL character in it"):
            penstock.load(NUMBERS, values="values\0more", cache="")
        with numbers() as loader:
            state = loader.state_dict()
            with self.assertRaisesRegex(ValueError, "NUL"):
                loader.load_state_dict({"penstock": state["penstock"] + "\0more"})

    def test_columns_say_what_is_wrong(self):
        text = """pipe 1
pipeline two(values: path, weights: path) {
  for row in raw(value = column(values, i64), weight = npy(weights, f32))
  batch 4 per rank last keep {
    output value: i64[n] = row.value
    output weight: f32[n] = row.weight
  }
}
"""
        def load(columns, **values):
            with penstock.load(text, columns=columns, cache="", **values) as loader:
                return [numpy.asarray(batch["value"]).tolist() for batch in loader]
        value, weight = numpy.arange(4), numpy.ones(4, numpy.float32)
        self.assertEqual(load({"value": [0, 1, 2, 3], "weight": weight}), [[0, 1, 2, 3]]) # a list of the type that is declared
        with self.assertRaisesRegex(penstock.SessionError, "column `weight` in memory is f64, the pipeline expects f32"):
            load({"value": value, "weight": [1.0] * 4})
        with self.assertRaisesRegex(penstock.SessionError, "column `weight`: no element type.*a column is an array of NumPy's"):
            load({"value": value, "weight": ["a"] * 4})
        with self.assertRaisesRegex(penstock.SessionError, "column `weight`: an array of rows has at least one axis"):
            load({"value": value, "weight": 3.0})
        for wrong in ({"value": value, "wieght": weight}, {"value": value, "weight": weight, "wieght": weight}):
            with self.assertRaisesRegex(penstock.SessionError, "no column `wieght` of a `raw` source; those that it has are `value`, `weight`"):
                load(wrong)
        with self.assertRaisesRegex(penstock.SessionError, "column `weight` has neither a file nor memory"):
            load({"value": value})
        with tempfile.TemporaryDirectory() as folder:
            numpy.save(f"{folder}/weights.npy", weight)
            self.assertEqual(load({"value": value}, weights=f"{folder}/weights.npy"), [[0, 1, 2, 3]]) # a path that is given stays
            with self.assertRaisesRegex(penstock.SessionError, "none.npy: No such file.*`weights`"):
                load({"value": value}, weights=f"{folder}/none.npy")

    def test_a_column_of_two_tables(self):
        text = """pipe 1
pipeline two(a: path, b: path) {
  let others = raw(x = column(b, i64))
  for row in raw(x = column(a, i64))
  let other = pick(others, row.index)
  batch 4 per rank last keep {
    output x: i64[n] = row.x
    output y: i64[n] = other.x
  }
}
"""
        def load(text, **columns):
            with penstock.load(text, columns=columns, cache="") as loader:
                return [numpy.asarray(output).tolist() for output in next(iter(loader))]
        with self.assertRaisesRegex(penstock.SessionError, "two tables have a column `x`, .*by the name of its file's parameter, `[ab]` and `[ab]`"):
            load(text, x=[1, 2])
        self.assertEqual(load(text, a=[1, 2], b=[3, 4]), [[1, 2], [3, 4]])
        renamed = text.replace("raw(x = column(b", "raw(y = column(b").replace("other.x", "other.y")
        self.assertEqual(load(renamed, x=[1, 2], y=[3, 4]), [[1, 2], [3, 4]])
        self.assertEqual(load(text.replace("column(b", "column(a"), x=[1, 2]), [[1, 2], [1, 2]]) # of one file: one table

    def test_arrays_end_to_end(self):
        text = """pipe 1
pipeline both(a: path, b: path) {
  for row in concat([raw(x = column(a, i64)), raw(x = column(b, i64))])
  batch 5 per rank last keep { output x: i64[n] = row.x  output part: i64[n] = row.part }
}
"""
        with penstock.load(text, columns={"a": [1, 2, 3], "b": [40, 50]}, cache="") as loader:
            self.assertEqual([numpy.asarray(output).tolist() for output in next(iter(loader))], [[1, 2, 3, 40, 50], [0, 0, 0, 1, 1]])

    def test_columns_without_numpy(self):
        text = """import array, ctypes, sys
sys.modules["numpy"] = None
import penstock
text = '''pipe 1
pipeline p(x: path) {
  for row in raw(x = column(x, i64)) order sequential
  batch 9 per rank last keep { output x: i64[n] = row.x }
}
'''
numbers = array.array("q", [3, 1, 2])
for x in (numbers, numbers.tobytes(), memoryview(numbers).toreadonly(), [3, 1, 2]):
    try:
        with penstock.load(text, columns={"x": x}) as loader:
            found = next(iter(loader))["x"].__array_interface__
            print(list((ctypes.c_int64 * 3).from_address(found["data"][0])))
    except penstock.SessionError as error:
        print(error)
"""
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        self.assertEqual((lines[0], lines[2], len(lines)), ("[3, 1, 2]", "[3, 1, 2]", 4), done.stdout)
        self.assertRegex(lines[1], "u8")
        self.assertRegex(lines[3], "column `x`: a list becomes an array by NumPy, which is not installed; hint: array.array")

    def test_columns_of_other_libraries(self):
        class Fleeting:
            """Pixels that are made anew for each look, as Pillow's are, with bytes in place of an address."""
            @property
            def __array_interface__(self):
                return {"version": 3, "shape": (100,), "typestr": "<i8", "data": numpy.arange(100).tobytes()}
        expected = [i * i for i in range(100)]
        with penstock.load(NUMBERS, columns={"value": Fleeting()}, cache="") as loader:
            gc.collect()
            self.assertEqual(sorted(sum(squares(loader), [])), expected)
        try:
            import torch
        except ImportError:
            return
        for value in (3, numpy.array(3), torch.tensor(3)):
            with penstock.load(NUMBERS, columns={"value": torch.arange(100)}, per_rank=value, cache="") as loader:
                self.assertEqual(loader.batch_size, 3)
        with penstock.load(NUMBERS, columns={"value": torch.arange(100)}, cache="") as loader:
            self.assertEqual(sorted(sum(squares(loader), [])), expected)
        with self.assertRaisesRegex(penstock.SessionError, "column `value`: the array is not contiguous"):
            penstock.load(NUMBERS, columns={"value": torch.arange(100)[::2]}, cache="")

    def test_warnings_of_the_compiler_are_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            penstock.load(NUMBERS.replace("for row", "/// nothing\nfor row"), columns={"value": numpy.arange(9)},
                          cache="").close()
        self.assertEqual(len(caught), 1)
        self.assertIn("warning:", str(caught[0].message))

    def test_bad_samples_are_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/class")
            for i in range(20):
                with open(f"{folder}/class/{i:02}.ppm", "wb") as file:
                    file.write(b"P6 4 4 255\n" + bytes(range(48)) if i != 7 else b"damaged")
            text = """pipe 1
pipeline files(root: path) {
  for row in image_folder(root)
  batch 4 per rank last keep { output x: u8[n, h = 4, w = 4, c] = row.data |> decode(rgb) }
}
"""
            with penstock.load(text, root=folder, on_error="50%", cache="") as loader:
                list(map(len, loader))
                bad, = loader.bad_samples()
                self.assertEqual((bad.position, bad.row, bad.name), (7, 7, "class/07.ppm"))
                self.assertNotIn(bad.substitute, (-1, 7))
            with penstock.load(text, root=folder, on_error="fail", cache="") as loader:
                with self.assertRaisesRegex(penstock.SessionError, "07.ppm"):
                    list(map(len, loader))

    def test_a_closed_loader_says_so(self):
        loader = numbers()
        batches = iter(loader)
        loader.close()
        loader.close()
        for use in (loader.state_dict, lambda: iter(loader), lambda: next(batches), loader.statistics):
            with self.assertRaisesRegex(penstock.SessionError, "the loader is closed"):
                use()

    def test_a_cancelled_loader_raises(self):
        with numbers() as loader:
            batches = iter(loader)
            loader.cancel()
            with self.assertRaises(penstock.CancelledError):
                next(batches)


if __name__ == "__main__":
    unittest.main()
