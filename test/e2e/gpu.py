# SPDX-License-Identifier: Apache-2.0
"""Kernels on a GPU, simulated: the driver's library and NVRTC are stand-ins (test/fakes), the kernels are the CUDA text behind the
shim. Every sample is what the CPU makes; what fails on the way is said, and nothing is left behind."""
import json
import os
import re
import subprocess
import sys
import wave

import numpy
from PIL import Image

from support import EXAMPLES, ROOT, GpuTest, in_turn, main, make_folder

LENGTHS = """  for row in synthetic(30, x = f32[k = 1 ..= 40, box = xyxy]) order shuffled
  let kept = compact(row.x, map (i in index(row.x, k)) { i % 3 == 0 })
  batch <= 200 elements by extent(row.x, k) buckets 3 last keep {
    output x: f32[n, k <= 40, box] pad -1 = map (v in row.x) { v * 2.0 }
    output kept: f32[n, box, k <= 40] stored [n, k, box] pad 0.5 = kept
    output parts: f32[n, k <= 40, box] ragged = map (v in row.x) { v + 1.0 }
  }"""
# Each with what it is about: constants, ragged outputs, branches, peers, what runs once for a batch, an axis n
# inside, tables of the host, temporaries that share memory, checks.
PIPELINES = {
    "crops": """  for row in synthetic(21, image = u8[h = 40, w = 40, c = rgb]) order shuffled
  batch 8 per rank last keep {
    output light: f32[n, c] = sum(f32(row.image) over [h, w])
    output image: f16[n, c, h, w] = row.image |> random_crop(32) |> flip(w) if chance(0.5)
      |> normalize({ mean = [0.5, 0.4, 0.3], std = [0.2, 0.3, 0.25] })
    output resized: u8[n, h, w, c] = row.image |> random_resized_crop(24)
  }""",
    "ragged": """  for row in synthetic(17, x = f32[k = 40])
  let kept = compact(row.x, map (v in row.x) { v > 0.3 })
  batch 5 last keep {
    output kept: f32[n, k <= 40] ragged = kept
    output padded: f32[n, k <= 40] pad -1 = kept
    output most: f32[n] = max(row.x over [k])
  }""",
    "joined": """  for row in synthetic(18, x = f32[h = 6, w = 7])
  batch 6 {
    let other = draw permutation(n)
    let lam = draw beta(0.4, 0.4)
    output mixed: f32[n, h, w] = lam * row.x + (1.0 - lam) * row.x[n = other]
    output doubled: f32[n, h, w] = (map (v in row.x) { v * 2.0 })[n = other]
    output centred: f32[n, h, w] = row.x - mean(row.x over [n])
    output inside: f32[h, n, w] = map (v in row.x) { v * 2.0 }
  }""",
    "branches": """  for row in synthetic(16, image = u8[h = 60, w = 44, c = rgb])
  let turned = row.image |> choose { 1 => gaussian_blur(3, 1.5), 1 => { flip(h) |> autocontrast }, 1 => posterize(3), 1 => identity }
  batch 7 last keep { output image: u8[n, h, w, c] = turned }""",
    "around": """  for row in synthetic(12, image = u8[h = 40, w = 40, c = rgb]) order shuffled
  let weak = row.image |> random_crop(32)
  batch 1 {
    output weak: u8[n, h, w, c] = weak
    output strong: u8[n, h, w, c] = weak |> choose { 1 => translate(draw int(-7 .. 8), draw int(-7 .. 8)), 1 => shear(w, draw uniform(-0.3 .. 0.3)) }
  }""",
    "twice": """  for row in synthetic(12, image = u8[h = 60, w = 48, c = rgb], boxes = f32[k = 0 ..= 4, box = xyxy]) order shuffled
  let scene = { image = row.image, boxes = row.boxes } |> flip(w) if chance(0.5)
  let bright = row.image |> brightness(1.3) if chance(0.5) |> flip(h) if chance(0.5)
  batch 5 last keep {
    output small: u8[n, h, w, c] = scene.image |> resize(40, 40) |> random_resized_crop(24)
    output boxes: f32[n, k <= 4, box] pad 0 = scene.boxes
    output bright: f16[n, c, h, w] = bright |> random_resized_crop(16) |> normalize(imagenet)
  }""",
    "nothing": """  for row in synthetic(9, image = u8[h = 8, w = 8, c = rgb], k = 0 .. 3)
  batch 4 last keep {
    output none: u8[n, h <= 8, w, c] pad 7 = row.image[h = 0 .. row.k]
    output label: i64[n] = row.k
  }""",
    "sound": """  for row in synthetic(9, wave = f32[t = 2000])
  let spec = stft(row.wave, hann_window(200), 256, 100)
  batch 4 last keep {
    output whole: f32[n, t] = istft(spec, hann_window(200), 256, 100, 2000) |> lowpass(16kHz, 1kHz * draw uniform(0.5 .. 2.0))
    output faster: f32[n, t] = row.wave |> speed(1.25, 16kHz) |> gain(draw uniform(-6.0 .. 6.0))
    output bands: f32[n, t, freq] = row.wave |> kaldi_fbank(povey_window(400), 160, 40, 20Hz .. 8kHz, 16kHz, dither = 0.1) |> time_mask(4)
    output room: f32[n, t] = row.wave |> reverberate(rename(row.wave[t = 0 .. 300], t, tap), 128) |> pitch_shift(12.0, 16kHz)
  }""",
    # Zeros, infinities, NaN and the ends of the range, read when running.
    "special": """  for row in synthetic(6, at = 0 .. 17)
  let some: f32[i] = [0.0, 1.0, 0.5, 2.0, 2.5, 3.0, inf, 1e-45, 3e38, -0.0, -1.0, -0.5, -2.0, -3.0, -inf, -1e-45, nan]
  let x = map (i in 0 .. 17) { some[i = (i + row.at) % 17] }
  batch 3 {
    output power: f32[n, i, j] = map (p in x, q in rename(x, i, j)) { pow(p, q) }
    output length: f32[n, i, j] = map (p in x, q in rename(x, i, j)) { hypot(p, q) }
    output angle: f64[n, i, j] = map (p in x, q in rename(x, i, j)) { atan2(f64(p), f64(q)) }
    output curve: f16[n, i] = map (p in x) { f16(tanh(p)) }
  }""",
    # Rows and columns of nothing but NaN.
    "lost": """  for row in synthetic(6, x = f32[h = 37, w = 70], at = 0 .. 70)
  let lost = map (p in row.x, i in index(row.x, h), j in index(row.x, w)) { if i % 5 == 0 or j < row.at then f32(nan) else p - 0.5 }
  let groups = group(lost[w = 0], by = map (i in index(row.x, h)) { i % 10 }, limit = 12, into = m)
  let kept = compact(lost[h = 1], map (p in row.x[h = 1], j in index(row.x, w)) { j < row.at / 2 })
  batch 3 {
    output rows: f32[n, h] = min(lost over [w])
    output columns: f16[n, w] = max(f16(lost) over [h])
    output all: f64[n] = max(f64(lost) over [h, w])
    output running: f32[n, h, w] = scan_max(lost, w)
    output grouped: f32[n, m <= 12] ragged = min(groups.points over [h])
    output kept: f32[n] = max(kept over [w])
    output among: f32[n, h, w] = min(lost over [n])
  }""",
    # Sums over whole pictures go over one number, which is taken apart: places below 0 are among what is made of it.
    "whole": """  for row in synthetic(6, x = f32[h = 64, w = 48], s = -40 .. 40)
  let split = split(row.x, w, k, 4)
  batch 3 {
    output edge: f32[n] = sum(extend(row.x, h, 2, 3, edge) over [h, w])
    output turned: f32[n] = sum(extend(row.x, w, 5, 2, reflect) over [h, w])
    output again: f32[n] = sum(extend(extend(row.x, h, 3, 1, wrap), w, 2, 2, symmetric) over [h, w])
    output below: i64[n] = count(map (i in 0 .. 64, j in 0 .. 48) { i - j < row.s } over [i, j])
    output half: f32[n] = max(map (i in 0 .. 64, j in 0 .. 48) { row.x[h = i / 2, w = j / 2] } over [i, j])
    output merged: f32[n] = sum(merge(split, w, h) over [k, w])
  }""",
    "tinted": """  for row in synthetic(12, image = u8[h = 40, w = 50, c = rgb]) order shuffled
  let image = row.image |> random_resized_crop(24) |> brightness(0.7) if chance(0.5)
    |> choose { 1 => invert, 1 => solarize(128), 1 => grayscale }
  batch 4 { output image: f16[n, c, h, w] = image |> normalize(imagenet) }""",
    "sums": """  for row in synthetic(6, x = u8[h = 64, w = 64, c = rgb])
  let views = each (v in 0 .. 2) {
    let turned = row.x |> invert if chance(0.6)
    return map (a in turned, b in row.x) { u8((int(a) + int(b)) / 2) }
  }
  batch 3 {
    output views: f16[v, n, c, h, w] = views |> normalize(imagenet)
    output light: f32[v, n] = sum(f32(views) over [h, w, c])
  }""",
    "table": """  for row in synthetic(12, x = f32[k = 400])
  batch 4 { output spectrum: f32[n, freq, part] = fft(map (v in row.x) { if v < 1e6 then v else 0.5 }, k) }""",
}


class Gpu(GpuTest):
    def hashes(self, *arguments, quiet=True):
        path = os.path.join(self.folder, "hashes")
        if os.path.exists(path):
            os.remove(path)
        done = self.run_tool(*arguments, "--hashes", path)
        if quiet:
            self.assertNotIn("simulated GPU", done.stderr)
        with open(path) as file:
            return file.read()

    def write(self, body, name="mine"):
        path = os.path.join(self.folder, f"{name}.pipe")
        with open(path, "w") as file:
            file.write(f"pipe 1\nuse vision, audio\npipeline {name}() {{\n{body}\n}}\n")
        return path

    def assert_same(self, pipe, *arguments, seeds=(0, 1), resampled=False, joined=False, planes=False):
        expected = self.hashes("run", pipe, *arguments)
        self.assertGreater(len(expected.splitlines()), 1)
        stay = self.delivered_on_gpu(pipe)
        for seed in seeds:
            self.behaviour = f"seed={seed} captures=1" + (" watch=1" if joined and seed == 1 else "")  # races are faults
            self.assertEqual(self.hashes("run", pipe, *arguments, "--gpu", "sm_90"), expected)
        self.behaviour = "watch=1" if joined else ""
        self.assertEqual(self.hashes("run", stay, *arguments, "--gpu", "sm_90"), expected)
        self.behaviour = ""
        if joined:
            self.assertEqual(self.hashes("run", pipe, *arguments, "--gpu", "sm_90", "--disable-pass", "join-launches"), expected)
        self.assertEqual(self.hashes("run", stay, *arguments, "--gpu", "sm_90", "--transfer", "final"), expected)
        for level in ("resampled",) * resampled + ("planes",) * planes:
            self.assertEqual(self.hashes("run", pipe, *arguments, "--gpu", "sm_90", "--transfer", level), expected)
        # Outputs of the host's kernels are copied there, or not.
        self.assertEqual(self.hashes("run", stay, *arguments), expected)
        self.assertEqual(self.hashes("run", stay, *arguments, "--device", "cpu"), expected)
        return expected

    def delivered_on_gpu(self, pipe):
        """The same pipeline, with every output in the GPU's memory."""
        with open(pipe) as file:
            text, count = re.subn(r"(\boutput \w+: (?:[^=\n]|= (?=[\w.]+[,\]]))*?) = ", r"\1 on gpu = ", file.read())
        self.assertGreater(count, 0)
        path = os.path.join(self.folder, "stay_" + os.path.basename(pipe))
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_pipelines_of_all_kinds(self):
        for name in in_turn(PIPELINES, 4, "gpu"):
            with self.subTest(name):
                self.assert_same(self.write(PIPELINES[name], name), "--epochs", "2", resampled=name in ("crops", "branches"),
                                 joined=name in ("around", "branches", "sound"))

    def test_blocks_that_wait_on_a_small_gpu(self):
        """Blocks that wait for each other are no more than have room at once: eight have none here."""
        pipe = self.write(PIPELINES["branches"])
        expected = self.hashes("run", pipe)
        for multiprocessors in (1, 3):
            self.behaviour = f"architecture=75 multiprocessors={multiprocessors}"
            self.assertEqual(self.hashes("run", pipe, "--gpu", "sm_75"), expected)

    def test_words_around_what_stays(self):
        """Of the first output in the GPU's memory, too, nothing lies before it but what may be read."""
        self.assert_same(self.write(PIPELINES["around"], "around"), joined=True, seeds=(1,))

    def test_batches_by_length(self):
        """Only the samples themselves: python.gpu compares the padding."""
        expected = self.assert_same(self.write(LENGTHS, "lengths"), "--epochs", "2")
        self.assertEqual(len(expected.splitlines()), 60)

    def test_pictures(self):
        make_folder(self.data, per_class=7)
        for example in in_turn(("imagenet_train", "simclr", "resnet50", "jpeg_robust"), 2, "gpu"):
            with self.subTest(example):
                self.assert_same(os.path.join(EXAMPLES, f"{example}.pipe"), "--set", f"root={self.data}",
                                 *self.settings, seeds=(3,), resampled=True, planes=True)
        for name in ("imagenet_train", "resnet50"):
            pipe = os.path.join(EXAMPLES, "gpu", name + ".pipe")
            settings = ("--set", f"root={self.data}", "--set", "per_rank=4")
            self.assertEqual(self.hashes("run", pipe, *settings, "--gpu", "sm_90"), self.hashes("run", pipe, *settings, "--device", "cpu"))

    def mixed_pictures(self):
        """Files of all kinds: those that cross as planes, those that have none, and damaged ones."""
        os.makedirs(os.path.join(self.data, "class0"))
        rng = numpy.random.default_rng(5)
        turned = Image.Exif()
        turned[0x0112] = 6
        kinds = [("RGB", {"subsampling": way, "progressive": way == 2}) for way in (0, 1, 2)] + \
                [("RGB", {"subsampling": 2, "exif": turned}), ("L", {}), ("CMYK", {}), ("RGB", {"subsampling": 2, "restart_marker_blocks": 3})]
        for i in range(24):
            mode, options = kinds[i % len(kinds)]
            height, width = (3, 4) if i == 9 else (int(side) for side in rng.integers(20, 90, 2))
            picture = Image.fromarray(rng.integers(0, 256, (height // 3 + 1, width // 3 + 1, 3), dtype=numpy.uint8)).resize((width, height)).convert(mode)
            name = os.path.join(self.data, "class0", f"{i:02}")
            if i % 8 == 5:
                picture.convert("RGB").save(name + ".png")
                continue
            picture.save(name + ".jpg", "JPEG", quality=80, **options)
            if i in (8, 14):
                os.truncate(name + ".jpg", os.path.getsize(name + ".jpg") * 2 // 3)

    def test_planes(self):
        """In one batch with pictures that have none, and in the choices and the places of peers."""
        self.mixed_pictures()
        bodies = {
            "plain": """  let x = row.data |> decode(rgb) |> random_resized_crop(24) |> flip(w) if chance(0.5)
  batch 7 last keep { output x: f16[n, c, h, w] = x |> normalize(imagenet) }""",
            "upright": """  let x = row.data |> decode(rgb, orient = true)
  batch 7 last keep {
    output light: f32[n, c] = sum(f32(x) over [h, w])
    output x: u8[n, h, w, c] = x |> random_resized_crop(24)
  }""",
            "choices": """  let x = row.data |> decode(rgb)
  let y = pick(files, draw int(0 .. files.length)).data |> decode(rgb)
  let z = (if chance(0.5) then x else y) |> resize(20, 20)
  batch 6 {
    let other = draw permutation(n)
    output mixed: f32[n, h, w, c] = f32(z) * 0.25 + f32(z[n = other]) * 0.75
    output gray: u8[n, h, w, c] = row.data |> decode(gray) |> resize(8, 8)
  }""",
            "encoded": """  let x = row.data |> decode(rgb)
  batch 6 {
    output again: u8[n, h, w, c] = x |> encode(jpeg, quality = 40) |> decode(rgb) |> resize(20, 20)
    output x: u8[n, h, w, c] = x |> resize(20, 20)
  }""",
        }
        for name, body in bodies.items():
            with open(os.path.join(self.folder, f"{name}.pipe"), "w") as file:
                file.write("pipe 1\nuse vision, augment\n"
                           f"pipeline {name}(root: path) with on_error = substitute(50%) {{\n  let files = image_folder(root)\n"
                           f"  for row in files order shuffled\n{body}\n}}\n")
        for name in in_turn(bodies, 2, "planes"):
            with self.subTest(name):
                path = os.path.join(self.folder, f"{name}.pipe")
                arguments = ("--set", f"root={self.data}", "--epochs", "2")
                self.assert_same(path, *arguments, seeds=(4,), planes=True)
                told = [self.run_tool("run", path, *arguments, *gpu).stderr
                        for gpu in ((), ("--gpu", "sm_90", "--transfer", "planes"))]
                self.assertIn("truncated JPEG", told[0])
                self.assertEqual(*told)
        path = os.path.join(self.folder, "plain.pipe")
        gpu = ("--gpu", "sm_90", "--transfer", "planes")
        alone = [self.run_tool("sample", path, "--set", f"root={self.data}", "--position", "11", *way).stdout for way in ((), gpu)]
        self.assertEqual(*alone)
        bundle = os.path.join(self.folder, "planes.pstk")
        self.run_tool("compile", path, "-o", bundle, *gpu)
        arguments = ("--set", f"root={self.data}")
        self.assertEqual(self.hashes("run", bundle, *arguments), self.hashes("run", path, *arguments))

    def test_numbers_wide_pixels_and_sound(self):
        os.makedirs(self.data)
        rng = numpy.random.default_rng(1)
        paths = {}
        for kind in ("numbers", "pictures", "sounds"):
            paths[kind] = os.path.join(self.folder, f"{kind}.txt")
            with open(paths[kind], "w") as file:
                file.writelines(f"{kind}{i}\n" for i in range(9))
        for i in range(9):
            rng.standard_normal((30 + i, 4), dtype=numpy.float32).tofile(os.path.join(self.data, f"numbers{i}"))
            Image.fromarray(rng.integers(0, 1 << 16, (20 + i, 31), dtype=numpy.uint16)).save(os.path.join(self.data, f"pictures{i}"), "PNG")
            with wave.open(os.path.join(self.data, f"sounds{i}"), "wb") as file:
                file.setparams((2, 2, 16000, 0, "NONE", ""))
                file.writeframes(rng.integers(-9999, 9999, (100 + 10 * i, 2), dtype=numpy.int16).tobytes())
        for kind, body in (("numbers", """  let x = row.data |> decode(f32[k, f = 4])
  let at = draw int(0 ..= extent(x, k) - 8)
  batch 3 { output y: f32[n, k, f] = x[k = at .. at + 8] * 2.0  output all: f32[n, k <= 50, f] ragged = x + 1.0 }"""),
                           ("pictures", """  let x = row.data |> decode(gray, depth = 16)
  let at = draw int(0 ..= extent(x, h) - 8)
  batch 3 { output y: f32[n, h, w, c] = map (p in x[h = at .. at + 8, w = at .. at + 8]) { f32(p) / 65535.0 } }"""),
                           ("sounds", """  let x = row.data |> decode(channels)
  let at = draw int(0 ..= extent(x, t) - 50)
  batch 3 { output y: f32[n, c <= 2, t] pad 0 = x[t = at .. at + 50] * 0.5 }""")):
            with self.subTest(kind):
                path = os.path.join(self.folder, f"{kind}.pipe")
                with open(path, "w") as file:
                    file.write(f"pipe 1\npipeline {kind}(list: path, root: path) {{\n  for row in file_list(list, root)\n{body}\n}}\n")
                self.assert_same(path, "--set", f"list={paths[kind]}", "--set", f"root={self.data}", seeds=(2,))

    def test_says_what_crosses(self):
        pipe = os.path.join(EXAMPLES, "imagenet_train.pipe")
        told = self.run_tool("explain", pipe, "--all", "--gpu", "sm_90", "--transfer", "resampled").stdout
        self.assertIn("not fused: it crosses from the host to a GPU", told)
        self.assertIn("place-kernels: stays on the host: it comes before what crosses to the GPU", told)
        self.assertIn("--transfer says what crosses to a GPU: it goes with --gpu",
                      self.run_tool("run", pipe, "--transfer", "final", expect=1).stderr)
        for level, message in (("coefficients", "nothing crosses to a GPU as `coefficients` yet"), ("pixel", "no level `pixel` of transfers")):
            told = self.run_tool("explain", pipe, "--transfer", level, expect=1).stderr
            self.assertEqual(told, f"error: {message}\nhint: there are planes, pixels, resampled, final; `auto` takes the one that costs least, "
                                   "and `all` makes all of them\n")

    def test_the_level_that_costs_least(self):
        """The machine decides, and no sample changes."""
        make_folder(self.data, per_class=7)
        pipe = os.path.join(EXAMPLES, "imagenet_train.pipe")
        arguments = ("--set", f"root={self.data}", *self.settings)
        expected = self.hashes("run", pipe, *arguments)
        self.assertEqual(self.hashes("run", pipe, *arguments, "--gpu", "sm_90", "--transfer", "all"), expected)
        slow = os.path.join(self.folder, "slow.json")
        with open(slow, "w") as file:
            json.dump({"gpu": {"operations": 1e9}}, file)
        self.assertEqual(self.hashes("run", pipe, *arguments, "--gpu", "sm_90", "--transfer", "auto", "--machine", slow), expected)
        bundle = os.path.join(self.folder, "all.pstk")
        self.run_tool("compile", pipe, "-o", bundle, "--target", "x86-64-v2", "--gpu", "sm_90", "--transfer", "all", *self.settings)
        self.assertEqual(self.hashes("run", bundle, *arguments), expected)

    def test_a_machine_that_is_none(self):
        pipe = os.path.join(EXAMPLES, "imagenet_train.pipe")
        for text, message in (("[]", "it is no JSON object"), ('{"gpus": 1}', "there is no `gpus`; known are `name`, `host`, "
                              "`bus`, `gpu`, `typical`"), ('{"host": 3}', "`host` is an object with some of `threads`, `operations`, `decoded`"),
                              ('{"host": {"cores": 3}}', "there is no `host.cores`; known are `threads`, `operations`, `decoded`"),
                              ('{"bus": {"bytes": -1}}', "`bus.bytes` is a number above 0, and not -1"),
                              ('{"gpu": {"share": 2}}', "`gpu.share` is at most 1, all of the GPU's time"),
                              ('{"typical": {"image.size": 2}}', "there is no `typical.image.size`; known are ")):
            path = os.path.join(self.folder, "machine.json")
            with open(path, "w") as file:
                file.write(text)
            with self.subTest(text):
                told = self.run_tool("explain", pipe, "--transfer", "all", "--machine", path, expect=1).stderr
                self.assertTrue(told.startswith("error: the profile of the machine: " + message), told)
        for text in ("{", "pipe 1\n", '{"bus": {"bytes": 1e999}}'):
            with open(path, "w") as file:
                file.write(text)
            told = self.run_tool("explain", pipe, "--transfer", "all", "--machine", path, expect=1).stderr
            self.assertEqual(told, f"penstock: error: {path} is no JSON, and --machine reads a file of it (docs/cuda.md)\n")
        told = self.run_tool("explain", pipe, "--transfer", "all", "--machine", "nowhere.json", expect=1).stderr
        self.assertIn("nowhere.json", told)
        self.assertIn("--machine says what transfers cost: it goes with --transfer auto or all",
                      self.run_tool("explain", pipe, "--machine", path, expect=1).stderr)

    def test_says_what_stays_on_the_host(self):
        told = self.run_tool("explain", os.path.join(EXAMPLES, "jpeg_robust.pipe"), "--all", "--gpu", "sm_90").stdout
        self.assertIn("place-kernels: stays on the host: kernel codec0, which stays there, reads what it makes", told)
        self.assertIn("schedule-gpu: its elements are spread over any number of blocks", told)

    def test_a_sample_that_only_the_gpu_finds_bad_is_replaced(self):
        body = """  for row in synthetic(20, x = f32[k = 40], z = f32[k = 40])
  let kept = compact(row.x, map (v in row.x) { v > 0.7 })
  batch 5 last keep {
    output y: f32[n, k <= 12] ragged = kept
    output other: f32[n, k] = row.z * 3.0
  }"""
        pipe = self.write(body)
        with open(pipe) as file:
            text = file.read().replace("mine()", "mine() with on_error = substitute(90%)")
        with open(pipe, "w") as file:
            file.write(text)
        self.assert_same(pipe)
        told = [self.run_tool("run", pipe, *gpu).stderr for gpu in ((), ("--gpu", "sm_90"))]
        self.assertIn("declares at most 12 along axis `k`", told[0])
        self.assertEqual(*told)

    def test_a_sample_alone(self):
        for name in ("crops", "joined"):
            pipe = self.write(PIPELINES[name], name)
            alone = [self.run_tool("sample", pipe, "--position", "11", *gpu).stdout for gpu in ((), ("--gpu", "sm_90"))]
            self.assertEqual(*alone)

    def test_bundles(self):
        pipe = self.write(PIPELINES["crops"])
        bundle = os.path.join(self.folder, "mine.pstk")
        self.run_tool("compile", pipe, "-o", bundle, "--gpu", "sm_80,sm_90")
        expected = self.hashes("run", pipe)
        self.assertEqual(self.hashes("run", bundle), expected)
        with open(bundle, "rb") as file:
            self.assertGreater(file.read().count(b"PST_KERNEL"), 2)

    def test_native_is_the_gpu_of_the_machine(self):
        pipe = self.write(PIPELINES["crops"])
        self.behaviour = "architecture=86"
        expected = self.hashes("run", pipe)
        self.assertEqual(self.hashes("run", pipe, "--gpu", "native"), expected)
        emitted = [self.run_tool("compile", pipe, "--emit", "ptx", "--gpu", gpu).stdout for gpu in ("native", "sm_86", "sm_90")]
        self.assertEqual(emitted[0], emitted[1])
        done = self.run_tool("run", pipe, "--gpu", "sm_90", expect=1)
        self.assertIn("the program was compiled for sm_90 and compute_90; the simulated is an sm_86", done.stderr)
        self.assertEqual(self.hashes("run", pipe, "--gpu", "sm_80"), expected)

    def counted(self, pipe, *arguments):
        """{kernel: {count: number for one sample}} of batches of 4."""
        path = os.path.join(self.folder, "counts")
        self.behaviour = f"count={path}"
        self.assertNotIn("simulated GPU", self.run_tool("run", pipe, "--gpu", "sm_90", *arguments).stderr)
        counts = {}
        with open(path) as file:
            for line in file:
                name, *words = line.split()
                numbers = {what: int(number) for what, number in zip(words[::2], words[1::2])}
                samples = numbers.pop("launches") * 4
                self.assertEqual([what for what, number in numbers.items() if number % samples], [], line)
                counts[name] = {what: number // samples for what, number in numbers.items()}
        return counts

    def test_what_kernels_access_is_counted(self):
        """A thread loads 16 bytes of a strip, or 48 of pixels, in words: none behind, as these inputs begin at a boundary."""
        pipe = self.write("""  for row in synthetic(8, x = u8[h = 16, w = 64], y = u8[h = 32, w = 32, c = rgb], z = u8[h = 8, w = 8])
  batch 4 {
    output x: u8[n, h, w] = map (p in row.x) { 255 - p }
    output y: u8[n, h, w, c] = map (p in row.y) { p / 2 }
    output most: u8[n] = max(row.z over [h, w])
  }""")
        def of_tensors(counted):
            return (counted["load_bytes"] - counted["launched_bytes"], counted["store_bytes"], counted["stores"],
                    counted["fewest_load_sectors"] - counted["fewest_launched_sectors"], counted["fewest_store_sectors"])

        apart = self.counted(pipe, "--disable-pass", "join-launches")
        expected = {"x": (1024, 1024, 1024 // 16, 1024 // 32, 1024 // 32),
                    "y": (3072, 3072, 3072 // 16, 3072 // 32, 3072 // 32), "most": (64, 1, 1, 64 // 32, 1)}
        self.assertEqual([of_tensors(apart[f"pst_mine_k{i}"]) for i in range(3)], list(expected.values()))
        self.assertEqual(sum(counted["wide_bytes"] for counted in apart.values()), 2 * (1024 + 3072))
        joined = self.counted(pipe)
        self.assertEqual({name: of_tensors(counted) for name, counted in joined.items()},
                         {"pst_mine_joined0": tuple(map(sum, zip(*expected.values())))})
        for counted in (*apart.values(), *joined.values()):
            self.assertGreater(counted["launched_bytes"], 0)

    def test_what_blocks_that_wait_for_each_other_access_is_counted(self):
        """The first one's two steps read the same sectors, those of the rest none; what a barrier touches is a record's."""
        pipe = self.write("""  for row in synthetic(8, x = u8[h = 16, w = 64])
  let most = max(row.x over [h, w])
  batch 4 { output x: u8[n, h, w] = map (p in row.x) { most - p } }""")
        counted = self.counted(pipe)["pst_mine_joined0"]
        self.assertEqual(counted["load_bytes"] + counted["store_bytes"] - counted["launched_bytes"],
                         1024 + 1 + 1024 + 1024 // 16 + 1024)  # the greatest is read for each strip
        self.assertEqual(counted["fewest_load_sectors"] - counted["fewest_launched_sectors"], 1024 // 32 + 1)

    def test_what_cannot_be(self):
        pipe = self.write(PIPELINES["crops"])
        for gpu in ("sm90", "sm_9", "gfx90", "sm_90a"):
            self.assertIn(f"unknown GPU `{gpu}`", self.run_tool("run", pipe, "--gpu", gpu, expect=1).stderr)
        self.assertIn("makes no code for `sm_20`", self.run_tool("run", pipe, "--gpu", "sm_20", expect=1).stderr)
        self.behaviour = "memory=2000"
        self.assertIn("bytes left for a batch of 8 samples", self.run_tool("run", pipe, "--gpu", "sm_90", expect=1).stderr)

    def test_any_call_of_the_driver_may_fail(self):
        pipe = self.write(PIPELINES["ragged"])
        for function, calls in (("deviceGetCount", 1), ("devicePrimaryCtxRetain", 1), ("memAlloc", 3), ("memHostAlloc", 4),
                                ("streamCreateWithPriority", 2), ("eventCreate", 2), ("moduleLoadData", 1),
                                ("moduleGetFunction", 1), ("memcpyHtoDAsync", 4), ("memsetD8Async", 2), ("launchKernel", 4),
                                ("streamWaitEvent", 2), ("eventRecord", 4), ("memcpyDtoHAsync", 4), ("eventSynchronize", 3)):
            for call in range(calls):
                with self.subTest(f"{function} {call}"):
                    self.behaviour = f"{function}={call}:2"
                    done = self.run_tool("run", pipe, "--gpu", "sm_90", "--threads", "1", expect=1)
                    self.assertIn("penstock: error: ", done.stderr)
                    self.assertNotIn("simulated GPU", done.stderr)

    def test_outputs_in_the_memory_of_a_gpu_that_is_not_there(self):
        pipe = self.delivered_on_gpu(self.write(PIPELINES["table"]))
        none = {**self.environment(), "LD_LIBRARY_PATH": ""}
        done = subprocess.run([self.tool, "run", pipe], capture_output=True, text=True, env=none, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"output `spectrum` \(.*stay_mine.pipe:\d+:\d+\) stands `on gpu`, and this machine has no NVIDIA driver")
        self.assertIn("`--device cpu` (the session's `device`) delivers it in the host's memory", done.stderr)
        self.assertEqual(subprocess.run([self.tool, "run", pipe, "--device", "cpu"], env=none, timeout=60, capture_output=True).returncode, 0)
        self.assertIn("--device wants the number of a GPU, or `cpu`", self.run_tool("run", pipe, "--device", "cuda", expect=2).stderr)
        self.assertIn("there is no GPU 3", self.run_tool("run", pipe, "--device", "3", expect=1).stderr)
        self.assertIn("delivered in a GPU's memory: `spectrum`", self.run_tool("explain", pipe).stdout)

    def test_what_is_packed_for_a_machine_with_a_gpu(self):
        packed = os.path.join(self.folder, "packed")
        script = os.path.join(ROOT, "scripts", "gpu-check")
        done = subprocess.run([sys.executable, script, "pack", "--folder", packed, "--only", "probe_c_mixup", "probe_m_batch",
                               "googlenet_1"], capture_output=True, text=True, env=self.environment(), timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        check = [sys.executable, os.path.join(packed, "gpu-check"), "bits"]
        done = subprocess.run(check, capture_output=True, text=True, env=self.environment(), timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("bits: good, 3 checked", done.stdout)
        with open(os.path.join(packed, "cases", "googlenet_1.hashes"), "a") as file:
            file.write("0 99 0123456789abcdef\n")
        done = subprocess.run(check, capture_output=True, text=True, env=self.environment(), timeout=300)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bits: WRONG", done.stdout)


if __name__ == "__main__":
    GpuTest.fakes = sys.argv.pop(2)
    main()
