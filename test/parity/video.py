# SPDX-License-Identifier: Apache-2.0
"""Every clip of a video has FFmpeg's frames, bit for bit, and pixels by the documented formula."""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

import clips

MATRICES = {"601": (0.299, 0.114), "709": (0.2126, 0.0722)}


class Decoder:
    """The program decode-video, running."""

    def __init__(self, program, **environment):
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
                                        env={**os.environ, **environment})

    def ask(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode().split(maxsplit=1)
        if answer[0] == "error":
            raise ValueError(answer[1].strip())
        if words[0] in ("limit", "nothing", "say"):
            return None
        numbers = [int(word) if word.isdigit() else word for word in answer[1].split()] if len(answer) > 1 else []
        if words[0] in ("index", "level"):
            return numbers
        data = b""
        while len(data) < numbers[0]:
            data += self.process.stdout.read(numbers[0] - len(data))
        self.read, self.late, self.held, self.reading = numbers[3:]
        return data, numbers[1], numbers[2]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        code = self.process.wait()
        self.said.seek(0)
        said = self.said.read().decode(errors="replace")
        self.said.close()
        assert code == 0, said  # a sanitizer's findings show here
        assert not said, said  # FFmpeg's reports would stand between the user's lines


def pixels_of(planes, kind, matrix="601", full=False, gray=False):
    """docs/media.md's formula. uint8 [h, w, 3], or [h, w] for gray."""
    depth = 10 if kind.endswith("10le") else 8
    full = full or kind.startswith("yuvj") or kind == "gbrp"
    extra, ones = depth - 8, (1 << depth) - 1
    red, blue = MATRICES[matrix]
    green = 1 - red - blue
    scale = 255 * 2**extra / ones if full else 255 / 219
    chroma = 2 * (255 * 2**extra / ones if full else 255 / 224)
    half, shift = 1 << (15 + extra), 16 + extra

    def fixed(value):
        return int(numpy.floor(65536 * value + 0.5))

    def byte(value):
        return numpy.clip((value + half) >> shift, 0, 255).astype(numpy.uint8)

    luma = fixed(scale) * (planes[0].astype(numpy.int64) - (0 if full else 16 << extra))
    if kind == "gbrp":
        rgb = numpy.stack([planes[2], planes[0], planes[1]], -1)
        return rgb if not gray else byte_gray(rgb)
    if gray or len(planes) == 1:
        return byte(luma) if gray else numpy.repeat(byte(luma)[..., None], 3, -1)
    height, width = planes[0].shape
    down_y = int(numpy.log2(round(height / planes[1].shape[0])))
    down_x = int(numpy.log2(round(width / planes[1].shape[1])))
    y, x = numpy.arange(height)[:, None] >> down_y, numpy.arange(width)[None] >> down_x
    cb = planes[1][y, x].astype(numpy.int64) - (128 << extra)
    cr = planes[2][y, x].astype(numpy.int64) - (128 << extra)
    return numpy.stack([
        byte(luma + fixed(chroma * (1 - red)) * cr),
        byte(luma - fixed(chroma * blue * (1 - blue) / green) * cb
             - fixed(chroma * red * (1 - red) / green) * cr),
        byte(luma + fixed(chroma * (1 - blue)) * cb)], -1)


def byte_gray(rgb):
    weights = numpy.array([19595, 38470, 7471], numpy.int64)
    return ((rgb.astype(numpy.int64) @ weights + 32768) >> 16).astype(numpy.uint8)


class VideoTest(unittest.TestCase):
    program = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="penstock-video-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.decoder = Decoder(cls.program)
        cls.addClassCleanup(cls.decoder.close)

    def check_file(self, path, seeks=True, planes=True):
        """Clips at many places; returns FFmpeg's frames and what the index says."""
        frames, height, width, kind = clips.decoded(path)
        known = self.decoder.ask("index", path)
        self.assertEqual(known[:3], [len(frames), height, width])
        rng = numpy.random.default_rng(7)
        ranges = [(0, len(frames), 1), (len(frames) - 1, 1, 1), (len(frames) // 2, 1, 1)]
        for _ in range(12):
            step = int(rng.integers(1, 8))
            count = min(int(rng.integers(1, 7)), (len(frames) - 1) // step + 1)
            ranges.append((int(rng.integers(0, len(frames) - (count - 1) * step)), count, step))
        fewest = known[4]
        sizes = clips.packet_sizes(path)
        for first, count, step in ranges:
            data, packets, restarts = self.decoder.ask("planes", first, count, step, path)
            wanted = frames[first:first + (count - 1) * step + 1:step]
            if kind == "gbrp":  # FFmpeg's raw order is G, B, R
                size = height * width
                wanted = [f[2 * size:] + f[:size] + f[size:2 * size] for f in wanted]
            self.assertEqual(data, b"".join(wanted), (path, first, count, step))
            self.assertEqual((restarts, self.decoder.late), (0, 0), path)
            if self.decoder.reading == "packets" and count == 1:
                self.assertIn(self.decoder.read, [sum(sizes[i:i + packets]) for i in range(len(sizes))])
            elif self.decoder.reading != "packets":
                self.assertEqual(self.decoder.read, os.path.getsize(path))
            fewest = min(fewest, packets)
        if seeks:
            self.assertLess(fewest, known[4], "a seek leaves packets out")
        return frames, known, kind

    def check_pixels(self, path, frames, known, kind, matrix="601", full=False):
        height, width = known[1:3]
        planes = [clips.frame_planes(f, height, width, kind) for f in frames]
        for name in ("rgb", "gray"):
            wanted = [pixels_of(planes[i], kind, matrix, full, name == "gray") for i in (3, 8, 13)]
            data, _, _ = self.decoder.ask(name, 3, 3, 5, 0, 0, 0, 0, 1, path)
            self.assertEqual(data, b"".join(w.tobytes() for w in wanted), path)
            data, _, _ = self.decoder.ask(name, 3, 3, 5, 5, 7, 21, 33, 1, path)
            self.assertEqual(data, b"".join(w[5:26, 7:40].tobytes() for w in wanted), path)


class Kinds(VideoTest):
    """One test for each kind of clips.kinds()."""


def add_kind(name):
    def test(self):
        path = clips.make(self.folder, name)
        # Files with one place to start, or none that can be trusted, and those without times.
        whole = name in ("one-gop", "intra-refresh", "mpeg4-avi", "mpeg4-packed")
        frames, known, kind = self.check_file(path, seeks=not whole)
        wanted = "scattered_packets" if path.endswith(".ts") else "packets"
        without = ("mpeg4-avi", "mpeg4-packed", "mpeg2")
        self.assertEqual(self.decoder.reading, "no_times" if name in without else wanted)
        matrix = {"bt709-full": "709"}.get(name, "601")
        self.check_pixels(path, frames, known, kind, matrix, full=name == "bt709-full")
    setattr(Kinds, "test_" + name.replace("-", "_"), test)


for kind_name in clips.kinds():
    if kind_name not in clips.LEFT_OUT:
        add_kind(kind_name)


class Odd(VideoTest):
    """Files that were cut and turned."""

    def cut(self, name, kind, seconds):
        path = os.path.join(self.folder, name)
        clips.ffmpeg("-ss", seconds, "-i", clips.make(self.folder, kind), "-c", "copy", path)
        return path

    def test_edit_list(self):
        self.check_file(self.cut("edit.mp4", "b-frames", 0.7))
        self.check_file(self.cut("edit-open.mp4", "open-gop", 0.9))

    def test_cut_transport_stream(self):
        whole = clips.make(self.folder, "open-gop-ts")
        with open(whole, "rb") as file:
            data = file.read()
        path = os.path.join(self.folder, "cut.ts")
        with open(path, "wb") as file:  # tables again, then from somewhere in the middle
            file.write(data[:3 * 188] + data[len(data) // 2 // 188 * 188:])
        self.check_file(path, seeks=False)

    def test_turned(self):
        plain = clips.make(self.folder, "b-frames")
        for angle, orientation, turns in ((90, 8, 1), (180, 3, 2), (270, 6, 3)):
            path = os.path.join(self.folder, f"turned{angle}.mp4")
            clips.ffmpeg("-i", plain, "-c", "copy", "-metadata:s:v:0", f"rotate={angle}", path)
            frames, known, kind = self.check_file(path)
            self.assertIn(known[3], (3, 6, 8))
            upright = clips.ffmpeg("-i", path, "-frames:v", 1, "-f", "rawvideo", "-pix_fmt", "gray", "-")
            data, _, _ = self.decoder.ask("gray", 0, 1, 1, 0, 0, 0, 0, known[3], path)
            height, width = known[1:3] if angle == 180 else known[2:0:-1]
            ours = numpy.frombuffer(data, numpy.uint8).reshape(height, width).astype(int)
            theirs = numpy.frombuffer(upright, numpy.uint8).reshape(height, width).astype(int)
            self.assertLess(abs(ours - theirs).max(), 24)  # limited against full range

    def test_what_was_not_fetched_is_read(self):
        path = clips.make(self.folder, "b-frames")
        fetched = self.decoder.ask("planes", 30, 2, 3, path)
        other = Decoder(self.program)
        other.ask("nothing")
        self.assertEqual(other.ask("planes", 30, 2, 3, path), fetched)
        self.assertEqual(other.late, other.read)
        self.assertGreater(other.late, 0)
        other.close()

    def test_frames_are_counted(self):
        """As many bytes as the decoder holds are enough, and not one less."""
        path = clips.make(self.folder, "b-frames")
        other = Decoder(self.program)
        fetched = other.ask("planes", 30, 2, 3, path)
        held = other.held
        self.assertGreater(held, 4 * 80 * 96 * 3 // 2)
        other.ask("limit", held)
        self.assertEqual(other.ask("planes", 30, 2, 3, path), fetched)
        other.ask("limit", held - 1)
        with self.assertRaisesRegex(ValueError, f"the decoder needs {held} bytes or more"):
            other.ask("planes", 30, 2, 3, path)
        other.close()

    def test_chroma_between_slices(self):
        """FFV1 of several slices has some that is in none: FFmpeg has zeros there, whatever memory held."""
        self.decoder = Decoder(self.program, MALLOC_PERTURB_="170")
        self.addCleanup(self.decoder.close)
        for kind, slices in (("yuv411p", 4), ("yuv411p", 9), ("yuv410p", 4)):
            path = os.path.join(self.folder, f"{kind}-{slices}.mkv")
            clips.encode(path, "-c:v", "ffv1", "-level", 3, "-pix_fmt", kind, "-slices", slices, frames=12, height=62, width=78)
            self.check_file(path)

    def test_tags_that_are_not_known(self):
        """Of TIFF, which FFmpeg itself writes."""
        for container in ("mkv", "mov"):
            path = os.path.join(self.folder, "tagged." + container)
            clips.encode(path, "-c:v", "tiff", "-pix_fmt", "gray", frames=12)
            self.check_file(path)

    def test_damage(self):
        path = clips.make(self.folder, "b-frames")
        with open(path, "rb") as file:
            data = file.read()
        def put(content, name="bad.mp4"):
            bad = os.path.join(self.folder, name)
            with open(bad, "wb") as file:
                file.write(content)
            return bad
        refuse = lambda file: self.assertRaises(ValueError, self.decoder.ask, "index", file)
        refuse(put(data[:len(data) // 2]))
        refuse(put(b""))
        refuse(put(b"no video" * 1000))
        sound = os.path.join(self.folder, "sound.mp4")
        clips.ffmpeg("-f", "lavfi", "-i", "sine=440:duration=1", "-c:a", "aac", sound)
        with self.assertRaisesRegex(ValueError, "no video stream"):
            self.decoder.ask("index", sound)
        with self.assertRaisesRegex(ValueError, "frames 58 to 60 are wanted, and the video has 60"):
            self.decoder.ask("planes", 58, 2, 2, path)
        with self.assertRaisesRegex(ValueError, "frames -1 to -1 are wanted"):
            self.decoder.ask("planes", -1, 1, 1, path)
        with self.assertRaisesRegex(ValueError, "frames -2 to -1 are wanted"):
            self.decoder.ask("planes", -2, 2, 1, path)
        playlist = put(f"#EXTM3U\n#EXTINF:1,\n{path}\n#EXT-X-ENDLIST\n".encode(), "list.m3u8")
        refuse(playlist)
        fast = os.path.join(self.folder, "fast.mp4")
        clips.ffmpeg("-i", path, "-c", "copy", "-movflags", "faststart", fast)
        with open(fast, "rb") as file:
            data = file.read()
        frames = [frame for _, frame in clips.whole(fast)]
        short = put(data[:-2000], "short.mp4")  # as far as it goes
        count = self.decoder.ask("index", short)[0]
        self.assertIn(count, range(20, 60))
        got = self.decoder.ask("planes", 0, count - 4, 1, short)[0]
        size = len(got) // (count - 4)
        self.assertEqual([hashlib.md5(got[i:i + size]).hexdigest() for i in range(0, len(got), size)],
                         frames[:count - 4])

    def test_reports_of_others_are_left_alone(self):
        self.decoder.ask("index", clips.make(self.folder, "b-frames"))
        self.assertEqual(self.decoder.ask("level"), [32])  # as it is before anybody sets it

    def test_reports_are_kept(self):
        """FFmpeg's lines say why a frame is bad, and are not shown, even those of nobody; others' are."""
        fast = os.path.join(self.folder, "reports.mp4")
        clips.ffmpeg("-i", clips.make(self.folder, "b-frames"), "-c", "copy", "-movflags", "faststart", fast)
        with open(fast, "rb") as file:
            data = bytearray(file.read())
        sizes = data.find(b"stsz") + 16
        last = sizes + 4 * (int.from_bytes(data[sizes - 4:sizes], "big") - 1)
        data[last:last + 4] = (30 << 20).to_bytes(4, "big")  # "Truncating packet of size", without a context
        begin = data.find(b"mdat") + 4
        middle = begin + (len(data) - begin) // 3
        data[middle:middle + 600] = bytes(600)
        with open(fast, "wb") as file:
            file.write(data)
        other = Decoder(self.program)
        frames = other.ask("index", fast)[0]
        reasons = []
        for i in range(frames):
            try:
                other.ask("planes", i, 1, 1, fast)
            except ValueError as error:
                reasons.append(str(error))
        self.assertTrue(any(re.fullmatch(r"frame \d+ (is damaged|depends on a damaged one) \(h264: .+\)", reason)
                            for reason in reasons), reasons)
        # What libavutil itself says, of a picture without columns.
        still = os.path.join(self.folder, "still.avi")
        clips.ffmpeg("-i", clips.make(self.folder, "b-frames"), "-c:v", "mjpeg", "-q:v", "5", still)
        with open(still, "rb") as file:
            data = bytearray(file.read())
        at = -1
        for _ in range(6):
            at = data.index(b"\xff\xc0", at + 1)
        data[at + 7:at + 9] = bytes(2)
        with open(still, "wb") as file:
            file.write(data)
        other.ask("index", still)
        with self.assertRaisesRegex(ValueError, r"^frame 5 is damaged \(mjpeg: Picture size 0x\d+ is invalid\)$"):
            other.ask("planes", 5, 1, 1, still)
        other.said.seek(0)
        self.assertEqual(other.said.read(), b"")
        other.ask("say", "somebody")
        other.said.seek(0)
        self.assertEqual(other.said.read(), b"somebody\n")
        other.said.truncate(0)
        other.close()

    def test_mutations(self):
        """Frames or an error, whatever the bytes."""
        rng = numpy.random.default_rng(3)
        good = 0
        for kind in ("open-gop", "vp9", "mpeg4-avi", "open-gop-ts"):
            source = clips.make(self.folder, kind)
            with open(source, "rb") as file:
                whole = numpy.frombuffer(file.read(), numpy.uint8)
            path = os.path.join(self.folder, "mutated" + os.path.splitext(source)[1])
            for turn in range(12):
                data = whole.copy()
                places = rng.integers(0, len(data) if turn % 2 else 400, int(rng.integers(1, 30)))
                data[places] = rng.integers(0, 256, len(places))
                data.tofile(path)
                try:
                    frames = self.decoder.ask("index", path)[0]
                    first = int(rng.integers(0, frames))
                    self.decoder.ask("planes", first, min(3, frames - first), 1, path)
                    good += 1
                except ValueError:
                    pass
        self.assertGreater(good, 0)


if __name__ == "__main__":
    VideoTest.program = os.path.abspath(sys.argv.pop(1))
    unittest.main()
