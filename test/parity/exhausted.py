# SPDX-License-Identifier: Apache-2.0
"""Memory that ends inside of libraries: what comes is right, or no sample is to blame and nothing is kept.

PENSTOCK_TEST_TRIES: pieces of memory that are refused for each file, else 16.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from PIL import Image

import clips

TRIES = int(os.environ.get("PENSTOCK_TEST_TRIES", 16))
NO_MEMORY = "`ulimit -v`, a cgroup or the machine gives no more"
LIST = """  for row in csv(list, separator = "|", data = column(0, bytes), first = column(1, i64))
  let clip = row.data |> decode(rgb, first = row.first, count = 1)"""
FOLDER = """  for row in video_clips(list, length = 4, step = 1)
  let clip = row.video |> decode(rgb, first = row.start, count = 4)"""
PIPE = """pipe 1
pipeline p(list: path) {{
{rows}
  batch 1 per rank last keep {{ output clip: u8[n, t, h = {h}, w = {w}, c] = clip }}
}}"""
HEIGHT, WIDTH, FRAMES = 48, 64, 16


class Exhausted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="penstock-exhausted-")
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, command, of=None, refused=0, data="", **environment):
        extra = {"LD_PRELOAD": self.library, "PENSTOCK_TEST_OF": of, "PENSTOCK_TEST_REFUSED": str(refused)} if of else {}
        return subprocess.run(command, input=data.encode(), capture_output=True, timeout=300, env={**os.environ, **extra, **environment})

    def tries(self, done, tries=None):
        """Which pieces are refused, of as many as a run has asked for."""
        asked = int(re.search(rb"asked (\d+) times", done.stderr)[1])
        self.assertGreater(asked, 5)
        return range(1, asked + 1, max(1, asked // (tries or TRIES)))

    def file(self, name):
        return os.path.join(self.folder, name)

    def video(self, name="a.mp4"):
        return clips.encode(self.file(name), *clips.x264("keyint=8:min-keyint=8:scenecut=0:bframes=2"), frames=FRAMES, height=HEIGHT, width=WIDTH)

    def sound(self, name, *options):
        clips.ffmpeg("-f", "lavfi", "-i", "sine=duration=1", *options, self.file(name))
        return self.file(name)

    def check(self, program, question, of):
        """What a program answers is what it answers with all memory, or that there is none."""
        def pixels(answer):  # the first line has what it cost
            return answer.stdout.split(b"\n", 1)[1]
        whole = self.start([program], of, 0, question + "\n")
        self.assertEqual(whole.stdout[:3], b"ok ", question)
        said, ended = [], 0
        for refused in self.tries(whole):
            done = self.start([program], of, refused, question + "\n")
            if done.returncode < 0:  # FFmpeg ends the process where some of its own memory is missing
                ended += 1
            elif done.stdout.startswith(b"ok "):
                self.assertEqual(pixels(done), pixels(whole), (question, refused))
            else:
                self.assertIn(NO_MEMORY, done.stdout.decode(), (question, refused))
                said.append(refused)
        self.assertGreater(len(said), 2, question)
        self.assertLess(ended, 3, question)

    def test_videos(self):
        self.check(self.decode_video, f"rgb 0 {FRAMES} 1 0 0 0 0 1 {self.video()}", "libav")
        self.check(self.decode_video, f"rgb 0 {FRAMES} 1 0 0 0 0 1 {self.video('a.ts')}", "libav")

    def test_sounds(self):
        for name, *options in (("a.m4a", "-c:a", "aac"), ("a.mp3", "-c:a", "libmp3lame"), ("a.ogg", "-c:a", "libvorbis")):
            self.check(self.decode_sound, "channels 9000 30000 " + self.sound(name, *options), "libav")

    def test_flac(self):
        self.check(self.decode_sound, "channels 9000 30000 " + self.sound("a.flac"), "decode-sound")

    def test_webp(self):
        picture = Image.radial_gradient("L").resize((50, 40)).convert("RGB")
        exif = Image.Exif()
        exif[0x0112] = 6
        for name, options in (("lossy.webp", {}), ("lossless.webp", {"lossless": True}), ("turned.webp", {"exif": exif})):
            picture.save(self.file(name), **options)
            self.check(self.decode_image, "rgb 0 0 0 0 " + self.file(name), "libwebp")

    def check_session(self, rows, path, kept):
        """Runs of the tool: nothing is kept of one that has no memory, and the next one has all frames."""
        pipe = self.file("a.pipe")
        with open(pipe, "w") as out:
            out.write(PIPE.format(rows=rows, h=HEIGHT, w=WIDTH))
        cache, hashes = self.file("cache"), self.file("hashes")

        def run(of=None, refused=0):
            return self.start([self.tool, "run", pipe, "--set", f"list={path}", "--threads", "1", "--on-error", "90%", "--hashes", hashes],
                              of, refused, XDG_CACHE_HOME=cache)

        def read():
            with open(hashes) as file:
                return file.read()

        def forget():
            indexes = glob.glob(os.path.join(cache, "penstock", kept))
            for path in indexes:
                os.rename(path, tempfile.mkdtemp(dir=self.folder) + "/index")
            os.remove(hashes)
            return len(indexes)
        done = run()
        self.assertEqual(done.returncode, 0, done.stderr)
        right, said = read(), 0
        self.assertEqual(forget(), 1)
        for refused in self.tries(run("libav"), 8):
            forget()
            done = run("libav", refused)
            if done.returncode >= 0:
                self.assertNotIn(b"bad sample", done.stderr, refused)
                self.assertTrue(done.returncode == 0 or NO_MEMORY.encode() in done.stderr, (refused, done.stderr))
                said += done.returncode != 0
            if os.path.exists(hashes):
                os.remove(hashes)
            self.assertEqual(run().returncode, 0, refused)
            self.assertEqual(read(), right, refused)
        self.assertGreater(said, 2)

    def test_lists(self):
        with open(self.file("list"), "w") as out:
            out.writelines(f"{self.video()}|{first}\n" for first in (0, 5, 14))
        os.utime(self.file("a.mp4"), (1e9, 1e9))  # one that changed just now has no index kept
        self.check_session(LIST, self.file("list"), "videos")

    def test_folders(self):
        os.makedirs(self.file("videos/class"))
        self.video("videos/class/a.mp4")
        for path in ("videos/class/a.mp4", "videos/class", "videos"):
            os.utime(self.file(path), (1e9, 1e9))
        self.check_session(FOLDER, self.file("videos"), "video-clips-*")


if __name__ == "__main__":
    Exhausted.tool, Exhausted.library, Exhausted.decode_image, Exhausted.decode_sound, Exhausted.decode_video = (
        os.path.abspath(sys.argv.pop()) for _ in range(5))
    unittest.main()
