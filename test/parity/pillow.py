# SPDX-License-Identifier: Apache-2.0
"""The chain decode, crop, resize, flip, ToTensor, Normalize equals Pillow and torchvision.

Fixed boxes, every sampling, up and down and 1-pixel cases; on generated code and on the reference
interpreter. f16 is the rounding of the f32.
"""
import os
import subprocess
import sys

import numpy
import torch
from PIL import Image, ImageOps
from torchvision import transforms
from torchvision.transforms import functional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from support import ToolTest, jpeg_bytes, main  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
NORMALIZE = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

# height, width of the picture; top, left, rows, columns; out_h, out_w; mirror
BOXES = [
    (97, 131, 0, 0, 97, 131, 32, 32, False),
    (97, 131, 5, 9, 80, 100, 32, 32, True),
    (97, 131, 13, 21, 40, 30, 64, 48, False),  # up
    (97, 131, 90, 125, 7, 6, 33, 31, True),  # the last corner, up
    (97, 131, 50, 60, 1, 1, 16, 16, False),  # one pixel, up
    (97, 131, 0, 0, 97, 131, 1, 1, True),  # to one pixel
    (64, 200, 3, 0, 1, 200, 5, 50, False),  # one row
    (200, 64, 0, 7, 200, 1, 50, 5, True),  # one column
    (40, 40, 4, 4, 32, 32, 32, 32, False),  # no resize
    (300, 420, 17, 33, 250, 350, 224, 224, True),
]
REFERENCE = None  # the reference interpreter's program


class Pillow(ToolTest):
    def picture(self, index, height, width, **options):
        folder = os.path.join(self.data, "only")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{index:02}.jpg")
        with open(path, "wb") as file:
            file.write(jpeg_bytes(numpy.random.default_rng(index), height, width, **options))
        return path

    def settings_of(self, box):
        names = ("top", "left", "rows", "columns", "out_h", "out_w", "mirror")
        values = {name: str(value).lower() for name, value in zip(names, box[2:])}
        return [word for name, value in {"root": self.data, **values}.items()
                for word in ("--set", f"{name}={value}")]

    def generated(self, box, position, pipeline):
        """A sample of generated code."""
        target = os.path.join(self.folder, "generated")
        self.run_tool("sample", os.path.join(HERE, pipeline), *self.settings_of(box),
                      "--position", position, "-o", target)
        return target

    def interpreted(self, box, position, pipeline):
        """The same of the reference interpreter."""
        target = os.path.join(self.folder, "interpreted")
        os.makedirs(target, exist_ok=True)
        subprocess.run([REFERENCE, os.path.join(HERE, pipeline), str(position), target,
                        *self.settings_of(box)], check=True)
        return target

    @staticmethod
    def outputs(target, box):
        out_h, out_w = box[6:8]
        read = lambda name, dtype, *shape: numpy.fromfile(
            os.path.join(target, name + ".raw"), dtype).reshape(shape)
        return (read("resized", numpy.uint8, out_h, out_w, 3),
                read("single", numpy.float32, 3, out_h, out_w),
                read("half", numpy.float16, 3, out_h, out_w))

    def theirs(self, path, box, prepare):
        _, _, top, left, rows, columns, out_h, out_w, mirror = box
        image = prepare(Image.open(path)).convert("RGB")
        image = image.crop((left, top, left + columns, top + rows))
        image = image.resize((out_w, out_h), Image.BILINEAR)
        if mirror:
            image = functional.hflip(image)
        single = NORMALIZE(functional.to_tensor(image))
        return numpy.asarray(image), single.numpy(), single.to(torch.float16).numpy()

    def compare(self, path, box, position, pipeline="fixed_box.pipe", prepare=lambda image: image,
                made_by=()):
        theirs = self.theirs(path, box, prepare)
        for made in made_by or (self.generated, self.interpreted):
            found = self.outputs(made(box, position, pipeline), box)
            for name, ours, expected in zip(("resized", "single", "half"), found, theirs):
                with self.subTest(box=box, path=path, output=name, by=made.__name__):
                    width = f"u{ours.dtype.itemsize}"
                    numpy.testing.assert_array_equal(ours.view(width), expected.view(width))

    def test_boxes(self):
        paths = [self.picture(i, box[0], box[1]) for i, box in enumerate(BOXES)]
        for position, (path, box) in enumerate(zip(paths, BOXES)):
            self.compare(path, box, position)

    def test_samplings(self):
        box = (97, 131, 5, 9, 80, 100, 32, 32, True)
        options = [{"subsampling": s, "progressive": p} for s in (0, 1, 2) for p in (False, True)]
        paths = [self.picture(i, 97, 131, **option) for i, option in enumerate(options)]
        gray = self.picture(len(paths), 97, 131)
        Image.open(gray).convert("L").save(gray)
        for position, path in enumerate(paths + [gray]):
            self.compare(path, box, position)

    def test_formats(self):
        """Other formats than JPEG, through the same chain; an upright PNG too."""
        box = (97, 131, 5, 9, 80, 60, 32, 32, True)
        exif = Image.Exif()
        exif[0x0112] = 6
        kinds = [("png", {}), ("png", {"exif": exif}), ("webp", {"quality": 70}),
                 ("webp", {"lossless": True}), ("bmp", {}), ("ppm", {})]
        paths = []
        for index, (kind, options) in enumerate(kinds):
            jpeg = self.picture(index, 131, 97) if options.get("exif") else self.picture(index, 97, 131)
            path = jpeg[:-3] + kind
            Image.open(jpeg).save(path, **options)
            os.remove(jpeg)
            paths.append(path)
        for position, path in enumerate(paths):
            self.compare(path, box, position, "upright_box.pipe", ImageOps.exif_transpose,
                         made_by=[self.generated])

    def test_orientations(self):
        """Crops of the upright image, for all orientations: exif_transpose, then crop."""
        box = (131, 97, 5, 9, 80, 60, 32, 32, True)
        for orientation in range(1, 9):
            exif = Image.Exif()
            exif[0x0112] = orientation
            height, width = (97, 131) if orientation >= 5 else (131, 97)
            for subsampling in (0, 1, 2):
                self.picture(10 * orientation + subsampling, height, width, exif=exif,
                             subsampling=subsampling)
        folder = os.path.join(self.data, "only")
        for position, name in enumerate(sorted(os.listdir(folder))):
            self.compare(os.path.join(folder, name), box, position, "upright_box.pipe",
                         ImageOps.exif_transpose, made_by=[self.generated])


if __name__ == "__main__":
    REFERENCE = os.path.abspath(sys.argv.pop(2))
    main()
