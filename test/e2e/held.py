# SPDX-License-Identifier: Apache-2.0
"""Random recipes of pictures on the simulated GPU, whose launches are joined and whose pictures stay in a block's shared memory
where they can: every sample is what the CPU makes, and no thread reads what another one of its block writes.

A few, chosen by the commit; PENSTOCK_HELD says how many, PENSTOCK_HELD_SEED from where. A recipe has one to three views, arms that
read a picture as it was before others, sizes whose rows are no words, outputs of each view or of all of them.
"""
import os
import random
import subprocess
import sys

from support import GpuTest, commit, main

COUNT = int(os.environ.get("PENSTOCK_HELD", 4))
#: Of height and width; the last one has rows that are no words of 16 bytes.
SIZES = (48, 64, 80, 45)
#: These go in place, or read all of a picture first; others read it anywhere.
STEPS = ("invert", "solarize(128)", "posterize(3)", "grayscale", "brightness(1.3)", "saturation(0.4)", "hue(0.1)", "contrast(1.6)",
         "autocontrast", "equalize", "color_jitter(0.4, 0.4, 0.4, 0.1)")
OTHERS = ("sharpness(1.7)", "gaussian_blur(3, 0.8)", "flip(w)", "flip(h)", "rotate(9deg)", "shift(3, -2)", "smooth")


#: A crop, colours in place, a blur that is stored elsewhere, a picture that is read once more: in three chains behind a blur for all.
STAYING = """pipe 1
use vision
pipeline staying() {
  for row in synthetic(6, x = u8[h = 64, w = 64, c = rgb])
  let base = row.x |> gaussian_blur(3, 0.8) |> contrast(1.2)
  let views = each (v in 0 .. 3) {
    let part = base |> random_resized_crop(64)
    let coloured = part |> color_jitter(0.4, 0.4, 0.4, 0.1) if chance(0.8) |> gaussian_blur(3, 0.8) if chance(0.5)
    return map (a in coloured, b in part) { u8((int(a) + int(b)) / 2) }
  }
  batch 3 { output views: f16[v, n, c, h, w] = views |> normalize(imagenet) }
}
"""


class Held(GpuTest):
    def step(self, r):
        return r.choice(STEPS if r.random() < 0.75 else OTHERS)

    def chain(self, r, name, source, likely):
        """Lines that make the picture `name` of `source`."""
        lines, picture = [], source
        for number in range(r.randint(2, 5)):
            kind = r.random()
            if likely and number == 1:
                made = f"{picture} |> color_jitter(0.4, 0.4, 0.4, 0.1) if chance(0.8)"
            elif kind < 0.35:
                arms = ", ".join(f"1 => {self.step(r)}" for _ in range(r.randint(2, 3)))
                made = f"{picture} |> choose {{ {arms} }}"
            elif kind < 0.75:
                made = f"{picture} |> {self.step(r)} if chance(0.6)"
            elif kind < 0.9 and picture != source:  # what was, is read once more
                made = f"map (a in {picture}, b in {source}) {{ u8((int(a) + int(b)) / 2) }}"
            else:
                made = f"{picture} |> {self.step(r)}"
            lines.append(f"  let {name}{number} = {made}")
            picture = f"{name}{number}"
        return lines, picture

    def recipe(self, r, likely):
        """`likely`: pictures will stay."""
        size = r.choice(SIZES[:-1] if likely else SIZES)
        lines = [f"  for row in synthetic(6, x = u8[h = {size}, w = {size}, c = rgb])"]
        views = r.choice((2, 3) if likely else (1, 2, 2, 3))
        crop = r.random() < 0.5
        start = f"row.x |> random_resized_crop({size})" if crop else "row.x"
        if likely or (views > 1 and r.random() < 0.5):
            inner, last = self.chain(r, "p", "q", likely)
            if r.random() < 0.4:  # what all views read is made once
                lines.append(f"  let base = {start} |> {self.step(r)}" + " if chance(0.5)" * (r.random() < 0.5))
                start = "base"
            lines.append(f"  let views = each (v in 0 .. {views}) {{")
            lines += [f"    let q = {start}"] + ["  " + line for line in inner] + [f"    return {last}", "  }"]
            # Each part of one output, or all of them together.
            outputs = ["    output views: {} = views{}"]
            axes = "v, n"
        else:
            outputs, axes = [], "n"
            for view in range(views):
                lines.append(f"  let q{view} = {start}")
                inner, last = self.chain(r, f"p{view}_", f"q{view}", likely)
                lines += inner
                outputs.append(f"    output o{view}: {{}} = {last}{{}}")
        # Words around an output that is read have bytes of the next sample's, if it ends in one: they mean nothing, and race.
        may_read_outputs = size % 16 == 0
        if start == "base" and may_read_outputs and r.random() < 0.5:  # what is delivered as well stays where it lies
            outputs.append("    output base: u8[n, h, w, c] = base")
        lines.append("  batch 3 {")
        for output in outputs:
            if "{}" not in output:
                lines.append(output)
            elif r.random() < 0.6:
                lines.append(output.format(f"f16[{axes}, c, h, w]", " |> normalize(imagenet)"))
            else:
                lines.append(output.format(f"u8[{axes}, h, w, c]", ""))
        if not likely and may_read_outputs and r.random() < 0.3:  # what reads all views makes one chain of them
            of = "views" if axes == "v, n" else last
            lines.append(f"    output light: f32[{axes}] = sum(f32({of}) over [h, w, c])")
        return "pipe 1\nuse vision\npipeline recipe() {\n" + "\n".join(lines + ["  }"]) + "\n}\n"

    def hashes(self, path, *options):
        found = os.path.join(self.folder, "hashes")
        if os.path.exists(found):
            os.remove(found)
        done = subprocess.run([self.tool, "run", path, "--hashes", found, *options], capture_output=True, text=True, env=self.environment(),
                              timeout=300)
        if done.returncode != 0 or "simulated GPU" in done.stderr:
            return "\n".join(line for line in done.stderr.splitlines() if "error" in line or "simulated" in line) or done.stderr[-500:]
        with open(found) as file:
            return file.read()

    def assert_same(self, text, seed):
        path = os.path.join(self.folder, "recipe.pipe")
        with open(path, "w") as file:
            file.write(text)
        expected = self.hashes(path)
        self.assertEqual(len(expected.splitlines()), 6, f"{text}\n{expected}")
        self.behaviour = f"seed={seed} watch=1"
        self.assertEqual(self.hashes(path, "--gpu", "sm_90"), expected, f"seed {seed}\n{text}")
        return path

    def test_recipes_are_what_the_cpu_makes(self):
        first = int(os.environ.get("PENSTOCK_HELD_SEED") or int(commit()[:6], 16))
        for number in range(first, first + COUNT):
            with self.subTest(seed=number):
                self.assert_same(self.recipe(random.Random(f"held {number}"), number % 2 == 0), number)

    def test_pictures_stay(self):
        path = self.assert_same(STAYING, 1)
        self.assertIn("held = ", self.run_tool("compile", path, "--gpu", "sm_90", "--emit", "schedule").stdout)
        self.assertEqual(self.hashes(path, "--gpu", "sm_90", "--disable-pass", "hold-pictures"), self.hashes(path))


if __name__ == "__main__":
    GpuTest.fakes = sys.argv.pop(2)
    main()
