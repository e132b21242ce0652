# SPDX-License-Identifier: Apache-2.0
"""Sound that FFmpeg decodes: whole files are FFmpeg's, any range is that of the whole, bit for bit.

PENSTOCK_SOUND_ALL=1: every container with every number of channels; else of each codec one file for each of either.
PENSTOCK_SOUND_RANGES: ranges per file, else 8. PENSTOCK_SOUND_DAMAGED: damaged files per codec, else 300.
"""
import os
import random
import resource
import subprocess
import sys
import unittest

import numpy
import soundfile

import clips
from sound import Decoder, SoundTest, tones

ALL = bool(os.environ.get("PENSTOCK_SOUND_ALL"))
DAMAGED = int(os.environ.get("PENSTOCK_SOUND_DAMAGED", 300))
MONO_STEREO = (1, 2)


def mp3(rate, kbit):
    return ["-c:a", "libmp3lame", "-ar", rate, "-b:a", f"{kbit}k"]


# Codec: (options, containers, channels). Of MP3: MPEG-1, 2 and 2.5 at the least and the largest rates of bits.
CODECS = {
    "mp3-8": (mp3(8000, 8), ["mp3"], MONO_STEREO),
    "mp3-24": (mp3(22050, 24), ["mp3"], (1,)),
    "mp3-128": (mp3(44100, 128), ["mp3", "mp4", "mkv", "avi", "ts"], MONO_STEREO),
    "mp3-320": (mp3(48000, 320), ["mp3"], (2,)),
    "mp3-vbr": (["-c:a", "libmp3lame", "-ar", 24000, "-q:a", 4], ["mp3"], MONO_STEREO),
    "mp3-free": (["-c:a", "libmp3lame", "-ar", 32000, "-b:a", "64k", "-reservoir", 0], ["mp3"], (2,)),
    "mp2": (["-c:a", "mp2", "-b:a", "128k"], ["mpg", "ts"], (2,)),
    "mp2-alone": (["-c:a", "mp2", "-b:a", "128k", "-muxdelay", 0], ["ts"], (1,)),  # MP3 in the tables of the stream
    "aac": (["-c:a", "aac", "-b:a", "96k", "-aac_pns", 0], ["aac", "mp4", "mkv", "flv", "ts"], (1, 2, 6)),
    "aac-noise": (["-c:a", "aac", "-b:a", "48k"], ["aac", "mp4"], (1, 2)),
    "vorbis": (["-c:a", "libvorbis", "-q:a", 4], ["ogg", "webm", "mkv"], (1, 2, 6)),
    "opus": (["-c:a", "libopus", "-b:a", "48k"], ["ogg", "webm", "mkv", "mp4", "caf"], (1, 2, 6)),
    "opus-speech": (["-c:a", "libopus", "-b:a", "12k", "-application", "voip", "-frame_duration", 60], ["ogg"], (1,)),
    "flac": (["-c:a", "flac", "-strict", -2], ["ogg", "mkv", "mp4"], (2,)),
    "wavpack": (["-c:a", "wavpack"], ["wv", "mkv"], (1, 2)),
    "alac": (["-c:a", "alac"], ["m4a", "caf"], (1, 2)),
    "ac3": (["-c:a", "ac3", "-b:a", "192k"], ["ac3", "mkv"], (2, 6)),
    "wma": (["-c:a", "wmav2", "-b:a", "64k"], ["asf"], (2,)),
    "pcm": (["-c:a", "pcm_s24be"], ["aiff", "mov", "caf"], (1, 2)),
    "adpcm": (["-c:a", "adpcm_ima_qt"], ["mov"], (1, 2)),
    "adpcm-ms": (["-c:a", "adpcm_ms"], ["wav"], (1, 2)),
    "adpcm-ima": (["-c:a", "adpcm_ima_wav"], ["wav"], (2,)),
    "mp3-wav": (mp3(44100, 96), ["wav"], (2,)),
}
BITS = {"flac": 16, "alac": 16, "wavpack": 16, "pcm": 24}
# Whose decoders compute in integers.
EXACT = {*BITS, "adpcm", "mp2", "mp2-alone"}
# Packets that do not lie in the file in one piece each (nor do WavPack's in Matroska, which leaves out their heads); decoders whose state may reach back further than is known: AC-3's
# has random numbers, Opus' comes near to what it was, and most often to the bit.
SCATTERED, LONG_STATES = ("ts", "mpg"), ("ac3", "adpcm", "mp2", "mp2-alone", "opus")
FORMATS = {"ts": "mpegts", "mpg": "mpeg", "aac": "adts", "mkv": "matroska", "m4a": "ipod", "caf": "caf"}


def run(*words, level="error"):
    subprocess.run(["ffmpeg", "-loglevel", level, "-y", *map(str, words)], check=True)


class Packets(SoundTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for channels in (1, 2, 6):
            soundfile.write(os.path.join(cls.folder, f"{channels}.wav"), tones(100000, channels, 48000, channels), 48000)

    def make(self, codec, container, channels, *more):
        path = self.path(f"{codec}-{channels}.{container}")
        run("-i", self.path(f"{channels}.wav"), *more, *CODECS[codec][0], "-f", FORMATS.get(container, container), path)
        return path

    def whole(self, path):
        """FFmpeg's own output, f32."""
        raw = self.path("raw")
        run("-i", path, "-map", "0:a:0", "-f", "f32le", "-c:a", "pcm_f32le", raw, level="quiet")  # it may be damaged
        return numpy.fromfile(raw, "<f4")

    def as_decoded(self, codec, path, whole):
        """The samples as the program's FFmpeg decodes the file; `whole` is f32 [t, c] of the command's."""
        if not clips.OTHER or codec in EXACT:
            return whole
        decoder = Decoder(self.program)
        self.addCleanup(decoder.close)
        decoder.probe(path)
        found = decoder.read(path, 0, *whole.shape)
        numpy.testing.assert_allclose(found, whole, rtol=0, atol=1e-5)
        return found

    def test_every_codec_in_every_container(self):
        files = []
        for codec, (_, containers, counts) in CODECS.items():
            for i, container in enumerate(containers):
                for k, channels in enumerate(counts):
                    if (container not in ("flv", "avi") or channels <= 2) and (ALL or i == 0 or k == i % len(counts)):
                        files.append((codec, container, channels, self.path(f"{codec}-{channels}.{container}")))
        # FFmpeg takes longer to start than for any of them.
        for channels in (1, 2, 6):
            outputs = [["-map", "0:a:0", *CODECS[codec][0], "-f", FORMATS.get(container, container), path]
                       for codec, container, count, path in files if count == channels]
            run("-i", self.path(f"{channels}.wav"), *sum(outputs, []))
        for i in range(0, len(files), 10):
            run(*sum((["-i", path] for *_, path in files[i:i + 10]), []),
                *sum((["-map", f"{k}:a:0", "-f", "f32le", "-c:a", "pcm_f32le", path + ".raw"] for k, (*_, path) in enumerate(files[i:i + 10])), []))
        for codec, container, channels, path in files:
            with self.subTest(codec=codec, container=container, channels=channels):
                facts = self.decoder.probe(path)
                whole = numpy.fromfile(path + ".raw", "<f4").reshape(-1, facts[1])
                self.assertEqual(facts[2:], (len(whole), BITS.get(codec, 0), container not in SCATTERED and (codec, container) != ("wavpack", "mkv")))
                whole = self.as_decoded(codec, path, whole)
                found = self.decoder.read(path, 0, len(whole), facts[1])
                numpy.testing.assert_array_equal(found.view("<u4"), whole.view("<u4"))
                self.check_ranges(path, whole, codec in LONG_STATES)

    def test_raw_samples_that_end_behind_no_frame(self):
        """AIFF evens its chunks out by a byte, and files are cut anywhere: whole frames are the sound, as soundfile and FFmpeg have it."""
        rng = numpy.random.default_rng(4)
        kinds = [("AIFF", "aiff", kind, frames, channels) for kind in ("PCM_24", "PCM_S8", "PCM_16") for frames in (1, 341, 4097) for channels in (1, 3)]
        kinds += [(form, form.lower(), kind, 1001, 2) for form in ("AU", "CAF") for kind in ("PCM_24", "PCM_16")]
        for form, ending, kind, frames, channels in kinds:
            path = self.path(f"{kind}-{frames}-{channels}.{ending}")
            soundfile.write(path, rng.uniform(-1, 1, (frames, channels)), 8000, subtype=kind, format=form)
            with self.subTest(path=os.path.basename(path)):
                expected = soundfile.read(path, dtype="float32", always_2d=True)[0]
                if kind == "PCM_S8":  # FFmpeg takes the byte for a frame where it is one
                    expected = self.whole(path).reshape(-1, channels)
                    frames = len(expected)
                numpy.testing.assert_array_equal(self.decoder.read(path, *self.extent(path, frames, channels)), expected)
            if frames < 1000:
                continue
            with open(path, "rb") as file:
                data = file.read()
            for cut in (1, 2, 3, 5, 700):
                short = self.path(f"cut-{cut}-{os.path.basename(path)}")
                with open(short, "wb") as file:
                    file.write(data[:-cut])
                with self.subTest(path=os.path.basename(short)):
                    whole = self.whole(short).reshape(-1, channels)
                    self.assertGreater(len(whole), 700)
                    numpy.testing.assert_array_equal(self.decoder.read(short, *self.extent(short, len(whole), channels)), whole)

    def extent(self, path, frames, channels):
        self.assertEqual(self.decoder.probe(path)[1:3], (channels, frames))
        return 0, frames, channels

    def test_minutes_cost_no_more_than_a_second(self):
        """Packets and bytes that a second near the end takes, once the file is known."""
        rate = 16000
        long = self.path("long.wav")
        soundfile.write(long, numpy.tile(tones(20 * rate, 1, rate), (9, 1)), rate)
        for codec, container, most in (("mp3-128", "mp3", 60), ("aac", "m4a", 60), ("vorbis", "ogg", 80), ("opus", "ogg", 110)):
            with self.subTest(codec):
                path = self.path(f"long-{codec}.{container}")
                run("-i", long, *CODECS[codec][0], "-f", FORMATS.get(container, container), path)
                facts = self.decoder.probe(path)
                low = facts[2] - 5 * facts[0]
                self.decoder.read(path, low, low + facts[0], 1)
                self.assertLess(self.decoder.packets, most)
                self.assertLess(self.decoder.read_bytes, 150_000)
                self.assertEqual(self.decoder.restarts, 0)

    def test_noise_that_decoders_make_up_is_that_of_the_whole(self):
        """AC-3 and AAC fill bands with noise from a generator that runs from the file's beginning on. The state of AAC's is known."""
        for codec, container, channels in (("ac3", "ac3", 6), ("aac-noise", "aac", 2)):
            path = self.make(codec, container, channels)
            whole = self.as_decoded(codec, path, self.whole(path).reshape(-1, channels))
            self.decoder.probe(path)
            for low in (90000, 50000, 95000):
                found = self.decoder.read(path, low, low + 1000, channels)
                numpy.testing.assert_array_equal(found.view("<u4"), whole[low:low + 1000].view("<u4"))
                if low == 90000:  # then it is known that there is no other way
                    self.assertEqual(self.decoder.restarts > 0, codec == "ac3")

    def test_where_encoders_begin_and_end_is_soundfiles(self):
        """Delay and padding, as the container says: the same number of samples, at the same places. The decoders are
        others, so that the values are about the same."""
        CODECS["opus-128"] = (["-c:a", "libopus", "-b:a", "128k"], ["ogg"], (2,))  # at fewer bits FFmpeg's lies two samples apart
        for codec, container in (("mp3-128", "mp3"), ("vorbis", "ogg"), ("opus-128", "ogg")):
            with self.subTest(codec):
                path = self.make(codec, container, 2)
                theirs = soundfile.read(path, dtype="float32", always_2d=True)[0]
                facts = self.decoder.probe(path)
                self.assertEqual((facts[1], facts[2]), theirs.shape[::-1])
                numpy.testing.assert_allclose(self.decoder.read(path, 0, facts[2], 2), theirs, atol=0.02 if codec == "opus-128" else 1e-5)

    def damaged(self, data, rng):
        """The file with a little of it turned, lost, doubled or cut off."""
        data = bytearray(data)
        how = rng.choice(("bits", "bits", "head", "drop", "zeros", "twice", "cut"))
        at = rng.randrange(len(data))
        if how in ("bits", "head"):
            for _ in range(rng.randint(1, 8)):
                data[rng.randrange(min(len(data), 400) if how == "head" else len(data))] ^= 1 << rng.randrange(8)
        elif how == "drop":
            del data[at:at + rng.choice((1, 20, 500))]
        elif how == "zeros":
            data[at:at + 50] = bytes(len(data[at:at + 50]))
        elif how == "twice":
            data[at:at] = data[at:at + 300]
        else:
            del data[at:]
        return bytes(data)

    def answer(self, path, low, high, channels):
        """Samples, or why there are none."""
        try:
            return self.decoder.read(path, low, high, channels)
        except ValueError as error:
            self.assertTrue(str(error))
            return None

    def test_damage_that_reads_on(self):
        """A decoder may look at the bytes behind a damaged packet: they are those that FFmpeg's program has there."""
        with open(self.make("mp2", "wav", 1), "rb") as file:
            whole = file.read()
        begin = whole.index(b"data") + 8
        for at in range(begin + 4, begin + 60, 2):
            path = self.path("reads-on.wav")
            with open(path, "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1:])
            with self.subTest(at=at - begin):
                _, channels, samples, _, _ = self.decoder.probe(path)
                theirs = self.whole(path).reshape(-1, channels)
                numpy.testing.assert_array_equal(self.decoder.read(path, 3000, samples, channels).view("<u4"), theirs[3000:].view("<u4"))

    def test_damage(self):
        """No file ends the reader, and what comes of one is the same for every range that has it."""
        soundfile.write(self.path("1.wav"), tones(30000, 1, 48000), 48000)
        for codec, container in (("mp3-24", "mp3"), ("aac", "aac"), ("aac", "m4a"), ("vorbis", "ogg"), ("opus", "webm"), ("opus", "ogg"),
                                 ("flac", "mkv"), ("wavpack", "wv"), ("alac", "m4a"), ("mp2", "wav")):
            with open(self.make(codec, container, 1), "rb") as file:
                whole = file.read()
            rng, bad = random.Random(codec), 0
            for turn in range(DAMAGED):
                path = self.path(f"damaged{turn}")
                with open(path, "wb") as file:
                    file.write(self.damaged(whole, rng))
                with self.subTest(codec=codec, container=container, turn=turn):
                    try:
                        _, channels, samples, _, _ = self.decoder.probe(path)
                    except ValueError as error:
                        self.assertTrue(str(error))
                        bad += 1
                        continue
                    all = self.answer(path, 0, samples, channels)
                    bad += all is None
                    theirs = self.whole(path).reshape(-1, channels) if turn % 6 == 0 and not clips.OTHER else None
                    low = rng.randrange(samples)
                    high = low + 1 + rng.randrange(min(3000, samples - low))
                    part, half = self.answer(path, low, high, channels), self.answer(path, (low + high) // 2, high, channels)
                    if all is not None:
                        self.assertIsNotNone(part)
                        numpy.testing.assert_array_equal(part.view("<u4"), all[low:high].view("<u4"))
                    if theirs is not None:  # bad packets have the samples that FFmpeg's program gives for them
                        self.assertEqual(len(theirs), samples)
                        for first, ours in ((0, all), (low, part), ((low + high) // 2, half)):
                            if ours is not None:
                                numpy.testing.assert_array_equal(ours.view("<u4"), theirs[first:first + len(ours)].view("<u4"))
                    if part is not None:
                        self.assertIsNotNone(half)
                        numpy.testing.assert_array_equal(half.view("<u4"), part[(low + high) // 2 - low:].view("<u4"))
                os.remove(path)
            self.assertGreater(bad, DAMAGED // 100 if codec not in ("mp3-24", "mp2", "mp2-alone") else -1)  # MPEG has no checksums, and finds its way
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 1 << 21)  # KiB


if __name__ == "__main__":
    SoundTest.program = os.path.abspath(sys.argv.pop())
    unittest.main()
