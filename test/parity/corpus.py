# SPDX-License-Identifier: Apache-2.0
"""Files that nobody here wrote, beside FFmpeg, soundfile and Pillow: whole, and parts of each.

  corpus.py DECODE_SOUND DECODE_IMAGE [FOLDER...]

Without a folder: a few files that are made here, good and bad, so that this file is tried itself. Of folders of one's own every
picture and sound is compared, and what is refused here and read by a peer is listed; what has other values is an error.
What `gray` of a JPEG file is differs from Pillow's by definition (docs/media.md) and is not looked at.
"""
import collections
import os
import random
import subprocess
import sys
import tempfile
import warnings

import numpy
import soundfile
from PIL import Image

from sound import Decoder, tones

PARTS = 8
PICTURES = ("png", "pgm", "ppm", "pnm", "pbm", "jpg", "jpeg", "webp", "bmp")
SOUNDS = ("wav", "flac", "mp3", "mp2", "mp1", "ogg", "oga", "opus", "m4a", "aac", "mp4", "mka", "mkv", "webm", "aif", "aiff", "w64", "caf", "au", "3gp", "bit")
warnings.simplefilter("ignore")


def same(a, b):
    return a.shape == b.shape and numpy.array_equal(a, b, equal_nan=a.dtype.kind == "f")


class Pictures:
    """The program decode-image, running."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, path, top=0, left=0, height=0, width=0):
        self.process.stdin.write(f"rgb {top} {left} {height} {width} {path}\n".encode())
        self.process.stdin.flush()
        said, _, rest = self.process.stdout.readline().decode().rstrip("\n").partition(" ")
        if said != "ok":
            raise ValueError(rest)
        height, width = map(int, rest.split()[:2])
        return numpy.frombuffer(self.process.stdout.read(height * width * 3), "u1").reshape(height, width, 3)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait() == 0


def by_pillow(path):
    try:
        with Image.open(path) as picture:
            return [numpy.asarray(picture.convert("RGB"))]
    except Exception:  # whatever it is that it makes of damage
        return []


def by_libraries(path):
    """The samples as soundfile reads them, where the file is lossless, and as FFmpeg does."""
    found = []
    if path.lower().endswith((".wav", ".flac", ".aif", ".aiff", ".au", ".caf", ".w64")):
        try:
            found.append(soundfile.read(path, dtype="float32", always_2d=True)[0])
        except Exception:
            pass
    probe = ["ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "stream=channels", "-of", "csv=p=0", path]
    channels = subprocess.run(probe, capture_output=True, text=True).stdout.replace(",", " ").split()
    if channels and channels[0].isdigit() and int(channels[0]):
        raw = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-map", "0:a:0", "-f", "f32le", "-"], capture_output=True).stdout
        frame = 4 * int(channels[0])
        found.append(numpy.frombuffer(raw[:len(raw) // frame * frame], "<f4").reshape(-1, int(channels[0])))
    return [one for one in found if len(one)]


class Corpus:
    def __init__(self, sounds, pictures):
        self.sounds, self.pictures = Decoder(sounds), Pictures(pictures)
        self.counts = collections.Counter()
        self.wrong = 0

    def say(self, what, path, *more):
        self.counts[what] += 1
        print(f"{what}: {path}", *more, flush=True)

    def compare(self, path, kind, read, peers, part):
        """`read` gives all of a file, `peers` what others have of it, `part` a part and what it is of the whole."""
        try:
            whole = read()
        except ValueError as error:
            if peers(path):
                self.say(f"{kind} refused here alone", path, f"({error})")
            else:
                self.counts[f"{kind} refused by all"] += 1
            return
        theirs = peers(path)
        if not theirs:
            self.say(f"{kind} read here alone", path, whole.shape)
        elif any(same(whole, one) for one in theirs):
            self.counts[f"{kind} equal"] += 1
        else:
            self.wrong += 1
            self.say(f"{kind} DIFFERS", path, whole.shape, *(one.shape for one in theirs))
        rng = random.Random(path)
        for _ in range(PARTS if whole.size else 0):
            found, wanted = part(whole, rng)
            self.counts[f"parts of {kind}s"] += 1
            if not same(found, wanted):
                self.wrong += 1
                self.say(f"part of a {kind} DIFFERS", path)

    def sound(self, path):
        def read():
            _, channels, samples, _, _ = self.sounds.probe(path)
            return self.sounds.read(path, 0, samples, channels) if samples else numpy.empty((0, channels), "<f4")

        def part(whole, rng):
            low = rng.randrange(len(whole))
            high = min(len(whole), low + 1 + rng.randrange(20000))
            return self.sounds.read(path, low, high, whole.shape[1]), whole[low:high]
        self.compare(path, "sound", read, by_libraries, part)

    def picture(self, path):
        def part(whole, rng):
            top, left = rng.randrange(whole.shape[0]), rng.randrange(whole.shape[1])
            height, width = 1 + rng.randrange(whole.shape[0] - top), 1 + rng.randrange(whole.shape[1] - left)
            return self.pictures.read(path, top, left, height, width), whole[top:top + height, left:left + width]
        self.compare(path, "picture", lambda: self.pictures.read(path), by_pillow, part)

    def folder(self, root):
        for folder, _, names in sorted(os.walk(root)):
            for name in sorted(names):
                path, ending = os.path.join(folder, name), name.lower().rpartition(".")[2]
                if "\n" in path:
                    continue
                if ending in PICTURES:
                    self.picture(path)
                elif ending in SOUNDS:
                    self.sound(path)

    def close(self):
        self.sounds.close()
        self.pictures.close()
        print(", ".join(f"{what}: {count}" for what, count in sorted(self.counts.items())))


def made(folder):
    """Files of every answer that there is."""
    def path(name):
        return os.path.join(folder, name)
    soundfile.write(path("a.wav"), tones(30000, 2, 16000), 16000)
    soundfile.write(path("b.flac"), tones(30000, 1, 16000), 16000)
    for name, codec in (("c.wav", "adpcm_ms"), ("d.ogg", "libvorbis")):
        subprocess.run(["ffmpeg", "-v", "error", "-i", path("a.wav"), "-c:a", codec, path(name)], check=True)
    noise = numpy.random.default_rng(1).integers(0, 256, (40, 50, 3)).astype("u1")
    for name in ("e.png", "f.jpg", "g.webp", "h.bmp", "i.ppm"):
        Image.fromarray(noise).save(path(name))
    with open(path("a.wav"), "rb") as file:
        data = file.read()
    with open(path("j.wav"), "wb") as file:  # cut off
        file.write(data[:-1000])
    with open(path("k.png"), "wb") as file:
        file.write(b"no picture")


def main():
    corpus = Corpus(sys.argv[1], sys.argv[2])
    for root in sys.argv[3:]:
        corpus.folder(root)
    if len(sys.argv) == 3:
        with tempfile.TemporaryDirectory(prefix="penstock-corpus-") as folder:
            made(folder)
            corpus.folder(folder)
        expected = {"sound equal": 4, "picture equal": 5, "sound refused here alone": 1, "picture refused by all": 1,
                    "parts of sounds": 4 * PARTS, "parts of pictures": 5 * PARTS}
        assert corpus.counts == expected, corpus.counts
    corpus.close()
    return 1 if corpus.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
