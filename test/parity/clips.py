# SPDX-License-Identifier: Apache-2.0
"""Small videos of many kinds, made with the ffmpeg tool, and what ffmpeg decodes from them."""
import os
import subprocess

import numpy

# PENSTOCK_OTHER_FFMPEG=1: the program's FFmpeg is another architecture's than the command's. Its inverse DCT for MPEG-4
# rounds otherwise, but for streams that Xvid made.
OTHER = bool(os.environ.get("PENSTOCK_OTHER_FFMPEG"))
LEFT_OUT = {"mpeg4", "mpeg4-avi", "mpeg4-qpel"} if OTHER else set()


def ffmpeg(*arguments, data=None):
    done = subprocess.run(["ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin", "-y",
                           *map(str, arguments)], input=data, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{arguments}: {done.stderr.decode()}")
    return done.stdout


def scene(frames, height, width, seed=1):
    """Moving structure and some noise, so that a wrong reference picture shows everywhere."""
    rng = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    result = []
    for t in range(frames):
        shift = 25 if t >= frames * 2 // 3 else 0  # a cut
        waves = [numpy.sin((x + 2 * t + shift) / (5 + c) + (y - t) / (7 - c)) for c in range(3)]
        noise = rng.normal(0, 6, (height, width, 3))
        result.append(numpy.clip(128 + 80 * numpy.stack(waves, -1) + noise, 0, 255))
    return numpy.stack(result).astype(numpy.uint8)


def encode(path, *options, frames=60, height=80, width=96, rate=25, before=(), seed=1):
    """A file of one video stream; `before` are options of a second input."""
    data = scene(frames, height, width, seed).tobytes()
    subprocess.run(["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo",
                    "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(rate), "-i", "-",
                    *before, *map(str, options), path], input=data, check=True)
    return path


X264 = ["-c:v", "libx264", "-preset", "medium", "-pix_fmt", "yuv420p"]


def x264(parameters, *more):
    return [*X264, "-x264-params", parameters, *more]


GOP = "keyint=12:min-keyint=12:scenecut=0:bframes=3:b-pyramid=normal:ref=4:b-adapt=0"


def kinds():
    """name: (file name, options of the encoder, other arguments of encode())"""
    return {
        "b-frames": ("a.mp4", x264(GOP), {}),
        "open-gop": ("a.mp4", x264(GOP + ":open-gop=1"), {}),
        "open-gop-mkv": ("a.mkv", x264(GOP + ":open-gop=1"), {}),
        "open-gop-ts": ("a.ts", x264(GOP + ":open-gop=1"), {}),
        "one-gop": ("a.mp4", x264("keyint=infinite:bframes=2"), {}),
        "intra-refresh": ("a.mp4", x264("keyint=12:intra-refresh=1:bframes=0"), {}),
        "interlaced": ("a.mp4", x264("keyint=12:tff=1:bframes=2"), {}),
        "cabac-off": ("a.flv", x264("keyint=10:cabac=0:bframes=1"), {}),
        "variable-rate": ("a.mkv", ["-vf", "setpts='PTS+floor(N/3)*3/TB/25+mod(N,2)/TB/100'",
                                    "-vsync", "vfr", *x264(GOP)], {}),
        "variable-rate-mp4": ("a.mp4", ["-vf", "setpts='PTS+floor(N/5)*7/TB/25'", "-vsync", "vfr",
                                        *x264(GOP)], {}),
        "with-sound": ("a.mp4", [*x264(GOP), "-c:a", "aac", "-shortest"],
                       {"before": ["-f", "lavfi", "-i", "sine=440:duration=2"]}),
        "fragmented": ("a.mp4", [*x264(GOP), "-movflags", "frag_keyframe+empty_moov"], {}),
        "ten-bit": ("a.mp4", ["-c:v", "libx264", "-pix_fmt", "yuv420p10le", "-g", 12], {}),
        "full-chroma": ("a.mkv", ["-c:v", "libx264", "-pix_fmt", "yuv444p", "-g", 12],
                        {"height": 81, "width": 97}),
        "rgb": ("a.mkv", ["-c:v", "libx264rgb", "-pix_fmt", "rgb24", "-g", 12],
                {"height": 61, "width": 47}),
        "gray": ("a.mkv", ["-c:v", "libx264", "-pix_fmt", "gray", "-g", 12], {}),
        "bt709-full": ("a.mp4", [*x264(GOP), "-vf", "scale=out_color_matrix=bt709:out_range=full",
                                 "-colorspace", "bt709", "-color_range", "pc"], {}),
        "hevc": ("a.mp4", ["-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params",
                           "log-level=none:keyint=12:min-keyint=12:bframes=3:open-gop=0"], {}),
        "hevc-open": ("a.mkv", ["-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params",
                                "log-level=none:keyint=12:min-keyint=12:bframes=3:open-gop=1"], {}),
        "mpeg4": ("a.mp4", ["-c:v", "mpeg4", "-g", 12, "-bf", 2, "-q:v", 4],
                  {"height": 83, "width": 97}),
        "mpeg4-avi": ("a.avi", ["-c:v", "mpeg4", "-g", 12, "-bf", 2, "-q:v", 4], {}),
        "mpeg4-packed": ("a.avi", ["-c:v", "libxvid", "-g", 12, "-bf", 2, "-q:v", 4], {}),
        "mpeg2": ("a.mpg", ["-c:v", "mpeg2video", "-g", 12, "-bf", 2, "-q:v", 4], {}),
        "mpeg2-ts": ("a.ts", ["-c:v", "mpeg2video", "-g", 12, "-bf", 2, "-q:v", 4], {}),
        "vp8": ("a.webm", ["-c:v", "libvpx", "-g", 20, "-b:v", "300k", "-auto-alt-ref", 1,
                           "-lag-in-frames", 10, "-deadline", "realtime", "-cpu-used", 4], {}),
        "vp9": ("a.webm", ["-c:v", "libvpx-vp9", "-g", 20, "-b:v", "300k", "-auto-alt-ref", 1,
                           "-lag-in-frames", 20, "-deadline", "good", "-cpu-used", 8],
                {"height": 83, "width": 97}),
        "av1": ("a.mkv", ["-c:v", "libaom-av1", "-g", 20, "-b:v", "300k", "-cpu-used", 8,
                          "-lag-in-frames", 10], {"frames": 30, "height": 64, "width": 64}),
        "mjpeg": ("a.avi", ["-c:v", "mjpeg", "-pix_fmt", "yuvj422p", "-q:v", 3],
                  {"height": 83, "width": 97}),
        "mjpeg-mov": ("a.mov", ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", 3],
                      {"height": 83, "width": 97}),
        "lossless": ("a.mkv", ["-c:v", "ffv1", "-pix_fmt", "yuv411p"], {}),
    }


def make(folder, name):
    """The file of a kind."""
    file, options, more = kinds()[name]
    path = os.path.join(folder, name)
    os.makedirs(path, exist_ok=True)
    return encode(os.path.join(path, file), *options, **more)


def packet_sizes(path):
    """Sizes of the packets of the video stream, in the order of the file."""
    text = subprocess.run(["ffprobe", "-loglevel", "error", "-select_streams", "v:0", "-show_entries", "packet=size",
                           "-of", "csv=p=0", path], capture_output=True, text=True, check=True).stdout
    return [int(line.strip(",")) for line in text.split()]


def decoded(path):
    """All frames as FFmpeg's tool gives them, each as bytes, and their pixel format."""
    known = subprocess.run(["ffprobe", "-loglevel", "error", "-select_streams", "v:0",
                            "-show_entries", "stream=width,height,pix_fmt", "-of", "csv=p=0", path],
                           capture_output=True, text=True, check=True).stdout.split()[0].split(",")
    width, height, pixels = int(known[0]), int(known[1]), known[2]
    raw = ffmpeg("-noautorotate", "-i", path, "-map", "0:v:0", "-f", "rawvideo", "-vsync",
                 "passthrough", "-pix_fmt", pixels, "-")
    size = len(frame_planes(bytes(1 << 22), height, width, pixels, lengths=True))
    assert len(raw) % size == 0, (path, len(raw), size)
    return [raw[i:i + size] for i in range(0, len(raw), size)], height, width, pixels


def frame_planes(data, height, width, pixels, lengths=False):
    """The planes of a raw frame, as numbers; or as many bytes as one has."""
    kind = numpy.dtype("<u2" if pixels.endswith("10le") else "u1")
    shapes = {"yuv420p": (1, 1), "yuvj420p": (1, 1), "yuv420p10le": (1, 1), "yuvj422p": (0, 1),
              "yuv444p": (0, 0), "gbrp": (0, 0), "yuv411p": (0, 2), "yuv410p": (2, 2), "gray": None}
    down = shapes[pixels]
    parts = [(height, width)]
    if down:
        parts += 2 * [(-(-height >> down[0]), -(-width >> down[1]))]
    planes, at = [], 0
    for rows, columns in parts:
        size = rows * columns * kind.itemsize
        planes.append(numpy.frombuffer(data, kind, rows * columns, at).reshape(rows, columns))
        at += size
    return data[:at] if lengths else planes


def encode_many(folder, kinds, frames, height, width):
    """One file per kind, {name: options of its encoder}, by one process."""
    outputs = []
    for name, options in kinds.items():
        outputs += [*map(str, options), "-strict", "-2", os.path.join(folder, name + ".nut")]
    ffmpeg("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", "25", "-i", "-", *outputs,
           data=scene(frames, height, width).tobytes())


def known_of(path, *entries):
    """Entries of the video stream or its packets as ffprobe prints them, one list of texts per line."""
    text = subprocess.run(["ffprobe", "-loglevel", "quiet", "-select_streams", "v:0", "-show_entries",
                           *entries, "-of", "csv=p=0", path], capture_output=True, text=True).stdout
    return [line.strip(",").split(",") for line in text.split()]


def whole(path):
    """(time, MD5 of the planes) of each frame as FFmpeg's tool decodes them from the beginning."""
    kind = (known_of(path, "stream=pix_fmt") or [[""]])[0][-1]
    rgb = kind.startswith(("rgb", "bgr", "gbr", "0rgb", "0bgr", "argb", "abgr"))
    pixels = ["-pix_fmt", "gbrp"] if rgb else []
    if rgb:  # G, B, R
        pixels += ["-vf", "format=gbrp,shuffleplanes=2:0:1:3"]
    done = subprocess.run(["ffmpeg", "-hide_banner", "-loglevel", "quiet", "-nostdin", "-threads", "1",
                           "-noautorotate", "-copyts", "-i", path, "-map", "0:v:0", "-vsync", "passthrough",
                           "-enc_time_base", "-1", *pixels, "-f", "framemd5", "-"], capture_output=True, text=True)
    lines = [line.split(",") for line in done.stdout.splitlines() if not line.startswith("#")]
    return [(int(line[2]), line[5].strip()) for line in lines]
