# SPDX-License-Identifier: Apache-2.0
"""Every codec in every container, with key frames marked wrongly: a clip's frames are those of a whole decode.

PENSTOCK_VIDEO_ALL=1: all containers and marks; else one of each codec.
"""
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import unittest

import clips
import fields
import video

HEIGHT, WIDTH, FRAMES = 144, 176, 14
GROUP = ["-g", 6]
X265 = ["-c:v", "libx265", "-pix_fmt", "yuv420p", "-preset", "veryfast", "-x265-params"]
X265_GROUP = "log-level=none:pools=none:frame-threads=1:keyint=6:min-keyint=6:b-adapt=0"
# Those after which decoding may begin at what its picture says, then those that are intra-coded, and those of which
# nothing is believed.
CODECS = {
    "mpeg1": ["-c:v", "mpeg1video", *GROUP, "-bf", 2],
    "mpeg2": ["-c:v", "mpeg2video", *GROUP, "-bf", 2],
    "mpeg4": ["-c:v", "mpeg4", *GROUP, "-bf", 2],
    "mpeg4-qpel": ["-c:v", "mpeg4", *GROUP, "-flags", "+qpel+mv4"],
    "xvid": ["-c:v", "libxvid", *GROUP],
    "xvid-packed": ["-c:v", "libxvid", *GROUP, "-bf", 2],
    "h263": ["-c:v", "h263", *GROUP],
    "h263-overlapped": ["-c:v", "h263", *GROUP, "-obmc", 1],
    "h263p": ["-c:v", "h263p", *GROUP],
    "h263p-vectors": ["-c:v", "h263p", *GROUP, "-umv", 1, "-aiv", 1, "-flags", "+aic+loop+mv4"],
    "h263p-overlapped": ["-c:v", "h263p", *GROUP, "-obmc", 1],
    "flv1": ["-c:v", "flv", *GROUP],
    "msmpeg4v2": ["-c:v", "msmpeg4v2", *GROUP],
    "msmpeg4v3": ["-c:v", "msmpeg4", *GROUP],
    "wmv1": ["-c:v", "wmv1", *GROUP],
    "wmv2": ["-c:v", "wmv2", *GROUP],
    "h264": clips.x264("keyint=6:min-keyint=6:scenecut=0:bframes=2:b-adapt=0"),
    "h264-open": clips.x264("keyint=6:min-keyint=6:scenecut=0:bframes=3:b-pyramid=normal:b-adapt=0:open-gop=1"),
    "mpeg4-fields": ["-c:v", "mpeg4", *GROUP, "-bf", 2, "-flags", "+ilme+ildct"],
    "h264-refresh": clips.x264("keyint=6:intra-refresh=1:bframes=0"),
    "h265": [*X265, X265_GROUP + ":bframes=2:open-gop=0"],
    "h265-open": [*X265, X265_GROUP + ":bframes=3:open-gop=1"],
    "h265-layers": [*X265, X265_GROUP + ":bframes=3:temporal-layers=3:open-gop=0"],
    "vp8": ["-c:v", "libvpx", "-pix_fmt", "yuv420p", *GROUP, "-b:v", "200k", "-auto-alt-ref", 1, "-lag-in-frames", 5,
            "-deadline", "realtime", "-cpu-used", 5],
    "vp9": ["-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p", *GROUP, "-b:v", "200k", "-auto-alt-ref", 1, "-lag-in-frames",
            8, "-deadline", "good", "-cpu-used", 8],
    "av1": ["-c:v", "libaom-av1", "-pix_fmt", "yuv420p", *GROUP, "-b:v", "200k", "-cpu-used", 8, "-usage", "realtime"],
    "theora": ["-c:v", "libtheora", "-pix_fmt", "yuv420p", *GROUP],
    "ffv1": ["-c:v", "ffv1", "-pix_fmt", "yuv420p", *GROUP],
    "ffv1-3": ["-c:v", "ffv1", "-level", 3, "-pix_fmt", "yuv420p", "-context", 1, "-coder", 1, *GROUP],
    "mjpeg": ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"],
    "prores": ["-c:v", "prores", "-pix_fmt", "yuv422p10le"],
    "huffyuv": ["-c:v", "huffyuv", "-pix_fmt", "yuv422p"],
    "png": ["-c:v", "png", "-pix_fmt", "rgb24"],
    "h261": ["-c:v", "h261", *GROUP],
    "snow": ["-c:v", "snow", "-pix_fmt", "yuv420p", *GROUP],
    "svq1": ["-c:v", "svq1", *GROUP],
    "zmbv": ["-c:v", "zmbv", "-pix_fmt", "bgr0", *GROUP],
    "flashsv": ["-c:v", "flashsv", "-pix_fmt", "bgr24", *GROUP],
    "vc2": ["-c:v", "vc2", "-pix_fmt", "yuv420p"],
}
CONTAINERS = ["mkv", "mp4", "avi", "flv", "mov", "3gp", "asf", "webm", "nut", "ts", "mpg", "ogv", "ivf"]
SEEKS = list(CODECS)[:list(CODECS).index("mjpeg")]
NO_SEEKS = ("mpeg4-fields", "h263-overlapped", "h263p-overlapped", "h264-refresh", "xvid-packed")
ALL = bool(os.environ.get("PENSTOCK_VIDEO_ALL"))


def pictures_of(stream):
    """The JPEG files of a stream of them."""
    return [b"\xFF\xD8\xFF" + rest for rest in stream.split(b"\xFF\xD8\xFF")[1:]]


def without(picture, markers):
    """A JPEG file without its segments of these kinds."""
    kept, at = picture[:2], 2
    while picture[at + 1] != 0xDA:
        end = at + 2 + int.from_bytes(picture[at + 2:at + 4], "big")
        kept += picture[at:end] if picture[at + 1] not in markers else b""
        at = end
    return kept + picture[at:]


def mjpeg_b(picture, tables, size):
    """A packet of MJPEG-B, with tables of these kinds."""
    offsets, body, at = {}, b"", 2
    while True:
        kind, end = picture[at + 1], at + 2 + int.from_bytes(picture[at + 2:at + 4], "big")
        if kind in (0xC0, 0xDA, *tables):
            offsets.setdefault(kind, 40 + len(body))
            body += picture[at + 2:end]
        at = end
        if kind == 0xDA:
            break
    data = 40 + len(body)
    body += picture[at:-2].replace(b"\xFF\x00", b"\xFF")
    places = [offsets.get(kind, 0) for kind in (0xDB, 0xC4, 0xC0, 0xDA)] + [data]
    numbers = [0, int.from_bytes(b"mjpg", "big"), size, size, 0, *places]
    return (b"".join(number.to_bytes(4, "big") for number in numbers) + body).ljust(size, b"\0")


class Starts(video.VideoTest):
    remux_program = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        clips.encode_many(cls.folder, CODECS, FRAMES, HEIGHT, WIDTH)

    def muxed(self, codec, container, keys):
        """None where the container does not take the codec."""
        path = os.path.join(self.folder, f"{codec}-{keys}.{container}")
        done = subprocess.run([self.remux_program, os.path.join(self.folder, codec + ".nut"), path, "keys=" + keys],
                              capture_output=True)
        return path if done.returncode == 0 else None

    def check_clips(self, path, codec):
        """The fewest packets that a frame took; None where the file is no video to FFmpeg."""
        frames = [md5 for _, md5 in clips.whole(path)]
        if not frames:
            return None
        self.assertEqual(self.decoder.ask("index", path)[0], len(frames), path)
        rng = random.Random(path)
        ranges = [(0, len(frames), 1)] + [(rng.randrange(len(frames)), 1, 1) for _ in range(4)] + [(len(frames) - 1, 1, 1)]
        fewest = len(frames)
        for first, count, step in ranges:
            data, packets, _ = self.decoder.ask("planes", first, count, step, path)
            size = len(data) // count
            got = [hashlib.md5(data[i:i + size]).hexdigest() for i in range(0, len(data), size)]
            self.assertEqual(got, frames[first:first + count], (path, first, count))
            fewest = min(fewest, packets)
        os.remove(path)
        return fewest

    def test_marks_are_not_believed(self):
        seen = set()
        for number, codec in enumerate(CODECS):
            left = 0 if codec in clips.LEFT_OUT else 3 * len(CONTAINERS) if ALL else 1
            for turn in range(3 * len(CONTAINERS)):
                keys = ("all", "none", "7")[(turn + number) % 3 if ALL else 0]
                path = left and self.muxed(codec, CONTAINERS[(number + turn // (3 if ALL else 1)) % len(CONTAINERS)], keys)
                if not path:
                    continue
                with self.subTest(os.path.basename(path)):
                    fewest = self.check_clips(path, codec)
                    if fewest is None:
                        continue
                    left -= 1
                    seen.add(codec)
                    if codec in SEEKS and codec not in NO_SEEKS and self.decoder.reading != "no_times":
                        self.assertLess(fewest, FRAMES, "a seek leaves packets out")
        self.assertEqual(seen, set(CODECS) - clips.LEFT_OUT)

    def test_times_of_packets(self):
        """Pictures that are shown in another order than they are decoded in, each with the time of its packet: the headers say so."""
        for codec in ("h264", "h264-open", "h265", "h265-open"):
            for container in ("mp4", "mkv", "ts"):
                path = os.path.join(self.folder, f"{codec}-packets.{container}")
                subprocess.run([self.remux_program, os.path.join(self.folder, codec + ".nut"), path, "times=packets"], check=True)
                with self.subTest(os.path.basename(path)):
                    self.assertIsNotNone(self.check_clips(path, codec))
                    self.assertEqual(self.decoder.reading, "no_times")

    def test_key_pictures_that_leave_what_was(self):
        """DivX 3: how is rounded stands behind the blocks, and is not read where more follows."""
        path = os.path.join(self.folder, "padded.avi")
        subprocess.run([self.remux_program, os.path.join(self.folder, "msmpeg4v3.nut"), path, "pad=4"], check=True)
        frames = [md5 for _, md5 in clips.whole(path)]
        decoders = [self.decoder]
        with open(self.program, "rb") as program:
            if not clips.OTHER and b"__asan_init" not in program.read():  # where FFmpeg's libraries were there before, their reports are not heard
                libraries = subprocess.run(["ldd", os.environ["PENSTOCK_VIDEO_MODULE"]], capture_output=True, text=True, check=True).stdout
                decoders.append(video.Decoder(self.program, LD_PRELOAD=re.search(r"\S*/libavcodec\S*", libraries)[0]))
                self.addCleanup(decoders[-1].close)
        for decoder in decoders:
            self.assertEqual(decoder.ask("planes", 3, 1, 1, path)[2], 0)
            for first, count in [(i, 1) for i in range(FRAMES)] + [(0, FRAMES), (4, 9), (5, 9)]:
                data, _, restarts = decoder.ask("planes", first, count, 1, path)
                size = len(data) // count
                self.assertEqual([hashlib.md5(data[i:i + size]).hexdigest() for i in range(0, len(data), size)],
                                 frames[first:first + count], (first, count))
            self.assertEqual(restarts, 2)
        whole = os.path.join(self.folder, "msmpeg4v3.nut")
        self.assertEqual([decoder.ask("planes", 13, 1, 1, whole)[2] for decoder in decoders], [0, 1][:len(decoders)])

    def test_tables_of_earlier_pictures(self):
        """Motion JPEG whose tables (DQT, DHT) stand in some pictures only."""
        for tables, options in (((0xDB,), ()), ((0xC4,), ()), ((0xDB, 0xC4), ()), ((0xC4,), ("-huffman", "default")), ((0xFE,), ())):
            stream = clips.encode(os.path.join(self.folder, "tables.mjpeg"), "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-b:v", "600k", *options,
                                  frames=FRAMES, height=HEIGHT, width=WIDTH)
            with open(stream, "rb") as file:
                pictures = pictures_of(file.read())
            if tables == (0xFE,):  # a comment that tells FFmpeg to turn them over
                pictures = [without(picture, tables) for picture in pictures]
                comment = b"\xFF\xFE\x00\x23Intel(R) JPEG Library, version 1\0"
                pictures[4] = pictures[4][:2] + comment + pictures[4][2:]
            for have in ({0}, {0, 5, 9}, {3, 4}) if tables != (0xFE,) else ({4},):
                with open(stream, "wb") as file:
                    file.write(b"".join(picture if i in have else without(picture, tables) for i, picture in enumerate(pictures)))
                path = os.path.join(self.folder, "tables." + ("avi", "mkv", "mov")[len(have) - 1])
                clips.ffmpeg("-f", "mjpeg", "-framerate", 12, "-i", stream, "-c", "copy", path)
                for i, (_, frame) in enumerate(clips.whole(path)):
                    with self.subTest(tables=tables, options=options, have=have, i=i):
                        if i < min(have) and 0xDB in tables:
                            self.assertRaisesRegex(ValueError, f"frame {i} is damaged", self.decoder.ask, "planes", i, 1, 1, path)
                            continue
                        try:
                            data, packets, _ = self.decoder.ask("planes", i, 1, 1, path)
                        except ValueError as error:  # of other codes than its own
                            self.assertTrue(0xC4 in tables and not options, error)
                            continue
                        self.assertEqual(hashlib.md5(data).hexdigest(), frame)
                        before = [at for at in have if at <= i]
                        self.assertEqual(packets, i - max(before) + 1 if before else 1)

    def test_tables_of_earlier_pictures_of_mjpeg_b(self):
        """Which FFmpeg does not write: in place of raw pictures of QuickTime."""
        path = clips.encode(os.path.join(self.folder, "b.mov"), "-c:v", "rawvideo", "-pix_fmt", "rgb24", frames=FRAMES, height=HEIGHT, width=WIDTH)
        stream = clips.encode(os.path.join(self.folder, "b.mjpeg"), "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-b:v", "600k", "-huffman", "default",
                              frames=FRAMES, height=HEIGHT, width=WIDTH)
        with open(stream, "rb") as file:
            pictures = pictures_of(file.read())
        with open(path, "rb") as file:
            data = bytearray(file.read().replace(b"raw ", b"mjpb"))
        begin, size = data.find(b"mdat") + 4, 3 * HEIGHT * WIDTH
        for i, picture in enumerate(pictures):
            data[begin + i * size:begin + (i + 1) * size] = mjpeg_b(picture, {0xDB, 0xC4} if i in (0, 5, 9) else {0xC4} if i == 10 else {}, size)
        with open(path, "wb") as file:
            file.write(data)
        frames = clips.whole(path)
        self.assertEqual(len(frames), FRAMES)
        for i, (_, frame) in enumerate(frames):
            data, packets, _ = self.decoder.ask("planes", i, 1, 1, path)
            self.assertEqual(hashlib.md5(data).hexdigest(), frame, i)
            self.assertEqual(packets, i - max(at for at in (0, 5, 9) if at <= i) + 1)

    def test_fields_of_mpeg4(self):
        """Their vectors are in units of the file's first picture between others."""
        path = self.muxed("mpeg4-fields", "mkv", "all")
        frames = [md5 for _, md5 in clips.whole(path)]
        for i in range(FRAMES):
            data, _, _ = self.decoder.ask("planes", i, 1, 1, path)
            self.assertEqual(hashlib.md5(data).hexdigest(), frames[i], i)

    @unittest.skipIf("vc2" in clips.LEFT_OUT, "is not encoded here")
    def test_a_last_packet_that_only_ends_the_sequence(self):
        path = clips.encode(os.path.join(self.folder, "ended.ts"), *CODECS["vc2"], frames=FRAMES, height=HEIGHT, width=WIDTH)
        self.assertEqual(self.decoder.ask("index", path)[4], FRAMES + 1)
        self.assertIsNotNone(self.check_clips(path, "vc2"))

    def test_fields_in_packets_of_their_own(self):
        """Interlaced H.264 as AVCHD cameras write it: a frame is two packets, each with a time."""
        for turn, more in enumerate(({}, {"bottom_first": True}, {"second": "I"}, {"group": 18}, {"same_times": True})):
            source = os.path.join(self.folder, f"fields{turn}.ivf")
            fields.write(source, 18, **more)
            for container in ("ivf", "ts", "nut"):
                path = source
                if container != "ivf":
                    path = source[:-3] + container
                    subprocess.run([self.remux_program, source, path, "fields=1"], check=True)
                with self.subTest(more=more, container=container):
                    frames = clips.whole(path)
                    self.assertEqual(len(frames), 18)
                    self.assertEqual(self.decoder.ask("index", path)[0], 18)
                    packets = self.decoder.ask("index", path)[4]
                    self.assertEqual(packets, 36)
                    fewest = self.check_clips(shutil.copy(path, path + ".copy." + container), "h264")
                    self.assertNotEqual(self.decoder.reading, "no_times")
                    self.assertLess(fewest, 18 if more.get("group") != 18 else 36)


if __name__ == "__main__":
    Starts.remux_program = os.path.abspath(sys.argv.pop())
    Starts.program = os.path.abspath(sys.argv.pop())
    unittest.main()
