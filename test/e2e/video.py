"""Tables of videos through the tool: rows, frames, indexes, ranks, bad files."""
import os
import sys

import numpy

from pipelines import LanguageTest
from sources import Sources
from support import EXAMPLES, ROOT, main, read_hashes

sys.path.insert(0, os.path.join(ROOT, "test", "parity"))
import clips  # noqa: E402
from video import pixels_of  # noqa: E402


class Videos(Sources):
    """Three classes of small videos; the third one's files are short."""

    text = """
pipeline p(root: path, first: int = 0) OPTIONS {
  for row in video_clips(root, length = 3, step = 4) ORDER
  let clip = row.video |> decode(rgb, first = row.start + first, count = 3, step = 4)
  batch 2 global last keep {
    output clip: u8[n, t, h, w, c] = clip[h = 8 .. 40, w = 16 .. 48]
    output start: i64[n] = row.start
    output frames: i64[n] = row.frames
    output label: i64[n] = row.label
  }
}"""
    lengths = {"a/one.mp4": 30, "a/two.mkv": 22, "b/three.mp4": 12, "c/four.mp4": 8, "c/five.mp4": 9}

    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.folder, "videos")
        for i, (name, frames) in enumerate(self.lengths.items()):
            path = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            clips.encode(path, *clips.x264(clips.GOP), frames=frames, seed=i)
            os.utime(path, (1e9, 1e9))
        for folder in (*(os.path.join(self.root, c) for c in "abc"), self.root):
            os.utime(folder, (1e9, 1e9))

    def pipeline(self, order="order sequential", options=""):
        return self.text.replace("ORDER", order).replace("OPTIONS", options)

    def rows(self):
        """(file, start, frames, label) as the documentation has them."""
        return [(name, start, frames, "abc".index(name[0]))
                for name, frames in sorted(self.lengths.items())
                for start in range(0, frames - 8, 12)]

    def pixels(self, name, start):
        frames, height, width, kind = clips.decoded(os.path.join(self.root, name))
        return numpy.stack([pixels_of(clips.frame_planes(frames[i], height, width, kind), kind)
                            for i in range(start, start + 9, 4)])

    def test_rows(self):
        rows = self.rows()
        self.assertEqual([row[1] for row in rows], [0, 12, 0, 12, 0, 0])
        for position, (name, start, frames, label) in enumerate(rows):
            got = self.sample(self.pipeline(), position, "--set", f"root={self.root}")
            self.assertEqual((got["start"], got["frames"], got["label"]), (start, frames, label))
            wanted = self.pixels(name, start)[:, 8:40, 16:48]
            numpy.testing.assert_array_equal(got["clip"], wanted)

    def test_shuffled_ranks_and_resume(self):
        self.check_life(self.pipeline("order shuffled"), len(self.rows()), root=self.root)

    def test_passes_change_nothing(self):
        whole = self.hashes(self.pipeline(), root=self.root)
        self.assertEqual(whole, self.hashes(self.pipeline(), "--disable-pass=required-regions",
                                            "--threads", 2, root=self.root))

    def test_example(self):
        """Random clips, the same again; and one row for each file without `length`."""
        done = self.run_json("run", os.path.join(EXAMPLES, "kinetics.pipe"), "--set", f"root={self.root}",
                             "--set", "length=4", "--set", "step=2", "--set", "size=32",
                             "--set", "per_rank=2", "--epochs", 1)
        self.assertEqual(done["bad_samples"], [])
        text = """
pipeline p(root: path) {
  for row in video_clips(root) order sequential
  let taken = each (v in 0 .. 2) {
    row.video |> decode(gray, first = draw int(0 ..= row.frames - 4), count = 4)
  }
  batch 1 per rank last keep {
    output mean: f32[n, v, t] = sum(f32(taken) over [h, w, c])
    output start: i64[n] = row.start
  }
}"""
        for position in range(5):
            got = self.sample(text, position, "--set", f"root={self.root}")
            again = self.sample(text, position, "--set", f"root={self.root}")
            numpy.testing.assert_array_equal(got["mean"], again["mean"])
            self.assertEqual(got["mean"].shape[-2:], (2, 4))
            self.assertEqual(got["start"], 0)

    def test_index_is_kept(self):
        """A file that changes its contents only, and not its time, shows an index that was kept."""
        first = self.hashes(self.pipeline(), root=self.root)
        path = os.path.join(self.root, "b/three.mp4")
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(bytes(len(data)))
        os.utime(path, (1e9, 1e9))
        report = self.run_json("run", self.write(self.pipeline(options="with on_error = substitute(50%)")),
                               "--set", f"root={self.root}", "--epochs", 1)
        self.assertEqual({bad["name"] for bad in report["bad_samples"]}, {"b/three.mp4"})
        self.assertNotIn("no video file", report["bad_samples"][0]["reason"])
        os.utime(path, (1.1e9, 1.1e9))  # now it is read again
        report = self.run_json("run", self.write(self.pipeline(options="with on_error = substitute(50%)")),
                               "--set", f"root={self.root}", "--epochs", 1)
        self.assertEqual({bad["name"] for bad in report["bad_samples"]}, {"b/three.mp4"})
        self.assertIn("no video file", report["bad_samples"][0]["reason"])
        with open(path, "wb") as file:
            file.write(data)
        os.utime(path, (1.2e9, 1.2e9))
        self.assertEqual(self.hashes(self.pipeline(), root=self.root), first)

    def test_bad_files(self):
        with open(os.path.join(self.root, "a/one.mp4"), "rb") as file:
            data = file.read()
        self.put("videos/b/short.mp4", data[:len(data) // 2])
        self.put("videos/b/text.mp4", "no video\n" * 100)
        clips.ffmpeg("-f", "lavfi", "-i", "sine=440:duration=1", os.path.join(self.root, "b/sound.mp4"))
        report = self.run_json("run", self.write(self.pipeline(options="with on_error = substitute(90%)")),
                               "--set", f"root={self.root}", "--epochs", 1)
        reasons = {bad["name"]: bad["reason"] for bad in report["bad_samples"]}
        self.assertEqual(set(reasons), {"b/short.mp4", "b/text.mp4", "b/sound.mp4"})
        self.assertIn("has no video stream", reasons["b/sound.mp4"])
        self.assertIn("damaged", reasons["b/short.mp4"])
        done = self.run_tool("run", self.write(self.pipeline(options="with on_error = substitute(100%)")),
                             "--set", f"root={self.root}", "--set", "first=100", expect=1)
        self.assertRegex(done.stderr, r"frames \d+ to \d+ are wanted, and the video has \d+")

    def test_csv(self):
        text = """
pipeline p(list: path, root: path) {
  for row in csv(list, root, video = column("file", bytes), start = i64) order sequential
  let clip = row.video |> decode(rgb, first = row.start, count = 3, step = 4)
  batch 1 per rank last keep { output clip: u8[n, t, h = 80, w = 96, c] = clip }
}"""
        text = text.replace("h = 80, w = 96", "h, w").replace(
            "step = 4)", "step = 4) |> center_crop(32)").replace("\npipeline", "\nuse vision\npipeline")
        table = self.put("list.csv", "file,start\na/one.mp4,7\nb/three.mp4,2\n")
        for position, (name, start) in enumerate([("a/one.mp4", 7), ("b/three.mp4", 2)]):
            got = self.sample(text, position, "--set", f"root={self.root}", "--set", f"list={table}")
            numpy.testing.assert_array_equal(got["clip"][0] if got["clip"].ndim == 5 else got["clip"],
                                             self.pixels(name, start)[:, 24:56, 32:64])

    def test_nothing_long_enough(self):
        text = self.pipeline().replace("length = 3, step = 4", "length = 40")
        done = self.run_tool("run", self.write(text), "--set", f"root={self.root}", expect=1)
        self.assertIn("40 frames, and the longest has 30", done.stderr)

    def test_no_module(self):
        os.environ["PENSTOCK_VIDEO_MODULE"] = "/nowhere/x.so"
        self.addCleanup(os.environ.pop, "PENSTOCK_VIDEO_MODULE")
        done = self.run_tool("run", self.write(self.pipeline()), "--set", f"root={self.root}", expect=1)
        self.assertIn("install libavformat-dev, libavcodec-dev and libavutil-dev, build the target "
                      "penstock_video", done.stderr)


class Mistakes(LanguageTest):
    def test_messages(self):
        whole = """
pipeline p(root: path) {
  for row in SOURCE order shuffled
  let clip = row.video |> DECODE
  batch 1 per rank last keep { output frames: i64[n] = row.frames }
}"""
        plain, right = "video_clips(root)", "decode(rgb, count = 4)"
        for source, decode, message in (
                (plain, "decode(rgb)", "`decode` of a video needs `count`"),
                (plain, "decode(rgb, first = 3)", "`decode` of a video needs `count`"),
                (plain, "decode(rgb, count = 0)", "a clip of no frames"),
                (plain, "decode(rgb, count = 4, step = 0)", "a step of 0, the least is 1"),
                ("video_clips(length = 4)", right, "`video_clips` takes its root first"),
                ("video_clips(root, size = 4)", right, "`video_clips` takes `length`, `step` and `every`"),
                ("video_clips(root, length = 0)", right, "`length` is 0, the least is 1"),
                ("video_clips(root, step = 2)", right, "`step` and `every` need `length`"),
                ("video_clips(root, length = 2, length = 2)", right, "`length` is given twice")):
            with self.subTest(source + decode):
                self.refused(whole.replace("SOURCE", source).replace("DECODE", decode), message)


if __name__ == "__main__":
    main()
