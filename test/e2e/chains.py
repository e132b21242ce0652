# SPDX-License-Identifier: Apache-2.0
"""Random chains of the library's functions, with arms and repetitions in each other, on images of any size: no pass and no level of
the CPU changes a bit of them, and none ends in anything but samples or a message with a place.

A few, chosen by the commit; PENSTOCK_CHAINS says how many, PENSTOCK_CHAINS_SEED from where.
"""
import os
import random
import re
import subprocess

from support import ROOT, ToolTest, main

COUNT = int(os.environ.get("PENSTOCK_CHAINS", 6))
PASSES = "split-choices merge-views compose-views sink-casts merge-maps narrow collapse-tables required-regions fuse share-kernels".split()
WAYS = {
    "as it is": [],
    "x86-64-v2": ["--target", "x86-64-v2"],
    "x86-64-v3": ["--target", "x86-64-v3"],
    "without passes": [argument for name in PASSES for argument in ("--disable-pass", name)],
}


class Chain:
    """Parameters are the ends of what makes sense, zero, or anything between."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.height, self.width = self.size(), self.size()
        # Extents that differ from sample to sample, in columns and by slices.
        self.extents, self.image = (f"h = {self.height}, w = {self.width}", "row.x") if self.random.random() < 0.7 else (
            f"h = 0 ..= {self.height}, w = {self.width}", f"pad(row.x[w = 0 .. {self.width} - min(row.k, {self.width} - 1)], 1)")
        self.text = " |> ".join(self.nested(2) if self.random.random() < 0.25 else self.random.choice(OPERATORS)(self)
                                for _ in range(self.random.randint(1, 6)))

    def keeping(self, depth):
        """What keeps the type, as arms and repeated bodies do."""
        return " |> ".join(self.nested(depth - 1) if depth and self.random.random() < 0.4 else self.random.choice(KEEPING)(self)
                           for _ in range(self.random.randint(1, 3 if depth else 2)))

    def nested(self, depth):
        """Arms and repetitions in each other, taken, not taken, and as often as a row says."""
        body = self.keeping(depth)
        condition = self.some("chance(0.5)", "row.k > 1", "row.k == 7")
        return self.some(f"{{ {body} }} if {condition}", f"repeat ({self.some('1', '2', '3')}) {{ {body} }}",
                         f"choose {{ 1 => {body}, 2 => {self.keeping(0)} }}", f"{{ {self.keeping(0)} |> repeat (2) {{ {body} }} }} if {condition}")

    def size(self):
        return self.random.choice([1, 2, 3, 5, 8, 16, 17, 32, 33, self.random.randint(1, 40)])

    def whole(self, low, high):
        return str(self.random.choice([low, high, self.random.randint(low, high), self.random.randint(low, high)]))

    def real(self, low, high):
        return f"{self.random.choice([low, high, min(max(0.0, low), high), self.random.uniform(low, high)]):.4f}"

    def span(self, low, high):
        first, last = sorted(self.random.uniform(low, high) for _ in range(2))
        return f"{first:.4f} .. {last:.4f}"

    def degrees(self, low, high):
        return self.real(low, high) + "deg"

    def some(self, *words):
        return self.random.choice(words)


OPERATORS = (
    lambda c: f"center_crop({c.whole(1, 20)}, {c.whole(1, 20)})",
    lambda c: f"random_crop({c.whole(1, 4)}, {c.whole(1, 4)})",
    lambda c: f"pad_to(9, 9) |> random_crop({c.whole(1, 9)}, {c.whole(1, 9)})",
    lambda c: f"resize({c.whole(1, 25)}, {c.whole(1, 25)}{c.some('', ', bicubic', ', lanczos', ', nearest', ', box', ', hamming')})",
    lambda c: f"random_resized_crop({c.whole(1, 20)})",
    lambda c: f"pad({c.whole(0, 5)}{c.some('', ', border = edge', ', border = reflect', ', border = symmetric')})",
    lambda c: f"pad_to({c.whole(1, 30)}, {c.whole(1, 30)})",
    lambda c: f"flip({c.some('h', 'w')}){c.some('', ' if chance(0.5)')}",
    lambda c: f"shift({c.whole(-5, 5)}, {c.whole(-5, 5)})",
    lambda c: "rotate90",
    lambda c: f"rotate({c.degrees(-360, 360)}{c.some('', ', linear', ', cubic')})",
    lambda c: f"affine({c.degrees(-180, 180)}, {c.whole(-6, 6)}, {c.whole(-6, 6)}, {c.real(0.1, 3)})",
    lambda c: f"translate({c.whole(-9, 9)}, {c.whole(-9, 9)})",
    lambda c: f"shear({c.some('h', 'w')}, {c.real(-2, 2)})",
    lambda c: f"random_rotation({c.span(-90, 90)})",
    lambda c: f"random_affine({c.span(-90, 90)})",
    lambda c: "grayscale",
    lambda c: f"brightness({c.real(0, 3)})",
    lambda c: f"contrast({c.real(0, 3)})",
    lambda c: f"saturation({c.real(0, 3)})",
    lambda c: f"hue({c.real(-0.5, 0.5)})",
    lambda c: "color_jitter(0.4, 0.4, 0.4, 0.1)",
    lambda c: f"random_grayscale({c.real(0, 1)})",
    lambda c: f"solarize({c.whole(0, 255)})",
    lambda c: f"posterize({c.whole(1, 8)})",
    lambda c: f"invert{c.some('', ' if chance(0.3)')}",
    lambda c: "autocontrast",
    lambda c: "equalize",
    lambda c: "smooth",
    lambda c: f"sharpness({c.real(0, 3)})",
    lambda c: f"box_blur({c.whole(0, 4)})",
    lambda c: f"pad_to(3, 3) |> gaussian_blur({c.some('1', '3', '5')}, {c.real(0.1, 3)})",
    lambda c: f"pillow_blur({c.real(0, 2)})",
    lambda c: f"recompress({c.whole(1, 100)})",
    lambda c: "rand_augment",
    lambda c: "trivial_augment_wide",
    lambda c: "auto_augment",
)


KEEPING = (
    lambda c: f"flip({c.some('h', 'w')})",
    lambda c: f"shift({c.whole(-5, 5)}, {c.whole(-5, 5)})",
    lambda c: f"rotate({c.degrees(-360, 360)})",
    lambda c: f"shear({c.some('h', 'w')}, {c.real(-2, 2)})",
    lambda c: f"brightness({c.real(0, 3)})",
    lambda c: f"contrast({c.real(0, 3)})",
    lambda c: f"hue({c.real(-0.5, 0.5)})",
    lambda c: f"posterize({c.whole(1, 8)})",
    lambda c: "invert", lambda c: "autocontrast", lambda c: "equalize", lambda c: "smooth", lambda c: "box_blur(1)",
    lambda c: f"recompress({c.whole(1, 100)})",
    lambda c: "random_grayscale(0.5)",
)


def first_seed():
    given = os.environ.get("PENSTOCK_CHAINS_SEED")
    if given:
        return int(given)
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True)
    return int(done.stdout[:8] or "0", 16)


class Chains(ToolTest):
    def test_random_chains_have_one_meaning(self):
        first, refused = first_seed(), 0
        for seed in range(first, first + COUNT):
            chain = Chain(seed)
            with self.subTest(seed=seed, chain=chain.text, extents=chain.extents):
                refused += self.one(chain)
        print(f"{COUNT} chains from seed {first}, {refused} refused")
        self.assertLessEqual(refused, max(3, COUNT // 2))

    def one(self, chain):
        path = os.path.join(self.folder, "chain.pipe")
        with open(path, "w") as file:
            file.write(f"""pipe 1
use vision
pipeline chain() {{
  for row in synthetic(9, x = u8[{chain.extents}, c = rgb], k = 0 ..= 3)
  let x = {chain.image}
  batch 3 {{
    output y: f32[n, h = 7, w = 9, c] = x |> {chain.text} |> center_crop(7, 9) |> f32
  }}
}}
""")
        expected = None
        for way, arguments in WAYS.items():
            hashes = os.path.join(self.folder, "hashes")
            if os.path.exists(hashes):
                os.remove(hashes)
            # A part that is larger than one of the pictures is refused, in however few rows.
            done = subprocess.run(self.command("run", path, "--no-cache", "--on-error", "fail", "--hashes", hashes, *arguments),
                                  capture_output=True, text=True, timeout=120, env=self.environment())
            if done.returncode == 1 and expected is None:
                self.assertRegex(done.stderr, r"(chain\.pipe:[67]:\d+: error: (?!internal)|row \d+: .* \(.*chain\.pipe:[67]:\d+\)$)")
                self.assertNotIn("internal", done.stderr)
                return True
            self.assertEqual(done.returncode, 0, f"{way}: {done.stderr}")
            with open(hashes) as file:
                found = file.read()
            expected = expected or found
            self.assertEqual(found, expected, way)
        return False


if __name__ == "__main__":
    main()
