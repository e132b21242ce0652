# SPDX-License-Identifier: Apache-2.0
"""The picture that `explain` draws, of every example: it fits a screen, and its SVG is XML with a box for each."""
import glob
import json
import os
import re
import xml.etree.ElementTree as xml

import numpy
from support import EXAMPLES, ToolTest, make_folder, main

SVG = "{http://www.w3.org/2000/svg}"
FILES = sorted(glob.glob(os.path.join(EXAMPLES, "*.pipe")) + glob.glob(os.path.join(EXAMPLES, "probes", "*.pipe")))
BOX = re.compile(r"^\+- \[(\d+)\] ", re.M)


class Explain(ToolTest):
    def check_text(self, text, lines=100):
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertLessEqual(text.count("\n"), lines, "two screens")
        self.assertTrue(text.isascii())
        numbers = [int(number) for number in BOX.findall(text)]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        self.assertNotRegex(text, re.compile(r"^\+- \[\d+\] +-", re.M), "a box without a title")
        for named in re.findall(r"from \[(\d+)\]", text):
            self.assertIn(int(named), numbers)

    def check_svg(self, path, boxes, outputs):
        root = xml.parse(path).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        width, height = float(root.get("width")), float(root.get("height"))
        kinds = [box.get("class") for box in root.iter(SVG + "rect") if box.get("class")]
        self.assertEqual(len([kind for kind in kinds if kind not in ("output", "time")]), boxes)
        self.assertEqual(kinds.count("output"), outputs)
        drawn = [box for box in root.iter(SVG + "rect") if box.get("class") not in (None, "time")]
        for box in drawn:  # inside the page, and on top of no other
            x, y, w, h = (float(box.get(name)) for name in ("x", "y", "width", "height"))
            self.assertTrue(0 <= x and x + w <= width and 0 <= y and y + h <= height)
            for other in drawn:
                if other is not box:
                    left, top = float(other.get("x")), float(other.get("y"))
                    right, below = left + float(other.get("width")), top + float(other.get("height"))
                    self.assertTrue(x + w <= left or right <= x or y + h <= top or below <= y)

    def test_every_example(self):
        self.assertGreater(len(FILES), 15)
        for path in FILES:
            with self.subTest(path=os.path.basename(path)):
                text = self.run_tool("explain", path).stdout
                # A probe may be a list of everything that there is to try.
                self.check_text(text, 150 if "probes" in path else 100)
                svg = os.path.join(self.folder, "picture.svg")
                self.assertEqual(self.run_tool("explain", path, "--svg", svg).stdout, "")
                self.check_svg(svg, len(BOX.findall(text)), len(re.findall(r"^  output ", text, re.M)))

    def test_what_each_level_of_transfers_costs(self):
        """Work moves from one side to the other, and what is decoded does not."""
        for path in FILES:
            if "probes" in path:
                continue
            with self.subTest(path=os.path.basename(path)):
                told = json.loads(self.run_tool("explain", path, "--transfer", "all", "--json").stdout)
                *planes, pixels, resampled, final = told["levels"]  # planes where there are pictures
                self.assertIn(told["auto"], [level["name"] for level in told["levels"]])
                for level in planes:
                    self.assertEqual((level["name"], level["host"]["decoded"]), ("planes", pixels["host"]["decoded"]))
                    self.assertLess(level["bytes"], pixels["bytes"])
                    self.assertEqual(level["gpu"]["launches"], pixels["gpu"]["launches"] + 1)
                levels = [pixels, resampled, final]
                whole = [level["host"]["operations"] + level["gpu"]["operations"] for level in levels]
                for level, operations in zip(levels, whole):
                    self.assertEqual(level["host"]["decoded"], pixels["host"]["decoded"])
                    self.assertAlmostEqual(level["bytes"], sum(part["bytes"] for part in level["crossing"]), delta=len(level["crossing"]))
                    self.assertAlmostEqual(operations / whole[0], 1, delta=0.5) if whole[0] else self.assertEqual(operations, 0)
                self.assertGreaterEqual(resampled["host"]["operations"], pixels["host"]["operations"])
                self.assertGreaterEqual(final["host"]["operations"], resampled["host"]["operations"])
                self.assertEqual((final["gpu"]["launches"], final["bytes_back"]), (0, 0))
                if os.path.basename(path) == "simclr.pipe":  # two kernels read the picture, which crosses once
                    self.assertEqual(pixels["crossing"][0]["bytes"], pixels["host"]["decoded"])
                if os.path.basename(path) in ("simclr.pipe", "kinetics.pipe", "pillars.pipe"):
                    self.check_text(self.run_tool("explain", path, "--transfer", "all").stdout)

    def test_imagined_samples_are_like_others(self):
        """The box of RandomResizedCrop, drawn here by its definition, and a branch of a known chance."""
        rng = numpy.random.default_rng(1)
        areas = []
        for _ in range(20000):
            for _ in range(10):
                area, ratio = 375 * 500 * rng.uniform(0.08, 1), numpy.exp(rng.uniform(numpy.log(3 / 4), numpy.log(4 / 3)))
                w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
                if 0 < w <= 500 and 0 < h <= 375:
                    areas.append(w * h)
                    break
        told = json.loads(self.run_tool("explain", os.path.join(EXAMPLES, "imagenet_train.pipe"), "--transfer", "all", "--json").stdout)
        self.assertAlmostEqual(told["levels"][0]["host"]["decoded"] / (3 * numpy.mean(areas)), 1, delta=0.06)
        path = os.path.join(self.folder, "branch.pipe")
        with open(path, "w", encoding="utf-8") as file:
            file.write("""pipe 1
use vision
pipeline branch() {
  for row in synthetic(9, x = u8[h = 100, w = 100, c = rgb])
  let y = row.x |> gaussian_blur(5, 1.0) if chance(0.25)
  batch 3 { output y: f32[n, c, h, w] = y |> normalize(imagenet) }
}""")
        pixels, _, final = json.loads(self.run_tool("explain", path, "--transfer", "all", "--json").stdout)["levels"]
        self.assertAlmostEqual(pixels["host"]["kernels"], 0.25, delta=0.12)  # the weights of the blur
        self.assertEqual(final["host"]["kernels"], 2 + 2 * pixels["host"]["kernels"])  # and it, and what both branches have

    def test_a_profile_says_where_the_time_went(self):
        make_folder(self.data)
        path = os.path.join(EXAMPLES, "imagenet_train.pipe")
        profile = os.path.join(self.folder, "time.json")
        self.run_tool("run", path, "--set", f"root={self.data}", *self.settings, "--profile", profile)
        with open(profile, encoding="utf-8") as file:
            told = json.load(file)
        self.assertEqual(set(told["kernels"]), {"k0", "weights0", "weights1"})
        # The kernels are parts of their stage, timed within it.
        parts = sum(kernel["busy_ns"] for kernel in told["kernels"].values())
        self.assertGreater(parts, 0)
        self.assertEqual(parts, told["stages"]["kernels"]["busy_ns"])
        text = self.run_tool("explain", path, "--profile", profile).stdout
        self.check_text(text)
        self.assertIn(f"of {told['samples']} samples in ", text)
        shares = [int(share) for share in re.findall(r" (\d+) % of the time -\+", text)]
        self.assertEqual(len(BOX.findall(text)), 3)
        self.assertGreater(sum(shares), 97)
        self.assertLess(sum(shares), 103)
        svg = os.path.join(self.folder, "picture.svg")
        self.run_tool("explain", path, "--profile", profile, "--svg", svg)
        root = xml.parse(svg).getroot()
        self.assertEqual(len([box for box in root.iter(SVG + "rect") if box.get("class") == "time"]), 3)

    def test_what_is_no_profile_of_this_is_refused(self):
        path = os.path.join(EXAMPLES, "imagenet_train.pipe")
        profile = os.path.join(self.folder, "time.json")

        def refused(text, said):
            with open(profile, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertEqual(self.run_tool("explain", path, "--profile", profile, expect=1).stderr,
                             f"penstock: error: {said}\n")

        refused("[1, 2", f"{profile} was not written by `penstock run --profile`")
        refused('{"kernels": {}}', f"{profile} was not written by `penstock run --profile`")
        refused('{"pipeline": "other", "kernels": {}, "stages": {}}',
                f"{profile} is a profile of pipeline `other`, and this is `imagenet_train`")
        refused('{"pipeline": "imagenet_train", "kernels": {"k0": 3}, "stages": {}}',
                f"{profile} was not written by `penstock run --profile`")
        self.run_tool("explain", path, "--all", "--svg", "x.svg", expect=2)
        lost = os.path.join(self.folder, "nowhere", "x.svg")
        self.assertIn("x.svg", self.run_tool("explain", path, "--svg", lost, expect=1).stderr)


if __name__ == "__main__":
    main()
