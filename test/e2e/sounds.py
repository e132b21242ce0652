# SPDX-License-Identifier: Apache-2.0
"""Tables of sounds through the tool: class folders, manifests whose rows are parts of recordings, tar files, and tables
that rows are picked from."""
import json
import math
import os
import struct
import tarfile

import numpy
import soundfile
from PIL import Image

from pipelines import LanguageTest
from support import EXAMPLES, main, read_hashes

RATE = 16000


def wave(seed, seconds):
    return numpy.random.default_rng(seed).integers(-9000, 9000, int(seconds * RATE)).astype(numpy.int16)


class Sounds(LanguageTest):
    def put(self, name, samples, rate=RATE):
        path = os.path.join(self.data, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        soundfile.write(path, samples, rate)
        return path

    def lines(self, name, rows):
        path = os.path.join(self.data, name)
        with open(path, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        return path

    def given(self, **settings):
        return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


class Folders(Sounds):
    TEXT = """pipeline p(root: path) with on_error = substitute(50%) {
  for row in audio_folder(root) order sequential
  batch 1 per rank last keep {
    output wave: f32[n, t] = decode(row.data, mono)[t = 0 .. 100]
    output label: i64[n] = row.label
  }
}"""

    def test_codecs_that_have_no_name(self):
        """What the file calls them is all that can be said."""
        wave = struct.pack("<HHIIHH", 3, 1, RATE, 2 * RATE, 2, 16)  # floats of 16 bits
        files = {"1.wav": (b"WAVEfmt " + struct.pack("<I", len(wave)) + wave + b"data" + struct.pack("<I", 400) + bytes(400),
                           "tag 0x0003 of 16 bits")}
        files["2.wav"] = (files["1.wav"][0].replace(wave, struct.pack("<HHIIHH", 0x7ABC, 1, RATE, RATE, 1, 8)),
                          "tag 0x7ABC of 8 bits")
        os.makedirs(os.path.join(self.data, "no"))
        for name, (data, _) in files.items():
            with open(os.path.join(self.data, "no", name), "wb") as file:
                file.write(b"RIFF" + struct.pack("<I", len(data)) + data)
        said = self.run_tool("run", self.write(self.TEXT), *self.given(root=self.data), expect=1).stderr
        if "penstock_video" in said:
            self.skipTest("without FFmpeg")
        for name, (_, what) in files.items():
            self.assertIn(f"{name}: this FFmpeg has no decoder for {what}\n", said)

    def test_rows_are_those_of_class_folders(self):
        waves = {"no/1.flac": wave(1, .1), "no/deep/2.wav": wave(2, .1), "yes/3.WAV": wave(3, .1)}
        for name, samples in waves.items():
            self.put(name, samples)
        for name in ("readme.wav", "no/words.txt", "yes/cover.jpg"):
            open(os.path.join(self.data, name), "w").close()
        for i, (name, samples) in enumerate(waves.items()):
            found = self.sample(self.TEXT, i, *self.given(root=self.data))
            numpy.testing.assert_array_equal(found["wave"].ravel(), samples[:100] / numpy.float32(32768))
            self.assertEqual(int(found["label"]), int(name.startswith("yes")))
        ran = self.run_json("run", self.write(self.TEXT), *self.given(root=self.data))
        self.assertEqual((ran["samples"], ran["bad_samples"]), (3, []))

    def test_bad_files_are_rows_and_links_keep_to_the_roots(self):
        self.put("no/1.wav", wave(1, .1))
        self.put("yes/2.wav", wave(2, .1))
        with open(os.path.join(self.data, "yes", "3.wav"), "w") as file:
            file.write("no sound")
        ran = self.run_json("run", self.write(self.TEXT), *self.given(root=self.data))
        self.assertEqual([(bad["row"], bad["name"]) for bad in ran["bad_samples"]], [(2, "yes/3.wav")])
        outside = os.path.join(self.folder, "outside.wav")
        soundfile.write(outside, wave(4, .1), RATE)
        os.symlink(outside, os.path.join(self.data, "no", "4.wav"))
        said = self.run_tool("run", self.write(self.TEXT), *self.given(root=self.data), expect=1).stderr
        self.assertIn("no/4.wav", said)
        ran = self.run_json("run", self.write(self.TEXT), *self.given(root=self.data), "--allow", self.folder)
        self.assertEqual(ran["samples"], 4)

    def test_no_sounds(self):
        os.makedirs(os.path.join(self.data, "yes"))
        said = self.run_tool("run", self.write(self.TEXT), *self.given(root=self.data), expect=1).stderr
        self.assertIn("has no sounds in its", said)
        self.assertIn(".wav, .flac, .mp3", said)


class Manifests(Sounds):
    TEXT = """pipeline p(manifest: path) with on_error = substitute(50%) {
  for row in SOURCE order sequential
  let first = i64(row.offset * 16000.0)
  batch 1 per rank last keep {
    output wave: f32[n, t <= 32000] ragged = decode(row.audio, mono)[t = first .. first + i64(row.duration * 16000.0)]
  }
}"""
    JSON = 'json_lines(manifest, audio = column("audio_filepath", bytes), offset = f64, duration = f64)'
    CSV = 'csv(manifest, audio = column("file", bytes), offset = f64, duration = f64)'

    def setUp(self):
        super().setUp()
        self.long = wave(7, 20)
        self.put("audio/long.wav", self.long)
        self.put("audio/long.flac", self.long)
        self.rows = [{"audio_filepath": "audio/long.wav", "offset": 3.5, "duration": 0.25, "text": "one two"},
                     {"audio_filepath": os.path.join(self.data, "audio/long.flac"), "offset": 19.0, "duration": 1.0, "text": ""},
                     {"audio_filepath": "audio/long.flac", "offset": 0, "duration": 0.125, "text": "three"}]

    def check(self, text, manifest):
        for i, row in enumerate(self.rows):
            found = self.sample(text, i, *self.given(manifest=manifest))["wave"].ravel()
            first = int(row["offset"] * RATE)
            wanted = self.long[first:first + int(row["duration"] * RATE)] / numpy.float32(32768)
            numpy.testing.assert_array_equal(found, wanted)

    def test_json_lines_of_parts_of_recordings(self):
        text = self.TEXT.replace("SOURCE", self.JSON)
        manifest = self.lines("train.json", self.rows)
        self.check(text, manifest)
        ran = self.run_json("run", self.write(text), *self.given(manifest=manifest))
        # 640,000 bytes of the one and most of the other are not read.
        self.assertLess(ran["fetched_bytes"], 250_000)

    def test_csv_of_the_same(self):
        manifest = os.path.join(self.data, "train.csv")
        with open(manifest, "w") as file:
            file.write("file,offset,duration\n")
            file.writelines(f"{row['audio_filepath']},{row['offset']},{row['duration']}\n" for row in self.rows)
        self.check(self.TEXT.replace("SOURCE", self.CSV), manifest)

    def test_what_lies_outside_is_a_bad_sample(self):
        outside = os.path.join(self.folder, "outside.wav")
        soundfile.write(outside, self.long, RATE)
        rows = self.rows + [{"audio_filepath": "../outside.wav", "offset": 0, "duration": 1},
                            {"audio_filepath": outside, "offset": 0, "duration": 1},
                            {"audio_filepath": "audio/long.wav", "offset": 19.5, "duration": 1}]
        path, manifest = self.write(self.TEXT.replace("SOURCE", self.JSON)), self.lines("train.json", rows)
        ran = self.run_json("run", path, *self.given(manifest=manifest))
        reasons = {bad["row"]: bad["reason"] for bad in ran["bad_samples"]}
        self.assertEqual(sorted(reasons), [3, 4, 5])
        self.assertIn("file ../outside.wav lies outside of " + self.data, reasons[3])
        self.assertIn(outside, reasons[4])
        # A folder that the caller opens may be named with its whole path, and with `..` it may not.
        ran = self.run_json("run", path, *self.given(manifest=manifest), "--allow", self.folder)
        self.assertEqual({bad["row"] for bad in ran["bad_samples"]}, {3, 5})

    def test_shards(self):
        shard = os.path.join(self.folder, "a.tar")
        with tarfile.open(shard, "w") as archive:
            for i in range(3):
                part = self.put(f"part{i}.flac", self.long[i * 1000:i * 1000 + 800])
                archive.add(part, f"{i}.flac")
        text = """pipeline p(shards: path) {
  for row in tar_shards(shards, audio = column("flac", bytes)) order sequential
  batch 1 per rank last keep { output wave: f32[n, t] = decode(row.audio, mono)[t = 5 .. 205] }
}"""
        for i in range(3):
            found = self.sample(text, i, *self.given(shards=shard))["wave"].ravel()
            numpy.testing.assert_array_equal(found, self.long[i * 1000 + 5:i * 1000 + 205] / numpy.float32(32768))


class Utterances(Sounds):
    """examples/utterances.pipe: batches of parts of recordings of like length."""

    EXAMPLE = os.path.join(EXAMPLES, "utterances.pipe")

    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(2)
        self.put("a.wav", wave(1, 20))
        self.put("b.flac", wave(2, 20))
        self.seconds = [round(float(s), 4) for s in rng.uniform(.1, 1.5, 60)]
        self.rows = [{"audio_filepath": ["a.wav", "b.flac"][i % 2], "offset": i / 4, "duration": s} for i, s in enumerate(self.seconds)]
        self.set = self.given(manifest=self.lines("train.json", self.rows), most=96000, buckets=5)

    def hashes(self, name, *arguments, expect=0):
        path = os.path.join(self.folder, name)
        ran = self.run_json("run", self.EXAMPLE, *self.set, "--hashes", path, *arguments, expect=expect)
        return ran, read_hashes(path)

    def test_threads_ranks_and_resume(self):
        ran, expected = self.hashes("all", "--threads", 1)
        self.assertEqual((ran["samples"], ran["bad_samples"], len(expected)), (60, [], 60))
        self.assertEqual(self.hashes("four", "--threads", 4)[1], expected)
        state = os.path.join(self.folder, "state")
        first = self.hashes("first", "--batches", 3, "--state", state)[1]
        with open(state) as file:
            line = file.read()
        self.assertIn(" position=3 bad=0 lengths=", line)
        halves, batches = [], []
        for rank in (0, 1):
            own = os.path.join(self.folder, f"state{rank}")
            with open(own, "w") as file:
                file.write(line)
            ran, found = self.hashes(f"rank{rank}", "--state", own, "--rank", rank, "--world", 2)
            halves.append(found)
            batches.append(ran["batches"])
        self.assertEqual(batches[0], batches[1])
        ranks = {**halves[0], **halves[1]}
        self.assertEqual({**first, **{key: value for key, value in ranks.items() if key[1] < 60}}, expected)
        # Batches left for one rank alone are completed by the epoch's first batch for the other one.
        self.assertIn(len(ranks) + len(first) - 60, (0, sum(key[1] >= 60 for key in ranks)))
        with open(state, "w") as file:
            file.write(line)
        self.set = self.given(manifest=self.lines("other.json", self.rows[1:]), most=96000, buckets=5)
        said = self.run_tool("run", self.EXAMPLE, *self.set, "--state", state, expect=1).stderr
        self.assertIn("midst of an epoch that has other batches", said)

    def test_frames(self):
        with open(self.EXAMPLE) as file:
            text = file.read().replace("pipe 1\n", "")
        for position in (0, 30, 59):
            found = self.sample(text, position, *self.set)
            frames = int(found["frames"].ravel()[0])
            self.assertEqual(found["spec"].shape, (80, frames))
            self.assertIn(frames, [1 + int(s * RATE) // 160 for s in self.seconds])

    def test_lengths_of_headers(self):
        """Without a column that says how long a file is, headers do: the same batches."""
        names = []
        for i in range(40):
            names.append(f"many/{i:02}.{['wav', 'flac'][i % 2]}")
            os.utime(self.put(names[-1], wave(i, self.seconds[i])), (4e9, 4e9))  # never long ago: nothing is kept
        table = os.path.join(self.folder, "table.csv")
        with open(table, "w") as file:
            file.writelines(["file,samples\n"] + [f"{name},{int(s * RATE)}\n" for name, s in zip(names, self.seconds)])
        text = """pipeline p(list: path, root: path) with on_error = substitute(50%) {
  for row in csv(list, root, data = column("file", bytes), samples = i64) where SAMPLES > 3000 order shuffled
  let sound = decode(row.data, mono)
  batch <= 90_000 elements by SAMPLES buckets 4 last keep {
    output wave: f32[n, t <= 24_000] pad 0.0 = sound
    output samples: i64[n] = extent(sound, t)
  }
}"""
        self.set = self.given(list=table, root=self.data)
        found = []
        for samples in ("row.samples", "probe(row.data, wave).samples"):
            self.EXAMPLE = self.write(text.replace("SAMPLES", samples))
            for threads in (1, 3):
                ran, hashes = self.hashes(f"{samples[:3]}{threads}", "--threads", threads)
                self.assertEqual(ran["samples"], sum(int(s * RATE) > 3000 for s in self.seconds[:40]))
                found.append(hashes)
        self.assertEqual(found, [found[0]] * 4)
        self.headers_are_kept(names, found[0])
        with open(os.path.join(self.data, names[3]), "wb") as file:
            file.write(b"no sound")
        ran = self.hashes("damaged")[0]
        self.assertEqual([bad["row"] for bad in ran["bad_samples"]], [3])
        drawn = self.write(text.replace("SAMPLES", "draw int(0 .. 9)"))
        self.assertIn("`where`, weights and lengths are looked at once for each row of the table", self.run_tool("compile", drawn, expect=1).stderr)

    def headers_are_kept(self, names, expected):
        """Those of files that were not written just now; one that has changed is read again."""
        def put_back(name):
            os.utime(os.path.join(self.data, name), (1e9, 1e9))

        def indexes():
            return [name for name in os.listdir(headers) if name.endswith(".index")] if os.path.exists(headers) else []

        headers = os.path.join(self.shared_cache, "penstock", "headers")
        before = indexes()
        for name in names:
            put_back(name)
        self.assertEqual([self.hashes(f"kept{i}")[1] for i in (0, 1)], [expected] * 2)
        with open(self.EXAMPLE) as file:
            without = file.read().replace("substitute(50%)", "substitute(50%), index = off").replace("pipe 1\n", "")
        self.assertEqual(len(indexes()), len(before) + 1)
        self.put(names[5], wave(5, self.seconds[5] / 2 + 0.2))
        put_back(names[5])
        changed = self.hashes("changed")[1]
        self.assertNotEqual(changed, expected)
        self.EXAMPLE = self.write(without)
        self.assertEqual(self.hashes("without")[1], changed)
        self.assertEqual(len(indexes()), len(before) + 1)

    def test_bad_files_and_lengths(self):
        self.rows[7]["audio_filepath"] = "gone.wav"
        self.lines("train.json", self.rows)
        ran = self.hashes("bad")[0]
        self.assertEqual([bad["row"] for bad in ran["bad_samples"]], [7])
        self.rows[5]["duration"] = 6.5
        self.lines("train.json", self.rows)
        said = self.run_tool("run", self.EXAMPLE, *self.set, expect=1).stderr
        self.assertIn("b.flac: its length is 104000, and a batch takes 96000 elements: leave it out with `where`, or raise the limit "
                      f"({self.EXAMPLE}:12:3)", said)


class Recordings(Sounds):
    """Recordings of half a second to two and a half, in a table and as `rows` of a manifest."""

    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(3)
        self.sizes = [int(n) for n in rng.integers(8000, 40000, 24)]
        for i, n in enumerate(self.sizes):
            self.put(f"{i:02}.{['wav', 'flac'][i % 2]}", wave(i, n / RATE))
        names = sorted(os.listdir(self.data))
        with open(os.path.join(self.folder, "list.csv"), "w") as file:
            file.writelines(["file,samples\n"] + [f"{name},{n}\n" for name, n in zip(names, self.sizes)])
        self.rows = [{"audio_filepath": name, "duration": n / RATE, "tokens": list(range(n // 1000))} for name, n in zip(names, self.sizes)]

    def samples(self, name, given):
        """The samples of an epoch, by where they stand; those of a batch as they were filled up."""
        example = os.path.join(EXAMPLES, name)
        with open(example) as file:
            text = file.read().replace("pipe 1\n", "")
        count = self.run_json("run", example, *given)["samples"]
        return [self.sample(text, position, *given) for position in range(count)]


class Recognisers(Recordings):
    """examples/wav2vec2.pipe and examples/conformer.pipe."""

    def test_wav2vec2(self):
        given = self.given(list=os.path.join(self.folder, "list.csv"), root=self.data, most=20000, shortest=12000, batch_samples=60000, buckets=3, normalize="true")
        found = self.samples("wav2vec2.pipe", given)
        self.assertGreater(len(found), 10)
        for one in found:
            samples, waves = int(one["samples"].ravel()[0]), one["wave"].ravel()[:int(one["samples"].ravel()[0])].astype(numpy.float64)
            self.assertIn(samples, [min(n, 20000) for n in self.sizes if n >= 12000])
            self.assertAlmostEqual(waves.mean(), 0, delta=1e-6)
            self.assertAlmostEqual(waves.std(), 1, delta=.02)

    def test_conformer(self):
        manifest = self.lines("train.json", self.rows)
        found = self.samples("conformer.pipe", self.given(manifest=manifest, samples=120000, buckets=3))
        self.assertGreater(len(found), 10)
        hidden = []
        for one in found:
            frames, length = (int(one[name].ravel()[0]) for name in ("frames", "length"))
            self.assertIn((frames, length), [(1 + n // 160, n // 1000) for n in self.sizes])
            numpy.testing.assert_array_equal(one["tokens"].ravel()[:length], numpy.arange(length))
            mel = one["mel"].reshape(80, frames).T
            hidden.append(((mel == 0).all(0).sum(), (mel == 0).all(1).sum()))
            self.assertLessEqual(hidden[-1][0], 2 * 27)
            self.assertLessEqual(hidden[-1][1], 10 * (frames // 20))
        bands, times = numpy.mean(hidden, 0)
        self.assertTrue(10 < bands < 40 and times > 10, hidden)


class Classes(Recordings):
    """examples/esc50.pipe and examples/audioset.pipe."""

    def test_esc50(self):
        with open(os.path.join(self.folder, "labelled.csv"), "w") as file:
            file.writelines(["file,label\n"] + [f"{row['audio_filepath']},{i}\n" for i, row in enumerate(self.rows)])
        found = self.samples("esc50.pipe", self.given(list=file.name, root=self.data, per_rank=8))
        self.assertEqual(sorted(int(one["label"].ravel()[0]) for one in found), list(range(24)))
        for one in found:
            frames = 1 + (self.sizes[int(one["label"].ravel()[0])] - 400) // 160
            silent = one["bands"][frames:] - numpy.float32(6.6268077 / (2 * 5.358466))
            self.assertLess(abs(silent).max(), 1e-6)
            self.assertGreater(one["bands"][:frames].std(), .1)

    def test_audioset(self):
        rows = [{"wav": row["audio_filepath"], "labels": [i, 500 + i % 3]} for i, row in enumerate(self.rows)]
        found = self.samples("audioset.pipe", self.given(manifest=self.lines("clips.json", rows), per_rank=8))
        mixed = 0
        for one in found:
            target = one["target"].ravel()
            self.assertAlmostEqual(target.sum(), 2, delta=1e-6)
            self.assertEqual((one["bands"].shape, target.shape), ((1024, 128), (527,)))
            mixed += (target > 0).sum() > 2
        self.assertTrue(5 < mixed < 20, mixed)


class Viewed(Sounds):
    def view(self, output, lets=""):
        """The picture of one sample, in grey, without its caption."""
        values = numpy.zeros(8000)
        values[4000:] = 8000 * numpy.sin(numpy.arange(4000) * (2 * math.pi * 2000 / RATE))  # 2 kHz
        self.put("a.wav", values.astype(numpy.int16))
        path = self.write(f"""use audio
pipeline p(root: path) {{
  for row in file_list(root) order sequential
  let wave = decode(row.data, mono)[t = 0 .. 8000]
{lets}  batch 1 {{
    output other: i64[n] = 3
    output {output}
  }}
}}""")
        listed, sheet = os.path.join(self.data, "list.txt"), os.path.join(self.folder, "sheet.png")
        with open(listed, "w") as file:
            file.write("a.wav\n")
        self.run_tool("view", path, "--set", f"root={listed}", "--count", 1, "--columns", 1, "-o", sheet)
        with Image.open(sheet) as picture:
            return numpy.asarray(picture.convert("L"))[6:, 6:-6]  # within the gap

    def test_waves(self):
        for shown in ("x: f32[n, t] = wave", "x: f32[n, t, c] = stack([wave, wave * 0.0], c)"):
            found = self.view(shown)[:80] < 100
            self.assertEqual(found.shape[1], 320)
            self.assertEqual(found[:, 2:158].sum(0).tolist(), [1] * 156)  # silence: a line
            self.assertTrue((found[:, 162:].sum(0) > 60).all())
            self.assertTrue(found[0].any() and found[79].any())

    def test_spectra(self):
        lets = "  let spec = magnitude(stft(wave, hann_window(400), 400, 160))\n"
        for shown in ("x: f32[n, t, freq] = spec", "x: f32[n, freq, t] = spec"):
            found = self.view(shown, lets)[:160, :51].astype(int)  # 201 frequencies in 160 rows
            self.assertLess(found[:, :22].max(), 30)
            row = int(found[:, 30:45].sum(1).argmax())
            self.assertAlmostEqual(160 - row, 160 * 50 / 201, delta=2)  # 2 kHz of 8, from the bottom
            self.assertGreater(found[row, 35], 200)

    def test_nothing_to_show(self):
        path = self.write("pipeline p() {\n  for row in synthetic(3, x = f32[k = 5])\n  batch 1 { output x: f32[n, k] = row.x }\n}")
        self.assertIn("no output is an image (axes h and w, and no others than 1 or 3 channels c), a spectrum (t and freq) or a wave (t)",
                      self.run_tool("view", path, "-o", os.path.join(self.folder, "x.png"), expect=1).stderr)


class Picked(Sounds):
    def test_the_example_mixes_at_the_ratio_that_it_draws(self):
        """examples/noisy_speech.pipe: the noise has the energy that the drawn ratio asks for, and resume gives the same."""
        self.put("speech/a.wav", wave(1, 9))
        self.put("speech/b.flac", wave(2, 8))
        for i in range(3):
            self.put(f"noise/{'ab'[i % 2]}/{i}.wav", wave(10 + i, 3))
        for i in range(2):
            decay = numpy.exp(-numpy.arange(2000) / 300.0)
            self.put(f"rooms/{i}.wav", (wave(20 + i, 2000 / RATE) * decay).astype(numpy.int16))
        manifest = self.lines("train.json", [{"audio_filepath": f"speech/{name}", "offset": 0.5 * i, "duration": 2.5}
                                             for i, name in enumerate(["a.wav", "b.flac"] * 4)])
        rooms = self.lines("rooms.json", [{"audio_filepath": f"rooms/{i}.wav"} for i in range(2)])
        example = os.path.join(EXAMPLES, "noisy_speech.pipe")
        given = self.given(manifest=manifest, noises=os.path.join(self.data, "noise"), rooms=rooms, per_rank=2)
        hashes = os.path.join(self.folder, "hashes")
        ran = self.run_json("run", example, *given, "--hashes", hashes)
        self.assertEqual((ran["samples"], ran["bad_samples"]), (8, []))
        self.assertEqual(len(set(read_hashes(hashes).values())), 8)
        state, parts = os.path.join(self.folder, "state"), os.path.join(self.folder, "parts")
        self.run_tool("run", example, *given, "--batches", 1, "--state", state, "--hashes", parts)
        self.run_tool("run", example, *given, "--state", state, "--hashes", parts + "2", "--threads", 1)
        self.assertEqual(read_hashes(parts, parts + "2"), read_hashes(hashes))
        with open(example) as file:
            text = file.read().replace("pipe 1\n", "").replace("output clean", "output snr: f64[n] = snr\n    output heard: f32[n, t] = heard\n    output clean")
        quiet = 0
        for position in range(8):
            found = {name: value.ravel().astype(numpy.float64) for name, value in self.sample(text, position, *given).items()}
            noise = found["noisy"] - found["heard"]
            ratio = 10 * numpy.log10((found["heard"] ** 2).sum() / (noise ** 2).sum())
            self.assertAlmostEqual(ratio, found["snr"][0], delta=.01)
            quiet += numpy.array_equal(found["heard"], found["clean"])
        self.assertTrue(0 < quiet < 8)


if __name__ == "__main__":
    main()
