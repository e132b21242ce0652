# SPDX-License-Identifier: Apache-2.0
"""`penstock.ops`: the library's functions on arrays."""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy
import penstock
from penstock import ops

rng = numpy.random.default_rng(0)
IMAGE = rng.integers(0, 256, (20, 30, 3), dtype=numpy.uint8)
WAVE = rng.normal(size=400).astype(numpy.float32)
POINTS = rng.normal(size=(50, 3)).astype(numpy.float32)
BOXES = numpy.array([[1, 2, 10, 12], [3, 4, 5, 6]], numpy.float32)
CLICK = numpy.concatenate([numpy.zeros(300), rng.normal(size=200), numpy.zeros(400)]).astype(numpy.float32)
PAIRS = rng.normal(size=(8, 2)).astype(numpy.float32)
CUBE = (("-1m", "1m"), ("-2m", "2m"), ("-1m", "1m"), "1m", "2m")
BOX = {"top": 2, "left": 3, "height": 5, "width": 7}
STATS = {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.25, 0.5]}
VOLUME = rng.integers(-1000, 1000, (7, 10, 12), dtype=numpy.int16)
ZHW = {"axes": "z h w"}
GREY, FLOATS = IMAGE[..., 0].copy(), (IMAGE / 255).astype(numpy.float32)

# A call of each function of the library, and the shape of what it gives.
CALLS = {
    "crop": [((IMAGE, 2, 3, 5, 7), {}, (5, 7, 3)), ((GREY, BOX), {}, (5, 7))],
    "center_crop": [((IMAGE, 8), {}, (8, 8, 3))], "random_crop": [((IMAGE, 8, 9), {"key": 1}, (8, 9, 3))],
    "resize": [((IMAGE, 9, 8), {"filter": "bicubic"}, (9, 8, 3)), ((FLOATS, 10), {"antialias": False}, (10, 15, 3))],
    "resize_within": [((IMAGE, 10, 12), {}, (8, 12, 3))], "resize_axis": [((IMAGE, "w", 9), {}, (20, 9, 3))],
    "center_rect": [((20, 30, (0.5, 1.0)), {}, None)], "crop_box": [((20, 30, (0.1, 0.5), (0.5, 2.0)), {"key": 1}, None)],
    "random_resized_crop": [((IMAGE, 8), {"scale": (0.2, 1.0), "key": 3}, (8, 8, 3))],
    "pad": [((IMAGE, 1, 2, 3, 4), {"fill": 9}, (26, 34, 3))], "pad_to": [((IMAGE, 22, 30), {}, (24, 30, 3))],
    "flip": [((IMAGE, "w"), {}, (20, 30, 3)), ((WAVE, "t"), {}, (400,)), (({"image": GREY, "boxes": BOXES}, "w"), {}, None)],
    "shift": [((IMAGE, 1, -2), {}, (20, 30, 3))], "rotate90": [((IMAGE,), {}, (30, 20, 3))],
    "warp": [((IMAGE, {"a": 1.0, "b": 0.1, "c": 0.0, "d": 0.0, "e": 1.0, "f": 0.0}, 20, 30), {}, (20, 30, 3))],
    "rotate": [((IMAGE, "30deg"), {"interpolation": "linear"}, (20, 30, 3)), ((POINTS,), {"by": "30deg", "about": "z"}, (50, 3))],
    "affine": [((IMAGE,), {"by": "5deg", "dx": 2}, (20, 30, 3))], "translate": [((IMAGE, 1, 2), {}, (20, 30, 3))],
    "shear": [((IMAGE, "w", 0.2), {}, (20, 30, 3))],
    "random_rotation": [((IMAGE, (-10.0, 10.0)), {"key": 1}, (20, 30, 3))],
    "random_affine": [((IMAGE, (-10.0, 10.0)), {"key": 1}, (20, 30, 3))],
    "erase": [((IMAGE, BOX), {}, (20, 30, 3)), ((FLOATS, (0.1, 0.2), (0.5, 2.0), [0.1, 0.2, 0.3]), {"key": 1}, (20, 30, 3))],
    "erase_box": [((20, 30, (0.1, 0.2), (0.5, 2.0)), {"key": 1}, None)], "erase_noise": [((FLOATS,), {"key": 1}, (20, 30, 3))],
    "luma": [((IMAGE,), {}, (20, 30))], "grayscale": [((IMAGE,), {}, (20, 30, 3))], "blend": [((10, 20, 0.5), {}, ())],
    "brightness": [((IMAGE, 1.5), {}, (20, 30, 3)), ((GREY, 0.5), {}, (20, 30))],
    "contrast": [((IMAGE, 1.5), {}, (20, 30, 3))], "saturation": [((IMAGE, 1.5), {}, (20, 30, 3))],
    "hue": [((IMAGE, 0.1), {}, (20, 30, 3))], "jittered": [((IMAGE, 3, 1.1, 0.9, 1.2, 0.05), {}, (20, 30, 3))],
    "color_jitter": [((IMAGE, 0.4, 0.4), {"key": 1}, (20, 30, 3))],
    "random_grayscale": [((IMAGE,), {"p": 0.5, "key": 1}, (20, 30, 3))],
    "solarize": [((IMAGE, 100), {}, (20, 30, 3))], "posterize": [((IMAGE, 3), {}, (20, 30, 3))],
    "invert": [((IMAGE,), {}, (20, 30, 3))], "autocontrast": [((IMAGE,), {}, (20, 30, 3))],
    "equalize": [((IMAGE,), {}, (20, 30, 3))], "smooth": [((IMAGE,), {}, (20, 30, 3))],
    "sharpness": [((IMAGE, 2.0), {}, (20, 30, 3))], "box_blur": [((IMAGE, 2), {}, (20, 30, 3))],
    "gaussian_blur": [((IMAGE, 5, 1.0), {}, (20, 30, 3))],
    "random_gaussian_blur": [((IMAGE, 5), {"key": 1}, (20, 30, 3))],
    "pillow_blur": [((IMAGE, 1.0), {}, (20, 30, 3))], "random_pillow_blur": [((IMAGE,), {"key": 1}, (20, 30, 3))],
    "recompress": [((IMAGE, 50), {}, (20, 30, 3))], "augment": [((IMAGE, 5, 30.0), {}, (20, 30, 3))],
    "rand_augment": [((IMAGE,), {"key": 1}, (20, 30, 3))],
    "trivial_augment_wide": [((IMAGE,), {"key": 1}, (20, 30, 3))],
    "auto_augment": [((IMAGE, "cifar10"), {"key": 1}, (20, 30, 3))],
    "to_tensor": [((IMAGE,), {}, (20, 30, 3))], "normalize": [((IMAGE, "imagenet"), {}, (20, 30, 3)),
                                                            ((FLOATS, STATS), {}, (20, 30, 3))],
    "one_hot": [((3, 5), {}, (5,))], "mix": [((FLOATS, FLOATS, 0.3), {}, (20, 30, 3))],
    "cutmix_box": [((20, 30, 0.5), {"key": 1}, None)], "cutmix_share": [((BOX, 20, 30), {}, ())],
    "cutmix": [((IMAGE, IMAGE, BOX), {}, (20, 30, 3))], "flip_boxes": [((BOXES, "w", 30), {}, (2, 4))],
    "hann": [((WAVE,), {}, (400,))],
    "add_noise": [((WAVE, 0.1), {"key": 1}, (400,))], "grain": [((IMAGE, 5.0), {"key": 1}, (20, 30, 3))],
    "exp": [((WAVE,), {}, (400,)), ((0.5,), {}, ())], "clamp": [((WAVE, -1.0, 1.0), {}, (400,))],
    "mean": [((IMAGE, "w"), {}, (20, 3)), ((IMAGE, ["h", "w"]), {}, (3,)), ((WAVE, "t"), {}, ())],
    "var": [((FLOATS, ("w", "c")), {"correction": 1}, (20,)), ((WAVE.astype(float), ["t"]), {}, ())],
    "std": [((FLOATS, "h"), {}, (30, 3))], "norm": [((POINTS, "xyz"), {"axes": "k xyz"}, (50,))],
    "trim": [((CLICK,), {"size": 64, "hop": 16}, None)], "windows": [((WAVE, 25, 10), {}, (38, 25))],
    "voxelize": [((POINTS, "1m", 20), {}, None)], "pillars": [((POINTS, *CUBE[:3], "1m", 2, 20), {}, None)],
    "hard_voxels": [((POINTS, *CUBE, 2, 20), {}, None)], "range_ok": [((POINTS, ("1m", "2m")), {}, (50,))],
    "scale": [((POINTS, 2.0), {}, (50, 3))], "power": [((PAIRS,), {}, (8,))], "spectrum": [((WAVE[:64],), {}, (33, 2))],
    "mel": [((WAVE[:33], 5, ("0Hz", "8kHz"), "16kHz"), {}, (5,))], "log_clamped": [((WAVE, 0.1), {}, (400,))],
    "patch": [((VOLUME, 1, 2, 3, 4, 5, 6), ZHW, (4, 5, 6))], "center_patch": [((VOLUME, 5), ZHW, (5, 5, 5))],
    "random_patch": [((VOLUME, 5), {"key": 1, **ZHW}, (5, 5, 5)), ((VOLUME, 3, 4, 5), {"key": 1, **ZHW}, (3, 4, 5))],
    "pad_patch": [((VOLUME, 11), ZHW, (11, 11, 12))], "respace": [((VOLUME, 2.0, 1.0, 0.5, "1mm"), ZHW, (14, 10, 6))],
    "standardize": [((VOLUME,), ZHW, (7, 10, 12))], "window_level": [((VOLUME, (-160.0, 240.0)), ZHW, (7, 10, 12))],
    "log": [(((1.0, 8.0),), {}, None)], "complex_fft": [((PAIRS,), {}, (8, 2))],
    "mel_spectrogram": [((WAVE, "16kHz", 64, 32, 10, ("0Hz", "8kHz")), {}, None)],
}


class Ops(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.environ["XDG_CACHE_HOME"] = cls.folder.name

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_it_is_there_after_importing_the_package(self):
        code = "import penstock; penstock.ops.resize; penstock.nothing"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertIn("module 'penstock' has no attribute 'nothing'", done.stderr)

    def test_each_function_can_be_called(self):
        for name, calls in CALLS.items():
            for arguments, named, shape in calls:
                with self.subTest(name):
                    result = getattr(ops, name)(*arguments, **named)
                    if shape is not None:
                        self.assertEqual(numpy.shape(result), shape)

    def test_every_function_of_these_modules_is_tried(self):
        listed = {name for name, entries in ops._functions().items() if entries[0]["module"] in ("vision", "points", "augment", "signal", "volume")}
        self.assertEqual(listed - set(CALLS), set())
        self.assertLessEqual(set(CALLS), set(dir(ops)))

    def test_results_are_those_of_plain_numpy(self):
        self.assertTrue((ops.flip(IMAGE, "h") == IMAGE[::-1]).all())
        self.assertTrue((ops.crop(IMAGE, BOX) == IMAGE[2:7, 3:10]).all())
        self.assertTrue((ops.rotate90(GREY) == numpy.rot90(GREY)).all())
        self.assertTrue((ops.normalize(FLOATS, STATS) == (FLOATS - numpy.float32(0.5)) / numpy.float32([0.5, 0.25, 0.5])).all())
        self.assertEqual(ops.log((1.0, 8.0)), {"low": 0.0, "high": numpy.log(8.0)})
        self.assertEqual(ops.center_rect(20, 30, (0.5, 1.0)), {"top": 0, "left": 5, "height": 20, "width": 20})
        both = ops.flip({"image": GREY, "boxes": BOXES}, "w")
        self.assertEqual(both["boxes"][0].tolist(), [20, 2, 29, 12])
        self.assertTrue((both["image"] == GREY[:, ::-1]).all())
        self.assertEqual(ops.flip(IMAGE.transpose(2, 0, 1).copy(), "w", axes="c h w")[0].tolist(), IMAGE[:, ::-1, 0].tolist())

    def test_volumes_are_those_of_plain_numpy(self):
        self.assertTrue((ops.patch(VOLUME, 1, 2, 3, 4, 5, 6, **ZHW) == VOLUME[1:5, 2:7, 3:9]).all())
        self.assertTrue((ops.center_patch(VOLUME, 4, 5, 6, **ZHW) == VOLUME[1:5, 3:8, 3:9]).all())  # MONAI: n // 2 - size // 2
        wide = numpy.pad(VOLUME, ((2, 2), (0, 1), (0, 0)), constant_values=-5)
        self.assertTrue((ops.pad_patch(VOLUME, 11, fill=-5, **ZHW) == wide).all())
        level = numpy.clip((VOLUME.astype("f4") + 160) / numpy.float32(400), 0, 1)
        self.assertTrue((ops.window_level(VOLUME, (-160.0, 240.0), **ZHW) == level).all())
        floats = VOLUME.astype("f4")
        floats[0, 0, :3] = numpy.nan, numpy.inf, -numpy.inf
        self.assertTrue(numpy.isnan(ops.window_level(floats, (-160.0, 240.0), **ZHW)[0, 0, 0]))
        with self.assertRaisesRegex(penstock.CompileError, "a window ends above its begin"):
            ops.window_level(VOLUME, (5.0, 1.0), **ZHW)
        numpy.testing.assert_allclose(ops.standardize(VOLUME, **ZHW), (VOLUME - VOLUME.mean()) / VOLUME.std(), rtol=1e-4, atol=1e-6)
        self.assertTrue((ops.standardize(numpy.full((4, 4, 4), 7, "i2"), **ZHW) == 0).all())
        finer = VOLUME.astype("f8")
        for axis, extent in enumerate((14, 20, 24)):
            places = (numpy.arange(extent) + 0.5) * finer.shape[axis] / extent - 0.5
            finer = numpy.apply_along_axis(lambda row: numpy.interp(places, numpy.arange(len(row)), row), axis, finer)
        numpy.testing.assert_allclose(ops.respace(VOLUME.astype("f4"), 2.0, 2.0, 2.0, "1mm", **ZHW), finer, rtol=1e-5, atol=1e-3)
        mask = ops.respace((VOLUME > 0).astype("u1"), 1.0, 1.0, 1.0, "2mm", filter="nearest", **ZHW)
        self.assertEqual((mask.shape, set(mask.ravel().tolist())), ((4, 5, 6), {0, 1}))
        part = ops.random_patch(VOLUME, 5, key=3, **ZHW)
        self.assertTrue(((part > 0) == ops.random_patch(VOLUME > 0, 5, key=3, **ZHW)).all())
        with self.assertRaisesRegex(penstock.CompileError, "more than 0 mm apart"):
            ops.respace(VOLUME, 1.0, 1.0, 1.0, "0mm", **ZHW)

    def test_axes_are_reduced(self):
        self.assertTrue((ops.mean(IMAGE, ["h", "w"]) == IMAGE.mean((0, 1)).astype(numpy.float32)).all())
        self.assertTrue(numpy.allclose(ops.std(FLOATS, ("c", "w"), correction=1), FLOATS.std((1, 2), ddof=1), rtol=1e-6))
        self.assertTrue(numpy.allclose(ops.norm(POINTS, "xyz", axes="k xyz"), numpy.linalg.norm(POINTS, axis=1), rtol=1e-6))
        self.assertEqual(ops.mean(WAVE, "t"), ops.mean(WAVE, ["t"]))
        kept = numpy.exp(FLOATS) / numpy.exp(FLOATS).sum((0, 2), keepdims=True)  # goes over axes, and keeps them
        numpy.testing.assert_allclose(ops.softmax(FLOATS, ["h", "c"]), kept, rtol=1e-5)
        numpy.testing.assert_allclose(ops.softmax(FLOATS, "w").sum(1), 1, rtol=1e-5)
        with self.assertRaisesRegex(penstock.CompileError, "over axis `width`, which its input does not have"):
            ops.mean(IMAGE, "width")
        with self.assertRaisesRegex(TypeError, r"mean takes other arguments:\nmean\(x: f64\[\], a: axes\)"):
            ops.mean(IMAGE, 1)

    def test_deviations_of_whole_numbers_are_exact(self):
        """Also far from 0, where squares of what is nearly the same are subtracted."""
        random = numpy.random.default_rng(7)
        for element in ("u1", "i1", "u2", "i2"):
            low, high = numpy.iinfo(element).min, numpy.iinfo(element).max
            for values in (random.integers(low, high + 1, 500), random.integers(high - 1, high + 1, 70000),
                           numpy.array([low, high] * 40), numpy.array([high] * 33), numpy.array([low])):
                for correction in (0, 1):
                    with self.subTest(element, values=values[:4], correction=correction):
                        x = values.astype(element)
                        if len(x) == correction:
                            self.assertTrue(numpy.isnan(ops.var(x, "t", correction=correction, axes="t")))
                            continue
                        n, total, squares = len(x), int(values.sum()), int((values ** 2).sum())
                        exact = (n * squares - total * total) / (n * (n - correction)) # of Python's integers, rounded once
                        self.assertEqual(ops.var(x, "t", correction=correction, axes="t"), numpy.float32(exact))
                        self.assertEqual(ops.std(x, "t", correction=correction, axes="t"), numpy.float32(exact ** 0.5))
                self.assertEqual(ops.norm(values.astype(element), "t", axes="t"), numpy.float32(int((values ** 2).sum()) ** 0.5))

    def test_as_many_elements_as_there_are(self):
        """Where the data say how many: without padding, and axes as they are declared."""
        kept = ops.trim(CLICK, size=64, hop=16)
        self.assertLess(len(kept), 400)
        begin = next(i for i in range(len(CLICK)) if (CLICK[i:i + len(kept)] == kept).all())
        self.assertTrue(begin <= 300 and begin + len(kept) >= 500)
        cells = numpy.floor(POINTS).astype(numpy.int32)
        first = list(dict.fromkeys(map(tuple, cells.tolist())))
        self.assertLess(len(first), 50)
        found = ops.voxelize(POINTS, "1m", 50)
        self.assertEqual(list(map(tuple, found["at"].tolist())), first)
        means = [POINTS[(cells == cell).all(1)].mean(0) for cell in first]
        self.assertTrue(numpy.allclose(found["mean"], means, rtol=1e-5, atol=1e-6))
        self.assertEqual(ops.voxelize(POINTS, "1m", 4)["at"].tolist(), found["at"][:4].tolist())
        none = ops.hard_voxels(POINTS + 100, *CUBE, 2, 20)
        self.assertEqual([none[name].shape for name in ("points", "count", "at")], [(0, 2, 3), (0,), (0, 3)])
        within = (POINTS >= [-1, -2, -1]).all(1) & (POINTS < [1, 2, 1]).all(1)
        hard = ops.hard_voxels(POINTS, *CUBE, 50, 20)
        self.assertEqual((hard["count"].sum(), hard["points"].shape[1:]), (within.sum(), (50, 3)))

    def test_a_spectrum_is_numpys(self):
        wanted = numpy.fft.fft(PAIRS[:, 0] + 1j * PAIRS[:, 1])
        self.assertTrue(numpy.allclose(ops.complex_fft(PAIRS), numpy.stack([wanted.real, wanted.imag], 1), atol=1e-5))

    def test_special_values(self):
        """Compiled code, too, gives what C's functions give: zeros, infinities, NaN and what is beside them."""
        for kind in (numpy.float32, numpy.float64):
            ends = numpy.finfo(kind)
            some = [0, 1, 0.5, 2, 2.5, 3, numpy.inf, ends.smallest_subnormal, ends.tiny, ends.max]
            special = numpy.array(some + [-x for x in some] + [numpy.nan], kind)
            x, y = (half.ravel() for half in numpy.meshgrid(special, special))
            small = special[numpy.isinf(special) | numpy.isnan(special) | (abs(special) < 2**20)]
            with numpy.errstate(all="ignore"):
                for name, arguments in (("hypot", (x, y)), ("atan2", (x, y)), *((name, (small,)) for name in ("sin", "cos", "tan")),
                                        *((name, (special,)) for name in ("exp", "log", "log2", "log10", "tanh", "atan", "asin", "acos"))):
                    function = getattr(numpy, name.replace("atan", "arctan").replace("asin", "arcsin").replace("acos", "arccos"))
                    wanted = function(*(a.astype(numpy.float64) for a in arguments)).astype(kind)
                    self.assert_alike(getattr(ops, name)(*arguments), wanted, f"{name} of {kind.__name__}")
                for power in (0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, "inf", "-inf", "nan"):
                    wanted = numpy.power(special.astype(numpy.float64), float(power)).astype(kind)
                    self.assert_alike(ops.pow(special, power), wanted, f"pow of {kind.__name__} and {power}")

    def assert_alike(self, value, wanted, what):
        with numpy.errstate(all="ignore"):
            alike = (numpy.isclose(value, wanted, rtol=1e-6 if value.dtype == numpy.float32 else 1e-12, atol=0, equal_nan=True)
                     & (numpy.isnan(wanted) | (numpy.signbit(value) == numpy.signbit(wanted))))
        self.assertTrue(alike.all(), f"{what}: {value[~alike]}, not {wanted[~alike]}")

    def test_keys(self):
        draw = lambda key: ops.random_crop(IMAGE, 8, key=key).tolist() # noqa: E731
        self.assertEqual(draw(1), draw(1))
        self.assertGreater(len({str(draw(key)) for key in range(8)}), 4)
        with self.assertRaisesRegex(TypeError, "random_crop is random: give a `key=`"):
            ops.random_crop(IMAGE, 8)
        with self.assertRaisesRegex(ValueError, "key is 18446744073709551616; it is -9223372036854775808 to"):
            draw(2 ** 64)

    def test_lists_are_constants_and_not_tensors(self):
        for call in (lambda: ops.resize(IMAGE.tolist(), 4, 4), lambda: ops.normalize(IMAGE.tolist(), "imagenet"),
                     lambda: ops.flip(IMAGE.tolist(), "w")):
            with self.assertRaisesRegex(TypeError, r"takes other arguments:\n[^\[]*\[(.|\n)*hint: a tensor is an array, numpy.array\(list\)") as raised:
                call()
            self.assertLess(len(str(raised.exception)), 600)

    def test_mistakes(self):
        for name, kind in (("sum", "built in"), ("gamma", "a distribution"), ("imagenet", "a constant")):
            with self.assertRaisesRegex(AttributeError, f"`{name}` is {kind}.*: use it in a pipeline"):
                getattr(ops, name)
        with self.assertRaisesRegex(AttributeError, "the library has no function `resise`"):
            ops.resise
        with self.assertRaisesRegex(TypeError, r"resize takes other arguments:\nresize\(x: E\[h, w\], height: int"):
            ops.resize(IMAGE, "a", 3, 4, 5, 6)
        with self.assertRaisesRegex(TypeError, "solarize takes other arguments"):
            ops.solarize(FLOATS)
        with self.assertRaisesRegex(TypeError, "is no argument of the language"):
            ops.resize(IMAGE, 8, filter="bicubic) |> flip(w")
        with self.assertRaises(penstock.CompileError):
            ops.resize(IMAGE, 8, filter="bicubicc")
        masked = numpy.ma.array(IMAGE, mask=numpy.zeros(IMAGE.shape, bool))
        self.assertEqual(ops.mean(masked, ["h", "w", "c"]), ops.mean(IMAGE, ["h", "w", "c"])) # nothing is missing
        masked[:4] = numpy.ma.masked
        for call in (lambda: ops.mean(masked, ["h", "w"]), lambda: ops.resize(x=masked, height=8), lambda: ops.brightness(IMAGE, numpy.ma.masked),
                     lambda: ops.flip_boxes({"image": IMAGE, "boxes": masked}, "w")):
            with self.assertRaisesRegex(TypeError, "a masked array, of which elements are missing; hint: "):
                call()


if __name__ == "__main__":
    unittest.main()
