# SPDX-License-Identifier: Apache-2.0
"""Each optimising pass changes no bit, and its measure is worse without it.

Also: every level of the CPU gives the same bits, and code that refers to nothing outside itself.

Each probe is run without each of two passes, which the commit chooses, and without all; with
PENSTOCK_ALL_PASSES=1 without each of all, as the other examples are.
"""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy
import soundfile
from PIL import Image

from support import EXAMPLES, ROOT, ToolTest, make_folder, main

sys.path.insert(0, os.path.join(ROOT, "test", "parity"))
import clips  # noqa: E402

EVERY = sorted(glob.glob(os.path.join(EXAMPLES, "*.pipe")) +
               glob.glob(os.path.join(EXAMPLES, "probes", "*.pipe")))
if not shutil.which("ffmpeg"):
    EVERY = [path for path in EVERY if os.path.basename(path) != "kinetics.pipe"]


def count(pattern):
    return lambda text: len(re.findall(pattern, text))


def bytes_that_views_read(text):
    """Sum over views of the bytes of an element that they move."""
    sizes = {"u8": 1, "f16": 2, "i32": 4, "f32": 4, "f64": 8, "i64": 8, "i16": 2}
    moved = re.findall(r"pipe\.(?:view|pad) .*: <(\w+)\[", text)
    return sum(sizes[element] for element in moved)


GAMMA = """pipe 1
use vision
fn gamma(x: u8[h, w, c]) -> u8[h, w, c] =
  map (p in x) { u8.clamp(round(255.0 * pow(f64(p) / 255.0, 0.7))) }
pipeline chain(length: int = 16) {
  for row in synthetic(length, image = u8[h = 32, w = 32, c = 3])
  batch 8 per rank last drop { output image: u8[n, h, w, c] = row.image |> gamma }
}
"""


def emitted(stage, measure):
    return lambda test, path, *more: measure(
        test.run_tool("compile", path, "--emit", stage, *more).stdout)


def blocks(test, path, *more):
    return test.run_json("run", path, *test.inputs(path), *more)["decoded_blocks"]


# Pass: an example (or its text), and what the pass promises to lower.
MEASURES = {
    "merge-views": ("imagenet_train.pipe", emitted("pipe-opt", count(r"pipe\.choose .*pipe\.tensor"))),
    "compose-views": ("cifar_train.pipe", emitted("pipe-opt", count(r"pipe\.(?:view|pad) "))),
    "sink-casts": ("early_float.pipe", emitted("pipe-opt", bytes_that_views_read)),
    "merge-maps": ("imagenet_train.pipe", emitted("pipe-opt", count(r"pipe\.map"))),
    "narrow": ("imagenet_train.pipe", emitted("kernels", count(r"binary +div .*f32"))),
    "collapse-tables": (GAMMA, emitted("pipe-opt", count(r"pipe\.(?:binary|unary) .*f64"))),
    "required-regions": ("imagenet_train.pipe", blocks),
    "fuse": ("imagenet_train.pipe", emitted("kernels", count(r"pipe\.launch"))),
}


class Passes(ToolTest):
    settings = ["--set", "per_rank=4"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
        cls.videos = tempfile.mkdtemp(prefix="penstock-videos-")
        cls.addClassCleanup(shutil.rmtree, cls.videos)
        for i in range(4 if shutil.which("ffmpeg") else 0):  # of two clips each
            clips.encode(os.path.join(cls.videos, f"{i}.mp4"), *clips.x264(clips.GOP), frames=130, seed=i)

    def setUp(self):
        super().setUp()
        make_folder(self.data, per_class=8, sizes=(240, 300))
        for i, name in enumerate(sorted(os.listdir(self.videos))):
            shutil.copy(os.path.join(self.videos, name), os.path.join(self.data, f"class{i % 2}"))
        rng = numpy.random.default_rng(3)
        self.images = os.path.join(self.folder, "images.raw")
        self.labels = os.path.join(self.folder, "labels.raw")
        rng.integers(0, 256, (600, 32, 32, 3), dtype=numpy.uint8).tofile(self.images)
        rng.integers(0, 10, 600).tofile(self.labels)
        self.scans = os.path.join(self.folder, "scans.txt")
        with open(self.scans, "w") as file:
            file.writelines(f"scan{i}.bin\n" for i in range(10))
        self.sounds = os.path.join(self.folder, "sounds.txt")
        with open(self.sounds, "w") as file:
            file.writelines(f"sound{i}.{'flac' if i % 5 == 4 else 'wav'}\n" for i in range(10))
        for i in range(10):
            values = rng.integers(-9999, 9999, (6000 + 3000 * i, 1 + i % 2), dtype=numpy.int16)
            soundfile.write(os.path.join(self.data, f"sound{i}.{'flac' if i % 5 == 4 else 'wav'}"), values, 16000)
        self.labelled = os.path.join(self.folder, "sounds.csv")
        with open(self.labelled, "w") as file:
            file.write("file,label\n" + "".join(f"sound{i}.{'flac' if i % 5 == 4 else 'wav'},{i}\n" for i in range(10)))
        self.sized = os.path.join(self.folder, "sized.csv")
        with open(self.sized, "w") as file:
            file.write("file,samples\n" + "".join(f"sound{i}.{'flac' if i % 5 == 4 else 'wav'},{6000 + 3000 * i}\n" for i in range(10)))
        self.noises = os.path.join(self.folder, "noises")
        for name in "ab":
            os.makedirs(os.path.join(self.noises, name))
            soundfile.write(os.path.join(self.noises, name, "n.wav"), rng.integers(-999, 999, 9000, dtype=numpy.int16), 16000)
        self.manifest = os.path.join(self.data, "manifest.json")
        with open(self.manifest, "w") as file:
            file.writelines(json.dumps({"audio_filepath": f"sound{i}.wav", "offset": 0.1, "duration": 0.2 + 0.01 * i, "text": f"a {i}", "tokens": list(range(i)),
                                         "wav": f"sound{i}.wav", "labels": [i, 500 + i]}) + "\n"
                            for i in range(8) if i % 5 != 4)
        self.objects = os.path.join(self.folder, "objects.jsonl")
        with open(self.objects, "w") as file:
            for i in range(8):
                boxes = [[10.0 * j, 5.0, 10.0 * j + 30, 40.0 + i] for j in range(i % 4)]
                file.write(json.dumps({"file": f"class1/{i:04}.jpg", "boxes": boxes, "labels": list(range(i % 4))}) + "\n")
        self.pairs = os.path.join(self.folder, "pairs.csv")
        with open(self.pairs, "w") as file:
            file.write("photo,depth\n" + "".join(f"class0/{i:04}.jpg,depth{i}.png\n" for i in range(8)))
        for i in range(8):
            with Image.open(os.path.join(self.data, "class0", f"{i:04}.jpg")) as photo:
                depth = rng.integers(0, 1 << 16, (photo.height, photo.width), dtype=numpy.uint16)
            Image.fromarray(depth).save(os.path.join(self.data, f"depth{i}.png"))
        for i in range(10):
            (20 * rng.standard_normal((500 + 37 * i, 4), dtype=numpy.float32)).tofile(os.path.join(self.data, f"scan{i}.bin"))

    def inputs(self, path):
        """--set for the sources of an example."""
        parameters = self.run_tool("check", path).stdout
        lists = {"speech.pipe": self.sounds, "whisper.pipe": self.sounds, "speech_commands.pipe": self.labelled, "esc50.pipe": self.labelled,
                 "wav2vec2.pipe": self.sized}
        files = lists.get(os.path.basename(path), self.scans)
        given = {"root": self.data, "images": self.images, "labels": self.labels, "list": files, "pairs": self.pairs, "objects": self.objects, "per_rank": "4",
                 "manifest": self.manifest, "rooms": self.manifest, "noises": self.noises,
                 "samples": "10000", "batch_samples": "40000", "shortest": "9000", "buckets": "2",
                 **self.columns(path)}
        return [word for name, value in given.items() if re.search(rf"^  {name} +{'int' if value.isdigit() else 'path'} ", parameters, re.M)
                for word in ("--set", f"{name}={value}")]

    def columns(self, path):
        """A file of 16 random rows for each column of numbers of a probe."""
        with open(path) as file:
            text = file.read()
        given, rng = {}, numpy.random.default_rng(4)
        for name, element, axes in re.findall(r"column\((\w+), (u8|f32)\[([^]]+)\]\)", text) if "/probes/" in path else ():
            extents = [16] + [3 if size == "rgb" else int(size) for size in re.findall(r"= (\w+)", axes)]
            given[name] = os.path.join(self.folder, f"{os.path.basename(path)}-{name}.raw")
            rows = rng.standard_normal(extents, dtype=numpy.float32) if element == "f32" else rng.integers(0, 256, extents)
            rows.astype(numpy.float32 if element == "f32" else numpy.uint8).tofile(given[name])
        return given

    def hashes(self, path, *arguments):
        target = os.path.join(self.folder, "hashes")
        if os.path.exists(target):
            os.remove(target)
        self.run_tool("run", path, *self.inputs(path), "--batches", "2", "--hashes", target, *arguments)
        with open(target) as file:
            return file.read()

    def passes(self):
        """The optimising passes that there are, as the tool lists them."""
        done = self.run_tool("compile", EVERY[0], "--disable-pass", "fuze", expect=1)
        return re.search(r"known are (.+)", done.stderr)[1].split(", ")

    def left_out(self, path):
        """Which passes to leave out together, one choice after the other."""
        passes = self.passes()
        if "/probes/" not in path or os.environ.get("PENSTOCK_ALL_PASSES"):
            return [[name] for name in passes]
        rank = lambda name: hashlib.sha256(f"{self.commit} {path} {name}".encode()).digest()
        return [passes] + [[name] for name in sorted(passes, key=rank)[:2]]

    def test_no_pass_changes_a_bit(self):
        for path in EVERY + [self.example(GAMMA)]:
            wanted = self.hashes(path)
            self.assertTrue(wanted)
            for names in self.left_out(path):
                with self.subTest(example=os.path.basename(path), disabled=names):
                    words = [word for name in names for word in ("--disable-pass", name)]
                    self.assertEqual(self.hashes(path, *words), wanted)

    def example(self, name_or_text):
        if name_or_text.endswith(".pipe"):
            return os.path.join(EXAMPLES, name_or_text)
        path = os.path.join(self.folder, "example.pipe")
        with open(path, "w") as file:
            file.write(name_or_text)
        return path

    def test_each_pass_improves_its_measure(self):
        for name in self.passes():
            with self.subTest(disabled=name):
                self.assertIn(name, MEASURES, "a pass needs a measure that it improves")
                example, measure = MEASURES[name]
                path = self.example(example)
                self.assertLess(measure(self, path), measure(self, path, "--disable-pass", name))

    def test_kernels_with_equal_text_are_one(self):
        for path in EVERY:
            text = self.run_tool("compile", path, "--emit", "kernels").stdout
            text = re.sub(r"pipe\.remarks = \[[^\]]*\],? ?", "", text)
            kernels = re.findall(r"^  pipe\.kernel @\w+ (\"pixels\".*?)^  }$", text, re.M | re.S)
            self.assertEqual(len(kernels), len(set(kernels)), path)

    def test_an_unknown_pass_is_refused_with_the_known_ones(self):
        done = self.run_tool("compile", EVERY[0], "--disable-pass", "fuze", expect=1)
        for name in MEASURES:
            self.assertIn(name, done.stderr)

    def test_every_level_gives_the_same_bits(self):
        with open("/proc/cpuinfo") as file:
            flags = file.read()
        offered = {"x86-64-v3": " avx2" in flags, "x86-64-v4": " avx512bw" in flags,
                   "x86-64-v4-vnni": " avx512_vnni" in flags and " avx512vbmi" in flags,
                   "armv8-a": False}
        for path in EVERY:
            wanted = self.hashes(path, "--target", "x86-64-v2")
            for target, is_offered in offered.items():
                with self.subTest(example=os.path.basename(path), target=target):
                    if is_offered: # what refers to something outside is not loaded
                        self.assertEqual(self.hashes(path, "--target", target), wanted)
                    else:
                        self.assertEqual(self.undefined_symbols(path, target), "")

    def undefined_symbols(self, path, target):
        code = os.path.join(self.folder, "code.o")
        self.run_tool("compile", path, "--emit", "obj", "--target", target, "-o", code)
        return subprocess.run(["nm", "--undefined-only", code], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
