# SPDX-License-Identifier: Apache-2.0
"""Every example, and files for what it reads."""
import glob
import gzip
import json
import os
import re
import shutil
import sys
import tempfile

import numpy
import soundfile
from PIL import Image

from support import EXAMPLES, ROOT, ToolTest, make_folder, nifti, ply

sys.path.insert(0, os.path.join(ROOT, "test", "parity"))
import clips  # noqa: E402

EVERY = sorted(glob.glob(os.path.join(EXAMPLES, "*.pipe")) +
               glob.glob(os.path.join(EXAMPLES, "probes", "*.pipe")))
if not shutil.which("ffmpeg"):
    EVERY = [path for path in EVERY if os.path.basename(path) != "kinetics.pipe"]


class ExamplesTest(ToolTest):
    settings = ["--set", "per_rank=4"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.videos = tempfile.mkdtemp(prefix="penstock-videos-")
        cls.addClassCleanup(shutil.rmtree, cls.videos)
        for i in range(4 if shutil.which("ffmpeg") else 0):  # of two clips each
            clips.encode(os.path.join(cls.videos, f"{i}.mp4"), *clips.x264(clips.GOP), frames=130, seed=i)

    def setUp(self):
        super().setUp()
        self.known_inputs = {}
        make_folder(self.data, per_class=8, sizes=(240, 300))
        for i, name in enumerate(sorted(os.listdir(self.videos))):
            shutil.copy(os.path.join(self.videos, name), os.path.join(self.data, f"class{i % 2}"))
        rng = numpy.random.default_rng(3)
        self.images = os.path.join(self.folder, "images.raw")
        self.labels = os.path.join(self.folder, "labels.raw")
        rng.integers(0, 256, (600, 32, 32, 3), dtype=numpy.uint8).tofile(self.images)
        rng.integers(0, 10, 600).tofile(self.labels)
        self.scans = os.path.join(self.folder, "scans.txt")
        with open(self.scans, "w") as file:
            file.writelines(f"scan{i}.bin\n" for i in range(10))
        self.sounds = os.path.join(self.folder, "sounds.txt")
        with open(self.sounds, "w") as file:
            file.writelines(f"sound{i}.{'flac' if i % 5 == 4 else 'wav'}\n" for i in range(10))
        for i in range(10):
            values = rng.integers(-9999, 9999, (6000 + 3000 * i, 1 + i % 2), dtype=numpy.int16)
            soundfile.write(os.path.join(self.data, f"sound{i}.{'flac' if i % 5 == 4 else 'wav'}"), values, 16000)
        self.labelled = os.path.join(self.folder, "sounds.csv")
        with open(self.labelled, "w") as file:
            file.write("file,label\n" + "".join(f"sound{i}.{'flac' if i % 5 == 4 else 'wav'},{i}\n" for i in range(10)))
        self.sized = os.path.join(self.folder, "sized.csv")
        with open(self.sized, "w") as file:
            file.write("file,samples\n" + "".join(f"sound{i}.{'flac' if i % 5 == 4 else 'wav'},{6000 + 3000 * i}\n" for i in range(10)))
        self.noises = os.path.join(self.folder, "noises")
        for name in "ab":
            os.makedirs(os.path.join(self.noises, name))
            soundfile.write(os.path.join(self.noises, name, "n.wav"), rng.integers(-999, 999, 9000, dtype=numpy.int16), 16000)
        self.manifest = os.path.join(self.data, "manifest.json")
        with open(self.manifest, "w") as file:
            file.writelines(json.dumps({"audio_filepath": f"sound{i}.wav", "offset": 0.1, "duration": 0.2 + 0.01 * i, "text": f"a {i}", "tokens": list(range(i)),
                                         "wav": f"sound{i}.wav", "labels": [i, 500 + i]}) + "\n"
                            for i in range(8) if i % 5 != 4)
        self.objects = os.path.join(self.folder, "objects.jsonl")
        with open(self.objects, "w") as file:
            for i in range(8):
                boxes = [[10.0 * j, 5.0, 10.0 * j + 30, 40.0 + i] for j in range(i % 4)]
                file.write(json.dumps({"file": f"class1/{i:04}.jpg", "boxes": boxes, "labels": list(range(i % 4))}) + "\n")
        self.pets, self.breeds = os.path.join(self.folder, "pets.csv"), os.path.join(self.folder, "breeds.txt")
        breeds = ["Siamese", "Norwegian forest cat", "Boxer"]
        with open(self.breeds, "w") as file:
            file.writelines(name + "\n" for name in breeds)
        with open(self.pets, "w") as file:
            file.write("file,species,breed\n" + "".join(f"class0/{i:04}.jpg,{'dog' if i % 3 == 2 else 'cat'},{breeds[i % 3]}\n" for i in range(8)))
        self.pairs = os.path.join(self.folder, "pairs.csv")
        with open(self.pairs, "w") as file:
            file.write("photo,depth\n" + "".join(f"class0/{i:04}.jpg,depth{i}.png\n" for i in range(8)))
        for i in range(8):
            with Image.open(os.path.join(self.data, "class0", f"{i:04}.jpg")) as photo:
                depth = rng.integers(0, 1 << 16, (photo.height, photo.width), dtype=numpy.uint16)
            Image.fromarray(depth).save(os.path.join(self.data, f"depth{i}.png"))
            far = rng.standard_normal((photo.height, photo.width), dtype=numpy.float32)
            far[far > 2] = numpy.inf
            with open(os.path.join(self.data, f"far{i}.pfm"), "wb") as file:
                file.write(b"Pf\n%d %d\n-1.0\n" % (photo.width, photo.height) + far.astype("<f4").tobytes())
        self.masks = os.path.join(self.folder, "masks")
        for photo in sorted(glob.glob(os.path.join(self.data, "class*", "*.jpg"))):
            mask = os.path.join(self.masks, os.path.relpath(photo, self.data)[:-3] + "png")
            os.makedirs(os.path.dirname(mask), exist_ok=True)
            with Image.open(photo) as image:
                image.convert("L").save(mask)
        self.stereo = os.path.join(self.folder, "stereo.csv")
        with open(self.stereo, "w") as file:
            file.write("left,right,disparity\n" + "".join(f"class0/{i:04}.jpg,class0/{i:04}.jpg,far{i}.pfm\n" for i in range(8)))
        self.volumes = os.path.join(self.folder, "volumes.jsonl")
        with open(self.volumes, "w") as file:
            file.writelines(json.dumps({"image": f"data/v{i}.nii.gz", "mask": f"data/v{i}_mask.nii"}) + "\n" for i in range(8))
        for i in range(8):
            values = rng.integers(-1000, 1000, (40 + 7 * i, 90, 80)).astype("<i2")
            for name, content in (("", gzip.compress(nifti(values, (1.5, 1, 2)), 1)), ("_mask", nifti((values > 0).astype("u1"), (1.5, 1, 2)))):
                with open(os.path.join(self.data, f"v{i}{name}.nii{'' if name else '.gz'}"), "wb") as file:
                    file.write(content)
        self.rooms = os.path.join(self.folder, "rooms.txt")
        with open(self.rooms, "w") as file:
            file.writelines(f"room{i}.ply\n" for i in range(10))
        for i in range(10):
            points = numpy.zeros(400 + 37 * i, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("red", "u1"), ("green", "u1"), ("blue", "u1"), ("label", "<u2")])
            for name in points.dtype.names:
                points[name] = rng.normal(0, 2, len(points)) if len(name) == 1 else rng.integers(0, 41, len(points))
            with open(os.path.join(self.data, f"room{i}.ply"), "wb") as file:
                file.write(ply(points, "binary_little_endian" if i % 3 else "ascii"))
        for i in range(10):
            (20 * rng.standard_normal((500 + 37 * i, 4), dtype=numpy.float32)).tofile(os.path.join(self.data, f"scan{i}.bin"))

    def inputs(self, path):
        """--set for the sources of an example."""
        if path not in self.known_inputs:
            self.known_inputs[path] = self.look_up_inputs(path)
        return self.known_inputs[path]

    def look_up_inputs(self, path):
        parameters = self.run_tool("check", path).stdout
        lists = {"speech.pipe": self.sounds, "whisper.pipe": self.sounds, "speech_commands.pipe": self.labelled, "esc50.pipe": self.labelled,
                 "wav2vec2.pipe": self.sized, "pets.pipe": self.pets, "patches.pipe": self.volumes, "rooms.pipe": self.rooms}
        files = lists.get(os.path.basename(path), self.scans)
        given = {"root": self.data, "photos": self.data, "good": self.data, "more": self.masks, "masks": self.masks, "images": self.images, "labels": self.labels, "list": files, "pairs": self.pairs, "stereo": self.stereo, "objects": self.objects, "breeds": self.breeds, "per_rank": "4",
                 "manifest": self.manifest, "rooms": self.manifest, "noises": self.noises,
                 "samples": "10000", "batch_samples": "40000", "shortest": "9000", "buckets": "2",
                 **self.columns(path)}
        return [word for name, value in given.items() if re.search(rf"^  {name} +{'int' if value.isdigit() else 'path'} ", parameters, re.M)
                for word in ("--set", f"{name}={value}")]

    def columns(self, path):
        """A file of 16 random rows for each column of numbers of a probe."""
        with open(path) as file:
            text = file.read()
        given, rng = {}, numpy.random.default_rng(4)
        for name, element, axes in re.findall(r"column\((\w+), (u8|f32)\[([^]]+)\]\)", text) if "/probes/" in path else ():
            extents = [16] + [3 if size == "rgb" else int(size) for size in re.findall(r"= (\w+)", axes)]
            given[name] = os.path.join(self.folder, f"{os.path.basename(path)}-{name}.raw")
            rows = rng.standard_normal(extents, dtype=numpy.float32) if element == "f32" else rng.integers(0, 256, extents)
            rows.astype(numpy.float32 if element == "f32" else numpy.uint8).tofile(given[name])
        return given

    def hashes(self, path, *arguments):
        return self.hashes_of(self.command("run", path, *self.inputs(path), *arguments))

    def hashes_of(self, command):
        """Those of the samples of two batches, as the command line writes them."""
        target = os.path.join(self.folder, "hashes")
        if os.path.exists(target):
            os.remove(target)
        self.run_command([*command, "--batches", "2", "--hashes", target])
        with open(target) as file:
            return file.read()
