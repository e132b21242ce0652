# SPDX-License-Identifier: Apache-2.0
"""Videos put together from two files (`cat a.ts b.ts`): frames are FFmpeg's, in its order, whatever the second one's times.

PENSTOCK_JOINED_ROUNDS: joints per kind, else 3.
"""
import hashlib
import os
import random
import subprocess
import sys
import unittest

import clips
import fields
import video

ROUNDS = int(os.environ.get("PENSTOCK_JOINED_ROUNDS", 3))
FRAMES, HEIGHT, WIDTH = 30, 48, 64
CODECS = {
    "mpeg2": ["-c:v", "mpeg2video", "-g", 12, "-bf", 0], "mpeg2-b": ["-c:v", "mpeg2video", "-g", 12, "-bf", 2],
    "mpeg4": ["-c:v", "mpeg4", "-g", 12, "-bf", 0], "h264": clips.x264("keyint=12:bframes=0"),
    "h264-b": clips.x264(clips.GOP), "h264-open": clips.x264(clips.GOP + ":open-gop=1"),
    "h265": ["-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params", "log-level=none:keyint=12:bframes=3"],
    "vp8": ["-c:v", "libvpx", "-g", 12, "-deadline", "realtime", "-cpu-used", 8], "mjpeg": ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"],
    "vp9": ["-c:v", "libvpx-vp9", "-g", 12, "-deadline", "realtime", "-cpu-used", 8],
    "flv1": ["-c:v", "flv", "-g", 12], "theora": ["-c:v", "libtheora", "-g", 12], "wmv2": ["-c:v", "wmv2", "-g", 12]}
CONTAINERS = {"ts": ("mpeg2", "mpeg2-b", "h264", "h264-b", "h264-open", "h265", "fields"), "m2ts": ("h264-b",),
              "mpg": ("mpeg2-b",), "flv": ("flv1", "h264-b"), "mkv": ("h264", "h264-b", "mjpeg"), "webm": ("vp8", "vp9"),
              "ogv": ("theora",), "avi": ("mjpeg", "mpeg4"), "nut": ("h264", "mjpeg", "fields"), "asf": ("wmv2",)}
SECONDS = FRAMES / 25


class Joined(video.VideoTest):
    remux_program = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        clips.encode_many(cls.folder, {name: options for name, options in CODECS.items() if name not in clips.LEFT_OUT},
                          FRAMES, HEIGHT, WIDTH)
        source = os.path.join(cls.folder, "fields.ivf")
        fields.write(source, FRAMES)  # each in a packet of its own
        subprocess.run([cls.remux_program, source, source[:-3] + "nut", "fields=1"], check=True)

    def part(self, codec, container, begin, from_middle):
        """The file whose first frame is shown at `begin` seconds; or its tables, and the second half."""
        path = os.path.join(self.folder, f"part.{container}")
        clips.ffmpeg("-i", os.path.join(self.folder, codec + ".nut"), "-c", "copy", "-output_ts_offset", f"{begin:.3f}", path)
        with open(path, "rb") as file:
            data = file.read()
        return data[:3 * 188] + data[len(data) // 2 // 188 * 188:] if from_middle else data

    def frame(self, i, path):
        """The MD5 of a frame's planes, or why it is bad."""
        try:
            return hashlib.md5(self.decoder.ask("planes", i, 1, 1, path)[0]).hexdigest()
        except ValueError as error:
            return str(error)

    def check(self, codec, container):
        path = os.path.join(self.folder, f"joined.{container}")
        places = random.Random(f"{codec} {container}")
        good = 0
        for turn in range(ROUNDS):
            # Within the other part's times between its frames, at them, before them, behind them.
            begins = [0.0, (places.random() * SECONDS, 0.02 + 0.04 * places.randrange(FRAMES), 0.04 * places.randrange(FRAMES),
                            SECONDS, SECONDS + places.random())[turn % 5]]
            places.shuffle(begins)
            cut = turn % 2 and container == "ts"
            if cut:
                begins = [0.4 * SECONDS + 0.02, 0.0]
            with open(path, "wb") as file:
                for number, begin in enumerate(begins):
                    file.write(self.part(codec, container, begin, cut and number))
            wanted = [digest for _, digest in clips.whole(path)]
            frames = self.decoder.ask("index", path)[0]
            got = [self.frame(i, path) for i in range(frames)]
            where = (codec, container, begins)
            if cut:  # what FFmpeg gives of frames that refer to what was cut off is not what packets say
                left = iter(wanted)
                self.assertTrue(all(one in left for one in got if " damaged" not in one), where)
                continue
            self.assertEqual(frames, len(wanted), where)
            for i, (one, other) in enumerate(zip(got, wanted)):
                if " damaged" in one:  # packets may be lost where the parts meet, by the container's own counters
                    self.assertIn(i, range(FRAMES - 6, FRAMES + 12), (where, one))
                else:
                    self.assertEqual(one, other, (where, i))
                    good += 1
        self.assertGreaterEqual(good, ROUNDS // 2 * FRAMES)


def add(codec, container):
    setattr(Joined, f"test_{codec}_{container}".replace("-", "_"), lambda self: self.check(codec, container))


for in_container, codecs in CONTAINERS.items():
    for one_codec in codecs:
        if one_codec not in clips.LEFT_OUT:
            add(one_codec, in_container)

if __name__ == "__main__":
    Joined.remux_program = os.path.abspath(sys.argv.pop())
    Joined.program = os.path.abspath(sys.argv.pop())
    unittest.main()
