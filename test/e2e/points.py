# SPDX-License-Identifier: Apache-2.0
"""Clouds of points in PLY and PCD, beside what NumPy was given to write."""
import itertools
import os
import struct
import tarfile
import unittest

import numpy

from arrays import ArrayTest
from support import lines_of, main, ply

LAYOUTS = {"ply": ("ascii", "binary_little_endian", "binary_big_endian"), "pcd": ("ascii", "binary", "binary_compressed")}


def lzf(data):
    """Packs bytes: runs as they are, and repeats of what was seen last with the same three bytes."""
    out, run, seen, at = bytearray(), bytearray(), {}, 0
    def flush():
        for i in range(0, len(run), 32):
            out.extend([len(run[i:i + 32]) - 1, *run[i:i + 32]])
        run.clear()
    while at < len(data):
        key, known = data[at:at + 3], seen.get(data[at:at + 3])
        seen[key] = at
        if known is None or at - known > 8192 or len(key) < 3:
            run.append(data[at])
            at += 1
            continue
        count = 3
        while count < 264 and at + count < len(data) and data[known + count] == data[at + count]:
            count += 1
        flush()
        far = at - known - 1
        out.extend([(min(count - 2, 7) << 5) | far >> 8] + ([count - 9] if count >= 9 else []) + [far & 255])
        at += count
    flush()
    return bytes(out)


def pcd(points, layout="binary", width=None, **lines):
    names = points.dtype.names
    types = [points.dtype[name].subdtype or (points.dtype[name], (1,)) for name in names]
    head = {"VERSION": "0.7", "FIELDS": " ".join("_" if name.startswith("_") else name for name in names), "SIZE": " ".join(str(kind.itemsize) for kind, _ in types),
            "TYPE": " ".join(kind.kind.upper() for kind, _ in types), "COUNT": " ".join(str(shape[0]) for _, shape in types),
            "WIDTH": width or len(points), "HEIGHT": len(points) // (width or len(points) or 1) or 1, "VIEWPOINT": "0 0 0 1 0 0 0", "POINTS": len(points), "DATA": layout}
    head.update(lines)
    if layout == "ascii":
        contents = lines_of(points).encode()
    elif layout == "binary":
        contents = points.tobytes()
    else:
        columns = b"".join(numpy.ascontiguousarray(points[name]).tobytes() for name in names)
        packed = lzf(columns)
        contents = struct.pack("<II", len(packed), len(columns)) + packed
    return "# .PCD v0.7 - Point Cloud Data file format\n".encode() + "".join(f"{key} {value}\n" for key, value in head.items() if value is not None).encode() + contents


def cloud(rng, count, kinds):
    """Random points; whole numbers fit every type's text."""
    points = numpy.zeros(count, [(name, *kind) if isinstance(kind, tuple) else (name, kind) for name, kind in kinds.items()])
    for name in kinds:
        shape, kind = points[name].shape, points[name].dtype
        points[name] = rng.normal(0, 40, shape) if kind.kind == "f" else rng.integers(0 if kind.kind == "u" else -100, 100, shape)
    return points


class Points(ArrayTest):
    def test_of_every_type_and_layout(self):
        rng = numpy.random.default_rng(1)
        kinds = {"a": "<i1", "b": "<u1", "c": "<i2", "d": "<u2", "e": "<i4", "f": "<u4", "g": "<f4", "h": "<f8"}
        for count, layout, old in itertools.product((1, 37), LAYOUTS["ply"], (True, False)):
            points = cloud(rng, count, kinds)
            self.compare(points, ply(points, layout, old), "ply")
        for count, layout in itertools.product((1, 37), LAYOUTS["pcd"]):
            points = cloud(rng, count, {**kinds, "i": "<i8", "j": "<u8"})
            self.compare(points, pcd(points, layout), "pcd")

    def compare(self, points, file, header):
        """Every field by itself, some in another order, and all of them."""
        names = list(points.dtype.names)
        signed = [name for name in names if points.dtype[name].kind == "i" and name != "i"]
        wanted = {"all": ("f64", list(names)), "some": ("f32", ["h", "b", "g"]), "whole": ("i32", [*signed, "d"]), "last": ("f32", [names[-1]]), "low": ("u8", ["b"])}
        lets, outputs = "", {}
        for key, (kind, fields) in wanted.items():
            spelled = "" if key == "all" else f", fields = [{', '.join(fields)}]"
            axes = "[k]" if key in ("last", "low") else "[k, q]"
            lets += f"let {key}_ = row.data |> decode({kind}{axes}, header = {header}{spelled})\n"
            bounded = axes.replace("[k", f"[n, k <= {len(points)}").replace("q]", f"q <= {len(names)}]" if key == "all" else "q]")
            outputs[key] = (f"{kind}{bounded} pad 0", f"{key}_")
        outputs["part"] = ("f32[n, k, q]", f"some_[k = {len(points) // 3} .. {len(points) // 3 + 1}, q = 1 .. 3]")
        outputs["facts"] = ("i64[n, k]", "stack([facts.points, facts.columns], k)")
        found = self.decoded(self.files([file]), outputs, lets + f"let facts = probe(row.data, {header})")
        for key, (kind, fields) in wanted.items():
            numpy_kind = {"f": "f4", "u": "u1", "i": "i4"}[kind[0]] if kind != "f64" else "f8"
            values = numpy.stack([points[name].astype(numpy_kind) for name in fields], -1).reshape(found[key].shape)
            numpy.testing.assert_array_equal(found[key], values, key)
        row = points[len(points) // 3]
        self.assertEqual(found["part"].ravel().tolist(), [row["b"], row["g"]])
        self.assertEqual(found["facts"].tolist(), [len(points), len(names)])


    XYZ = {"x": "<f4", "y": "<f4", "z": "<f4", "intensity": "<u1"}

    def read(self, file, header, kind="f32", fields="x, y, z, intensity"):
        return self.decoded(self.files([file]), {"y": (f"{kind}[n, k <= 900, q] pad 0", f"row.data |> decode({kind}[k, q], header = {header}, fields = [{fields}])")})["y"]

    def stacked(self, points, fields=("x", "y", "z", "intensity"), kind="f4"):
        return numpy.stack([points[name].astype(kind) for name in fields], -1)

    def same(self, found, points, **options):
        wanted = self.stacked(points, **options)
        numpy.testing.assert_array_equal(found[:len(wanted)], wanted)
        self.assertFalse(found[len(wanted):].any())

    def test_elements_around_the_points(self):
        rng = numpy.random.default_rng(2)
        points = cloud(rng, 50, self.XYZ)
        for layout in LAYOUTS["ply"]:
            order, text = (">" if "big" in layout else "<"), layout == "ascii"
            lists = [list(map(int, rng.integers(0, 99, rng.integers(0, 9)))) for _ in range(40)]
            faces = b"".join(" ".join(map(str, [len(one), *one, 7])).encode() + b"\n" if text else struct.pack(f"{order}B{len(one)}ih", len(one), *one, 7) for one in lists)
            long = [[1.5] * 40000, [], [2.5]]
            far = b"".join(" ".join(map(str, [len(one), *one])).encode() + b"\n" if text else struct.pack(f"{order}I{len(one)}d", len(one), *one) for one in long)
            plain = b"1 2\n" * 30 if text else bytes(30 * 5)
            before = [("camera", 30, ["property float a", "property uchar b"], plain), ("face", 40, ["property list uchar int vertex_indices", "property short flags"], faces),
                      ("far", 3, ["property list uint double list"], far), ("empty", 9, [], b"")]
            head = [f"obj_info {'long ' * 1500}", "comment element vertex 3"]
            for some in (before, before[:1], before[1:]):
                self.same(self.read(ply(points, layout, before=some, behind=b"3 0 1 2\n" if text else b"\3\0\0", head=head), "ply"), points)
            for end in ("\r\n", "\r"):
                self.same(self.read(ply(points, layout, before=before[:1] if not text else (), end=end), "ply"), points)

    def test_fields_of_several_numbers_fillers_and_images(self):
        rng = numpy.random.default_rng(3)
        points = cloud(rng, 60, {"x": "<f4", "_1": ("<u1", (5,)), "fpfh": ("<f4", (33,)), "y": "<f8", "t": "<u8"})
        points["t"] += 1 << 60
        for layout in LAYOUTS["pcd"]:
            file = pcd(points, layout, width=12)
            found = self.decoded(self.files([file]), {
                "both": ("f32[n, k, q]", "row.data |> decode(f32[k = 60, q = 34], header = pcd, fields = [fpfh, y])"),
                "part": ("f32[n, k, q]", "(row.data |> decode(f32[k = 60, q = 33], header = pcd, fields = [fpfh]))[k = 7 .. 9, q = 30 .. 33]"),
                "all": ("f64[n, k, q <= 40] pad 0", "row.data |> decode(f64[k = 60, q], header = pcd)"),
                "facts": ("i64[n, k]", "stack([f.points, f.columns, f.width, f.height], k)")}, "let f = probe(row.data, pcd)")
            numpy.testing.assert_array_equal(found["both"], numpy.concatenate([points["fpfh"], points["y"][:, None].astype("f4")], 1))
            numpy.testing.assert_array_equal(found["part"], points["fpfh"][7:9, 30:])
            numpy.testing.assert_array_equal(found["all"][:, :36], numpy.concatenate([points["x"][:, None], points["fpfh"], points["y"][:, None], points["t"][:, None]], 1).astype("f8"))
            self.assertEqual(found["facts"].tolist(), [60, 36, 12, 5])

    def test_colours_in_one_field(self):
        rng = numpy.random.default_rng(4)
        for kind, name in (("<f4", "rgb"), ("<u4", "rgb"), ("<u4", "rgba")):
            points = cloud(rng, 20, {"x": "<f4", name: kind, "y": "<f4"})
            colours = rng.integers(1, 120, (20, 4)).astype("u1")  # blue, green, red, alpha
            points[name] = colours.copy().view(kind)[:, 0]
            for layout in LAYOUTS["pcd"]:
                fields = "red, green, blue" + (", alpha" if name == "rgba" else "")
                found = self.read(pcd(points, layout), "pcd", "u8", fields)[:20]
                numpy.testing.assert_array_equal(found, colours[:, [2, 1, 0, 3][:found.shape[1]]])
        points = cloud(rng, 20, {"rgb": "<u4", "rgba": "<u4"})
        bytes_of = lambda name: points[name].copy().view("u1").reshape(20, 4)
        found = self.read(pcd(points), "pcd", "u8", "red, alpha")[:20]
        numpy.testing.assert_array_equal(found, numpy.stack([bytes_of("rgb")[:, 2], bytes_of("rgba")[:, 3]], 1))
        points = cloud(rng, 20, {"rgb": "<u4", "red": "<u2"})
        numpy.testing.assert_array_equal(self.read(pcd(points), "pcd", "u16", "red")[:20, 0], points["red"])

    def test_names_are_those_of_the_file(self):
        points = cloud(numpy.random.default_rng(5), 9, {"x": "<f4", "scalar_Field": "<f4", "normal-x": "<f4", "if": "<f4"})
        for header, file in (("ply", ply(points)), ("pcd", pcd(points))):
            found = self.decoded(self.files([file]), {"y": ("f32[n, k, q]", f'row.data |> decode(f32[k = 9, q], header = {header}, fields = ["if", scalar_Field, "normal-x", x, x])'),
                                                      "z": ("f32[n]", "f32(x)")}, "let x = 3\n let scalar_Field = 4.0")
            numpy.testing.assert_array_equal(found["y"], self.stacked(points, ("if", "scalar_Field", "normal-x", "x", "x")))

    def test_text_as_people_write_it(self):
        numbers = b"  +1.5\t-0 1e-400 255  \r\n\n 1E2 nan -inf 0\r\n\r\n.5 1e-42 16777217.0 3.0"
        for header, file in (("ply", ply(cloud(numpy.random.default_rng(6), 0, self.XYZ), "ascii").replace(b"vertex 0", b"vertex 3")),
                             ("pcd", pcd(cloud(numpy.random.default_rng(6), 0, self.XYZ), "ascii", WIDTH=3, POINTS=3))):
            found = self.read(file + numbers, header)[:3]
            numpy.testing.assert_array_equal(found, numpy.array([[1.5, -0.0, 0, 255], [100, numpy.nan, -numpy.inf, 0], [0.5, 1e-42, 16777217, 3]], "f4"))
            self.assertTrue(numpy.signbit(found[0, 1]))

    def test_no_points(self):
        points = cloud(numpy.random.default_rng(7), 0, self.XYZ)
        for header, file in [("ply", ply(points, layout)) for layout in LAYOUTS["ply"]] + [("pcd", pcd(points, layout)) for layout in LAYOUTS["pcd"]]:
            self.same(self.read(file, header), points)

    def test_boxes_of_large_files(self):
        """What is read in parts, from a file and from a tar file."""
        rng = numpy.random.default_rng(8)
        points = cloud(rng, 6000, {"x": "<f4", "far": ("<f4", (20,)), "time": "<f8", "y": "<f4", "ring": "<u2"})
        one = cloud(rng, 6000, {"x": "<f4", **{f"f{i}": "<f4" for i in range(20)}, "time": "<f8", "y": "<f4", "ring": "<u2"})
        for header, given, layouts in (("pcd", points, LAYOUTS["pcd"]), ("ply", one, LAYOUTS["ply"])):
            files = self.files([(pcd if header == "pcd" else ply)(given, layout) for layout in layouts])
            shard = os.path.join(self.folder, "a.tar")
            with tarfile.open(shard, "w") as archive:
                for i in range(len(layouts)):
                    archive.add(os.path.join(self.data, f"{i}.bin"), f"{i}.bin")
            body = f"""
  let x = row.{{column}} |> decode(f32[k, q], header = {header}, fields = [ring, time, y, x])
  batch 1 per rank last drop {{{{ output y: f32[n, k, q] = x[k = a .. a + 900, q = b .. b + 2] }}}}
}}}}"""
            head = "pipeline test(list: path, root: path, a: int = 0, b: int = 0) {\n  for row in file_list(list, root) order sequential"
            tars = "pipeline test(shard: path, a: int = 0, b: int = 0) {\n  for row in tar_shards([shard], bin = bytes) order sequential"
            wanted = self.stacked(given, ("ring", "time", "y", "x"))
            for text, settings in ((head + body.format(column="data"), files), (tars.replace("[shard]", "shard") + body.format(column="bin"), ["--set", f"shard={shard}"])):
                path = self.write(text)
                for position in range(len(layouts)):
                    a, b = int(rng.integers(0, 5000)), int(rng.integers(0, 3))
                    out = os.path.join(self.folder, "out")
                    self.run_tool("sample", path, "--position", position, "-o", out, *settings, "--set", f"a={a}", "--set", f"b={b}")
                    numpy.testing.assert_array_equal(numpy.fromfile(os.path.join(out, "y.raw"), "<f4").reshape(900, 2), wanted[a:a + 900, b:b + 2])

    def test_only_what_is_needed_is_read(self):
        points = cloud(numpy.random.default_rng(9), 400000, {"x": "<f4", "y": "<f4", "z": "<f4"})
        for header, file in (("ply", ply(points)), ("pcd", pcd(points))):
            path = self.write(f"""pipeline test(list: path, root: path) {{
  for row in file_list(list, root)
  let x = row.data |> decode(f32[k, q], header = {header}, fields = [x, y, z])
  batch 1 per rank last drop {{ output y: f32[n, k, q] = x[k = 200000 .. 201000] }}
}}""")
            self.assertLess(self.run_json("run", path, *self.files([file]))["fetched_bytes"], 100_000)

    DECODE = "decode(f32[k, q], header = {}, fields = [x, y, z, intensity])"

    def test_what_is_wrong_with_ply(self):
        points = cloud(numpy.random.default_rng(10), 30, self.XYZ)
        good, text, big = ply(points), ply(points, "ascii"), ply(points, "binary_big_endian")
        head = good.index(b"end_header\n") + 11
        of = lambda old, new, file=good: file.replace(old, new, 1)
        lists = [("face", 9, ["property list char int i"], b"\xff" + bytes(300))]
        wrong = {
            b"": "not a PLY file: it is empty", b"plain text": "not a PLY file: its first bytes are no such header's", good[:70]: "truncated PLY file: it ends inside its header",
            good[:-1]: f"truncated PLY file: it has {len(good) - 1} bytes of {len(good)}",
            of(b"vertex 30", b"vertex 9223372036854775807"): "damaged PLY file: no file has 9223372036854775807 points",
            of(b"vertex 30", b"vertex 709490156681136600"): f"truncated PLY file: it has {len(good) + 16} bytes of {709490156681136600 * 13 + head + 16}",
            of(b"vertex 30", b"vertex 9223372036854775808"): "damaged PLY file: `9223372036854775808` is no number of elements",
            of(b"vertex 30", b"vertex -1"): "damaged PLY file: `-1` is no number of elements", of(b"vertex 30", b"vertex nan"): "damaged PLY file: `nan` is no number of elements",
            of(b"vertex", b"vortex"): "damaged PLY file: it has no element `vertex`", of(b"uchar intensity", b"list uchar int intensity"): "PLY file whose points have a list, `intensity`, is not read",
            of(b"little", b"middle"): "damaged PLY file: `binary_middle_endian` is no format", of(b"1.0", b"2.0"): "PLY file of version 2.0 is not read",
            of(b"uchar intensity", b"half intensity"): "damaged PLY file: `half` is no type", of(b"comment", b"remark"): "damaged PLY file: `remark by a test` is no line of a header",
            of(b"float z", b"float zz"): "the file has no field `z`: its fields are x, y, zz, intensity", of(b"float z", b"float y"): "damaged PLY file: it has two fields `y`",
            of(b"end_header", b"element vertex 2\nend_header"): "damaged PLY file: it has two elements `vertex`",
            ply(points, before=lists): "damaged PLY file: a list has fewer than no elements",
            of(b"element vertex", b"element face 9000000000000000000\nproperty float a\nelement vertex"): "truncated PLY file: it ends in front of its points",
            of(b"element vertex", b"element face 9000000000000000000\nproperty list uint double a\nelement vertex"): "truncated PLY file: it ends in front of its points",
            of(b"format", b"comment\nremark"): "damaged PLY file: `remark binary_little_endian 1.0` is no format", b"ply\nformat ascii 1.0\ncomment " + b"a" * (1 << 20): "damaged PLY file: its header has no end within 1048576 bytes",
            of(b"property float x", b"\n".join(b"property float a%i" % i for i in range(66000)), ply(points)): "damaged PLY file: its header has no end within 1048576 bytes",
            of(b"30", b"31", text): "truncated PLY file: it ends after 30 points of 31", of(b"30", b"500", text): None,
            text.rsplit(b" ", 1)[0] + b" 256\n": None, text.rsplit(b" ", 1)[0] + b" nan\n": "damaged PLY file: point 29: `nan` is not a whole number",
            text.rsplit(b" ", 1)[0] + b"\n": "damaged PLY file: point 29 has 3 numbers of 4", text[:-1] + b" 9\n": "damaged PLY file: point 29 has 5 numbers of 4",
            text.rsplit(b"\n", 2)[0] + b"\n1 2 x 4": "damaged PLY file: point 29: `x` is not a number", of(b"30", b"29", big)[:-14]: None,
        }
        said = self.said_of([good, *wrong], self.DECODE.format("ply"), "k, q")
        for row, message in enumerate(wrong.values(), 1):
            self.assertIn(row, said)
            self.assertEqual(said[row], message or said[row])
        self.assertEqual(said[list(wrong).index(text.rsplit(b" ", 1)[0] + b" 256\n") + 1], "damaged PLY file: point 29: `256` does not fit u8")
        self.assertRegex(said[list(wrong).index(of(b"30", b"500", text)) + 1], r"truncated PLY file: it has \d+ bytes of \d+ or more")

    def test_what_is_wrong_with_pcd(self):
        points = cloud(numpy.random.default_rng(11), 30, self.XYZ)
        good, packed, text = pcd(points), pcd(points, "binary_compressed"), pcd(points, "ascii")
        at = packed.index(b"binary_compressed\n") + 18
        sized = lambda a, b: packed[:at] + struct.pack("<II", a, b) + packed[at + 8:]
        size = len(packed) - at - 8
        wrong = {
            b"": "not a PCD file: it is empty", b"plain text": "not a PCD file: its first bytes are no such header's", good[:90]: "truncated PCD file: it ends inside its header",
            good[:-1]: f"truncated PCD file: it has {len(good) - 1} bytes of {len(good)}", pcd(points, VERSION=".6"): "PCD file of version .6 is not read",
            pcd(points, WIDTH=1 << 62, HEIGHT=2): "damaged PCD file: its width and height are impossible", pcd(points, WIDTH=-30): "damaged PCD file: `-30` is no number of a header",
            pcd(points, POINTS=31): "damaged PCD file: it says 31 points, and 30 by width and height", pcd(points, WIDTH="1e1"): "damaged PCD file: `1e1` is no number of a header",
            pcd(points, WIDTH=1 << 62, POINTS=None): f"damaged PCD file: no file has {1 << 62} points", pcd(points, WIDTH=None, POINTS=None): "damaged PCD file: its header does not say how many points there are",
            pcd(points, SIZE="4 4 4"): "damaged PCD file: FIELDS, SIZE, TYPE and COUNT name different numbers of fields", pcd(points, SIZE="4 4 4 3"): "PCD file with numbers of TYPE U and SIZE 3 is not read",
            pcd(points, COUNT="1 1 1 0"): "damaged PCD file: `intensity` has no numbers", pcd(points, COUNT="1 1 1 9223372036854775807"): "PCD file whose points have more than 65536 numbers is not read",
            pcd(points, COUNT="1 1 1 65534"): "PCD file whose points have more than 65536 numbers is not read", pcd(points, FIELDS="x y z _"): "the file has no field `intensity`: its fields are x, y, z",
            pcd(points, "zip"): "damaged PCD file: `zip` is no DATA", pcd(points, FIELDS=None): "damaged PCD file: FIELDS, SIZE, TYPE and COUNT name different numbers of fields",
            pcd(points, HEIGHT="1\nHEIGHT 1"): "damaged PCD file: `HEIGHT` stands there twice", pcd(points, COUNT="1 1 1 2"): f"truncated PCD file: it has {len(good)} bytes of {len(good) + 30}",
            pcd(points, "ascii", WIDTH=31, POINTS=31): "truncated PCD file: it ends after 30 points of 31", text.replace(b"FIELDS x y", b"PANELS x y"): "damaged PCD file: `PANELS x y z intensity` is no line of a header",
            packed[:-1]: f"truncated PCD file: it has {len(packed) - 1} bytes of {len(packed)}", packed[:at + 7]: "truncated PCD file: it ends in front of its points",
            sized(size, 391): "damaged PCD file: what is packed becomes 391 bytes, and 30 points of 13 are others", sized(2, 390): "damaged PCD file: 2 packed bytes are not 30 points",
            sized(0xFFFFFFFF, 390): f"truncated PCD file: it has {len(packed)} bytes of {at + 8 + 0xFFFFFFFF}",
            sized(size - 2, 390): "damaged points, packed by LZF: they end inside a repeat or a run", packed[:at + 8] + b"\x20\x40" + packed[at + 10:]: "damaged points, packed by LZF: they repeat what stands before their beginning",
            sized(size + 2, 390) + b"\0\0": "damaged points, packed by LZF: they become more than the 390 bytes that the header says",
            sized(32, 390)[:at + 8] + b"\x1f" + bytes(32): "damaged PCD file: `x`",
        }
        wrong.pop(sized(32, 390)[:at + 8] + b"\x1f" + bytes(32))
        wrong[sized(33, 390)[:at + 8] + b"\x1f" + bytes(32)] = "damaged points, packed by LZF: they become 32 bytes of 390"
        said = self.said_of([good, *wrong], self.DECODE.format("pcd"), "k, q")
        for row, message in enumerate(wrong.values(), 1):
            self.assertEqual(said.get(row), message)

    def test_what_does_not_fit_the_type(self):
        points = cloud(numpy.random.default_rng(12), 30, {"x": "<f4", "label": "<u2", "more": ("<f4", (3,))})
        file = pcd(points)
        for decode, axes, message in (("decode(u8[k], header = pcd, fields = [label])", "k", "the file has `label` as u16, and u8 does not hold all of them"),
                                      ("decode(i32[k], header = pcd, fields = [x])", "k", "the file has `x` as f32, and i32 does not hold all of them"),
                                      ("decode(f32[k], header = pcd, fields = [more])", "k", "the file's fields have 3 numbers for each point, and the type has 1"),
                                      ("decode(f32[k, q = 5], header = pcd, fields = [more, x])", "k, q", "the file's fields have 4 numbers for each point, and the type has 5"),
                                      ("decode(f32[k = 31, q], header = pcd, fields = [x, label])", "k, q", "the file has 30 points, and the type says 31"),
                                      ("decode(f32[k, q = 4], header = pcd)", "k, q", "the file has 5 numbers for each point, and the type says 4")):
            path = self.write(f"""pipeline test(list: path, root: path, read: bool = true) with on_error = fail {{
  for row in file_list(list, root)
  let x = row.data |> {decode}
  batch 1 per rank last drop {{ output y: i64[n] = if read then i64(max(x over [{axes}])) else 0 }}
}}""")
            for read in ("true", "false"):
                self.assertIn(f"0.bin: {message}", self.run_tool("run", path, *self.files([file]), "--set", f"read={read}", expect=1).stderr)

    def test_damaged_at_random(self):
        """A file is good or bad as a whole, whatever is read of it; nothing else happens."""
        rng = numpy.random.default_rng(13)
        points = cloud(rng, 40, self.XYZ)
        for header, layouts, make in (("ply", LAYOUTS["ply"], ply), ("pcd", LAYOUTS["pcd"], pcd)):
            contents = []
            for i in range(90):
                file = bytearray(make(points, layouts[i % 3]))
                head = file.index(b"end_header" if header == "ply" else b"DATA")
                for _ in range(int(rng.integers(1, 4))):
                    at = int(rng.integers(0, head + 40 if rng.random() < 0.7 else len(file)))
                    if rng.random() < 0.5:
                        file[at:at + int(rng.integers(0, 4))] = rng.choice([b"9", b"-", b"nan", b"\n", b" ", b"99999999999", b"\xff", b""])
                    elif rng.random() < 0.8:
                        file[at % len(file)] ^= 1 << int(rng.integers(0, 8))
                    else:
                        del file[at:]
                        break
                    file = file or bytearray(1)
                contents.append(bytes(file))
            said = self.said_of([make(points, layouts[0]), *contents], self.DECODE.format(header), "k, q")
            self.assertGreater(len(said), 30)
            self.assertTrue(all(said.values()))

    def test_mistakes_are_told_at_their_place(self):
        for decode, column, message in (
                ("decode(f32[k, q], header = pyl)", 56, "there is no `pyl` here"),
                ("decode(f32[k], header = ply)", 36, "a type without an axis for the numbers of a point takes one field, and none is named"),
                ("decode(f32[k], header = ply, fields = [x, y])", 67, "a type without an axis for the numbers of a point takes one field, and 2 are named"),
                ("decode(f32[k, q = 4], header = ply, fields = [x, y, z])", 74, "3 fields are named, and axis `q` has 4 elements"),
                ("decode(f32[k, q = 2], header = pcd, fields = [x, y, z])", 74, "3 fields are named, and axis `q` has 2 elements"),
                ("decode(f32[k, q], header = ply, fields = x)", 70, "`fields` is a list of names, and this is the word `x`"),
                ("decode(f32[k, q], header = ply, fields = [])", 70, "no field is named"),
                ("decode(f32[k, q], header = ply, fields = [x, 3])", 70, "a field has a name, and this is int"),
                ('decode(f32[k, q], header = ply, fields = ["a b"])', 70, "names of fields have no blanks"),
                ("decode(f32[k, q, r], header = ply, fields = [x])", 36, "files of points have two axes, the points and the numbers of each, and this type has 3"),
                ("decode(f16[k, q], header = ply, fields = [x])", 36, "numbers of points become integers, f32 or f64, and no f16"),
                ("decode(f32[k, q], header = ply, orient = true)", 70, "`orient` is for images, videos and volumes, and points know no ways up"),
                ("decode(f32[k, q], header = ply, order = big)", 69, "`order` is for files without a header"),
                ("decode(f32[k, q], header = npy, fields = [x])", 70, "`fields` is for files whose header names them, and `npy` names none"),
                ("decode(f32[k, q = 4], fields = [x])", 60, "`fields` is for files whose header names them"),
                ("decode(rgb, fields = [x])", 50, "`fields` is for numbers, and these are pixels"),
                ("decode(mono, fields = [x])", 51, "`fields` is not for sound"),
                ("decode(ply)", 36, "`decode(f32[k, f], header = ply, fields = [x, y, z])`")):
            with self.subTest(decode):
                self.refused(f"""use vision
pipeline test(list: path, root: path) {{
  for row in file_list(list, root)
  let numbers = row.data |> {decode}
  batch 1 per rank last drop {{ output y: f32[n] = 1.0 }}
}}""", f"test.pipe:5:{column}: error: ", message)


if __name__ == "__main__":
    main()
