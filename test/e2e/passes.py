# SPDX-License-Identifier: Apache-2.0
"""Each optimising pass changes no bit, and its measure is worse without it.

Also: every level of the CPU gives the same bits, and code that refers to nothing outside itself.

A third of the examples and probes, which the commit chooses, are run without one pass, which it
chooses, too, and without all, and a third at every level; scripts/soak runs each without each pass and
at each level. differential.passes and differential.levels do the same with random pipelines.
"""
import functools
import os
import re
import subprocess

from examples import EVERY, ExamplesTest
from support import EXAMPLES, in_turn, main


def count(pattern):
    return lambda text: len(re.findall(pattern, text))


def bytes_that_views_read(text):
    """Sum over views of the bytes of an element that they move."""
    sizes = {"u8": 1, "f16": 2, "i32": 4, "f32": 4, "f64": 8, "i64": 8, "i16": 2}
    moved = re.findall(r"pipe\.(?:view|pad) .*: <(\w+)\[", text)
    return sum(sizes[element] for element in moved)


HEADS = """pipe 1
pipeline heads() {
  for row in synthetic(8, q = f32[hd = 9, t = 5, d = 7], k = f32[hd = 9, s = 6, d = 7])
  batch 2 { output y: f32[n, z, t, s] = each (z in 0 .. 9) { contract(row.q[hd = z], row.k[hd = z]) } }
}
"""

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


def launches(test, path, *more):
    """On a GPU, for a batch of what crosses as decoded."""
    return test.run_json("explain", path, "--transfer", "all", *more)["levels"][0]["gpu"]["launches"]


def places_in_the_memory_of_a_gpu(test, path, *more):
    """That its kernels are handed."""
    return count(r"pst_global\(")(test.run_tool("compile", path, "--gpu", "sm_90", "--emit", "cuda", *more).stdout)


# Pass: an example (or its text), and what the pass promises to lower.
MEASURES = {
    "split-choices": ("boxes.pipe", emitted("pipe-opt", count(r"pipe\.choose .*pipe\.tensor.*pipe\.tensor"))),
    "merge-views": ("imagenet_train.pipe", emitted("pipe-opt", count(r"pipe\.choose .*pipe\.tensor"))),
    "compose-views": ("cifar_train.pipe", emitted("pipe-opt", count(r"pipe\.(?:view|pad) "))),
    "sink-casts": ("early_float.pipe", emitted("pipe-opt", bytes_that_views_read)),
    "merge-maps": ("imagenet_train.pipe", emitted("pipe-opt", count(r"pipe\.map"))),
    "narrow": ("imagenet_train.pipe", emitted("kernels", count(r"binary +div .*f32"))),
    "collapse-tables": (GAMMA, emitted("pipe-opt", count(r"pipe\.(?:binary|unary) .*f64"))),
    "required-regions": ("imagenet_train.pipe", blocks),
    "fuse": ("imagenet_train.pipe", emitted("kernels", count(r"pipe\.launch"))),
    "share-kernels": (HEADS, emitted("kernels", count(r"pipe\.kernel"))),
    "join-launches": ("resnet50.pipe", launches),
    "hold-pictures": ("simclr.pipe", places_in_the_memory_of_a_gpu),
}


class Passes(ExamplesTest):
    @functools.cached_property
    def passes(self):
        """The optimising passes that there are, as the tool lists them."""
        done = self.run_tool("compile", EVERY[0], "--disable-pass", "fuze", expect=1)
        return re.search(r"known are (.+)", done.stderr)[1].split(", ")

    def left_out(self, path):
        """Which passes to leave out together, one choice after the other."""
        return [self.passes] + [[name] for name in in_turn(self.passes, 1, path)]

    def test_no_pass_changes_a_bit(self):
        for path in in_turn(EVERY, len(EVERY) // 3, "passes") + [self.example(GAMMA)]:
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
        for name in self.passes:
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
        elsewhere = [target for target, is_offered in offered.items() if not is_offered]
        for path in in_turn(EVERY, len(EVERY) // 3, "levels"):
            wanted = self.hashes(path, "--target", "x86-64-v2")
            for target in set(offered) - set(elsewhere):
                with self.subTest(example=os.path.basename(path), target=target): # what refers to something outside is not loaded
                    self.assertEqual(self.hashes(path, "--target", target), wanted)
            for target in in_turn(elsewhere, 1, path):
                with self.subTest(example=os.path.basename(path), target=target):
                    self.assertEqual(self.undefined_symbols(path, target), "")

    def undefined_symbols(self, path, target):
        code = os.path.join(self.folder, "code.o")
        self.run_tool("compile", path, "--emit", "obj", "--target", target, "-o", code)
        return subprocess.run(["nm", "--undefined-only", code], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
