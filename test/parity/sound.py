# SPDX-License-Identifier: Apache-2.0
"""Any range of a sound is that of soundfile and of FFmpeg, bit for bit, and little is read for it.

PENSTOCK_SOUND_RANGES: ranges per file, else 8.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy
import soundfile

RANGES = int(os.environ.get("PENSTOCK_SOUND_RANGES", 8))


class Decoder:
    """The program decode-sound, running."""

    def __init__(self, program):
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said)

    def ask(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()
        said, _, rest = self.process.stdout.readline().decode().strip().partition(" ")
        if said != "ok":
            raise ValueError(rest)
        return [int(word) for word in rest.split()]

    def probe(self, path):
        """(rate, channels, samples, bits, whether it is read in parts)"""
        return tuple(self.ask("probe", path))

    def read(self, path, low, high, channels, form="channels"):
        size, self.read_bytes, self.late, self.packets, self.restarts = self.ask(form, low, high, path)
        data = b""
        while len(data) < size:
            data += self.process.stdout.read(size - len(data))
        values = numpy.frombuffer(data, "<f4")
        return values.reshape(-1, channels) if form == "channels" else values

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        code = self.process.wait()
        self.said.seek(0)
        said = self.said.read().decode(errors="replace")
        self.said.close()
        assert code == 0, said  # a sanitizer's findings show here
        assert not said, said  # FFmpeg's reports would stand between the user's lines


def tones(samples, channels, rate, seed=1):
    """Sound that codecs find neither simple nor hard: sweeps, noise that comes and goes, silence. f64 [t, c]"""
    rng = numpy.random.default_rng(seed)
    t = numpy.arange(samples)[:, None] / rate
    sweep = 0.4 * numpy.sin(2 * numpy.pi * (200 + 100 * numpy.arange(channels)) * t * (1 + t))
    noise = rng.normal(0, 0.1, (samples, channels)) * (numpy.sin(7 * t) > 0)
    return numpy.clip((sweep + noise) * (numpy.sin(3 * t + 1) > -0.9), -1, 1)


class SoundTest(unittest.TestCase):
    program = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="penstock-sound-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.decoder = Decoder(cls.program)
        cls.addClassCleanup(cls.decoder.close)

    def path(self, name):
        return os.path.join(self.folder, name)

    def check_ranges(self, path, whole, restarts=False):
        """Random ranges beside what the whole file has; f32 [t, c]. `restarts`: whether decoding may begin anew."""
        rng = random.Random(path.rpartition("/")[2])
        samples, channels = whole.shape
        mono = whole[:, 0].copy()
        for c in range(1, channels):
            mono += whole[:, c]
        mono /= numpy.float32(channels)
        for turn in range(RANGES):
            low = rng.randrange(samples)
            high = rng.choice((low + 1, min(samples, low + 1 + rng.randrange(3000)), rng.randrange(low, samples) + 1, samples))
            form = "mono" if turn % 3 == 2 else "channels"
            found = self.decoder.read(path, low, high, channels, form)
            wanted = (mono if form == "mono" else whole)[low:high]
            numpy.testing.assert_array_equal(found.view("<u4"), wanted.view("<u4"), f"{path} {form} {low} {high}")
            if not restarts:
                self.assertEqual((self.decoder.late, self.decoder.restarts), (0, 0), (path, low, high))


class Lossless(SoundTest):
    """soundfile (libsndfile) is the peer."""

    def check(self, name, subtype, channels, rate=16000, samples=30000, bits=None):
        path = self.path(name)
        soundfile.write(path, tones(samples, channels, rate), rate, subtype)
        whole = soundfile.read(path, dtype="float32", always_2d=True)[0]
        info = soundfile.info(path)
        self.assertEqual(self.decoder.probe(path)[:3], (info.samplerate, info.channels, info.frames))
        numpy.testing.assert_array_equal(self.decoder.read(path, 0, samples, channels), whole, path)
        self.check_ranges(path, whole)
        if bits:  # exactly the integers that soundfile gives
            self.assertEqual(self.decoder.probe(path)[3], bits)
            integers = soundfile.read(path, dtype="int32", always_2d=True)[0] >> 32 - bits
            scaled = self.decoder.read(path, 0, samples, channels).astype("f8") * (1 << bits - 1)
            if bits <= 24:  # as many as f32 has
                numpy.testing.assert_array_equal(scaled, integers, path)

    def test_wav(self):
        for subtype, bits in (("PCM_U8", 8), ("PCM_16", 16), ("PCM_24", 24), ("PCM_32", 32), ("FLOAT", None), ("DOUBLE", None),
                              ("ALAW", None), ("ULAW", None)):
            for channels, kind in ((1, "wav"), (2, "wav"), (6, "rf64")):
                with self.subTest(subtype=subtype, channels=channels):
                    self.check(f"{subtype}-{channels}.{kind}", subtype, channels, bits=bits)

    def test_flac(self):
        for subtype, bits in (("PCM_S8", 8), ("PCM_16", 16), ("PCM_24", 24)):
            for channels in (1, 2, 3, 8):
                with self.subTest(subtype=subtype, channels=channels):
                    self.check(f"{subtype}-{channels}.flac", subtype, channels, rate=44100 if channels == 2 else 8000, bits=bits)

    def test_flac_of_ffmpeg(self):
        """Another encoder, whose blocks have other lengths."""
        for level, more in ((0, []), (5, ["-frame_size", "1000"]), (12, ["-lpc_type", "cholesky", "-exact_rice_parameters", "1"])):
            with self.subTest(level):
                path, plain = self.path(f"{level}.flac"), self.path("plain.wav")
                soundfile.write(plain, tones(50000, 2, 44100, level), 44100)
                subprocess.run(["ffmpeg", "-loglevel", "error", "-y", "-i", plain, "-compression_level", str(level), *more, path], check=True)
                whole = soundfile.read(path, dtype="float32", always_2d=True)[0]
                self.assertEqual(len(whole), 50000)
                self.check_ranges(path, whole)

    def test_little_is_read_of_a_long_file(self):
        """Half an hour: a second costs what it takes, and what finds it."""
        rate, samples = 16000, 30 * 60 * 16000
        sound = tones(samples, 1, rate)
        for name, most in (("long.wav", 2 * rate + 40000), ("long.flac", 400000)):
            path = self.path(name)
            soundfile.write(path, sound, rate, "PCM_16")
            self.assertGreater(os.path.getsize(path), 15_000_000)
            whole = soundfile.read(path, dtype="float32", always_2d=True)[0]
            for low in (0, 1, 12_345_678, samples - rate):
                numpy.testing.assert_array_equal(self.decoder.read(path, low, low + rate, 1), whole[low:low + rate])
                self.assertLess(self.decoder.read_bytes, most, (name, low))
                self.assertEqual(self.decoder.late, 0, (name, low))


if __name__ == "__main__":
    SoundTest.program = os.path.abspath(sys.argv.pop())
    unittest.main()
