# SPDX-License-Identifier: Apache-2.0
"""Sound that FFmpeg decodes, through the tool: slices, kept indexes, what is read, bad files."""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

import numpy
import soundfile

from pipelines import LanguageTest
from support import EXAMPLES, ROOT, main

sys.path.insert(0, os.path.join(ROOT, "test", "parity"))
from sound import tones  # noqa: E402

KINDS = {"a.mp3": ["-c:a", "libmp3lame"], "b.m4a": ["-c:a", "aac"], "c.ogg": ["-c:a", "libvorbis"], "d.opus": ["-c:a", "libopus"],
         "e.flac.ogg": ["-c:a", "flac"],
         "f.mp4": ["-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=12", "-map", 0, "-map", 1, "-c:a", "aac", "-c:v", "mpeg4"],
         "g.ts": ["-c:a", "libmp3lame"], "h.wav": ["-c:a", "pcm_s16le"]}
SECONDS, RATE = 12, 16000


class Sound(LanguageTest):
    text = """pipeline test(PARAMETERS) with on_error = substitute(90%), seed = 5 {
  for row in SOURCE order sequential
  let sound = row.data |> decode(mono)
  let facts = probe(row.data, wave)
  let at = draw int(0 ..= extent(sound, t) - 4000)
  batch 1 per rank last drop {
    output y: f32[n, t] = sound[t = at .. at + 4000]
    output at: i64[n] = at
    output facts: i64[n, k] = stack([facts.rate, facts.channels, facts.samples, facts.bits], k)
  }
}"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sounds = tempfile.mkdtemp(prefix="penstock-sounds-")
        cls.addClassCleanup(shutil.rmtree, cls.sounds)
        plain = os.path.join(cls.sounds, "plain.wav")
        soundfile.write(plain, tones(SECONDS * RATE, 2, RATE), RATE)
        for name, options in KINDS.items():
            path = os.path.join(cls.sounds, name)
            cls.ffmpeg("-i", plain, *options, path)
            os.utime(path, (1e9, 1e9))  # of what changed just now no index is kept

    def setUp(self):
        super().setUp()
        shutil.copytree(self.sounds, self.data)
        self.list = os.path.join(self.folder, "list.txt")
        self.put(KINDS)

    def put(self, names):
        with open(self.list, "w") as file:
            file.writelines(name + "\n" for name in names)

    @staticmethod
    def ffmpeg(*words):
        subprocess.run(["ffmpeg", "-loglevel", "error", "-y", *map(str, words)], check=True)

    def of_files(self):
        text = self.text.replace("PARAMETERS", "list: path, root: path").replace("SOURCE", "file_list(list, root)")
        return text, ["--set", f"list={self.list}", "--set", f"root={self.data}"]

    def wholes(self):
        """FFmpeg's own output, the mean of its channels."""
        for name in KINDS:
            raw = os.path.join(self.folder, "raw")
            self.ffmpeg("-i", os.path.join(self.data, name), "-map", "0:a:0", "-f", "f32le", "-c:a", "pcm_f32le", raw)
            both = numpy.fromfile(raw, "<f4").reshape(-1, 2)
            yield (both[:, 0] + both[:, 1]) / numpy.float32(2)

    def check(self, text, given):
        for i, whole in enumerate(self.wholes()):
            found = self.sample(text, i, *given)
            at = int(found["at"])
            numpy.testing.assert_array_equal(found["y"].ravel().view("<u4"), whole[at:at + 4000].view("<u4"), f"file {i}")
            rate, channels, samples, bits = found["facts"].ravel().tolist()
            self.assertEqual((rate, channels, samples), (48000 if i == 3 else RATE, 2, len(whole)))
            self.assertEqual(bits, 16 if i in (4, 7) else 0)

    def test_slices_of_files(self):
        self.check(*self.of_files())

    def test_slices_of_members_of_tar_files(self):
        shards = os.path.join(self.folder, "shards")
        os.makedirs(shards)
        with tarfile.open(os.path.join(shards, "a.tar"), "w") as archive:
            for i, name in enumerate(KINDS):
                archive.add(os.path.join(self.data, name), f"{i}.bin")
        self.check(self.text.replace("PARAMETERS", "root: path").replace("SOURCE", 'tar_shards(root, data = column("bin", bytes))'),
                   ["--set", f"root={shards}"])

    def test_indexes_are_kept_and_little_is_read(self):
        text, given = self.of_files()
        self.put(["a.mp3", "b.m4a", "c.ogg"])
        path = self.write(text)
        kept = lambda: {file for folder, _, files in os.walk(self.shared_cache) if "/sounds/" in folder for file in files}
        before = kept()
        first = json.loads(self.run_tool("run", path, "--json", *given).stdout)
        self.assertLess(first["fetched_bytes"], 3 * 30000)
        self.assertEqual(len(kept() - before), 3)
        # They say where packets lie, so that another run reads the same and decodes nothing else.
        again = json.loads(self.run_tool("run", path, "--json", *given).stdout)
        self.assertEqual(again["fetched_bytes"], first["fetched_bytes"])
        # A file that was changed is another one.
        self.ffmpeg("-i", os.path.join(self.data, "c.ogg"), "-t", 5, "-c", "copy", os.path.join(self.data, "a.ogg"))
        os.replace(os.path.join(self.data, "a.ogg"), os.path.join(self.data, "c.ogg"))
        found = self.sample(text, 2, *given)
        self.assertLess(found["facts"].ravel()[2], 6 * RATE)

    def test_bad_files_say_why(self):
        with open(os.path.join(self.data, "text.mp3"), "w") as file:
            file.write("no sound at all " * 500)
        open(os.path.join(self.data, "empty.mp3"), "w").close()
        self.ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:d=1", os.path.join(self.data, "silent.mp4"))
        self.ffmpeg("-f", "lavfi", "-i", "sine=d=1", os.path.join(self.data, "true.tta"))
        self.put([*KINDS, "text.mp3", "empty.mp3", "silent.mp4", "true.tta"])
        text, given = self.of_files()
        said = self.run_tool("run", self.write(text), *given).stderr
        self.assertIn("text.mp3: no sound file of a format that is read, or damaged: Invalid data found when processing input", said)
        self.assertIn("empty.mp3: not a sound file: it is empty", said)
        self.assertIn("silent.mp4: the file has no sound", said)
        self.assertIn("true.tta: no sound file of a format that is read, or damaged: it is of the format `tta`", said)
        for line in said.splitlines():  # and nothing of FFmpeg's beside
            self.assertRegex(line, "^bad (?:sample|substitute): epoch 0, position |^[0-9]+ bad samples, ")

    def test_without_the_module(self):
        """WAV and FLAC do not need it; of others it is told what to do."""
        os.environ["PENSTOCK_VIDEO_MODULE"] = "/nowhere/x.so"
        self.addCleanup(os.environ.pop, "PENSTOCK_VIDEO_MODULE")
        self.put(["h.wav"] * 9 + ["a.mp3"])
        text, given = self.of_files()
        said = self.run_tool("run", self.write(text), *given).stderr
        self.assertIn("a.mp3: videos, and sound that is neither WAV nor FLAC, are decoded by libpenstock_video.so", said)
        self.assertIn("install libavformat-dev, libavcodec-dev and libavutil-dev", said)

    def test_the_example(self):
        example = os.path.join(EXAMPLES, "speech.pipe")
        self.put([name for name in KINDS if name != "d.opus"])
        given = self.of_files()[1]
        ran = self.run_json("run", example, *given, "--set", "per_rank=7")
        self.assertEqual((ran["samples"], ran["bad_samples"]), (7, []))


if __name__ == "__main__":
    main()
