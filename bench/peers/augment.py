# SPDX-License-Identifier: Apache-2.0
"""Augmentation operators of each peer on 224x224 images in memory: bytes in, normalised f16 CHW out.

A peer's `parts` has a callable for each stage of bench/augment_ops.py that it has; each call handles all images once.
"""

import pathlib
import random

from bench.augment_ops import PIPELINE, STAGES
from bench.peers.peer import IMAGENET_MEAN, IMAGENET_STD, Peer

SIZE = 224


def images_of(job):
    import numpy
    return numpy.fromfile(job["images"], numpy.uint8).reshape(-1, SIZE, SIZE, 3)


def peer_of(images, operators, finish, output, versions, **facts):
    """`operators`: name -> function of one image; `finish`: to normalised CHW."""
    def over_all(one):
        def slice():
            for image in images:
                finish(one(image))
            return len(images)
        return slice

    def fixed_box(part, box, flip):
        import numpy
        return numpy.array(finish(operators[part](images[0]))) if part in operators else None

    parts = {name: over_all(one) for name, one in operators.items()}
    return Peer(parts["normalize"], output, versions, fixed_box, parts=parts, **facts)


def penstock(job):
    from bench.peers.penstock import PREFETCH, Session
    folder = pathlib.Path(job["work"]) / "augment"
    folder.mkdir(exist_ok=True)
    sessions, parts, missing = {}, {}, []
    for name in job["stages"]:
        path = folder / (name.replace(" ", "_") + ".pipe")
        path.write_text(PIPELINE.format(stage=STAGES[name]))
        session = sessions[name] = Session(path, 1, images=job["images"])
        batches = session.info().batches_per_epoch
        session.take(batches)
        parts[name] = lambda session=session, batches=batches: session.take(batches)

    def fixed_box(part, box, flip):
        session = Session(folder / (part.replace(" ", "_") + ".pipe"), 1, images=job["images"])
        array = session.arrays(1)[0]
        session.close()
        return array

    first = next(iter(sessions.values()))
    return Peer(next(iter(parts.values())), "f16 CHW", f"penstock {first.version}", fixed_box,
                parts=parts)


def torchvision_of(v2, images, finish, output, **facts):
    import torch
    import torchvision
    from bench.peers.torchvision import versions
    torch.set_num_threads(1)
    linear, nearest = torchvision.transforms.InterpolationMode.BILINEAR, torchvision.transforms.InterpolationMode.NEAREST
    if v2:
        from torchvision.transforms import v2 as T
        from torchvision.transforms.v2 import functional as F
        gray = T.Grayscale(3)
    else:
        from torchvision import transforms as T
        from torchvision.transforms import functional as F
        gray = T.Grayscale(3)
    even = random.Random(3).uniform
    jitter = T.ColorJitter(0.4, 0.4, 0.4, 0.1)
    sampled = T.RandomResizedCrop(SIZE, antialias=True)
    blur = T.GaussianBlur(23, (0.1, 2.0))
    rand, trivial, flip = T.RandAugment(2, 9), T.TrivialAugmentWide(), T.RandomHorizontalFlip()
    affine = lambda how: lambda x: F.affine(x, 10.0, [5, 7], even(0.8, 1.2), [3.0, 0.0], interpolation=how)
    simclr = T.Compose([T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8), T.RandomGrayscale(0.2),
                        T.RandomApply([blur], 0.5)])
    erasing = T.RandomErasing(1.0)
    operators = {
        "crop": lambda x: F.crop(x, 16, 16, 192, 192), "random_resized_crop": sampled,
        "resize": lambda x: F.resize(x, [176, 176], antialias=True), "pad": lambda x: F.pad(x, [8, 8, 8, 8], padding_mode="reflect"),
        "flip": F.hflip, "rotate90": (lambda x: torch.rot90(x, 1, (1, 2))) if v2 else (lambda x: F.rotate(x, 90)),
        "rotate nearest": lambda x: F.rotate(x, even(-30, 30), nearest),
        "rotate linear": lambda x: F.rotate(x, even(-30, 30), linear),
        "affine nearest": affine(nearest), "affine linear": affine(linear),
        "translate": lambda x: F.affine(x, 0.0, [int(even(-20, 20)), int(even(-20, 20))], 1.0, [0.0, 0.0]),
        "shear": lambda x: F.affine(x, 0.0, [0, 0], 1.0, [even(-17, 17), 0.0], center=[0, 0]),
        "brightness": lambda x: F.adjust_brightness(x, even(0.6, 1.4)),
        "contrast": lambda x: F.adjust_contrast(x, even(0.6, 1.4)),
        "saturation": lambda x: F.adjust_saturation(x, even(0.6, 1.4)), "hue": lambda x: F.adjust_hue(x, even(-0.1, 0.1)),
        "color_jitter": jitter, "grayscale": gray, "invert": F.invert,
        "posterize": lambda x: F.posterize(x, int(even(3, 7))), "solarize": lambda x: F.solarize(x, int(even(0, 255))),
        "autocontrast": F.autocontrast, "equalize": F.equalize,
        "sharpness": lambda x: F.adjust_sharpness(x, even(0.1, 1.9)), "gaussian_blur": blur,
        "normalize": lambda x: x, "SimCLR colours": simclr, "RandAugment": rand,
    }
    peer = peer_of(images, operators, lambda x: finish(x).half(), output, versions(), **facts)

    def erase(image):
        return erasing(finish(image)).half()

    def resnet(image):
        x = finish(trivial(flip(sampled(image))))
        return (erasing(x) if random.random() < 0.1 else x).half()

    for name, one in (("erase", erase), ("ResNet reference", resnet)):
        def slice(one=one):
            for image in images:
                one(image)
            return len(images)
        peer.parts[name] = slice
    return peer


def pil(job):
    from PIL import Image
    from torchvision import transforms
    images = [Image.fromarray(image) for image in images_of(job)]
    finish = transforms.Compose([transforms.ToTensor(), transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)])
    return torchvision_of(False, images, finish, "f16 CHW")


def tensors(job):
    import torch
    from torchvision.transforms import v2
    images = [torch.from_numpy(image).permute(2, 0, 1).contiguous() for image in images_of(job)]
    finish = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(IMAGENET_MEAN, IMAGENET_STD)])
    return torchvision_of(True, images, finish, "f16 CHW", reason="its operators on tensors round otherwise than Pillow")


def f16_tables():
    """256 normalised values for each channel: the fastest way from bytes to f16 that NumPy has."""
    import numpy
    values = (numpy.arange(256, dtype=numpy.float32)[:, None] / numpy.float32(255) -
              numpy.float32(IMAGENET_MEAN)) / numpy.float32(IMAGENET_STD)
    return [numpy.ascontiguousarray(values[:, c].astype(numpy.float16)) for c in range(3)]


def table_finish():
    import numpy
    tables = f16_tables()

    def finish(image):
        out = numpy.empty((3, *image.shape[:2]), numpy.float16)
        for c in range(3):
            numpy.take(tables[c], image[..., c], out=out[c], mode="clip")
        return out

    return finish


def opencv(job):
    """The operators as a careful person writes them with OpenCV's functions: with tables for results that depend on one byte."""
    import cv2
    import numpy
    cv2.setNumThreads(1)
    even = random.Random(3).uniform
    ramp = numpy.arange(256, dtype=numpy.float32)
    byte = lambda values: numpy.clip(values, 0, 255).astype(numpy.uint8)
    grey = lambda x: cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)
    grey3 = lambda x: cv2.cvtColor(grey(x), cv2.COLOR_GRAY2RGB)

    def saturate(x, f):
        return cv2.addWeighted(x, f, grey3(x), 1 - f, 0)

    def contrast(x, f):
        return cv2.LUT(x, byte(ramp * f + (1 - f) * round(cv2.mean(grey(x))[0])))

    def hue(x, by):
        hsv = cv2.cvtColor(x, cv2.COLOR_RGB2HSV)
        table = ((numpy.arange(256) + round(by * 180)) % 180).astype(numpy.uint8)
        return cv2.cvtColor(cv2.merge((cv2.LUT(hsv[..., 0], table), hsv[..., 1], hsv[..., 2])), cv2.COLOR_HSV2RGB)

    def jitter(x, b, c, s, h):
        steps = [lambda y: cv2.LUT(y, byte(ramp * even(1 - b, 1 + b))), lambda y: contrast(y, even(1 - c, 1 + c)),
                 lambda y: saturate(y, even(1 - s, 1 + s)), lambda y: hue(y, even(-h, h))]
        random.shuffle(steps)
        for step in steps:
            x = step(x)
        return x

    def warp(x, matrix, how):
        return cv2.warpAffine(x, matrix, (SIZE, SIZE), flags=how)

    def affine(x, how):
        matrix = cv2.getRotationMatrix2D((SIZE / 2, SIZE / 2), -10, even(0.8, 1.2))
        matrix[:, 2] += (5, 7)
        return warp(x, matrix, how)

    def rotate(x, how):
        return warp(x, cv2.getRotationMatrix2D((SIZE / 2, SIZE / 2), even(-30, 30), 1), how)

    def autocontrast(x):
        tables = numpy.empty((256, 1, 3), numpy.uint8)
        for c, channel in enumerate(cv2.split(x)):
            low, high, _, _ = cv2.minMaxLoc(channel)
            tables[:, 0, c] = byte((ramp - low) * (255 / (high - low))) if high > low else ramp
        return cv2.LUT(x, tables)

    smooth = numpy.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], numpy.float32) / 13

    def sharpen(x, f):
        return cv2.addWeighted(x, f, cv2.filter2D(x, -1, smooth), 1 - f, 0)

    def erase(x):
        height, width = int(even(30, 120)), int(even(30, 120))
        y, z = int(even(0, SIZE - height)), int(even(0, SIZE - width))
        x = x.copy()
        x[y:y + height, z:z + width] = 0
        return x

    def sampled(x):
        from bench.peers.peer import random_box
        top, left, height, width = random_box(random, SIZE, SIZE)
        return cv2.resize(x[top:top + height, left:left + width], (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)

    def shear(x, by, down=False):
        return warp(x, numpy.float32([[1, 0, 0], [by, 1, 0]] if down else [[1, by, 0], [0, 1, 0]]), cv2.INTER_NEAREST)

    def move(x, dx, dy):
        return warp(x, numpy.float32([[1, 0, dx], [0, 1, dy]]), cv2.INTER_NEAREST)

    def solarize(x, threshold):
        return cv2.LUT(x, byte(numpy.where(ramp < threshold, ramp, 255 - ramp)))

    def posterize(x, bits):
        return cv2.LUT(x, byte(numpy.bitwise_and(numpy.arange(256), 256 - (1 << (8 - bits)))))

    def equalize(x):
        return cv2.merge([cv2.equalizeHist(channel) for channel in cv2.split(x)])

    def policy(m, wide):
        """One random operation with amounts up to `m` of the policies' ranges."""
        sign = random.choice((-1, 1))
        turn, factor, pixels = (135, 0.99, 32) if wide else (30, 0.9, 101)
        return random.choice([
            lambda x: x, lambda x: shear(x, sign * (0.99 if wide else 0.3) * m), lambda x: shear(x, sign * (0.99 if wide else 0.3) * m, True),
            lambda x: move(x, sign * int(pixels * m), 0), lambda x: move(x, 0, sign * int(pixels * m)),
            lambda x: warp(x, cv2.getRotationMatrix2D((SIZE / 2, SIZE / 2), sign * turn * m, 1), cv2.INTER_NEAREST),
            lambda x: cv2.LUT(x, byte(ramp * (1 + sign * factor * m))), lambda x: saturate(x, 1 + sign * factor * m),
            lambda x: contrast(x, 1 + sign * factor * m), lambda x: sharpen(x, 1 + sign * factor * m),
            lambda x: posterize(x, 8 - round((6 if wide else 4) * m)), lambda x: solarize(x, 255 - 255 * m), autocontrast, equalize])

    def simclr(x):
        if random.random() < 0.8:
            x = jitter(x, 0.8, 0.8, 0.8, 0.2)
        if random.random() < 0.2:
            x = grey3(x)
        return cv2.GaussianBlur(x, (23, 23), even(0.1, 2.0)) if random.random() < 0.5 else x

    def resnet(x):
        x = sampled(x)
        x = cv2.flip(x, 1) if random.random() < 0.5 else x
        x = policy(random.random(), True)(x)
        return erase(x) if random.random() < 0.1 else x

    operators = {
        "crop": lambda x: x[16:208, 16:208], "random_resized_crop": sampled,
        "resize": lambda x: cv2.resize(x, (176, 176), interpolation=cv2.INTER_LINEAR),
        "pad": lambda x: cv2.copyMakeBorder(x, 8, 8, 8, 8, cv2.BORDER_REFLECT_101), "flip": lambda x: cv2.flip(x, 1),
        "rotate90": lambda x: cv2.rotate(x, cv2.ROTATE_90_COUNTERCLOCKWISE),
        "rotate nearest": lambda x: rotate(x, cv2.INTER_NEAREST), "rotate linear": lambda x: rotate(x, cv2.INTER_LINEAR),
        "affine nearest": lambda x: affine(x, cv2.INTER_NEAREST), "affine linear": lambda x: affine(x, cv2.INTER_LINEAR),
        "translate": lambda x: move(x, int(even(-20, 20)), int(even(-20, 20))), "shear": lambda x: shear(x, even(-0.3, 0.3)),
        "brightness": lambda x: cv2.LUT(x, byte(ramp * even(0.6, 1.4))), "contrast": lambda x: contrast(x, even(0.6, 1.4)),
        "saturation": lambda x: saturate(x, even(0.6, 1.4)), "hue": lambda x: hue(x, even(-0.1, 0.1)),
        "color_jitter": lambda x: jitter(x, 0.4, 0.4, 0.4, 0.1), "grayscale": grey3, "invert": cv2.bitwise_not,
        "posterize": lambda x: posterize(x, int(even(3, 7))), "solarize": lambda x: solarize(x, even(0, 255)),
        "autocontrast": autocontrast, "equalize": equalize, "sharpness": lambda x: sharpen(x, even(0.1, 1.9)),
        "gaussian_blur": lambda x: cv2.GaussianBlur(x, (23, 23), even(0.1, 2.0)), "erase": erase,
        "normalize": lambda x: x, "SimCLR colours": simclr,
        "RandAugment": lambda x: policy(0.3, False)(policy(0.3, False)(x)), "ResNet reference": resnet,
    }
    return peer_of(list(images_of(job)), operators, table_finish(), "f16 CHW",
                   f"OpenCV {cv2.__version__}, NumPy {numpy.__version__}", reason="other rounding than Pillow's")


def albumentations(job):
    import albumentations as A
    import cv2
    cv2.setNumThreads(1)
    sampled = A.RandomResizedCrop((SIZE, SIZE))
    nearest, linear = cv2.INTER_NEAREST, cv2.INTER_LINEAR
    affine = lambda how: A.Affine(scale=(0.8, 1.2), translate_px={"x": (5, 5), "y": (7, 7)}, rotate=(10, 10), shear=(3, 3),
                                  interpolation=how, p=1)
    blur = A.GaussianBlur(blur_limit=(23, 23), sigma_limit=(0.1, 2.0), p=1)
    jitter = lambda b, h, p: A.ColorJitter((1 - b, 1 + b), (1 - b, 1 + b), (1 - b, 1 + b), (-h, h), p=p)

    def policy(m, wide):
        turn, factor, pixels, slope = (135, 0.99, 32, 45) if wide else (30, 0.9, 101, 17)
        both = lambda v: (-v * m, v * m)
        tint = lambda **range: A.ColorJitter(**{"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0), **range}, p=1)
        span = (1 - factor * m, 1 + factor * m)
        return [A.NoOp(p=1), A.Affine(shear={"x": both(slope), "y": (0, 0)}, interpolation=nearest, p=1),
                A.Affine(shear={"x": (0, 0), "y": both(slope)}, interpolation=nearest, p=1),
                A.Affine(translate_px={"x": (int(-pixels * m), int(pixels * m)), "y": (0, 0)}, interpolation=nearest, p=1),
                A.Affine(translate_px={"x": (0, 0), "y": (int(-pixels * m), int(pixels * m))}, interpolation=nearest, p=1),
                A.Rotate(both(turn), interpolation=nearest, p=1), tint(brightness=span), tint(saturation=span), tint(contrast=span),
                A.Sharpen(p=1), A.Posterize(5, p=1), A.Solarize((1 - m, 1 - m), p=1), A.AutoContrast(p=1), A.Equalize(p=1)]

    erase = A.Erasing(scale=(0.02, 0.33), ratio=(0.3, 3.3), p=1)
    chains = {
        "crop": [A.Crop(16, 16, 208, 208, p=1)], "random_resized_crop": [sampled], "resize": [A.Resize(176, 176, p=1)],
        "pad": [A.Pad(8, border_mode=cv2.BORDER_REFLECT_101, p=1)], "flip": [A.HorizontalFlip(p=1)],
        "rotate nearest": [A.Rotate((-30, 30), interpolation=nearest, p=1)],
        "rotate linear": [A.Rotate((-30, 30), interpolation=linear, p=1)], "affine nearest": [affine(nearest)],
        "affine linear": [affine(linear)],
        "translate": [A.Affine(translate_px=(-20, 20), interpolation=nearest, p=1)],
        "shear": [A.Affine(shear={"x": (-17, 17), "y": (0, 0)}, interpolation=nearest, p=1)],
        "brightness": [A.ColorJitter((0.6, 1.4), (1, 1), (1, 1), (0, 0), p=1)],
        "contrast": [A.ColorJitter((1, 1), (0.6, 1.4), (1, 1), (0, 0), p=1)],
        "saturation": [A.ColorJitter((1, 1), (1, 1), (0.6, 1.4), (0, 0), p=1)],
        "hue": [A.ColorJitter((1, 1), (1, 1), (1, 1), (-0.1, 0.1), p=1)], "color_jitter": [jitter(0.4, 0.1, 1)],
        "grayscale": [A.ToGray(p=1)], "invert": [A.InvertImg(p=1)], "posterize": [A.Posterize((3, 7), p=1)],
        "solarize": [A.Solarize((0, 1), p=1)], "autocontrast": [A.AutoContrast(p=1)],
        "equalize": [A.Equalize(by_channels=True, p=1)], "sharpness": [A.Sharpen(p=1)], "gaussian_blur": [blur],
        "erase": [erase], "normalize": [],
        "SimCLR colours": [jitter(0.8, 0.2, 0.8), A.ToGray(p=0.2), A.GaussianBlur(blur_limit=(23, 23), sigma_limit=(0.1, 2.0), p=0.5)],
        "RandAugment": [A.OneOf(policy(0.3, False), p=1), A.OneOf(policy(0.3, False), p=1)],
        "ResNet reference": [sampled, A.HorizontalFlip(p=0.5), A.OneOf(policy(0.5, True), p=1), A.Erasing(scale=(0.02, 0.33), ratio=(0.3, 3.3), p=0.1)],
    }
    # Its Normalize makes f32 of HWC; the tables are faster, and as exact.
    operators = {name: (lambda x, run=A.Compose(chain): run(image=x)["image"]) for name, chain in chains.items()}
    return peer_of(list(images_of(job)), operators, table_finish(), "f16 CHW", f"albumentations {A.__version__}",
                   reason="other rounding than Pillow's")


def dali(job):
    import numpy
    import nvidia.dali
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug import rand_augment, trivial_augment
    images = images_of(job)
    batch = 16
    pieces = [list(images[at:at + batch]) for at in range(0, len(images), batch)]
    uniform = lambda low, high, **more: fn.random.uniform(range=[float(low), float(high)], **more)
    nearest, linear = types.INTERP_NN, types.INTERP_LINEAR
    half = [float(SIZE) / 2] * 2
    jitter = lambda x, b, h: fn.color_twist(x, brightness=uniform(1 - b, 1 + b), contrast=uniform(1 - b, 1 + b),
                                            saturation=uniform(1 - b, 1 + b), hue=uniform(-360 * h, 360 * h))
    matrix = lambda: fn.transforms.scale(fn.transforms.rotation(angle=10.0, center=half), scale=fn.stack(uniform(0.8, 1.2), uniform(0.8, 1.2)), center=half)
    sampled = lambda x: fn.random_resized_crop(x, size=[SIZE, SIZE], random_area=[0.08, 1.0])
    sometimes = lambda x, y, p: (lambda keep: y * keep + x * (1 - keep))(fn.cast(fn.random.coin_flip(probability=p), dtype=types.UINT8))

    def simclr(x):
        x = sometimes(x, jitter(x, 0.8, 0.2), 0.8)
        x = sometimes(x, fn.hsv(x, saturation=0.0), 0.2)
        return sometimes(x, fn.gaussian_blur(x, window_size=23, sigma=uniform(0.1, 2.0)), 0.5)

    operators = {
        "crop": lambda x: fn.crop(x, crop=[192, 192]), "random_resized_crop": sampled,
        "resize": lambda x: fn.resize(x, size=[176, 176]), "flip": lambda x: fn.flip(x, horizontal=1),
        "rotate nearest": lambda x: fn.rotate(x, angle=uniform(-30, 30), keep_size=True, interp_type=nearest, fill_value=0),
        "rotate linear": lambda x: fn.rotate(x, angle=uniform(-30, 30), keep_size=True, interp_type=linear, fill_value=0),
        "affine nearest": lambda x: fn.warp_affine(x, matrix(), interp_type=nearest, fill_value=0),
        "affine linear": lambda x: fn.warp_affine(x, matrix(), interp_type=linear, fill_value=0),
        "translate": lambda x: fn.warp_affine(x, fn.transforms.translation(offset=uniform(-20, 20, shape=[2])), interp_type=nearest, fill_value=0),
        "shear": lambda x: fn.warp_affine(x, fn.transforms.shear(shear=fn.stack(uniform(-0.3, 0.3), uniform(0, 0.001))), interp_type=nearest, fill_value=0),
        "brightness": lambda x: fn.brightness(x, brightness=uniform(0.6, 1.4)), "contrast": lambda x: fn.contrast(x, contrast=uniform(0.6, 1.4)),
        "saturation": lambda x: fn.saturation(x, saturation=uniform(0.6, 1.4)), "hue": lambda x: fn.hue(x, hue=uniform(-36, 36)),
        "color_jitter": lambda x: jitter(x, 0.4, 0.1), "grayscale": lambda x: fn.hsv(x, saturation=0.0),
        "gaussian_blur": lambda x: fn.gaussian_blur(x, window_size=23, sigma=uniform(0.1, 2.0)),
        "erase": lambda x: fn.erase(x, anchor=uniform(10, 100, shape=[2]), shape=uniform(30, 120, shape=[2]), axis_names="HW"),
        "normalize": lambda x: x, "SimCLR colours": simclr,
    }
    def feeder():
        turn = [0]

        def source():
            turn[0] += 1
            return pieces[turn[0] % len(pieces)]

        return source

    options = dict(batch_size=batch, num_threads=1, device_id=None, seed=5, prefetch_queue_depth=1)

    def feed():
        return fn.external_source(feeder(), layout="HWC", dtype=types.UINT8)

    def finished(x):
        return fn.crop_mirror_normalize(x, dtype=types.FLOAT16, output_layout="CHW",
                                        mean=[255 * v for v in IMAGENET_MEAN], std=[255 * v for v in IMAGENET_STD])

    def plain(one):
        return pipeline_def(**options)(lambda: finished(one(feed())))()

    @pipeline_def(enable_conditionals=True, **options)
    def rand_augmented():
        return finished(rand_augment.rand_augment(feed(), n=2, m=9, shape=[SIZE, SIZE]))

    @pipeline_def(enable_conditionals=True, **options)
    def resnet():
        x = fn.flip(fn.random_resized_crop(feed(), size=[SIZE, SIZE], random_area=[0.08, 1.0]),
                    horizontal=fn.random.coin_flip())
        return finished(trivial_augment.trivial_augment_wide(x, shape=[SIZE, SIZE]))

    made = {name: (lambda one=one: plain(one)) for name, one in operators.items()}
    made.update({"RandAugment": rand_augmented, "ResNet reference": resnet})
    parts, notes = {}, []
    for name, make in made.items():
        try:
            pipeline = make()
            pipeline.build()
            pipeline.run()
        except Exception as error:
            notes.append(f"no {name}: {str(error).strip().splitlines()[-1][:80]}")
            continue

        def slice(pipeline=pipeline):
            for _ in pieces:
                pipeline.run()
            return len(images)

        parts[name] = slice
    return Peer(parts["normalize"], "f16 CHW", f"DALI {nvidia.dali.__version__}", parts=parts, note="; ".join(notes))
