# SPDX-License-Identifier: Apache-2.0
"""`probe` and `decode` of each medium, on files that NumPy and Pillow write."""
import io
import json
import os
import re
import shutil
import struct
import subprocess
import tarfile
import unittest

import numpy
import soundfile
from PIL import Image

from pipelines import LanguageTest
from support import main


class MediaTest(LanguageTest):
    def files(self, contents):
        """A list of files with these bytes; the arguments that a pipeline over it takes."""
        os.makedirs(self.data, exist_ok=True)
        for i, data in enumerate(contents):
            with open(os.path.join(self.data, f"{i}.bin"), "wb") as file:
                file.write(data)
        path = os.path.join(self.folder, "list.txt")
        with open(path, "w") as file:
            file.writelines(f"{i}.bin\n" for i in range(len(contents)))
        return ["--set", f"list={path}", "--set", f"root={self.data}"]

    def decoded(self, settings, outputs, lets="", position=0):
        lines = "\n".join(f"output {name}: {kind} = {value}" for name, (kind, value) in outputs.items())
        return self.sample(f"""pipeline test(list: path, root: path) {{
  for row in file_list(list, root)
  {lets}
  batch 1 per rank last drop {{
  {lines}
  }}
}}""", position, *settings)


class Headers(MediaTest):
    def test_of_images(self):
        stream = io.BytesIO()
        exif = Image.Exif()
        exif[0x0112] = 6
        Image.new("RGB", (30, 20)).save(stream, "JPEG", exif=exif)
        found = self.decoded(self.files([stream.getvalue()]), {
            "sides": ("i64[n, k]", "stack([facts.height, facts.width, facts.orientation], k)"),
            "upright": ("i64[n, k]", "stack([extent(image, h), extent(image, w)], k)"),
            "drawn": ("i64[n]", "draw int(facts.width ..= facts.width)")}, """
  let facts = probe(row.data, image)
  let image = row.data |> decode(gray, orient = true)""")
        self.assertEqual(found["sides"].tolist(), [20, 30, 6])
        self.assertEqual(found["upright"].tolist(), [30, 20])
        self.assertEqual(found["drawn"].tolist(), 30)

    def test_of_what_is_no_image(self):
        path = self.write("""pipeline test(list: path, root: path) with on_error = fail {
  for row in file_list(list, root)
  batch 1 per rank last drop { output h: i64[n] = probe(row.data, image).height }
}""")
        done = self.run_tool("run", path, *self.files([b"plain text"]), expect=1)
        self.assertIn("0.bin: not an image file: its first bytes are no image format's", done.stderr)

    def test_mistakes_are_told_at_their_place(self):
        for medium, message in (("imgae", "hint: `image`"), ("smell", "there is no medium `smell`"),
                                ("3", "`probe` takes the name of a medium, and this is int")):
            self.refused(f"""pipeline test(root: path) {{
  for row in image_folder(root)
  let facts = row.data |> probe({medium})
  batch 1 per rank last drop {{ output h: i64[n] = facts.height }}
}}""", f"test.pipe:4:33: error: ", message)
        self.refused("""pipeline test(root: path) {
  for row in image_folder(root)
  batch 1 per rank last drop { output h: i64[n] = probe(row.label, image).height }
}""", "test.pipe:4:57: error: `probe` takes the bytes of a file, and this is int")


class Floats(MediaTest):
    """PFM, as maps of depth and disparity come: the lowest row first, in either order of bytes."""

    def pfm(self, values, order, scale):
        head = f"{'PF' if values.ndim == 3 else 'Pf'}\n{values.shape[1]} {values.shape[0]}\n{scale}\n"
        return head.encode() + numpy.flipud(values).astype(order + "f4").tobytes()

    def test_pixels(self):
        rng = numpy.random.default_rng(5)
        plane, colours = (rng.normal(0, 1e3, shape).astype("f4") for shape in ((12, 17), (12, 17, 3)))
        plane[0, :3] = numpy.inf, -0.0, 1e-40
        for order, scale in (("<", "-1.0"), (">", "1"), ("<", "-0.0039216"), (">", "+2e0")):
            found = self.decoded(self.files([self.pfm(plane, order, scale)]), {
                "gray": ("f32[n, h <= 20, w <= 20, c] pad 0.0", "row.data |> decode(gray, depth = 32)"),
                "rgb": ("f32[n, h, w, c]", "(row.data |> decode(rgb, depth = 32))[h = 3 .. 7, w = 5 .. 6]"),
                "depth": ("i64[n]", "probe(row.data, image).depth")})
            numpy.testing.assert_array_equal(found["gray"][:12, :17, 0].view("u4"), plane.view("u4"))
            numpy.testing.assert_array_equal(found["rgb"], numpy.repeat(plane[3:7, 5:6, None], 3, 2))
            self.assertEqual(found["depth"].tolist(), 32)
            found = self.decoded(self.files([self.pfm(colours, order, scale)]), {
                "rgb": ("f32[n, h, w, c]", "(row.data |> decode(rgb, depth = 32))[h = 2 .. 12, w = 1 .. 17]")})
            numpy.testing.assert_array_equal(found["rgb"], colours[2:, 1:])

    def test_what_is_wrong(self):
        plane = numpy.ones((8, 8), "f4")
        good = self.pfm(plane, "<", "-1")
        contents = 20 * [good] + [good[:-1], good.replace(b"-1", b"0 "), good.replace(b"-1", b"xy"), self.pfm(numpy.ones((8, 8, 3)), "<", "-1"), good[:9]]
        text = """pipeline test(list: path, root: path) with on_error = substitute(100%) {
  for row in file_list(list, root)
  let x = row.data |> decode(gray, depth = 32)
  batch 1 per rank last drop { output y: f32[n, h, w, c] = x[h = 0 .. 1, w = 0 .. 1] }
}"""
        said = self.run_tool("run", self.write(text), *self.files(contents)).stderr
        for message in ("20.bin: truncated PNM: it has 265 bytes of 266", "21.bin: damaged PNM: a scale that is no number, or 0",
                        "22.bin: damaged PNM: a number of its header cannot be read", "23.bin: a PFM of colours gives no gray",
                        "24.bin: truncated PNM: it ends after 9 bytes, inside its header"):
            self.assertIn(message, said)
        said = self.run_tool("run", self.write(text.replace(", depth = 32", "").replace("f32", "u8")), *self.files([good]), expect=1).stderr
        self.assertIn("the file has floats: `depth = 32` gives them, in place of 8 or 16 bits", said)


class SixteenBits(MediaTest):
    def test_pixels_and_their_orientation(self):
        values = numpy.random.default_rng(4).integers(0, 1 << 16, (12, 17), dtype=numpy.uint16)
        stream = io.BytesIO()
        exif = Image.Exif()
        exif[0x0112] = 6
        Image.fromarray(values).save(stream, "PNG", exif=exif)
        found = self.decoded(self.files([stream.getvalue()]), {
            "gray": ("u16[n, h <= 20, w <= 20, c] pad 0", "row.data |> decode(gray, depth = 16)"),
            "part": ("u16[n, h, w, c]", "(row.data |> decode(rgb, depth = 16))[h = 3 .. 7, w = 5 .. 6]"),
            "upright": ("u16[n, h, w, c]", "(row.data |> decode(gray, depth = 16, orient = true))[h = 2 .. 9, w = 1 .. 5]"),
            "depth": ("i64[n]", "probe(row.data, image).depth")})
        numpy.testing.assert_array_equal(found["gray"][:12, :17, 0], values)
        numpy.testing.assert_array_equal(found["part"], numpy.repeat(values[3:7, 5:6, None], 3, 2))
        numpy.testing.assert_array_equal(found["upright"][..., 0], numpy.rot90(values, -1)[2:9, 1:5])
        self.assertEqual(found["depth"].tolist(), 16)

    def test_other_depths_are_bad_samples_whatever_is_needed(self):
        contents = []
        for kind in ("JPEG", "PNG", "BMP", "WEBP", "PPM"):
            stream = io.BytesIO()
            Image.new("L", (8, 8)).save(stream, kind)
            contents.append(stream.getvalue())
        stream = io.BytesIO()
        Image.fromarray(numpy.zeros((8, 8), numpy.uint16)).save(stream, "PNG")
        contents += 20 * [stream.getvalue()]
        path = self.write("""pipeline test(list: path, root: path, read: bool = true) with on_error = substitute(100%) {
  for row in file_list(list, root)
  let x = row.data |> decode(gray, depth = 16)
  batch 1 per rank last drop { output y: u16[n, h, w, c] = if read then x[h = 0 .. 1, w = 0 .. 1] else u16(x[h = 0 .. 1, w = 0 .. 1] * 0) }
}""")
        for read in ("true", "false"):
            said = self.run_tool("run", path, *self.files(contents), "--set", f"read={read}").stderr
            message = rf": (\d)\.bin: the file has 8 bits a channel, and `depth = 16` is for files of 16 \({path}:4:23\)"
            self.assertEqual(set(re.findall(message, said)), set("01234"), said)

    def test_numbers_of_palettes(self):
        numbers = numpy.random.default_rng(8).integers(0, 21, (12, 17)).astype(numpy.uint8)
        image = Image.fromarray(numbers, "P")
        image.putpalette(list(range(200, 137, -1)))
        exif = Image.Exif()
        exif[0x0112] = 6
        stream = io.BytesIO()
        image.save(stream, "PNG", exif=exif)
        found = self.decoded(self.files([stream.getvalue()]), {
            "whole": ("u8[n, h <= 20, w <= 20, c] pad 0", "row.data |> decode(index)"),
            "gray": ("u8[n, h, w, c]", "(row.data |> decode(gray))[h = 3 .. 7, w = 5 .. 6]"),
            "upright": ("u8[n, h, w, c]", "(row.data |> decode(index, orient = true))[h = 2 .. 9, w = 1 .. 5]"),
            "indexed": ("i64[n]", "probe(row.data, image).indexed")})
        numpy.testing.assert_array_equal(found["whole"][:12, :17, 0], numbers)
        numpy.testing.assert_array_equal(found["gray"], numpy.asarray(image.convert("L"))[3:7, 5:6, None])
        numpy.testing.assert_array_equal(found["upright"][..., 0], numpy.rot90(numbers, -1)[2:9, 1:5])
        self.assertEqual(found["indexed"].tolist(), 1)

    def test_of_two_files_the_bad_one_is_named(self):
        os.makedirs(self.data)
        for i in range(3):
            pixels = numpy.random.default_rng(i).integers(0, 256, (8, 8, 3), numpy.uint8)
            Image.fromarray(pixels).save(os.path.join(self.data, f"image{i}.png"))
            Image.fromarray(pixels[..., 0]).save(os.path.join(self.data, f"mask{i}.png"))
        for name in "mask0.png", "image2.png":
            os.truncate(os.path.join(self.data, name), 50)
        lines = os.path.join(self.data, "list.jsonl")
        with open(lines, "w") as file:
            file.writelines(json.dumps({"file": f"image{i}.png", "mask": f"mask{i}.png"}) + "\n" for i in range(3))
        text = self.write("""pipeline p(list: path) {
  for row in json_lines(list, photo = column("file", bytes), mask = bytes) order sequential
  batch 1 per rank last keep {
    output photo: u8[n, h, w, c] = decode(row.photo, rgb)[h = 0 .. 8, w = 0 .. 8]
    output mask: u8[n, h, w, c] = decode(row.mask, index)[h = 0 .. 8, w = 0 .. 8]
  }
}""")
        found = self.run_json("run", text, "--set", f"list={lines}", "--on-error", "100%")["bad_samples"]
        reasons = {bad["row"]: bad["reason"] for bad in found}
        self.assertRegex(reasons[0], "^mask: truncated PNG")
        self.assertRegex(reasons[2], r"^photo: image2\.png: truncated PNG")
        self.assertNotIn(1, reasons)

    def test_files_of_colours_have_no_numbers_whatever_is_needed(self):
        contents = []
        for kind, mode in (("JPEG", "L"), ("PNG", "RGB"), ("BMP", "RGB"), ("WEBP", "L"), ("PPM", "L"), ("PNG", "I;16")):
            stream = io.BytesIO()
            Image.new(mode, (8, 8)).save(stream, kind)
            contents.append(stream.getvalue())
        stream = io.BytesIO()
        Image.new("L", (8, 8)).save(stream, "PNG")
        contents += 20 * [stream.getvalue()]
        path = self.write("""pipeline test(list: path, root: path, read: bool = true) with on_error = substitute(100%) {
  for row in file_list(list, root)
  let x = row.data |> decode(index)
  batch 1 per rank last drop { output y: u8[n, h, w, c] = if read then x[h = 0 .. 1, w = 0 .. 1] else u8(x[h = 0 .. 1, w = 0 .. 1] * 0) }
}""")
        for read in ("true", "false"):
            said = self.run_tool("run", path, *self.files(contents), "--set", f"read={read}").stderr
            message = (r": (\d)\.bin: the file has no numbers of a palette, which `decode\(index\)` gives: its pixels are colours, or of 16 bits "
                       rf"\({path}:4:23\)")
            self.assertEqual(set(re.findall(message, said)), set("012345"), said)

    def test_mistakes_are_told_at_their_place(self):
        for decode, column, message in (
                ("decode(index, depth = 16)", 50, "numbers of a palette have 8 bits"),
                ("decode(index, count = 3)", 35, "the frames of a video have no palette"),
                ("decode(gray, depth = 12)", 49, "a depth of 12 bits; pixels have 8 or 16, or 32 as floats"),
                ("decode(gray, count = 3, depth = 16)", 60, "the frames of a video have 8 bits a channel"),
                ("decode(gray, depth = row.bits)", 49, "`depth` must be known when compiling")):
            with self.subTest(decode):
                self.refused(f"""
pipeline test(list: path, root: path) {{
  for row in csv(list, root, data = bytes, bits = i64)
  let pixels = row.data |> {decode}
  batch 1 per rank last drop {{ output y: u16[n, h <= 9, w <= 9, c] pad 0 = pixels }}
}}""", f"test.pipe:5:{column}: error: {message}")


KINDS = {"u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "i32": "i4", "i64": "i8", "f16": "f2", "f32": "f4", "f64": "f8"}


class Numbers(MediaTest):
    def test_of_every_type_and_byte_order(self):
        rng = numpy.random.default_rng(1)
        for kind, stored in KINDS.items():
            for order, sign in (("little", "<"), ("big", ">")):
                whole = rng.integers(-100 if "u" not in kind else 0, 100, (5, 3, 4)).astype(sign + stored)
                found = self.decoded(self.files([b"headers" + whole.tobytes()]),
                                     {"y": (f"{kind}[n, k <= 9, g, f] pad 0", "numbers"),
                                      "part": (f"{kind}[n, k, g, f]", "numbers[k = 2 .. 4, g = 1 .. 3, f = 3 .. 4]")},
                                     f"let numbers = row.data |> decode({kind}[k, g = 3, f = 4], order = {order}, skip = 7)")
                numpy.testing.assert_array_equal(found["y"][:5], whole)
                numpy.testing.assert_array_equal(found["part"], whole[2:4, 1:3, 3:4])

    def test_any_box_is_that_of_the_whole(self):
        whole = numpy.arange(7 * 5 * 6, dtype="<u2").reshape(7, 5, 6)
        settings = self.files([whole.tobytes()])
        rng = numpy.random.default_rng(2)
        path = self.write("""pipeline test(list: path, root: path, a: int = 0, b: int = 0, c: int = 0) {
  for row in file_list(list, root)
  let x = row.data |> decode(u16[a = probe(row.data, numbers).size / 60, b = 5, c = 6])
  batch 1 per rank last drop { output y: u16[n, a, b, c] = x[a = a .. a + 2, b = b .. b + 3, c = c .. c + 2] }
}""")
        for _ in range(20):
            a, b, c = (int(rng.integers(0, most)) for most in (6, 3, 5))
            out = os.path.join(self.folder, "out")
            self.run_tool("sample", path, "--position", 0, "-o", out, *settings, "--set", f"a={a}", "--set", f"b={b}", "--set", f"c={c}")
            numpy.testing.assert_array_equal(numpy.fromfile(os.path.join(out, "y.raw"), "<u2").reshape(2, 3, 2),
                                             whole[a:a + 2, b:b + 3, c:c + 2])

    def test_the_free_axis_may_stand_anywhere(self):
        planes = numpy.arange(24, dtype="<i4").reshape(3, 8)
        found = self.decoded(self.files([planes.tobytes()]), {"y": ("i32[n, t <= 10, c] pad 0", "x")},
                             "let x = row.data |> decode(i32[c = 3, t])")
        numpy.testing.assert_array_equal(found["y"][:8], planes.T)

    def test_truths_and_odd_floats(self):
        found = self.decoded(self.files([bytes([0, 1, 2, 255])]), {"y": ("bool[n, k]", "row.data |> decode(bool[k = 4])")})
        self.assertEqual(found["y"].tolist(), [0, 1, 1, 1])
        odd = numpy.array([0x7fc00001, 0xffc00000, 0x80000000, 1], "<u4")
        found = self.decoded(self.files([odd.tobytes()]), {"y": ("f32[n, k]", "row.data |> decode(f32[k = 4])")})
        self.assertEqual(found["y"].view("<u4").tolist(), [0x7fc00000, 0x7fc00000, 0x80000000, 1])

    def reasons(self, contents, decode):
        path = self.write(f"""pipeline test(list: path, root: path) with on_error = substitute(100%) {{
  for row in file_list(list, root)
  let x = row.data |> {decode}
  batch 1 per rank last drop {{ output y: f32[n, f] = max(x over [k]) }}
}}""")
        return self.run_tool("run", path, *self.files(contents)).stderr

    def test_other_sizes_are_bad_samples(self):
        good = numpy.ones((2, 4), "<f4").tobytes()
        said = self.reasons([good, good[:-1], b"", good[:16]], "decode(f32[k, f = 4])")
        self.assertIn("1.bin: the file has 31 bytes, no multiple of the 16 that one step along `k` takes", said)
        self.assertNotIn("2.bin", said)  # no elements are elements, too
        self.assertNotIn("3.bin", said)
        said = self.reasons([good, good + b"head", b"hea"], "decode(f32[k, f = 4], skip = 4)")
        self.assertIn("0.bin: the file has 28 bytes behind what is skipped, no multiple of the 16", said)
        self.assertIn("2.bin: the file has -1 bytes behind what is skipped", said)
        said = self.reasons([good, good[:-1]], "decode(f32[k = 2, f = 4])")
        self.assertIn("1.bin: the file has 31 bytes, and the type takes 32", said)
        with open(os.path.join(self.folder, "rows.csv"), "w") as file:
            file.write("k,path\n2,0.bin\n-5,0.bin\n4611686018427387904,0.bin\n")
        self.files([good])
        path = self.write("""pipeline test(list: path, root: path) with on_error = substitute(100%) {
  for row in csv(list, root, path = bytes, k = i64)
  let x = row.path |> decode(f32[k = row.k, f = 4])
  batch 1 per rank last drop { output y: f32[n, f] = max(x over [k]) }
}""")
        said = self.run_tool("run", path, "--set", f"list={self.folder}/rows.csv", "--set", f"root={self.data}").stderr
        for count in (-5, 4611686018427387904):
            self.assertIn(f"axis `k` cannot have {count} elements", said)

    def test_mistakes_are_told_at_their_place(self):
        for decode, column, message in (
                ("decode(f32[k, f])", 43, "the size of a file gives one extent, and that is `k`'s"),
                ("decode(f32[k, k = 4])", 43, "axis `k` is named twice"),
                ("decode(f32[k, f = xyz])", 47, "unknown format `xyz`"),
                ("decode(f32[k, f = -4])", 43, "axis `f` would have -4 elements"),
                ("decode(f32[k], orient = true)", 53, "`orient` is for images, videos and volumes, and these are numbers"),
                ("decode(f32[k], count = 4)", 52, "`count` is for images and videos, and these are numbers"),
                ("decode(f32[k], order = middle)", 52, "there is no `middle` here"),
                ("decode(f32[k], skip = -1)", 51, "a skip of -1 bytes"),
                ("decode(rgb, skip = 4)", 48, "`skip` is for numbers, and these are pixels"),
                ("decode(f32)", 36, "a type of numbers has axes"),
                ("flip(f32[k])", 34, "`f32` is no value here")):
            with self.subTest(decode):
                self.refused(f"""use vision
pipeline test(list: path, root: path) {{
  for row in file_list(list, root)
  let numbers = row.data |> {decode}
  batch 1 per rank last drop {{ output y: f32[n, k <= 9] pad 0 = numbers }}
}}""", f"test.pipe:5:{column}: error: {message}")

    def test_an_axis_alone_is_no_index(self):
        self.refused("""pipeline test(list: path, root: path) {
  for row in file_list(list, root)
  let numbers = row.data |> decode(f32[k, f = 4])
  batch 1 per rank last drop { output y: f32[n, k] = numbers[f] }
}""", "test.pipe:5:62: error: an index names its axis", "`numbers[h = f]`, with the axis in place of `h`")
        self.refused("""pipeline test(file: path) {
  for row in raw(x = column(file, f32[k, f = 4]))
  batch 1 per rank last drop { output y: f32[n, k, f] = row.x }
}""", "test.pipe:3:39: error: axis `k` of a column needs an extent", "`k = 32`")


def wave(samples, bits, rate=16000, tag=1):
    """A WAV file of integers [t, c]."""
    whole = samples.astype("<i8").reshape(-1, 1).view("u1")[:, :bits // 8].tobytes()
    channels, frame = samples.shape[1], samples.shape[1] * bits // 8
    head = b"fmt " + struct.pack("<IHHIIHH", 16, tag, channels, rate, rate * frame, frame, bits)
    return b"RIFF" + struct.pack("<I", 28 + len(head) + len(whole)) + b"WAVE" + head + b"data" + struct.pack("<I", len(whole)) + whole


class Waves(MediaTest):
    def test_integers_and_their_header(self):
        rng = numpy.random.default_rng(5)
        for bits, zero in ((8, 128), (16, 0), (24, 0), (32, 0)):
            for channels in (1, 2, 5):
                values = rng.integers(-1 << bits - 1, 1 << bits - 1, (40, channels))
                settings = self.files([wave(values + zero, bits)])
                wanted = (values.astype(numpy.float32) / numpy.float32(1 << bits - 1)).astype(numpy.float32)
                found = self.decoded(settings, {
                    "y": ("f32[n, t <= 50, c <= 5] pad 0", "row.data |> decode(channels)"),
                    "mono": ("f32[n, t]", "(row.data |> decode(mono))[t = 7 .. 31]"),
                    "facts": ("i64[n, k]", "stack([facts.rate, facts.channels, facts.samples, facts.bits], k)"),
                    "duration": ("f64[n]", "facts.duration")}, "let facts = probe(row.data, wave)")
                numpy.testing.assert_array_equal(found["y"][:40, :channels], wanted)
                mean = wanted[:, 0].copy()
                for c in range(1, channels):
                    mean += wanted[:, c]
                numpy.testing.assert_array_equal(found["mono"], (mean / numpy.float32(channels))[7:31])
                self.assertEqual(found["facts"].tolist(), [16000, channels, 40, bits])
                self.assertEqual(found["duration"], 40 / 16000)

    @unittest.skipUnless(shutil.which("ffmpeg"), "needs ffmpeg")
    def test_every_coding_is_ffmpegs(self):
        rng = numpy.random.default_rng(6)
        os.makedirs(self.data)
        for coding in ("pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le", "pcm_alaw", "pcm_mulaw"):
            for channels, more in ((1, []), (2, ["-rf64", "always"]), (6, [])):  # six: WAVE_FORMAT_EXTENSIBLE
                raw, path = os.path.join(self.folder, "raw"), os.path.join(self.data, "a.wav")
                rng.uniform(-1, 1, (2000, channels)).astype("<f4").tofile(raw)
                run = lambda *words: subprocess.run(["ffmpeg", "-loglevel", "error", "-y", *words], check=True)
                run("-f", "f32le", "-ar", "8000", "-ac", str(channels), "-i", raw, "-c:a", coding, *more, path)
                run("-i", path, "-f", "f32le", "-c:a", "pcm_f32le", raw)
                wanted = numpy.fromfile(raw, "<f4").reshape(-1, channels)
                with open(path, "rb") as file:
                    settings = self.files([file.read()])
                low = int(rng.integers(0, 1900))
                found = self.decoded(settings, {"y": ("f32[n, t <= 3000, c <= 6] pad 0", "sound"),
                                                "part": ("f32[n, t, c <= 6] pad 0", f"sound[t = {low} .. {low + 90}]")},
                                     "let sound = row.data |> decode(channels)")
                numpy.testing.assert_array_equal(found["y"][:len(wanted), :channels], wanted, f"{coding}, {channels}")
                numpy.testing.assert_array_equal(found["part"][:, :channels], wanted[low:low + 90], f"{coding}, {channels}")

    def test_flac_is_soundfiles(self):
        rng = numpy.random.default_rng(7)
        stream = io.BytesIO()
        soundfile.write(stream, rng.integers(-1 << 15, 1 << 15, (9000, 2), dtype=numpy.int16), 22050, "PCM_16", format="FLAC")
        wanted = soundfile.read(io.BytesIO(stream.getvalue()), dtype="float32")[0]
        found = self.decoded(self.files([stream.getvalue()]), {
            "whole": ("f32[n, t <= 9000, c <= 2] pad 0", "sound"),
            "part": ("f32[n, t, c <= 2] pad 0", "sound[t = 4000 .. 4900]"),
            "facts": ("i64[n, k]", "stack([facts.rate, facts.channels, facts.samples, facts.bits], k)")},
            "let facts = probe(row.data, wave)\n let sound = row.data |> decode(channels)")
        numpy.testing.assert_array_equal(found["whole"].reshape(-1, 2)[:9000], wanted)
        numpy.testing.assert_array_equal(found["part"].reshape(-1, 2), wanted[4000:4900])
        self.assertEqual(found["facts"].tolist(), [22050, 2, 9000, 16])

    def test_a_slice_is_all_that_is_read(self):
        """Of files, and of members of a tar file; a short file and what is no file are read at once."""
        rng = numpy.random.default_rng(8)
        sounds = [rng.integers(-9999, 9999, (300000, 1), dtype=numpy.int16) for _ in range(4)]
        settings = self.files([wave(sound, 16) for sound in sounds])
        shards = os.path.join(self.folder, "shards")
        os.makedirs(shards)
        with tarfile.open(os.path.join(shards, "a.tar"), "w") as archive:
            for i in range(4):
                archive.add(os.path.join(self.data, f"{i}.bin"), f"{i}.wav")
        for source, given in (("file_list(list, root)", settings), ('tar_shards(root, data = column("wav", bytes))', ["--set", f"root={shards}"])):
            path = self.write(f"""pipeline test({'list: path, ' if 'list' in source else ''}root: path) with seed = 3 {{
  for row in {source} order sequential
  let sound = row.data |> decode(mono)
  let at = draw int(0 ..= extent(sound, t) - 4000)
  batch 1 per rank last drop {{
    output y: f32[n, t] = sound[t = at .. at + 4000]
    output at: i64[n] = at
  }}
}}""")
            with open(path) as file:
                text = file.read()
            with self.subTest(source):
                ran = json.loads(self.run_tool("run", path, "--json", *given).stdout)
                self.assertLess(ran["fetched_bytes"], 4 * (8000 + 4096) + 1)
                self.assertGreaterEqual(ran["fetched_bytes"], 4 * 8000)
                for i, sound in enumerate(sounds):
                    found = self.sample(text.partition("\n")[2], i, *given)
                    at = int(found["at"])
                    numpy.testing.assert_array_equal(found["y"].ravel(), sound[at:at + 4000, 0] / numpy.float32(32768))

    def test_damage_is_a_bad_sample_whatever_is_needed(self):
        good = wave(numpy.arange(-50, 50).reshape(50, 2), 16)
        path = self.write("""pipeline test(list: path, root: path) with on_error = substitute(100%) {
  for row in file_list(list, root)
  let sound = row.data |> decode(mono)
  batch 1 per rank last drop { output y: f32[n, t] = sound[t = 0 .. 2] }
}""")
        said = self.run_tool("run", path, *self.files(20 * [good] + [good[:-1], b"", b"RIFF", good[:30], wave(numpy.zeros((4, 1)), 16, tag=85)])).stderr
        for message in ("20.bin: truncated WAV: it has 199 bytes of samples, and says 200", "21.bin: not a sound file: it is empty", "22.bin: ",
                        "23.bin: truncated WAV: it ends after 30 bytes, before its samples",
                        "24.bin: no sound of the file can be decoded"):
            self.assertIn(message, said)

    def test_mistakes_are_told_at_their_place(self):
        for decode, column, message in (
                ("decode(mono, orient = true)", 49, "`orient` is not for sound"),
                ("decode(channels, count = 3)", 52, "`count` is not for sound"),
                ("decode(mno)", 34, "there is no `mno` here\n")):
            with self.subTest(decode):
                self.refused(f"""
pipeline test(list: path, root: path) {{
  for row in file_list(list, root)
  let sound = row.data |> {decode}
  batch 1 per rank last drop {{ output y: f32[n, t <= 9] pad 0 = sound }}
}}""", f"test.pipe:5:{column}: error: {message}")


if __name__ == "__main__":
    main()
