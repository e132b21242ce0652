# SPDX-License-Identifier: Apache-2.0
"""Files whose header says what their elements are: .npy beside NumPy, NIfTI beside nibabel."""
import gzip
import io
import itertools
import os
import re
import struct
import sys
import tarfile
import unittest

import numpy

from media import KINDS, MediaTest
from support import main

# Debian's is older, and would bring SciPy: scripts/setup fetches its wheel. Mutants have a cache of their own.
sys.path += [os.path.join(folder, "penstock", "nibabel") for folder in (os.environ.get("XDG_CACHE_HOME"), os.path.expanduser("~/.cache")) if folder]
try:
    import nibabel
except ImportError:
    nibabel = None


def npy(array):
    stream = io.BytesIO()
    numpy.save(stream, array)
    return stream.getvalue()


class ArrayTest(MediaTest):
    maxDiff = None

    def said_of(self, contents, decode, axes):
        """What is said of files, by their number; the first 20 are good. Twice: with and without elements that are needed."""
        text = """pipeline test(list: path, root: path, read: bool = true) with on_error = substitute(100%) {{
  for row in file_list(list, root) order sequential
  let x = row.data |> {decode}
  batch 1 per rank last drop {{ output y: i64[n] = if read then i64(max(x over [{axes}])) else 0 }}
}}"""
        path = self.write(text.format(decode=decode, axes=axes))
        if len(contents) > 10:  # a report names 16 bad samples at most
            rest = self.said_of(contents[:1] + contents[10:], decode, axes)
            return self.said_of(contents[:10], decode, axes) | {row + 9: reason for row, reason in rest.items()}
        settings = self.files(20 * [contents[0]] + contents[1:])
        found = []
        for read in ("true", "false"):
            done = self.run_json("run", path, *settings, "--set", f"read={read}")
            reasons = {bad["row"] - 19: bad["reason"] for bad in done["bad_samples"]}
            found.append({row: re.sub(rf" \({re.escape(path)}.*", "", reason) for row, reason in reasons.items()})
        self.assertEqual(*found)
        return found[0]


class Npy(ArrayTest):
    def test_of_every_type_and_order(self):
        rng = numpy.random.default_rng(1)
        for kind, stored in KINDS.items():
            for sign, order in itertools.product("<>", "CF"):
                whole = rng.integers(0 if kind[0] == "u" else -100, 100, (5, 3, 4)).astype(sign + stored, order=order)
                found = self.decoded(self.files([npy(whole)]),
                                     {"y": (f"{kind}[n, k <= 9, g <= 3, f] pad 0", "x"), "part": (f"{kind}[n, k, g, f]", "x[k = 2 .. 4, g = 1 .. 3, f = 3 .. 4]")},
                                     f"let x = row.data |> decode({kind}[k, g, f = 4], header = npy)")
                numpy.testing.assert_array_equal(found["y"][:5, :3], whole)
                numpy.testing.assert_array_equal(found["part"], whole[2:4, 1:3, 3:4])

    def test_of_truths_and_headers(self):
        truths = numpy.random.default_rng(2).integers(0, 2, (3, 7)).astype(bool)
        found = self.decoded(self.files([npy(truths)]), {
            "y": ("bool[n, h <= 7, w <= 7] pad false", "row.data |> decode(bool[h, w], header = npy)"),
            "facts": ("i64[n, k]", "stack([f.rank, f.axis0, f.axis1, f.axis2, f.axis7], k)")}, "let f = probe(row.data, npy)")
        numpy.testing.assert_array_equal(found["y"][:3], truths)
        self.assertEqual(found["facts"].tolist(), [2, 3, 7, 1, 1])

    def test_damaged_headers_that_numpy_refuses(self):
        rng, whole = numpy.random.default_rng(4), npy(numpy.arange(24, dtype="f4").reshape(4, 6))
        end = whole.index(b"}")
        damaged = []
        for _ in range(99):
            header = bytearray(whole)
            header[rng.integers(10, end + 2)] = rng.choice(list(b" '(),:{}[]0369LTruesFalx"))
            damaged.append(bytes(header))
        for old, new in ((b"False,", b"False9"), (b"(4, 6)", b"(4,06)"), (b"(4, 6), }", b"(4, 6),'a':3}"[:9]), (b"'<f4', ", b"'<f4')  "), (b"(4, 6)", b"((4,6)"),
                         (b"(4, 6)", b"(24)  "), (b"False", b"0    ")):
            damaged.append(whole.replace(old, new))
        said = self.said_of([whole, *damaged], "decode(f32[k, f], header = npy)", "k, f")
        accepted = 0
        for row, contents in enumerate(damaged, 1):
            if row not in said:
                accepted += 1
                found = numpy.load(io.BytesIO(contents))
                self.assertEqual((found.ndim, found.dtype), (2, "f4"), contents[10:end + 1])
        self.assertGreater(accepted, 2)
        self.assertLess(accepted, 60)

    def test_boxes_of_large_files(self):
        """What is read in parts, from a file and from a tar file."""
        rng = numpy.random.default_rng(3)
        whole = rng.integers(0, 1 << 16, (60, 70, 80)).astype("<u2")
        files = self.files([npy(whole), npy(numpy.asfortranarray(whole))])
        shard = os.path.join(self.folder, "a.tar")
        with tarfile.open(shard, "w") as archive:
            for i in range(2):
                archive.add(os.path.join(self.data, f"{i}.bin"), f"{i}.bin")
        body = """
  let x = row.{column} |> decode(u16[a, b, c], header = npy)
  batch 1 per rank last drop {{ output y: u16[n, a, b, c] = x[a = a .. a + 5, b = b .. b + 9, c = c .. c + 11] }}
}}"""
        head = "pipeline test(list: path, root: path, a: int = 0, b: int = 0, c: int = 0) {\n  for row in file_list(list, root) order sequential"
        tars = "pipeline test(shard: path, a: int = 0, b: int = 0, c: int = 0) {\n  for row in tar_shards([shard], bin = bytes) order sequential"
        for text, settings in ((head + body.format(column="data"), files), (tars.replace("[shard]", "shard") + body.format(column="bin"), ["--set", f"shard={shard}"])):
            path = self.write(text)
            for _ in range(5):
                a, b, c = (int(rng.integers(0, most)) for most in (56, 62, 70))
                for position in (0, 1):
                    out = os.path.join(self.folder, "out")
                    self.run_tool("sample", path, "--position", position, "-o", out, *settings, "--set", f"a={a}", "--set", f"b={b}", "--set", f"c={c}")
                    numpy.testing.assert_array_equal(numpy.fromfile(os.path.join(out, "y.raw"), "<u2").reshape(5, 9, 11),
                                                     whole[a:a + 5, b:b + 9, c:c + 11])

    def test_only_what_is_needed_is_read(self):
        whole = numpy.zeros((400, 100, 100), numpy.float32)
        text = """pipeline test(list: path, root: path) {
  for row in file_list(list, root)
  let x = row.data |> decode(f32[a, b, c], header = npy)
  batch 1 per rank last drop { output y: f32[n, a, b, c] = x[a = 50 .. 53, b = 0 .. 100, c = 0 .. 100] }
}"""
        files = self.files([npy(whole)])
        for stated in ("a, b, c", "a = 400, b = 100, c = 100"):
            path = self.write(text.replace("a, b, c], header", stated + "], header"))
            self.assertLess(self.run_json("run", path, *files)["fetched_bytes"], 250_000)

    def test_headers_as_numpy_takes_them(self):
        whole = numpy.arange(12, dtype="<f4").reshape(3, 4)
        file = npy(whole)
        for old, new in ((b"'<f4'", b"'f4' "), (b"'<f4'", b"'=f4'"), (b"'descr': ", b"'descr':\t"), (b"(3, 4), ", b"(3,\n4), "), (b"'descr'", b'"descr"')):
            edited = file.replace(old, new)
            numpy.testing.assert_array_equal(numpy.load(io.BytesIO(edited)), whole)
            found = self.decoded(self.files([edited]), {"y": ("f32[n, h, w]", "row.data |> decode(f32[h = 3, w = 4], header = npy)")})
            numpy.testing.assert_array_equal(found["y"], whole)
        wrong = [file.replace(old, new) for old, new in ((b"'<f4'", b"'~f4'"), (b"False", b"Flase"), (b"False", b"1    "), (b" 'fortran", b"!'fortran"), (b"<f4", b"<f9"))]
        for edited in wrong:
            with self.assertRaises(ValueError):
                numpy.load(io.BytesIO(edited))
        said = self.said_of([file, *wrong], "decode(f32[h = 3, w = 4], header = npy)", "h, w")
        self.assertEqual(set(said), set(range(1, len(wrong) + 1)), said)

    def test_what_is_wrong(self):
        good = npy(numpy.ones((4, 6), numpy.float32))
        said = self.said_of([good, good[:-1], npy(numpy.ones((4, 6))), npy(numpy.ones((4, 5), numpy.float32)), npy(numpy.ones(24, numpy.float32)),
                             b"plain", npy(numpy.ones((4, 6), "u4")), good[:40], npy(numpy.ones((0, 6), numpy.float64))], "decode(f32[k, f = 6], header = npy)", "k, f")
        self.assertEqual(said, {
            1: f"truncated .npy file: it has {len(good) - 1} bytes of {len(good)}",
            2: "the file has elements of f64, and f32 are wanted",
            3: "the file has 5 elements along axis `f`, and the type says 6",
            4: "the file's array has 1 axes, and the type has 2",
            5: "it is no .npy file",
            6: ".npy file of `<u4` is not read",
            7: "truncated .npy file: it ends inside its header",
            8: "the file has elements of f64, and f32 are wanted"})

    def test_mistakes_are_told_at_their_place(self):
        for decode, column, message in (
                ("decode(f32[k, f = 4], header = numpy)", 60, "there is no `numpy` here"),
                ("decode(f32[k], header = npy, skip = 4)", 65, "`skip` is for files without a header, which says that itself"),
                ("decode(f32[k], header = npy, order = big)", 66, "`order` is for files without a header"),
                ("decode(f32[k], header = npy, orient = true)", 67, "`orient` is for images, videos and volumes"),
                ("decode(rgb, header = npy)", 50, "`header` is for numbers, and these are pixels"),
                ("decode(mono, header = npy)", 51, "`header` is not for sound"),
                ("decode(npy)", 36, "`decode(f32[k, f = 4], header = npy)`"),
                ("decode(nii)", 36, "`decode(f32[z, h, w], header = nifti)`"),
                ("decode(f16[z, h, w], header = nifti)", 36, "voxels become integers, f32 or f64, and no f16"),
                ("decode(f32[h, w], header = nifti, orient = true)", 72, "`orient` turns volumes, which have three axes at least"),
                ("decode(u8[a, b, c, d, e, f, g, h], header = nifti)", 36, "volumes of NIfTI have up to seven axes, and this type has 8")):
            with self.subTest(decode):
                self.refused(f"""use vision
pipeline test(list: path, root: path) {{
  for row in file_list(list, root)
  let numbers = row.data |> {decode}
  batch 1 per rank last drop {{ output y: f32[n] = 1.0 }}
}}""", f"test.pipe:5:{column}: error: ", message)


def affine(rng, oblique):
    """Any orientation, distances, and where asked for a tilt."""
    matrix = numpy.zeros((3, 3))
    for axis, world in enumerate(rng.permutation(3)):
        matrix[world, axis] = rng.choice([-1, 1]) * rng.uniform(0.5, 4)
    if oblique:
        turn, _ = numpy.linalg.qr(rng.normal(0, 1, (3, 3)))
        matrix = turn @ matrix
        if oblique > 1:
            matrix = matrix + rng.normal(0, 0.2, (3, 3))
    result = numpy.eye(4)
    result[:3, :3] = matrix
    result[:3, 3] = rng.uniform(-90, 90, 3)
    return result


@unittest.skipIf(nibabel is None, "nibabel is not installed")
class Nifti(ArrayTest):
    def save(self, image, packed):
        raw = image.to_bytes()
        return gzip.compress(raw, 1) if packed else raw

    def test_volumes_of_every_kind(self):
        rng = numpy.random.default_rng(5)
        kinds = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
        contents, images = [], []
        for i in range(60):
            kind, order = kinds[i % len(kinds)], rng.choice(["<", ">"])
            shape = tuple(int(extent) for extent in rng.integers(1, 8, 3))
            low = 0 if kind[0] == "u" else -100
            values = rng.integers(low, 100, shape).astype(kind) if kind[0] != "f" else rng.normal(0, 50, shape).astype(kind)
            make = nibabel.Nifti1Image if rng.random() < 0.6 else nibabel.Nifti2Image
            header = make.header_class(endianness=order)
            header.set_data_dtype(kind)
            image = make(values, affine(rng, int(rng.integers(0, 3))), header)
            if rng.random() < 0.4:
                image.header.set_slope_inter(float(rng.uniform(-2, 2)), float(rng.choice([0, 7.25, -1024])))
                values = image.get_fdata()
            codes = rng.integers(0, 3)
            if codes != 0:
                image.set_qform(image.affine, 1)
            if codes != 1:
                image.set_sform(image.affine, 0 if codes == 0 and rng.random() < 0.5 else 2)
            else:
                image.set_sform(None, 0)
            image.header.set_xyzt_units("mm", "sec")
            raw = self.save(image, rng.random() < 0.5)
            loaded = make.from_bytes(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
            contents.append(raw)
            images.append(loaded)
        path = self.write("""pipeline test(list: path, root: path) {
  for row in file_list(list, root) order sequential
  let f = probe(row.data, nifti)
  batch 1 per rank last drop {
    output x: f32[n, z <= 8, h <= 8, w <= 8] pad 0.0 = row.data |> decode(f32[z, h, w], header = nifti)
    output y: f64[n, z <= 8, h <= 8, w <= 8] pad 0.0 = row.data |> decode(f64[z, h, w], header = nifti, orient = true)
    output extents: i64[n, k] = stack([f.x, f.y, f.z, f.t, f.right, f.anterior, f.superior], k)
    output distances: f64[n, k] = stack([f.dx, f.dy, f.dz, f.d_right, f.d_anterior, f.d_superior], k)
  }
}""")
        settings, out = self.files(contents), os.path.join(self.folder, "out")
        for position, image in enumerate(images):
            self.run_tool("sample", path, "--position", position, "-o", out, *settings)
            read = lambda name, kind: numpy.fromfile(os.path.join(out, name + ".raw"), kind)
            stored = image.get_fdata()
            upright = nibabel.as_closest_canonical(image)
            for name, kind, wanted in (("x", "<f4", stored.astype("f4")), ("y", "<f8", upright.get_fdata())):
                whole = numpy.zeros((8, 8, 8), kind)
                whole[tuple(slice(0, extent) for extent in wanted.shape[::-1])] = wanted.T
                numpy.testing.assert_array_equal(read(name, kind).reshape(8, 8, 8), whole, f"{position}: {image.header}")
            self.assertEqual(read("extents", "<i8").tolist(), [*image.shape, 1, *upright.shape], position)
            zooms = [*image.header.get_zooms(), *upright.header.get_zooms()]
            numpy.testing.assert_allclose(read("distances", "<f8"), zooms, rtol=1e-6)

    def test_integers_are_the_voxels(self):
        rng = numpy.random.default_rng(6)
        for kind, file in (("u8", "u1"), ("i16", "u1"), ("i64", "u4"), ("i32", "i2"), ("u16", "u2"), ("i64", "i8"), ("i16", "i1")):
            values = rng.integers(0, 100, (5, 4, 3)).astype(file)
            values[0, 0, 0] = numpy.iinfo(file).max
            image = nibabel.Nifti1Image(values, numpy.eye(4), dtype=file)
            found = self.decoded(self.files([self.save(image, True)]), {"y": (f"{kind}[n, z, h, w]", f"row.data |> decode({kind}[z = 3, h = 4, w = 5], header = nifti)")})
            numpy.testing.assert_array_equal(found["y"], values.T)

    def test_of_two_to_five_axes(self):
        rng = numpy.random.default_rng(7)
        for names in ("hw", "zhw", "tzhw", "czzhw"):
            names = {"czzhw": ["c", "t", "z", "h", "w"]}.get(names, list(names))
            values = rng.normal(0, 1, tuple(range(2, 2 + len(names)))).astype("f4")
            axes = ", ".join(f"{name} = {extent}" for name, extent in zip(names, values.shape[::-1]))
            found = self.decoded(self.files([self.save(nibabel.Nifti1Image(values, numpy.eye(4)), False)]),
                                 {"y": (f"f32[n, {', '.join(names)}]", f"row.data |> decode(f32[{axes}], header = nifti)")})
            numpy.testing.assert_array_equal(found["y"], values.T)

    def test_boxes_of_large_files(self):
        rng = numpy.random.default_rng(8)
        values = rng.integers(-1000, 3000, (70, 60, 50)).astype("<i2")
        turned = nibabel.Nifti1Image(values, numpy.array([[0, 0, -2, 0], [-1.5, 0, 0, 0], [0, 3, 0, 0], [0, 0, 0, 1]]))
        wanted = numpy.asarray(nibabel.as_closest_canonical(turned).dataobj).T
        settings = self.files([self.save(turned, False), self.save(turned, True)])
        path = self.write("""pipeline test(list: path, root: path, a: int = 0, b: int = 0, c: int = 0) {
  for row in file_list(list, root) order sequential
  let x = row.data |> decode(f32[z, h, w], header = nifti, orient = true)
  batch 1 per rank last drop { output y: f32[n, z, h, w] = x[z = a .. a + 6, h = b .. b + 20, w = c .. c + 9] }
}""")
        for _ in range(5):
            a, b, c = (int(rng.integers(0, extent - size)) for extent, size in zip(wanted.shape, (6, 20, 9)))
            for position in (0, 1):
                out = os.path.join(self.folder, "out")
                self.run_tool("sample", path, "--position", position, "-o", out, *settings, "--set", f"a={a}", "--set", f"b={b}", "--set", f"c={c}")
                numpy.testing.assert_array_equal(numpy.fromfile(os.path.join(out, "y.raw"), "<f4").reshape(6, 20, 9),
                                                 wanted[a:a + 6, b:b + 20, c:c + 9])

    def test_what_is_wrong_whatever_is_needed(self):
        values = numpy.random.default_rng(9).integers(0, 100, (9, 8, 7)).astype("u1")
        make = lambda kind, **more: nibabel.Nifti1Image(values.astype(kind), numpy.eye(4), **more).to_bytes()
        good = make("u1")
        packed = gzip.compress(good)
        wrong = bytearray(packed)
        wrong[-6] ^= 1
        scaled = nibabel.Nifti1Image(values, numpy.eye(4))
        scaled.header.set_slope_inter(0.5, 3)
        colours = numpy.zeros((9, 8, 7), [("R", "u1"), ("G", "u1"), ("B", "u1")])
        pair = nibabel.Nifti1Pair(values, numpy.eye(4))
        stream = io.BytesIO()
        pair.header.write_to(stream)
        analyze = io.BytesIO()
        nibabel.AnalyzeHeader().write_to(analyze)
        early = bytearray(good)
        struct.pack_into("<f", early, 108, 8.0)
        many = bytearray(good)
        struct.pack_into("<h", many, 40, 9)
        empty = bytearray(good)
        struct.pack_into("<h", empty, 42, -5)
        said = self.said_of([packed, good[:-1], packed[:-9], bytes(wrong), gzip.compress(good[:-3]), make("i2"), scaled.to_bytes(),
                             nibabel.Nifti1Image(colours, numpy.eye(4)).to_bytes(), stream.getvalue(), analyze.getvalue() + bytes(8), b"", b"plain", bytes(early),
                             bytes(many), bytes(empty), nibabel.Nifti1Image(values[..., None].repeat(2, 3), numpy.eye(4)).to_bytes(), bytes(400),
                             packed + bytes(100), gzip.compress(good[:200]) + gzip.compress(good[200:])], "decode(u8[z, h, w], header = nifti)", "z, h, w")
        self.assertEqual(said, {
            1: f"truncated NIfTI file: it has {len(good) - 1} bytes of {len(good)}",
            2: f"truncated gzip file: its {len(packed) - 9} bytes end before what is packed in them",
            3: "damaged gzip file: incorrect data check",
            4: f"truncated NIfTI file: it has {len(good) - 3} bytes of {len(good)}, unpacked",
            5: "the file has elements of i16, and u8 does not hold all of them",
            6: "the file's numbers are scaled (by 0.500000, and moved by 3.000000), and u8 does not hold them: `f32` does",
            7: "NIfTI file of RGB colours is not read",
            8: "a header of NIfTI whose voxels lie in a file of their own (.img) is not read; `nibabel.save(image, \"x.nii\")` puts both into one",
            9: "a header of ANALYZE is not read; `nibabel.save(image, \"x.nii\")` makes NIfTI of it",
            10: "not a NIfTI file: it is empty",
            11: "not a NIfTI file: it has 5 bytes",
            12: "damaged NIfTI file: its voxels cannot begin where it says",
            13: "damaged NIfTI file: it has 9 axes",
            14: "damaged NIfTI file: axis x has -5 elements",
            15: "the file has 2 elements along its axis t, for which the type has no axis",
            16: "not a NIfTI file: its first bytes are no such header's"})

    def test_an_axis_of_one_slice_may_have_no_distance(self):
        image = nibabel.Nifti1Image(numpy.arange(20, dtype="u1").reshape(5, 4, 1), numpy.diag([-2, 3, 1, 1]))
        image.set_qform(image.affine, 1)
        image.set_sform(None, 0)
        raw = bytearray(image.to_bytes())
        struct.pack_into("<f", raw, 88, 0)
        upright = nibabel.as_closest_canonical(nibabel.Nifti1Image.from_bytes(bytes(raw)))
        found = self.decoded(self.files([bytes(raw)]), {"y": ("f64[n, z, h, w]", "row.data |> decode(f64[z = 1, h = 4, w = 5], header = nifti, orient = true)")}, "")
        numpy.testing.assert_array_equal(found["y"], upright.get_fdata().T)

    def test_units_and_flat_affines(self):
        image = nibabel.Nifti1Image(numpy.zeros((2, 3, 4, 5), "u1"), numpy.diag([0.002, 0.003, 0.004, 1]))
        image.header.set_xyzt_units("meter", "msec")
        image.header.set_zooms((0.002, 0.003, 0.004, 1500))
        flat = bytearray(image.to_bytes())
        struct.pack_into("<h", flat, 254, 1)
        struct.pack_into("<12f", flat, 280, *numpy.diag([1, 1, 0, 1])[:3].ravel())
        found = self.decoded(self.files([image.to_bytes()]), {"y": ("f64[n, k]", "stack([f.dx, f.dy, f.dz, f.dt], k)")}, "let f = probe(row.data, nifti)")
        numpy.testing.assert_allclose(found["y"], [2, 3, 4, 1.5], rtol=1e-6)
        said = self.said_of([image.to_bytes(), bytes(flat)], "decode(u8[t, z, h, w], header = nifti, orient = true)", "t, z, h, w")
        self.assertEqual(said, {1: "the file's affine is flat: which way its axes go is not known"})


if __name__ == "__main__":
    main()
