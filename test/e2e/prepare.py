# SPDX-License-Identifier: Apache-2.0
"""penstock index and penstock pack through the tool: what is in the files, that it is used, and kills."""
import filecmp
import json
import os
import signal
import shutil
import subprocess
import time

import numpy
from PIL import Image

from pipelines import LanguageTest
from support import jpeg_bytes, main, make_folder, read_hashes

FOLDER = """
use vision
pipeline p(root: path) OPTIONS {
  for row in image_folder(root) order shuffled
  let box = draw int(0 .. 30)
  let pixels = row.data |> decode(rgb) |> crop(box, box, 24, 24)
  batch 10 per rank last keep {
    output image: u8[n, h, w, c] = pixels
    output label: i64[n] = row.label
  }
}"""
SHARDS = (FOLDER.replace("root: path", "shards: path")
          .replace("image_folder(root)",
                   'tar_shards(shards, data = column("jpg;png", bytes), label = column("cls", i64))'))
LIST = FOLDER.replace("root: path", "list: path, root: path").replace(
    "image_folder(root)", "csv(list, root, data = column(0, bytes), label = column(1, i64))")


class Prepared(LanguageTest):
    def setUp(self):
        super().setUp()
        self.paths = make_folder(self.data, per_class=20, sizes=(60, 120))
        self.sidecar = os.path.join(self.data, ".penstock-index")

    def run_all(self, text=FOLDER, options="", epochs=1, **paths):
        """The report and the hashes of a run."""
        paths = paths or {"root": self.data}
        settings = [word for name, path in paths.items() for word in ("--set", f"{name}={path}")]
        hashes = os.path.join(self.folder, "hashes")
        if os.path.exists(hashes):
            os.remove(hashes)
        done = self.run_tool("run", self.write(text.replace("OPTIONS", options)), *settings, "--hashes", hashes,
                             "--epochs", epochs, "--json")
        return json.loads(done.stdout), read_hashes(hashes), done.stderr

    def index(self, *arguments, expect=0):
        return json.loads(self.run_tool("index", *(arguments or [self.data]), "--json", expect=expect).stdout)


class Index(Prepared):
    def test_parts_are_read_from_checkpoints_and_are_the_same(self):
        without, right, _ = self.run_all()
        self.assertNotIn("jpeg_index", without)
        report = self.index()
        self.assertEqual((report["images"], report["indexed"], report["left_out"]), (40, 40, {}))
        self.assertEqual(report["index_bytes"], os.path.getsize(self.sidecar))
        self.assertEqual(report["data_bytes"], sum(map(os.path.getsize, self.paths)))
        with_it, found, messages = self.run_all()
        self.assertEqual(with_it["jpeg_index"], {"uses": 40, "misses": 0})
        self.assertEqual((found, messages), (right, ""))
        off, found, _ = self.run_all(options="with index = off")
        self.assertNotIn("jpeg_index", off)
        self.assertEqual(found, right)

    def test_parts_of_a_table_have_their_own(self):
        second = os.path.join(self.folder, "second")
        make_folder(second, per_class=5, seed=9, sizes=(60, 120))
        text = FOLDER.replace("root: path", "root: path, second: path").replace("image_folder(root)", "concat([image_folder(second), image_folder(root)])")
        _, right, _ = self.run_all(text, root=self.data, second=second)
        self.index()
        report, found, _ = self.run_all(text, root=self.data, second=second)
        self.assertEqual(report["jpeg_index"], {"uses": 40, "misses": 0})
        self.assertEqual(found, right)

    def test_counts_are_exact(self):
        rng = numpy.random.default_rng(5)
        for name, data in (("progressive.jpg", jpeg_bytes(rng, 50, 50, progressive=True)), ("cut.jpg", jpeg_bytes(rng, 50, 50)[:-40]),
                           ("note.txt", b"x"), ("picture.png", b"\x89PNG"), ("header.jpg", b"\xff\xd8\xff\xe0")):
            with open(os.path.join(self.data, "class0", name), "wb") as file:
                file.write(data)
        os.symlink("nowhere.jpg", os.path.join(self.data, "class1", "link.jpg"))
        report = self.index()
        self.assertEqual((report["images"], report["indexed"], report["others"]), (45, 40, 1))
        self.assertEqual(report["left_out"], {"progressive or arithmetic coding": 1, "no end-of-image marker": 1,
                                              "not a JPEG file": 1, "a header that is not read": 1, "cannot be read": 1})
        self.assertIn({"name": "class0/cut.jpg", "reason": "no end-of-image marker"}, report["left_out_files"])
        shown = self.run_tool("index", self.data).stdout
        self.assertIn("45 images, 40 with checkpoints (44 images of an earlier run)\n1 without: progressive", shown)

    def test_a_file_that_changed_has_none(self):
        self.index()
        path = self.paths[3]
        before = os.stat(path)
        with open(path, "rb") as file:
            data = bytearray(file.read())
        data[len(data) // 2] ^= 1  # the same size, and the same time
        with open(path, "wb") as file:
            file.write(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        _, right, _ = self.run_all(options="with index = off, on_error = substitute(50%)")
        report, found, _ = self.run_all(options="with on_error = substitute(50%)")
        self.assertEqual(found, right)
        self.assertGreaterEqual(report["jpeg_index"]["misses"], 1)

    def test_a_damaged_sidecar_is_left_alone_with_a_line(self):
        _, right, _ = self.run_all()
        self.index()
        with open(self.sidecar, "rb") as file:
            whole = file.read()
        for damaged, why in ((whole[:-7], "it is cut off"), (whole[:60] + bytes([whole[60] ^ 8]) + whole[61:], "it is damaged"),
                             (b"", "it is cut off")):
            with open(self.sidecar, "wb") as file:
                file.write(damaged)
            _, found, messages = self.run_all()
            self.assertEqual(found, right)
            self.assertIn(why, messages)
            self.assertEqual(messages.count("\n"), 1, messages)
        self.assertEqual(self.index()["earlier"], 0)
        self.assertEqual(self.run_all()[0]["jpeg_index"]["uses"], 40)

    def test_it_goes_on_where_it_was_killed(self):
        report = self.index()
        with open(self.sidecar, "rb") as file:
            right = file.read()
        for wait in (0.0, 0.02, 0.05):
            os.remove(self.sidecar)
            process = subprocess.Popen(self.command("index", self.data, "--threads", 1), env=self.environment(),
                                       stdout=subprocess.DEVNULL)
            time.sleep(wait)
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.assertEqual(self.index()["indexed"], report["indexed"])
            with open(self.sidecar, "rb") as file:
                self.assertEqual(file.read(), right)
        self.assertEqual([name for name in os.listdir(self.data) if "part" in name], [])

    def test_elsewhere_and_for_lists(self):
        out = os.path.join(self.folder, "indexes")
        os.makedirs(out)
        listing = os.path.join(self.folder, "list.csv")
        with open(listing, "w") as file:
            file.writelines(f"{os.path.relpath(path, self.data)},{i % 2}\n" for i, path in enumerate(self.paths[:15]))
        report = self.index(listing, "--root", self.data, "--column", 0, "--out", out)
        self.assertEqual((report["indexed"], report["file"]), (15, os.path.join(out, "list.csv.penstock-index")))
        text = LIST.replace("path) OPTIONS", "path, kept: path) with index = kept")
        report, _, _ = self.run_all(text, list=listing, root=self.data, kept=out)
        self.assertEqual(report["jpeg_index"], {"uses": 15, "misses": 0})
        self.index(listing, "--root", self.data, "--column", 0)
        self.assertEqual(self.run_all(LIST, list=listing, root=self.data)[0]["jpeg_index"]["uses"], 15)

    def test_made_in_the_first_epoch_where_asked(self):
        _, right, _ = self.run_all(epochs=2)
        self.assertNotIn("jpeg_index", self.run_all()[0])
        report, found, _ = self.run_all(options="with index = auto", epochs=2)
        self.assertEqual(report["jpeg_index"]["uses"], 80)
        self.assertEqual(found, right)
        self.assertEqual(self.run_all()[0]["jpeg_index"], {"uses": 40, "misses": 0})

    def test_what_is_wrong_is_said(self):
        empty = os.path.join(self.folder, "empty")
        os.makedirs(empty)
        self.assertIn("has no images (0 other files)", self.run_tool("index", empty, expect=1).stderr)
        self.assertIn("No such file", self.run_tool("index", empty + "/x", expect=1).stderr)

    def test_rows_of_shards_are_written_beside_them(self):
        out = os.path.join(self.folder, "shards")
        self.run_tool("pack", self.data, out, "--shard-size", "20000")
        shards = sorted(name for name in os.listdir(out) if name.endswith(".tar"))
        self.assertGreater(len(shards), 2)
        packed = {name: self.bytes_of(out, name + ".index") for name in shards}
        for name in shards:
            os.remove(os.path.join(out, name + ".index"))
        report = json.loads(self.run_tool("index", "--rows", "--json", out).stdout)
        self.assertEqual((report["shards"], report["rows"]), (len(shards), len(self.paths)))
        self.assertEqual({name: self.bytes_of(out, name + ".index") for name in shards}, packed)  # wherever they lie
        self.assertIn(" rows in 1 shard: ", self.run_tool("index", "--rows", os.path.join(out, shards[0])).stdout)
        self.assertIn("have no meaning", self.run_tool("index", "--rows", out, "--root", out, expect=1).stderr)
        self.assertIn("has no .tar files", self.run_tool("index", "--rows", self.data, expect=1).stderr)
        with open(os.path.join(out, shards[1]), "r+b") as file:
            file.truncate(1000)
        self.assertIn(shards[1] + ": truncated tar file", self.run_tool("index", "--rows", out, expect=1).stderr)

    @staticmethod
    def bytes_of(*path):
        with open(os.path.join(*path), "rb") as file:
            return file.read()

    def test_options_of_lists_are_for_lists(self):
        for option, value in (("--column", "file"), ("--separator", ";"), ("--root", self.folder)):
            done = self.run_tool("index", self.data, option, value, expect=1)
            self.assertIn(f"error: `{option[2:]}` is for lists, and {self.data} is a folder\n", done.stderr)
        done = self.run_tool("index", self.data, "--separator", "ab", expect=2)
        self.assertEqual(done.stderr, "penstock: error: --separator wants one byte, such as `;`, but found `ab`\n")

    def test_a_file_that_is_no_list_is_refused(self):
        done = self.run_tool("index", self.paths[0], expect=1)
        self.assertEqual((done.stdout, done.stderr),
                         ("", f"penstock: error: {self.paths[0]} is no text with the names of files: give a folder, a file whose name "
                              "ends in .tar, or a list with a file name per line\n"))
        self.assertFalse(os.path.exists(self.paths[0] + ".penstock-index"))

    def test_a_list_of_which_nothing_can_be_read(self):
        table = os.path.join(self.data, "table.csv")
        with open(table, "w") as file:
            file.writelines(["file,label\n", *(f"{os.path.relpath(path, self.data)},3\n" for path in self.paths)])
        self.assertIn(f"error: none of the 41 files of the list can be read (cannot stat {self.data}/file,label: No such file or "
                      "directory); each line was taken for a file's name: of a table, `--column` says which column has the names, and "
                      f"`--root` names the folder of the files, which is now {self.data}\n",
                      self.run_tool("index", table, expect=1).stderr)
        self.assertRegex(self.run_tool("index", table, "--column", "file", "--root", self.folder, expect=1).stderr,
                         f"none of the 40 files of the list can be read \\(.*\\); files are looked for in {self.folder}\n")
        self.assertEqual([name for name in os.listdir(self.data) if "index" in name], [])
        self.assertEqual(self.index(table, "--column", "file")["indexed"], 40)
        with open(table + ".penstock-index", "rb") as file:
            right = file.read()
        self.run_tool("index", table, expect=1)
        with open(table + ".penstock-index", "rb") as file:
            self.assertEqual(file.read(), right)  # what was there stays

    def test_names_need_not_be_utf8(self):
        shutil.copyfile(os.fsencode(self.paths[0]), os.path.join(os.fsencode(self.data), b"h\xf6he.jpg"))
        listing = os.path.join(self.data, "list.txt")
        with open(listing, "wb") as file:
            file.write(b"h\xf6he.jpg\n")
        self.assertEqual(self.index(listing)["indexed"], 1)


class Pack(Prepared):
    def test_what_is_refused_leaves_no_folder(self):
        """One in the data would be a class without images."""
        inside, elsewhere = os.path.join(self.data, "shards"), os.path.join(self.folder, "elsewhere")
        self.assertIn("it would be a class", self.run_tool("pack", self.data, inside, expect=1).stderr)
        self.assertFalse(os.path.exists(inside))
        self.assertIn("is not a folder", self.run_tool("pack", self.data + "none", elsewhere, expect=1).stderr)
        self.assertFalse(os.path.exists(elsewhere))

    def pack(self, out, *arguments, expect=0):
        return self.run_tool("pack", self.data, out, "--shard-size", "40k", "--json", *arguments, expect=expect)

    def contents(self, folder):
        result = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                result[name] = file.read()
        return result

    def test_tar_takes_out_the_same_files(self):
        out, taken = os.path.join(self.folder, "shards"), os.path.join(self.folder, "taken")
        os.makedirs(taken)
        Image.new("RGB", (70, 80), (9, 8, 7)).save(os.path.join(self.data, "class1", "z.png"))
        report = json.loads(self.pack(out, "--verify").stdout)
        self.assertEqual((report["images"], report["renamed"], report["left_out"]), (41, 0, []))
        self.assertGreater(report["shards"], 2)
        self.assertEqual(report["verified_bytes"], report["out_bytes"])
        for name in sorted(os.listdir(out)):
            if name.endswith(".tar"):
                subprocess.run(["tar", "-xf", os.path.join(out, name), "-C", taken], check=True)
        for path in [*self.paths, os.path.join(self.data, "class1", "z.png")]:
            relative = os.path.relpath(path, self.data)
            self.assertTrue(filecmp.cmp(path, os.path.join(taken, relative), shallow=False), relative)
        names = [name for _, _, files in os.walk(taken) for name in files if not name.startswith("__")]
        self.assertEqual(len(names), 2 * 41)  # each with its label

    def test_the_source_gives_the_same_samples_from_checkpoints(self):
        out = os.path.join(self.folder, "shards")
        self.pack(out)
        _, right, _ = self.run_all()
        report, found, messages = self.run_all(SHARDS, shards=out)
        self.assertEqual((found, messages), (right, ""))
        self.assertEqual(report["jpeg_index"], {"uses": 40, "misses": 0})

    def test_killed_and_started_again(self):
        whole, out = os.path.join(self.folder, "whole"), os.path.join(self.folder, "out")
        self.pack(whole)
        right = self.contents(whole)
        kept = 0
        for shards in (0, 1, 2):
            process = subprocess.Popen(self.command("pack", self.data, out, "--shard-size", "40k", "--threads", 1),
                                       env=self.environment(), stdout=subprocess.DEVNULL)
            while process.poll() is None and (not os.path.isdir(out) or
                                              sum(name.endswith(".tar") for name in os.listdir(out)) < shards):
                pass
            process.send_signal(signal.SIGKILL)
            process.wait()
            kept += json.loads(self.pack(out).stdout)["earlier"]
            self.assertEqual(self.contents(out), right)
            shutil.rmtree(out)
        self.assertGreater(kept, 0)

    def test_one_flipped_byte_is_found(self):
        out = os.path.join(self.folder, "shards")
        self.pack(out)
        path = os.path.join(out, "000001.tar")
        with open(path, "r+b") as file:
            file.seek(9000)
            byte = file.read(1)[0]
            file.seek(9000)
            file.write(bytes([byte ^ 1]))
        self.assertIn("000001.tar differs from the data at byte 9000", self.pack(out, "--verify", expect=1).stderr)

    def test_another_folder_is_not_touched(self):
        self.assertIn("is not empty", self.run_tool("pack", self.data, self.folder, expect=1).stderr)
        self.assertIn("it would be a class",
                      self.run_tool("pack", self.data, os.path.join(self.data, "out"), expect=1).stderr)


if __name__ == "__main__":
    main()
