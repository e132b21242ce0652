# SPDX-License-Identifier: Apache-2.0
"""Tables of videos through the tool: rows, frames, indexes, ranks, bad files."""
import io
import os
import resource
import subprocess
import sys
import tarfile

import numpy

from pipelines import LanguageTest
from sources import Sources
from support import EXAMPLES, ROOT, main, read_hashes

sys.path.insert(0, os.path.join(ROOT, "test", "parity"))
import clips  # noqa: E402
from video import pixels_of  # noqa: E402


class VideoFolder(Sources):
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


class Videos(VideoFolder):
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

    def test_few_addresses_are_enough(self):
        """The C library's arenas, one for each thread, would take 200 MiB of them more."""
        whole, few = os.path.join(self.folder, "whole"), os.path.join(self.folder, "few")
        arguments = ["run", self.write(self.pipeline()), "--set", f"root={self.root}", "--threads", 2, "--on-error", "fail", "--hashes"]
        self.run_tool(*arguments, whole)
        done = subprocess.run(self.command(*arguments, few), capture_output=True, text=True, env=self.environment(),
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (420 << 20,) * 2))
        if "Sanitizer" in done.stderr:
            self.skipTest("sanitizers reserve terabytes of addresses")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_hashes(whole), read_hashes(few))

    def test_a_codec_that_has_no_name(self):
        root = os.path.join(self.folder, "unknown")
        path = os.path.join(root, "a", "one.avi")
        os.makedirs(os.path.dirname(path))
        subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=64x48:rate=5:duration=3", "-c:v", "mjpeg", path],
                       check=True)
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data.replace(b"MJPG", b"QQQQ"))
        self.assertIn("a/one.avi: this FFmpeg has no decoder for `QQQQ`\n", self.failure(self.pipeline(), root=root))

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

    def test_nothing_long_enough(self):
        text = self.pipeline().replace("length = 3, step = 4", "length = 40")
        done = self.run_tool("run", self.write(text), "--set", f"root={self.root}", expect=1)
        self.assertIn("40 frames, and the longest has 30", done.stderr)

    def test_no_module(self):
        os.environ["PENSTOCK_VIDEO_MODULE"] = "/nowhere/x.so"
        self.addCleanup(os.environ.pop, "PENSTOCK_VIDEO_MODULE")
        done = self.run_tool("run", self.write(self.pipeline()), "--set", f"root={self.root}", expect=1)
        self.assertIn("install libavformat-dev, libavcodec-dev and libavutil-dev, and build the target "
                      "penstock_video", done.stderr)


class OtherTables(VideoFolder):
    """Videos in lists and tar files: their indexes are kept, and only the clips are read."""

    text = """
use vision
pipeline p(PARAMETERS) with on_error = substitute(90%) {
  for row in SOURCE order sequential
  let clip = row.video |> decode(rgb, first = row.start, count = 3, step = 4) |> center_crop(32)
  batch 1 per rank last keep { output clip: u8[n, t, h, w, c] = clip }
}"""
    clips_of = [("a/one.mp4", 7), ("b/three.mp4", 2), ("a/one.mp4", 21), ("a/two.mkv", 13)]

    def list_of(self, rows):
        return {"list": self.put("list.csv", "file,start\n" + "".join(f"{name},{start}\n" for name, start in rows)),
                "root": self.root}

    def csv(self):
        return self.text.replace("PARAMETERS", "list: path, root: path").replace(
            "SOURCE", 'csv(list, root, video = column("file", bytes), start = i64)')

    def tar(self):
        return self.text.replace("PARAMETERS", "shards: path").replace(
            "SOURCE", 'tar_shards(shards, video = column("mp4;mkv", bytes), start = i64)')

    def shard(self, rows):
        path = os.path.join(self.folder, "shards", "one.tar")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for number, (name, start) in enumerate(rows):
                with open(os.path.join(self.root, name), "rb") as file:
                    members = {os.path.splitext(name)[1][1:]: file.read(), "start": str(start).encode()}
                for kind, data in members.items():
                    member = tarfile.TarInfo(f"{number:04}.{kind}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
        os.utime(path, (1e9, 1e9))
        return {"shards": os.path.dirname(path)}

    def report(self, text, *arguments, **paths):
        settings = [word for name, path in paths.items() for word in ("--set", f"{name}={path}")]
        return self.run_json("run", self.write(text), *settings, *arguments)

    def check_frames(self, text, rows, **paths):
        for position, (name, start) in enumerate(rows):
            settings = [word for key, path in paths.items() for word in ("--set", f"{key}={path}")]
            got = self.sample(text, position, *settings)["clip"]
            numpy.testing.assert_array_equal(got.reshape(-1, 32, 32, 3),
                                             self.pixels(name, start)[:, 24:56, 32:64], (name, start))

    def kept(self, top=None):
        found = []
        for folder, _, names in os.walk(os.path.join(top or os.path.join(self.shared_cache, "penstock"), "videos")):
            found += [os.path.join(folder, name) for name in names if name.startswith("video-")]
        return sorted(found)

    def setUp(self):
        super().setUp()
        for path in self.kept():
            os.remove(path)

    def check_table(self, text, files, rows, **paths):
        """Counts of the first run, of one that finds its indexes, and of one without."""
        self.check_frames(text, rows, **paths)
        self.assertEqual(len(self.kept()), files)
        for path in self.kept():
            os.remove(path)
        first = self.report(text, **paths)
        self.assertEqual(first["bad_samples"], [])
        self.assertGreater(first["memory"]["fixed"], 64 << 20)  # the most that indexes may take
        self.assertEqual(first["videos"]["indexes_made"], files)
        self.assertGreaterEqual(first["videos"]["indexes_reused"], len(rows) - files)
        self.assertGreater(first["videos"]["index_bytes"], 0)
        again = self.report(text, "--epochs", 2, **paths)["videos"]
        self.assertEqual((again["indexes_made"], again["index_bytes"]), (0, 0))
        self.assertEqual(again["indexes_reused"], 2 * len(rows))
        self.assertEqual((again["clips"], again["restarts"], again["late_bytes"]),
                         ({"packets": 2 * len(rows)}, 0, 0))
        self.assertEqual(again["packets"], 2 * first["videos"]["packets"])
        for path in self.kept():
            with open(path, "r+b") as file:  # one that is damaged is made again
                file.seek(os.path.getsize(path) // 2)
                file.write(b"damage")
        mended = self.report(text, **paths)
        self.assertEqual((mended["videos"]["indexes_made"], mended["bad_samples"]), (files, []))
        return first

    def test_indexes_that_nobody_uses_go(self):
        """From the cache; a folder that the pipeline names keeps all."""
        paths = self.list_of(self.clips_of)
        named = os.path.join(self.folder, "indexes")
        os.mkdir(named, 0o700)
        for text, settings in ((self.csv(), paths),
                               (self.csv().replace("root: path", "root: path, named: path")
                                .replace("with", "with index = named,"), {**paths, "named": named})):
            self.report(text, **settings)
            top = named if "named" in settings else os.path.join(self.shared_cache, "penstock")
            kept, gone = self.kept(top), []
            self.assertEqual(len(kept), 3)
            for path in kept:
                os.remove(path)  # it is made again, and what is beside it is looked at
                gone.append(os.path.join(os.path.dirname(path), "video-0123456789abcdef.index"))
                with open(gone[-1], "w"):
                    pass
                for name in os.listdir(os.path.dirname(path)):
                    os.utime(os.path.join(os.path.dirname(path), name), (1e9, 1e9))
            self.report(text, **settings)
            self.assertEqual(self.kept(top), sorted(kept + gone) if top == named else kept)

    def test_csv(self):
        paths = self.list_of(self.clips_of)
        report = self.check_table(self.csv(), 3, self.clips_of, **paths)
        whole = sum(os.path.getsize(os.path.join(self.root, name)) for name, _ in self.clips_of)
        self.assertLess(report["fetched_bytes"], 0.9 * whole)

    def test_tar(self):
        rows = self.clips_of[1:]
        paths = self.shard(rows)
        report = self.check_table(self.tar(), len(rows), rows, **paths)
        whole = sum(os.path.getsize(os.path.join(self.root, name)) for name, _ in rows)
        self.assertLess(report["fetched_bytes"], 0.9 * whole)

    def test_bytes_of_a_clip_in_a_long_file(self):
        """A clip of a file of two hundred seconds takes one group of pictures."""
        name = "a/long.mp4"
        path = clips.encode(os.path.join(self.root, name), *clips.x264(clips.GOP), frames=5000, height=32, width=48)
        os.utime(path, (1e9, 1e9))
        packets = subprocess.run(
            ["ffprobe", "-loglevel", "error", "-select_streams", "v:0", "-show_entries", "packet=size,flags", "-of",
             "csv=p=0", path], capture_output=True, text=True, check=True).stdout.split()
        sizes = [int(line.split(",")[0]) for line in packets]
        keys = [i for i, line in enumerate(packets) if ",K" in line]
        group = max(i for i in keys if i <= 4000)
        text = self.csv().replace("step = 4", "step = 1").replace("center_crop(32)", "center_crop(16)")
        paths = self.list_of([(name, group + 1)])
        self.report(text, **paths)
        report = self.report(text, **paths)
        self.assertEqual(report["videos"]["indexes_made"], 0)
        read = [sum(sizes[group:group + count]) for count in range(4, 7)]  # in decoding order
        self.assertIn(report["fetched_bytes"], read)
        self.assertEqual(report["videos"]["packets"], 4 + read.index(report["fetched_bytes"]))
        self.assertLess(report["fetched_bytes"], os.path.getsize(path) / 100)

    def test_files_that_are_read_whole_say_why(self):
        clips.ffmpeg("-i", os.path.join(self.root, "a/one.mp4"), "-c", "copy", os.path.join(self.root, "a/one.ts"))
        clips.encode(os.path.join(self.root, "a/old.avi"), *clips.kinds()["mpeg4-avi"][1], frames=30)
        rows = [("a/one.ts", 3), ("a/old.avi", 4)]
        paths = self.list_of(rows)
        self.check_frames(self.csv(), rows, **paths)
        report = self.report(self.csv(), **paths)
        self.assertEqual(report["videos"]["clips"], {"scattered_packets": 1, "no_times": 1})
        self.assertEqual(report["fetched_bytes"],
                         sum(os.path.getsize(os.path.join(self.root, name)) for name, _ in rows))

    def test_replaced_file(self):
        paths = self.list_of([("a/one.mp4", 7)])
        self.check_frames(self.csv(), [("a/one.mp4", 7)], **paths)
        clips.encode(os.path.join(self.root, "a/one.mp4"), *clips.x264(clips.GOP), frames=25, seed=9)
        self.check_frames(self.csv(), [("a/one.mp4", 7)], **paths)
        self.assertEqual(self.report(self.csv(), **paths)["bad_samples"], [])

    def test_faults(self):
        """Each a bad sample of its own, in plain words."""
        whole = os.path.join(self.root, "a/one.mp4")
        with open(whole, "rb") as file:
            data = file.read()
        self.put("videos/a/cut.mp4", data[:len(data) * 2 // 3])
        self.put("videos/a/text.mp4", "no video\n" * 100)
        clips.ffmpeg("-f", "lavfi", "-i", "testsrc=size=64x48", "-t", 0, "-c:v", "libx264",
                     os.path.join(self.root, "a/none.mp4"))
        rows = [("a/one.mp4", 7), ("a/cut.mp4", 1), ("a/text.mp4", 1), ("a/none.mp4", 0), ("a/gone.mp4", 0),
                ("a/one.mp4", 25)]
        report = self.report(self.csv(), **self.list_of(rows))
        reasons = {bad["row"]: bad["reason"] for bad in report["bad_samples"]}
        self.assertEqual(set(reasons), {1, 2, 3, 4, 5})
        self.assertRegex(reasons[1], "^no video file of a format that is read, or damaged: ")
        self.assertRegex(reasons[2], "^no video file of a format that is read, or damaged: ")
        self.assertRegex(reasons[3], "^(the video stream is empty|the file has no video stream)$")
        self.assertRegex(reasons[4], "^cannot open .*a/gone.mp4: No such file or directory$")
        self.assertEqual(reasons[5], "frames 25 to 33 are wanted, and the video has 30")

    def test_file_that_is_cut_while_it_is_used(self):
        """video_clips knows its files: one that has shrunk since is told so."""
        name = os.path.join(self.root, "b/three.mp4")
        text = VideoFolder.text.replace("ORDER", "order sequential").replace("OPTIONS", "with on_error = substitute(90%)")
        self.report(text, root=self.root)
        os.truncate(name, os.path.getsize(name) // 2)
        os.utime(name, (1e9, 1e9))
        report = self.report(text, root=self.root)
        self.assertEqual({bad["name"] for bad in report["bad_samples"]}, {"b/three.mp4"})
        self.assertRegex(report["bad_samples"][0]["reason"], "damaged")

    def test_frames_count_as_memory(self):
        """Nine frames and what their decoding holds are over the limit, two are not."""
        path = os.path.join(self.root, "a/large.mp4")
        clips.ffmpeg("-f", "lavfi", "-i", "color=gray:size=8192x4320", "-frames:v", 9, "-c:v", "libx264", "-preset",
                     "ultrafast", "-bf", 2, "-pix_fmt", "yuv420p", path)
        rows = self.list_of([("a/one.mp4", 0), ("a/large.mp4", 0)])
        for count, bad in ((2, False), (9, True)):
            text = self.csv().replace("count = 3, step = 4", f"count = {count}")
            report = self.report(text, "--threads", 1, "--prefetch", 1, **rows)
            self.assertEqual({sample["name"] for sample in report["bad_samples"]}, {"a/large.mp4"} if bad else set())
        self.assertRegex(report["bad_samples"][0]["reason"],
                         r"^the decoder needs \d+ bytes or more for frames that refer to one another, beside the "
                         "clip's own: more than a sample may take$")

    def test_nothing_is_said_but_by_us(self):
        """FFmpeg's own reports of damage do not reach the user."""
        with open(os.path.join(self.root, "a/one.mp4"), "rb") as file:
            data = bytearray(file.read())
        data[len(data) // 3:len(data) // 2:7] = bytes(len(data[len(data) // 3:len(data) // 2:7]))
        self.put("videos/a/bad.mp4", bytes(data))
        done = self.run_tool("run", self.write(self.csv()), "--json", "--set", f"root={self.root}", "--set",
                             f"list={self.list_of([('a/two.mkv', 0), ('a/bad.mp4', 9)])['list']}")
        self.assertEqual(done.stderr, "")


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


class FramesAndSound(Sources):
    def test_of_one_file(self):
        """Each is what it is alone, and so is what their headers say."""
        root = os.path.join(self.folder, "videos")
        os.makedirs(os.path.join(root, "a"))
        mute = os.path.join(self.folder, "mute.mp4")
        clips.encode(mute, *clips.x264(clips.GOP), frames=12, seed=3)
        clips.ffmpeg("-i", mute, "-f", "lavfi", "-i", "sine=440:duration=1:sample_rate=44100", "-c:v", "copy", "-c:a", "aac",
                     os.path.join(root, "a/both.mp4"))
        outputs = {"clip": ("u8[n, t, h, w, c]", "(row.video |> decode(rgb, first = 1, count = 2, step = 3))[h = 0 .. 16, w = 0 .. 16]"),
                   "wave": ("f32[n, t]", "decode(row.video, mono)[t = 0 .. 8000]"),
                   "facts": ("i64[n, k]", "stack([probe(row.video, wave).rate, probe(row.video, video).width], k)")}

        def of(*names):
            lines = "\n".join(f"output {name}: {outputs[name][0]} = {outputs[name][1]}" for name in names)
            return self.sample(f"""use vision, audio
pipeline p(root: path) {{
  for row in video_clips(root)
  batch 1 per rank last drop {{
  {lines}
  }}
}}""", 0, "--set", f"root={root}")

        together = of(*outputs)
        for name in outputs:
            self.assertEqual(together[name].tolist(), of(name)[name].tolist(), name)
        self.assertEqual(together["facts"].tolist()[0], 44100)


if __name__ == "__main__":
    main()
