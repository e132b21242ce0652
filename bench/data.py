#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The data of the benches: a fixed set of ImageNet-like JPEG files and a
CIFAR-like array, both cut from the photo wallpapers that Debian ships.

Nothing here is random between two machines: packages, photos, crops, scales,
noise and encoder settings follow from SEED, and the encoder is Debian's own
(/usr/bin/python3). The manifest holds a hash over the whole set.

    bench/data.py            make what is missing, print the quantiles
"""

import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
from bench import mixed_jpegs as mixed_kinds  # noqa: E402

DATA = pathlib.Path(os.environ.get("PENSTOCK_DATA", ROOT / "data"))
SEED = 20240607
FORMAT = 5  # raise when the generator changes, so that old sets are remade

JPEG_COUNT = 640
CIFAR_COUNT = 50_000
CIFAR_CLASSES = 10

PACKAGES = (
    "lomiri-wallpapers-16.04",
    "lomiri-wallpapers-20.04",
    "mate-backgrounds",
    "plasma-workspace-wallpapers",
)

# The photographs among the wallpapers; the drawings would compress far too
# well. One photo is one class.
PHOTOS = (
    "backgrounds/Bridge_by_Sander_Klootwijk.jpg",
    "backgrounds/Dragonfly_by_Bolly.jpg",
    "backgrounds/Kleiber_by_Lukas_Baubkus.jpg",
    "backgrounds/Picture_0B_by_freespace.jpg",
    "backgrounds/Picture_1A_by_freespace.jpg",
    "backgrounds/Wine_by_Jakkub_Mede.jpg",
    "backgrounds/aitzgorri_by_Aitzol_Berasategi.jpg",
    "backgrounds/free_by_Peter_Nerlich.jpg",
    "backgrounds/friends_by_Aitzol_Berasategi.jpg",
    "backgrounds/greentock_by_Peter_Nerlich.jpg",
    "backgrounds/life_by_Aitzol_Berasategi.jpg",
    "backgrounds/picosdeeuropa_by_Aitzol_Berasategi.jpg",
    "backgrounds/seeding_by_Clements_Engelhardt.jpg",
    "backgrounds/sunset_by_Aitzol_Berasategi.jpg",
    "backgrounds/mate/abstract/Elephants_3840x2160.jpg",
    "backgrounds/mate/nature/Aqua.jpg",
    "backgrounds/mate/nature/Blinds.jpg",
    "backgrounds/mate/nature/Dune.jpg",
    "backgrounds/mate/nature/Garden.jpg",
    "backgrounds/mate/nature/GreenMeadow.jpg",
    "backgrounds/mate/nature/LadyBird.jpg",
    "backgrounds/mate/nature/RainDrops.jpg",
    "backgrounds/mate/nature/Storm.jpg",
    "backgrounds/mate/nature/TwoWings.jpg",
    "backgrounds/mate/nature/Wood.jpg",
    "backgrounds/mate/nature/YellowFlower.jpg",
    "wallpapers/BytheWater/contents/images/2560x1600.jpg",
    "wallpapers/ColdRipple/contents/images/2560x1600.jpg",
    "wallpapers/ColorfulCups/contents/images/2560x1600.jpg",
    "wallpapers/EveningGlow/contents/images/2560x1600.jpg",
    "wallpapers/FallenLeaf/contents/images/2560x1600.jpg",
    "wallpapers/Path/contents/images/2560x1600.jpg",
)

# Shapes as they occur in ImageNet (width, height) with their share; half of
# the files have 0.24 megapixels or more.
SHAPES = (((500, 375), 30), ((375, 500), 9), ((500, 333), 5), ((400, 300), 3), ((250, 188), 1),
          ((600, 400), 14), ((640, 427), 12), ((480, 640), 4), ((500, 500), 6), ((640, 480), 12),
          ((800, 600), 3), ((1024, 768), 1))


def photo_name(path):
    parts = pathlib.PurePosixPath(path).parts
    stem = parts[1] if parts[0] == "wallpapers" else pathlib.PurePosixPath(path).stem
    return stem.split("_by_")[0].split("_3840")[0].lower()


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


def wallpapers():
    """Downloads and unpacks the packages once; returns the unpacked folder."""
    folder = DATA / "wallpapers"
    missing = [p for p in PHOTOS if not (folder / "usr/share" / p).exists()]
    if not missing:
        return folder / "usr/share"
    debs = DATA / "packages"
    debs.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if not list(debs.glob(package + "_*.deb")):
            print(f"data: downloading {package}", file=sys.stderr)
            run("apt-get", "download", package, cwd=debs)
        for deb in debs.glob(package + "_*.deb"):
            run("dpkg", "-x", str(deb), str(folder))
            deb.unlink()
    missing = [p for p in PHOTOS if not (folder / "usr/share" / p).exists()]
    if missing:
        raise SystemExit("data: Debian's packages lack these photos: " + ", ".join(missing))
    return folder / "usr/share"


def load_photos(share):
    from PIL import Image
    Image.MAX_IMAGE_PIXELS = None
    photos = []
    for path in PHOTOS:
        with Image.open(share / path) as image:
            image.draft("RGB", (2560, 1600))
            photos.append((photo_name(path), image.convert("RGB")))
    return photos


def encode(image, quality, subsampling, gray, optimize):
    out = io.BytesIO()
    if gray:
        image.convert("L").save(out, "JPEG", quality=quality, optimize=optimize)
    else:
        image.save(out, "JPEG", quality=quality, subsampling=subsampling, optimize=optimize)
    return out.getvalue()


def encode_near(image, bits_per_pixel, subsampling, gray, optimize):
    """The quality whose file size comes nearest to `bits_per_pixel`.

    Photos differ in detail, people choose qualities to match; a fixed quality
    would give the smooth wallpapers a third of ImageNet's usual size.
    """
    target = bits_per_pixel * image.width * image.height / 8
    low, high = 60, 98
    while low < high:
        quality = (low + high) // 2
        if len(encode(image, quality, subsampling, gray, optimize)) < target:
            low = quality + 1
        else:
            high = quality
    return encode(image, low, subsampling, gray, optimize), low


def make_jpegs(photos, folder):
    import numpy
    from PIL import Image
    rows = []
    shapes = [shape for shape, share in SHAPES for _ in range(share)]
    for index in range(JPEG_COUNT):
        rng = numpy.random.Generator(numpy.random.Philox(key=[SEED, index]))
        name, photo = photos[index % len(photos)]
        width, height = shapes[rng.integers(len(shapes))]
        largest = min(photo.width / width, photo.height / height)
        zoom = min(largest, float(rng.uniform(1.2, max(1.3, min(3.5, largest)))))
        crop_w, crop_h = int(width * zoom), int(height * zoom)
        left = int(rng.integers(photo.width - crop_w + 1))
        top = int(rng.integers(photo.height - crop_h + 1))
        image = photo.resize((width, height), Image.LANCZOS, (left, top, left + crop_w, top + crop_h))
        # Wallpapers are cleaned of the sensor's noise; ImageNet is not.
        noise = rng.normal(0, rng.uniform(1.5, 5.0), (height, width, 1)) + rng.normal(0, 1.5, (height, width, 3))
        pixels = numpy.asarray(image, numpy.float32) + noise
        image = Image.fromarray(pixels.round().clip(0, 255).astype(numpy.uint8))
        kind = rng.integers(100)
        gray = bool(kind < 2)
        subsampling = 0 if kind < 10 else 1 if kind < 13 else 2  # 4:4:4, 4:2:2, 4:2:0
        wanted = float(numpy.exp(rng.normal(numpy.log(2.72), 0.36)))
        data, quality = encode_near(image, wanted, subsampling, gray, bool(rng.integers(4) == 0))
        path = folder / name / f"{name}_{index:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        rows.append({
            "path": str(path.relative_to(folder)), "bytes": len(data), "width": width, "height": height,
            "sampling": "gray" if gray else ("4:4:4", "4:2:2", "4:2:0")[subsampling],
            "quality": quality, "sha256": hashlib.sha256(data).hexdigest(),
        })
    return rows


def quantiles(values):
    ordered = sorted(values)
    return {f"p{q}": ordered[min(len(ordered) - 1, q * len(ordered) // 100)] for q in (5, 25, 50, 75, 95)}


def summary(rows):
    counts = {}
    for row in rows:
        counts[row["sampling"]] = counts.get(row["sampling"], 0) + 1
    return {
        "files": len(rows),
        "classes": len({row["path"].split("/")[0] for row in rows}),
        "bytes": quantiles([row["bytes"] for row in rows]),
        "pixels": quantiles([row["width"] * row["height"] for row in rows]),
        "bits_per_pixel": quantiles([round(8 * row["bytes"] / (row["width"] * row["height"]), 2) for row in rows]),
        "quality": quantiles([row["quality"] for row in rows]),
        "sampling": counts,
        "hash": hashlib.sha256("".join(row["sha256"] for row in rows).encode()).hexdigest()[:16],
    }


def fresh(manifest):
    try:
        held = json.loads(manifest.read_text())
    except (OSError, ValueError):
        return None
    return held if held.get("format") == FORMAT and held.get("seed") == SEED else None


def jpegs():
    """The folder of class folders and its manifest; made when missing."""
    folder = DATA / "imagenet"
    manifest = DATA / "imagenet.json"
    held = fresh(manifest)
    if held is None or not all((folder / row["path"]).exists() for row in held["rows"]):
        print(f"data: making {JPEG_COUNT} JPEG files", file=sys.stderr)
        if folder.exists():
            run("rm", "-r", str(folder))
        rows = make_jpegs(load_photos(wallpapers()), folder)
        held = {"format": FORMAT, "seed": SEED, "summary": summary(rows), "rows": rows}
        manifest.write_text(json.dumps(held, indent=1))
    return folder, held


def mixed_jpegs():
    """The files of jpegs() as they are found: (folder, kinds by path). Made when missing."""
    source, held = jpegs()
    folder, manifest = DATA / "imagenet_mixed", DATA / "imagenet_mixed.json"
    mixed = fresh(manifest)
    if (mixed is None or mixed["of"] != held["summary"]["hash"]
            or not all((folder / path).exists() for path in mixed["kinds"])):
        print("data: making the same files of mixed kinds", file=sys.stderr)
        kinds = mixed_kinds.make(source, held["rows"], folder, SEED)
        mixed = {"format": FORMAT, "seed": SEED, "of": held["summary"]["hash"], "kinds": kinds}
        manifest.write_text(json.dumps(mixed, indent=1))
    return folder, mixed["kinds"]


LARGE_PHOTOS = ("Path", "FallenLeaf", "ByTheWater", "EveningGlow")


def large_jpegs():
    """Four images of 5,120 x 5,120, made when missing (with the Pillow that runs)."""
    folder = DATA / "jpeg_large"
    paths = [folder / f"{name.lower()}.jpg" for name in LARGE_PHOTOS]
    if not all(path.exists() for path in paths):
        from PIL import Image
        Image.MAX_IMAGE_PIXELS = None
        print(f"data: making {len(paths)} large JPEG files", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        share = wallpapers()
        for path in paths:
            photo = next(p for p in PHOTOS if photo_name(p) == path.stem)
            with Image.open(share / photo) as image:
                side = min(image.size)
                box = ((image.width - side) // 2, (image.height - side) // 2)
                square = image.convert("RGB").crop((*box, box[0] + side, box[1] + side))
            square.resize((5120, 5120), Image.Resampling.BICUBIC).save(path, "JPEG", quality=90)
    return paths


def make_cifar(photos, images_path, labels_path):
    import numpy
    from PIL import Image
    scales = []
    for _, photo in photos:
        levels = [photo.resize((max(48, photo.width // by), max(48, photo.height // by)), Image.BOX)
                  for by in (4, 8, 16)]
        scales.append([numpy.asarray(level) for level in levels])
    rng = numpy.random.Generator(numpy.random.Philox(key=[SEED, 1 << 32]))
    out = numpy.memmap(images_path, numpy.uint8, "w+", shape=(CIFAR_COUNT, 32, 32, 3))
    labels = numpy.empty(CIFAR_COUNT, numpy.int64)
    for index in range(CIFAR_COUNT):
        photo = int(rng.integers(len(scales)))
        level = scales[photo][int(rng.integers(3))]
        top, left = int(rng.integers(level.shape[0] - 31)), int(rng.integers(level.shape[1] - 31))
        out[index] = level[top:top + 32, left:left + 32]
        labels[index] = photo % CIFAR_CLASSES
    out.flush()
    labels.tofile(labels_path)


def cifar():
    """Paths of two headerless files: 50,000 x 32x32x3 u8, and labels as i64."""
    images, labels, manifest = DATA / "cifar_images.bin", DATA / "cifar_labels.bin", DATA / "cifar.json"
    if (fresh(manifest) is None or not images.exists() or images.stat().st_size != CIFAR_COUNT * 3072
            or not labels.exists() or labels.stat().st_size != CIFAR_COUNT * 8):
        print(f"data: making {CIFAR_COUNT} images of 32x32", file=sys.stderr)
        make_cifar(load_photos(wallpapers()), images, labels)
        manifest.write_text(json.dumps({"format": FORMAT, "seed": SEED, "count": CIFAR_COUNT}))
    return images, labels


def videos():
    """Four H.264 files of 30 s with 854x480 pixels, as x264 makes them by default: a
    camera wanders over a photo, with some noise and two cuts. (folder, paths)"""
    root = DATA / "videos"
    paths = [root / "clips" / f"{i}.mp4" for i in range(4)]
    for i, path in enumerate(paths):
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        parts, inputs = [], []
        for part in range(3):
            inputs += ["-i", str(wallpapers() / PHOTOS[14 + (3 * i + part) % 12])]
            parts.append(f"[{part}]scale=1280:800,loop=299:1:0,setpts=N/30/TB,fps=30,crop=854:480:'213*(1+sin((n+{40 * part})/50))'"
                         f":'160*(1+cos(n/70))',setsar=1,noise=alls=5:allf=t:all_seed={SEED % 1000}[p{part}]")
        join = "".join(f"[p{part}]" for part in range(3)) + "concat=n=3,format=yuv420p"
        unfinished = path.with_suffix(".part.mp4")
        run("ffmpeg", "-loglevel", "error", "-nostdin", "-y", *inputs, "-filter_complex", ";".join([*parts, join]),
            "-c:v", "libx264", "-threads", "1", str(unfinished))
        unfinished.rename(path)
    return root, paths


def ensure(what):
    """Makes a set with Debian's Python, whichever Python runs the bench: another
    Pillow would encode other bytes."""
    subprocess.run(["/usr/bin/python3", str(pathlib.Path(__file__).resolve()), "--quiet", what], check=True)


def describe(held):
    lines = []
    for key, value in held["summary"].items():
        text = "  ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        lines.append(f"  {key:15} {text}")
    return "\n".join(lines)


def describe_kinds(kinds):
    counts = {}
    for kind in kinds.values():
        counts[kind] = counts.get(kind, 0) + 1
    return "  " + "  ".join(f"{kind} {count}" for kind, count in sorted(counts.items(), key=lambda item: -item[1]))


def main(arguments):
    quiet = "--quiet" in arguments
    wanted = [a for a in arguments if not a.startswith("-")] or ["imagenet", "mixed", "cifar"]
    DATA.mkdir(parents=True, exist_ok=True)
    if "imagenet" in wanted:
        folder, held = jpegs()
        if not quiet:
            print(f"{folder}\n{describe(held)}")
    if "mixed" in wanted:
        folder, kinds = mixed_jpegs()
        if not quiet:
            print(f"{folder}\n{describe_kinds(kinds)}")
    if "cifar" in wanted:
        images, labels = cifar()
        if not quiet:
            print(f"{images}\n{labels}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
