#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel of scripts/make-wheel: its size and what is in it, and that it runs in a Debian 12 that has Python, glibc and
libstdc++ and nothing else of what it was built from. As root, as it changes into that system.

    bare.py WHEEL ROOT    ROOT is made with debootstrap where it is not there
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

LIMIT = 25_000_000
OWN = {"libantlr4-runtime", "libjpeg", "libspng", "libtinfo", "libwebp", "libwebpdemux", "libxxhash", "libzstd"}
SCRIPT = r"""
import os
import penstock
assert "site-packages" in penstock.__file__ or "dist-packages" in penstock.__file__, penstock.__file__
text = '''pipe 1
use vision
pipeline p(root: path) {
  for row in image_folder(root) order shuffled
  batch 4 per rank last keep {
    output image: f32[n, c, h, w] = row.data |> decode(rgb) |> random_resized_crop(32) |> normalize(imagenet)
    output label: i64[n] = row.label
  }
}
'''
for turn in range(2): # compiled, and from the cache
    with penstock.load(text, root="/wheel-test/photos") as loader:
        counts = [(batch.count, batch["image"].shape) for batch in loader]
    assert counts == [(4, (4, 3, 32, 32)), (2, (2, 3, 32, 32))], counts
video = text.replace("image_folder(root)", "video_clips(root, length = 1)").replace("row.data |> decode(rgb)", "(row.video |> decode(rgb, first = 0, count = 1))[t = 0]")
os.makedirs("/wheel-test/videos/a", exist_ok=True)
open("/wheel-test/videos/a/x.mp4", "wb").write(b"no video")
try:
    penstock.load(video, root="/wheel-test/videos")
except penstock.PenstockError as error:
    command = str(error).partition("run `sh ")[2].partition("`")[0]
    assert os.access(command, os.X_OK), error
else:
    raise AssertionError("a video was opened without FFmpeg")
print("runs")
"""


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


class Wheel(unittest.TestCase):
    def test_its_size(self):
        size = wheel.stat().st_size
        print(f"{size} bytes")
        self.assertLessEqual(size, LIMIT)

    def test_its_name_says_where_it_runs(self):
        self.assertRegex(wheel.name, r"^penstock-[0-9.]+-py3-none-manylinux_2_36_x86_64\.whl$")

    def test_what_is_in_it(self):
        with zipfile.ZipFile(wheel) as file:
            names = file.namelist()
            libraries = {found[1] for name in names if (found := re.match(r"penstock\.libs/(.+)-[0-9a-f]{8}\.so", name))}
            self.assertEqual(libraries, OWN)
            self.assertEqual([name for name in names if re.search(r"libav|ffmpeg.*\.so|penstock_video\.so", name)], [])
            self.assertIn("penstock/lib/penstock-video/build", names)
            self.assertTrue(file.getinfo("penstock/lib/penstock-video/build").external_attr >> 16 & 0o111)
            compiler, = [name for name in names if "libpenstock-compiler" in name]
            path = pathlib.Path(file.extract(compiler, root.parent / "wheel-parts"))
        exported = [line.split()[-1] for line in run("nm", "-D", "--defined-only", path).splitlines()]
        wanted = (pathlib.Path(__file__).resolve().parents[1] / "api/compiler_exports.txt").read_text().split()
        self.assertEqual(sorted(exported), sorted(wanted))

    def test_it_runs_in_a_bare_debian(self):
        if not (root / "usr/bin/python3").exists():
            shutil.rmtree(root, ignore_errors=True)
            subprocess.run(["debootstrap", "--variant=minbase", "--include=python3-minimal,python3-pip", "bookworm", root],
                           check=True, stdout=subprocess.DEVNULL)
        self.assertEqual([str(path) for name in ("libLLVM*", "libMLIR*", "libjpeg*", "libantlr*")
                          for path in root.glob(f"usr/lib/**/{name}")], [])
        test = root / "wheel-test"
        shutil.rmtree(test, ignore_errors=True)
        for number in range(6):
            path = test / f"photos/{'ab'[number % 2]}/{number}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            run("convert", "-size", "90x70", "plasma:fractal", path)
        shutil.copy(wheel, test)
        (test / "script.py").write_text(SCRIPT)
        run("chroot", root, "python3", "-m", "pip", "install", "-q", "--no-index", "--force-reinstall", "--break-system-packages",
            "--root-user-action=ignore", f"/wheel-test/{wheel.name}")
        done = subprocess.run(["chroot", root, "env", "HOME=/root", "python3", "/wheel-test/script.py"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "runs\n"), done.stderr)


if __name__ == "__main__":
    wheel, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
