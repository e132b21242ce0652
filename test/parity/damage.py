# SPDX-License-Identifier: Apache-2.0
"""Damaged videos: each frame that comes is one of FFmpeg's or undamaged, the same for every clip; what is bad is so for every clip.

PENSTOCK_VIDEO_ROUNDS: damaged files per kind, else 2; PENSTOCK_VIDEO_ALL=1: of every codec that this FFmpeg writes.
"""
import hashlib
import itertools
import os
import random
import subprocess
import sys
import unittest

import clips
import fields
import starts
import video

ROUNDS = int(os.environ.get("PENSTOCK_VIDEO_ROUNDS", 2))
HEIGHT, WIDTH, FRAMES = 48, 64, 26
KINDS = {name: starts.CODECS[codec] for name, codec in (
    ("h264.mp4", "h264"), ("h264.flv", "h264"), ("h264-open.mkv", "h264-open"), ("h264-open.ts", "h264-open"), ("h264-refresh.mp4", "h264-refresh"),
    ("h265.mkv", "h265"), ("h265-open.mp4", "h265-open"), ("mpeg2.ts", "mpeg2"), ("mpeg1.mpg", "mpeg1"), ("mpeg2.mpg", "mpeg2"),
    ("mpeg4.mp4", "mpeg4"), ("xvid.avi", "xvid"), ("h263p.avi", "h263p"), ("flv1.flv", "flv1"),
    ("wmv2.asf", "wmv2"), ("vp8.webm", "vp8"), ("vp9.webm", "vp9"), ("ffv1-3.nut", "ffv1-3"), ("ffv1.mkv", "ffv1"), ("huffyuv.avi", "huffyuv"),
    ("mjpeg.avi", "mjpeg"), ("theora.ogv", "theora")) if codec not in clips.LEFT_OUT}
# Damage that FFmpeg does not return leaves things of earlier pictures, which a decoder that begins behind them has not got.
SILENT = ("theora", "vp8.", "huffyuv", "ffvhuff")
# Those whose decoders say little of damage, and show then what their memory held.
QUIET = {name: starts.CODECS[name.split(".")[0]] for name in ("theora.mkv", "h261.mov", "flashsv.flv", "msmpeg4v3.avi")}
if starts.ALL:
    QUIET |= {f"{codec}.{container}": options for codec, options in starts.CODECS.items() for container in ("mkv", "nut", "avi")
              if codec not in clips.LEFT_OUT}
    QUIET |= {f"{name.split('/')[0]}.{container}": ["-c:v", name.split("/")[0], "-pix_fmt", name.split("/")[1]] for name in (
        "amv/yuvj420p asv1/yuv420p asv2/yuv420p bmp/bgr24 cfhd/yuv422p10le cinepak/rgb24 cljr/yuv411p dnxhd/yuv422p "
        "dpx/rgb24 dvvideo/yuv420p ffvhuff/yuv420p flashsv2/bgr24 gif/rgb8 jpeg2000/yuv420p jpegls/rgb24 ljpeg/yuvj420p magicyuv/yuv420p "
        "pcx/rgb24 qtrle/rgb24 roqvideo/yuvj444p sgi/rgb24 speedhq/yuv420p sunrast/rgb24 "
        "targa/bgr24 tiff/rgb24 utvideo/yuv420p v210/yuv422p10le xwd/rgb24").split() for container in ("mkv", "mov", "avi")}


def md5(data):
    return hashlib.md5(data).hexdigest()


def harmed(data, how, rng):
    """The file with a little of it, behind its beginning, turned, lost or empty."""
    data, begin = bytearray(data), min(300, len(data) // 2)
    if how == "bits":
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(begin, len(data))] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del data[rng.randrange(len(data) // 3, len(data)):]
    else:
        at, size = rng.randrange(begin, len(data)), rng.choice((1, 16, 188, 564, 700))
        data[at:at + size] = bytes(len(data[at:at + size])) if how == "zeros" else b""
    return bytes(data)


class Damage(video.VideoTest):
    remux_program = None
    frames, counted = {}, 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Memory that nobody has written to is other memory there.
        cls.other = video.Decoder(cls.program, MALLOC_PERTURB_="170")
        cls.addClassCleanup(cls.other.close)
        plain = {name.split(".")[0]: options for name, options in KINDS.items()}
        clips.encode_many(cls.folder, plain, FRAMES, HEIGHT, WIDTH)
        for name in KINDS:
            subprocess.run([cls.remux_program, os.path.join(cls.folder, name.split(".")[0] + ".nut"),
                            os.path.join(cls.folder, name)], check=True)
        source = os.path.join(cls.folder, "fields.ivf")
        fields.write(source, 18)
        subprocess.run([cls.remux_program, source, source[:-3] + "ts", "fields=1"], check=True)

    def make(self, name, turn):
        """A damaged file of a kind, and how."""
        rng = random.Random(f"{name} {turn}")
        how = ("packets", "bits", "drop", "zeros", "cut", "lost")[(turn + len(name)) % 6]
        whole = os.path.join(self.folder, name)
        path = os.path.join(self.folder, "damaged-" + name)
        if how in ("packets", "drop"):
            change = f"{'drop' if how == 'drop' else 'flip'}={rng.randrange(1 << 20)}"
            subprocess.run([self.remux_program, whole, path, change], check=True)
        else:
            with open(whole, "rb") as file:
                data = file.read()
            with open(path, "wb") as file:
                file.write(harmed(data, how, rng))
        return path, rng

    def clip(self, path, first, count, step):
        """The frames' checksums, or why there are none."""
        try:
            data = (self.decoder if count == 1 else self.other).ask("planes", first, count, step, path)[0]
        except ValueError as error:
            return str(error)
        size = len(data) // count
        return [md5(data[i:i + size]) for i in range(0, len(data), size)]

    def sound(self, path):
        """The frames of the file before it was damaged."""
        name = os.path.basename(path).split("-", 1)[1]
        if name not in self.frames:
            self.frames[name] = {frame for _, frame in clips.whole(os.path.join(self.folder, name))}
        return self.frames[name]

    def check_file(self, path, rng):
        """(good, bad) frames."""
        try:
            frames, *_, is_counted = self.decoder.ask("index", path)
        except ValueError:
            return 0, 0
        name = os.path.basename(path).split("-", 1)[1]
        alone = [self.clip(path, i, 1, 1) for i in range(frames)]
        given = clips.whole(path)
        # Damaged times may number frames otherwise: then a frame is one of all. And where a damaged picture to which
        # no other refers takes another one's place in FFmpeg's decode, ours, which leaves it out, has the sound frame.
        anywhere = {frame for _, frame in given} | self.sound(path)
        if is_counted and not clips.OTHER:  # without times: as they come out of FFmpeg's decoder, concealed ones, too
            self.assertEqual(frames, len(given), path)
            for i, frame in enumerate(alone):
                if not isinstance(frame, str):
                    self.assertEqual(frame[0], given[i][1], (path, i))
            type(self).counted += 1
        for i, frame in enumerate(alone):
            if isinstance(frame, str):
                self.assertRegex(frame, "^frame [0-9]+ (is damaged|depends on a damaged one|does not come out of the "
                                        "decoder|has [0-9]+ rows)")
            elif not clips.OTHER and not name.startswith(SILENT):  # whose CABAC reads on a little further, and so does not notice all the same damage
                self.assertIn(frame[0], anywhere, (path, i))
        for _ in range(8):
            step = rng.randint(1, 4)
            count = rng.randint(1, min(8, (frames - 1) // step + 1))
            first = rng.randrange(frames - (count - 1) * step)
            wanted = alone[first:first + (count - 1) * step + 1:step]
            got = self.clip(path, first, count, step)
            if any(isinstance(frame, str) for frame in wanted):
                self.assertIsInstance(got, str, (path, first, count, step))
            else:
                self.assertEqual(got, [frame[0] for frame in wanted], (path, first, count, step))
        bad = sum(isinstance(frame, str) for frame in alone)
        return frames - bad, bad

    def test_damage_spreads_to_what_depends_on_it(self):
        good = bad = 0
        for name in [*KINDS, "fields.ts"]:
            for turn in range(ROUNDS):
                with self.subTest(name=name, turn=turn):
                    path, rng = self.make(name, turn)
                    counts = self.check_file(path, rng)
                    good, bad = good + counts[0], bad + counts[1]
        self.assertGreater(good, 5 * ROUNDS * len(KINDS))
        self.assertGreater(bad, ROUNDS * len(KINDS))

    def test_key_pictures_that_are_cut(self):
        """Or have more behind them, and bits that are turned; of decoders that may show then what their memory held."""
        bad = dict.fromkeys(QUIET, 0)
        for name, options in QUIET.items():
            whole = os.path.join(self.folder, "quiet-" + name)
            try:
                clips.encode(whole, *options, "-strict", "-2", frames=FRAMES, height=144, width=176)
            except subprocess.CalledProcessError:
                self.assertTrue(starts.ALL, name)  # that container does not take it
                continue
            self.frames[name] = {frame for _, frame in clips.whole(whole)}
            for turn in range(max(3, ROUNDS // 5) if starts.ALL else 2 * ROUNDS):
                path = os.path.join(self.folder, "cut-" + name)
                rng = random.Random(turn)
                change = (f"cut={turn}", "", "pad=4")[turn % 3]
                if not change or subprocess.run([self.remux_program, whole, path, change], stderr=subprocess.DEVNULL).returncode:
                    with open(whole, "rb") as file:
                        data = bytearray(file.read())
                    for _ in range(rng.choice((1, 1, 4))):
                        data[rng.randrange(len(data) // 8, len(data))] ^= 1 << rng.randrange(8)
                    with open(path, "wb") as file:
                        file.write(data)
                with self.subTest(name=name, turn=turn):
                    bad[name] += self.check_file(path, rng)[1]
        for name in ("h261.mov", "flashsv.flv"):
            self.assertGreater(bad[name], 0, name)

    def test_blocks_that_are_not_whole(self):
        """Of Flash Screen Video: FFmpeg shows memory that nobody has written to."""
        for codec in ("flashsv", "flashsv2"):
            whole, path = os.path.join(self.folder, codec + ".flv"), os.path.join(self.folder, "bit-blocks.flv")
            clips.encode(whole, "-c:v", codec, "-g", 6, frames=9, height=144, width=176)
            frames = [frame for _, frame in clips.whole(whole)]
            self.assertEqual(self.clip(whole, 0, 9, 1), frames)
            with open(whole, "rb") as file:
                data = file.read()
            for at in range(1000, 20000, 700):  # of the first picture
                with open(path, "wb") as file:
                    file.write(data[:at] + bytes([data[at] ^ 32]) + data[at + 1:])
                self.assertRegex(str(self.clip(path, 0, 1, 1)), "^frame 0 (is damaged|depends on a damaged one)", (codec, at))
                if codec == "flashsv":  # all blocks of the next one are new
                    self.assertEqual(self.clip(path, 1, 8, 1), frames[1:])

    def test_few_pixels_that_are_left_out(self):
        """At the end of a picture, or of one channel of its pixels."""
        bad = 0
        for name in ("gray.mkv", "rgb24.avi"):
            whole, path = os.path.join(self.folder, "few-" + name), os.path.join(self.folder, "bit-few-" + name)
            clips.encode(whole, "-c:v", "jpegls", "-pix_fmt", name.split(".")[0], frames=150, height=HEIGHT, width=WIDTH)
            frames = [frame for _, frame in clips.whole(whole)]
            self.assertEqual(self.clip(whole, 0, len(frames), 1), frames)  # some of which look unwritten by chance
            size, begin = sorted(map(int, clips.known_of(whole, "packet=pos,size")[1]))
            with open(whole, "rb") as file:
                data = file.read()
            for at in range(begin + size - 60, begin + size, 4):
                for bit in (0, 4):
                    with open(path, "wb") as file:
                        file.write(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:])
                    frame = self.clip(path, 1, 1, 1)
                    if isinstance(frame, str):
                        bad += 1
                    elif frame != frames[1:2]:
                        self.assertEqual(frame[0], clips.whole(path)[1][1], (name, at, bit))
        self.assertGreater(bad, 0)

    def test_codes_of_microsoft(self):
        """Wrong ones, and bits that are left behind a picture, are damage; what stands behind intact ones is not."""
        total = 0
        for name in ("msmpeg4v2.avi", "msmpeg4v3.avi", "wmv1.avi", "wmv2.avi"):
            codec, bad = name.split(".")[0], 0
            whole, path = os.path.join(self.folder, "codes-" + name), os.path.join(self.folder, "bit-codes-" + name)
            for options in ((), ("-q:v", 2), ("-q:v", 31), ("-b:v", "100k", "-g", 300)):
                clips.encode(whole, *starts.CODECS[codec], *options, frames=FRAMES, height=144, width=176)
                sound = [frame for _, frame in clips.whole(whole)]
                self.assertEqual(self.clip(whole, 0, FRAMES, 1), sound, (name, options))
                subprocess.run([self.remux_program, whole, path, "junk=4"], check=True)
                self.assertEqual(self.clip(path, 0, FRAMES, 1), [frame for _, frame in clips.whole(path)], (name, options))
            packets = clips.known_of(whole, "packet=pos,size")
            with open(whole, "rb") as file:
                data = file.read()
            for turn in range(6 * ROUNDS):
                rng = random.Random(turn)
                size, begin = sorted(map(int, packets[5][:2]))
                damaged = bytearray(data)
                damaged[begin + rng.randrange(40, size)] ^= 1 << rng.randrange(8)
                with open(path, "wb") as file:
                    file.write(damaged)
                frames = [self.clip(path, i, 1, 1) for i in (4, 5, 6)]
                self.assertEqual(frames[0], sound[4:5])
                self.assertEqual(isinstance(frames[1], str), isinstance(frames[2], str))
                bad += isinstance(frames[1], str)
                if not isinstance(frames[1], str):
                    self.assertEqual(frames[1:], [[frame] for _, frame in clips.whole(path)[5:7]], (name, turn))
            total += bad
        self.assertGreater(total, 12 * ROUNDS)

    def test_hashes_of_pictures(self):
        """Of H.265, which tell all damage; pictures may be without, and those with may be skipped."""
        bad = 0
        for name, options in (("hashes.mkv", "open-gop=0"), ("hashes.mp4", "open-gop=1")):
            whole, path = os.path.join(self.folder, name), os.path.join(self.folder, "bit-" + name)
            clips.encode(whole, *starts.X265, starts.X265_GROUP + ":bframes=3:hash=1:" + options, frames=FRAMES, height=144, width=176)
            sound = [frame for _, frame in clips.whole(whole)]
            packets = [tuple(map(int, entry[:2])) for entry in clips.known_of(whole, "packet=size,pos")]
            with open(whole, "rb") as file:
                data = file.read()
            hash_units = [data.find(b"\x50\x01\x84\x31", begin, begin + size + 16) for size, begin in packets]
            self.assertGreater(min(hash_units), 0)
            some = bytearray(data)
            for at in hash_units[1::2]:
                some[at] = 41 << 1  # a reserved kind of unit, which is ignored
            with open(path, "wb") as file:
                file.write(some)
            for step in (1, 2, 3):
                for first in (0, 5):
                    for file in (whole, path):
                        self.assertEqual(self.clip(file, first, (FRAMES - 1 - first) // step + 1, step), sound[first::step], (name, first, step))
            for turn in range(6 * ROUNDS):
                rng = random.Random(turn)
                size, begin = rng.choice(packets)
                damaged = bytearray(data)
                damaged[begin + rng.randrange(40, size)] ^= 1 << rng.randrange(8)
                with open(path, "wb") as file:
                    file.write(damaged)
                for i in range(FRAMES):
                    frame = self.clip(path, i, 1, 1)
                    bad += isinstance(frame, str)
                    if not isinstance(frame, str):
                        self.assertIn(frame[0], sound, (name, turn, i))
        self.assertGreater(bad, 12 * ROUNDS)

    def test_ends_of_pictures(self):
        """Of MPEG-4: what FFmpeg makes of bits behind one is up to the ends of pictures before it."""
        whole, path = os.path.join(self.folder, "ends.mkv"), os.path.join(self.folder, "bit-ends.mkv")
        clips.encode(whole, *starts.CODECS["xvid"], frames=FRAMES, height=144, width=176)
        keys = [entry for entry in clips.known_of(whole, "packet=pos,size,flags") if "K" in entry[2]]
        with open(whole, "rb") as file:
            data = file.read()
        for turn in (37, *range(8 * ROUNDS)):  # 37: a picture that ends early
            rng = random.Random(turn)
            size, begin = map(int, keys[1 + turn % 3][:2])
            damaged = bytearray(data)
            damaged[begin + rng.randrange(10, size)] ^= 1 << rng.randrange(8)
            with open(path, "wb") as file:
                file.write(damaged)
            given = [frame for _, frame in clips.whole(path)]
            for i in range(len(given)):
                frame = self.clip(path, i, 1, 1)
                if not isinstance(frame, str):
                    self.assertEqual(frame[0], given[i], (turn, i))
        # Where they are behind all pictures, they are a fault of the encoder, and no damage.
        subprocess.run([self.remux_program, whole, path, "junk=40"], check=True)
        self.assertEqual(self.clip(path, 0, FRAMES, 1), [frame for _, frame in clips.whole(whole)])

    def test_ends_of_pictures_of_h263(self):
        """Likewise, of all pictures."""
        bad = 0
        for name in ("h263.3gp", "h263.mkv", "h263p.avi", "flv1.flv"):
            whole, path = os.path.join(self.folder, "ends-" + name), os.path.join(self.folder, "bit-ends-" + name)
            clips.encode(whole, *starts.CODECS[name.split(".")[0]], frames=FRAMES, height=144, width=176)
            sound = [frame for _, frame in clips.whole(whole)]
            packets = clips.known_of(whole, "packet=pos,size,flags")
            with open(whole, "rb") as file:
                data = file.read()
            for turn in range(6 * ROUNDS):
                rng = random.Random(turn)
                size, begin = map(int, packets[6 + turn % 4][:2])  # near a key picture
                damaged = bytearray(data)
                damaged[begin + rng.randrange(12, size)] ^= 1 << rng.randrange(8)
                with open(path, "wb") as file:
                    file.write(damaged)
                given = [frame for _, frame in clips.whole(path)]
                if len(given) != len(sound):
                    continue
                with self.subTest(name=name, turn=turn):
                    for i in range(5, 13):
                        frame = self.clip(path, i, 1, 1)
                        bad += isinstance(frame, str)
                        if not isinstance(frame, str):
                            self.assertEqual(frame[0], given[i], (turn, i))
            if name == "h263p.avi":  # its slices have ends of their own
                continue
            # Where more follows all pictures, it is a fault of the encoder, and no damage.
            subprocess.run([self.remux_program, whole, path, "junk=40"], check=True)
            given = [frame for _, frame in clips.whole(path)]
            for i in range(FRAMES):
                self.assertEqual(self.clip(path, i, 1, 1), given[i:i + 1], (name, i))
        self.assertGreater(bad, 0)

    def test_what_decoders_keep_to_themselves(self):
        """Pictures that are lost between others, and damage of which FFmpeg's decoder only makes a report."""
        for name, change in (("h264.mp4", "drop"), ("h265.mkv", "drop"), ("h265-open.mp4", "drop"), ("fields.ts", "drop"),
                             ("mjpeg.avi", "flip"), ("ffv1-3.nut", "flip")):
            path, bad = os.path.join(self.folder, "kept-" + name), 0
            for seed in (5, 6, 7):
                subprocess.run([self.remux_program, os.path.join(self.folder, name), path, f"{change}={seed}"], check=True)
                with self.subTest(name=name, seed=seed):
                    bad += self.check_file(path, random.Random(seed))[1]
            self.assertGreater(bad, 0, name)

    def test_frames_without_times_keep_their_numbers(self):
        """One bit of a program stream: times that do not fit, or a picture that is concealed."""
        whole, path = os.path.join(self.folder, "mpeg2.mpg"), os.path.join(self.folder, "bit-mpeg2.mpg")
        with open(whole, "rb") as file:
            data = file.read()
        before = self.counted
        for turn in range(12 * ROUNDS):
            rng = random.Random(turn)
            damaged = bytearray(data)
            damaged[rng.randrange(300, len(data))] ^= 1 << rng.randrange(8)
            with open(path, "wb") as file:
                file.write(damaged)
            with self.subTest(turn=turn):
                self.check_file(path, rng)
        self.assertGreater(self.counted, before)

    def test_first_pictures_have_numbers(self):
        """Where FFmpeg's program has all frames, so have we, and at their places, whatever is wrong with the first one."""
        for name in ("h265.mkv", "mpeg4.mp4", "mpeg2.mp4"):
            whole, path = os.path.join(self.folder, name), os.path.join(self.folder, "first-" + name)
            if not os.path.exists(whole):
                subprocess.run([self.remux_program, os.path.join(self.folder, "mpeg2.nut"), whole], check=True)
            first = int(subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pos", "-of", "csv=p=0", whole],
                                       capture_output=True, text=True, check=True).stdout.split()[0].strip(","))
            with open(whole, "rb") as file:
                data = file.read()
            sound = [frame for _, frame in clips.whole(whole)]
            for turn in range(8 * ROUNDS):
                rng = random.Random(turn)
                damaged = bytearray(data)
                damaged[first + rng.randrange(8, 200)] ^= 1 << rng.randrange(8)
                with open(path, "wb") as file:
                    file.write(damaged)
                given = [frame for _, frame in clips.whole(path)]
                if len(given) != len(sound):
                    continue
                with self.subTest(name=name, turn=turn):
                    self.assertEqual(self.decoder.ask("index", path)[0], len(sound))
                    for i in (2, len(sound) // 2, len(sound) - 1):
                        frame = self.clip(path, i, 1, 1)
                        if not isinstance(frame, str):
                            self.assertIn(frame[0], (given[i], sound[i]), (path, i))

    def test_a_refresh_heals_what_was_damaged_before_it(self):
        """Not what is damaged while it goes on: behind damage that is seen, frames are undamaged or bad."""
        whole, path = os.path.join(self.folder, "h264-refresh.mp4"), os.path.join(self.folder, "bit-refresh.mp4")
        sound = [frame for _, frame in clips.whole(whole)]
        with open(whole, "rb") as file:
            data = file.read()
        healed = 0
        for turn in (57, *range(12 * ROUNDS)):  # 57: a picture vanishes, to which others refer
            rng = random.Random(turn)
            damaged = bytearray(data)
            damaged[rng.randrange(len(data) // 6, len(data) // 2)] ^= 1 << rng.randrange(8)  # of a picture
            with open(path, "wb") as file:
                file.write(damaged)
            frames = [self.clip(path, i, 1, 1) for i in range(self.decoder.ask("index", path)[0])]
            first = next((i for i, frame in enumerate(frames) if isinstance(frame, str)), len(frames))
            for i, frame in enumerate(frames[first:], first):
                if not isinstance(frame, str):
                    self.assertEqual(frame[0], sound[i], (turn, i))
                    healed += 1
        self.assertGreater(healed, 0)

    def test_tails(self):
        """A file that is cut off has as many frames as FFmpeg finds in it."""
        for name, share in itertools.product(("xvid.avi", "mjpeg.avi", "h264-open.ts", "mpeg2.ts", "mpeg1.mpg", "vp8.webm", "flv1.flv", "h264.flv"), (11, 12, 14, 17)):
            whole = os.path.join(self.folder, name)
            frames = [frame for _, frame in clips.whole(whole)]
            with open(whole, "rb") as file:
                data = file.read()
            path = os.path.join(self.folder, "cut-" + name)
            with open(path, "wb") as file:
                file.write(data[:len(data) * share // 20])
            with self.subTest(name, share=share):
                kept = [frame for _, frame in clips.whole(path)]
                count = self.decoder.ask("index", path)[0]
                self.assertGreater(count, 8)
                self.assertEqual(count, len(kept))
                good = self.clip(path, 0, count - 5, 1)
                self.assertEqual(good, frames[:count - 5])


if __name__ == "__main__":
    Damage.remux_program = os.path.abspath(sys.argv.pop())
    Damage.program = os.path.abspath(sys.argv.pop())
    unittest.main()
