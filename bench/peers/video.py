# SPDX-License-Identifier: Apache-2.0
"""Readers of clips: 16 frames, every fourth, from a random place, as u8 [t, h, w, c].

Two kinds: those that read the whole file and keep what they want, and those that
seek. Each has one thread. The frame numbers are those of the order shown; all
files have a constant rate, so that a time and a number say the same.
"""

import os
import pathlib
import random
import tempfile

from bench.peers.peer import Peer

COUNT, STEP = 16, 4
# Values as after normalisation, in which the harness compares.
SCALE = 255 * 0.226
SWSCALE = "swscale's fast conversion to RGB truncates"


def wanted_frames(first):
    return range(first, first + COUNT * STEP, STEP)


def peer_of(read, job, versions, reason=SWSCALE, note=""):
    import numpy
    draws = random.Random(job["seed"])

    def slice():
        for _ in range(job["count"]):
            clip = read(draws.choice(job["paths"]), draws.randint(0, job["frames"] - 1 - (COUNT - 1) * STEP))
            assert clip.shape == (COUNT, 480, 854, 3), clip.shape
        return job["count"]

    def fixed_box(path, box, flip):
        return numpy.asarray(read(path, box[0]), numpy.float32) / SCALE

    return Peer(slice, "u8 THWC", versions, fixed_box, reason=reason, note=note)


def penstock(job):
    from bench.peers.penstock import ROOT, Session
    pipe = ROOT / "bench/pipelines/video_clips.pipe"
    session = Session(pipe, 1, pipeline="clips", root=job["root"])

    def fixed_box(path, box, flip):
        with tempfile.TemporaryDirectory(dir=job["work"]) as folder:
            kind = pathlib.Path(folder) / "only"
            kind.mkdir()
            os.link(path, kind / pathlib.Path(path).name)
            one = Session(pipe, 1, pipeline="clip", root=folder, first=box[0])
            array = one.arrays(1)[0]
            one.close()
        return array.astype("f4") / SCALE

    def slice():
        return session.take(job["count"])

    session.take(2)
    return Peer(slice, "u8 THWC", f"penstock {session.version}", fixed_box)


def reference(job):
    """The frames of FFmpeg's own tool, converted by docs/media.md's formula."""
    import subprocess
    import sys
    import numpy
    from bench.peers.penstock import ROOT
    sys.path.append(str(ROOT / "test/parity"))
    from video import pixels_of

    def read(path, first):
        raw = subprocess.run(["ffmpeg", "-loglevel", "error", "-nostdin", "-i", path, "-f", "rawvideo", "-vsync",
                              "passthrough", "-pix_fmt", "yuv420p", "-frames:v", str(first + 61), "-"],
                             capture_output=True, check=True).stdout
        size = 480 * 854 * 3 // 2
        frames = []
        for i in wanted_frames(first):
            y, u, v = numpy.split(numpy.frombuffer(raw, numpy.uint8, size, i * size),
                                  [480 * 854, 480 * 854 * 5 // 4])
            frames.append(pixels_of([y.reshape(480, 854), u.reshape(240, 427), v.reshape(240, 427)], "yuv420p"))
        return numpy.stack(frames)

    return peer_of(read, dict(job, count=1), "ffmpeg's tool", reason="")


def open_av(path):
    import av
    container = av.open(path)
    stream = container.streams.video[0]
    stream.thread_type = "NONE"
    stream.codec_context.thread_count = 1
    return container, stream


def pyav_all(job):
    import av
    import numpy

    def read(path, first):
        container, stream = open_av(path)
        with container:
            frames = list(container.decode(stream))
        return numpy.stack([frames[i].to_ndarray(format="rgb24") for i in wanted_frames(first)])

    return peer_of(read, job, f"PyAV {av.__version__}")


def pyav_seek(job):
    import av
    import numpy

    def read(path, first):
        container, stream = open_av(path)
        with container:
            tick = 1 / (stream.average_rate * stream.time_base)
            begin = stream.start_time or 0
            times = {round(begin + i * tick) for i in wanted_frames(first)}
            container.seek(min(times), stream=stream)
            found = []
            for frame in container.decode(stream):
                if frame.pts in times:
                    found.append(frame.to_ndarray(format="rgb24"))
                    if len(found) == COUNT:
                        break
        return numpy.stack(found)

    return peer_of(read, job, f"PyAV {av.__version__}")


def opencv_all(job):
    import cv2
    import numpy
    cv2.setNumThreads(1)

    def read(path, first):
        capture = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
        frames = []
        while True:
            good, frame = capture.read()
            if not good:
                break
            frames.append(frame)
        return numpy.stack([frames[i][..., ::-1] for i in wanted_frames(first)])

    return peer_of(read, job, f"opencv {cv2.__version__}")


def opencv_seek(job):
    import cv2
    import numpy
    cv2.setNumThreads(1)

    def read(path, first):
        capture = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
        capture.set(cv2.CAP_PROP_POS_FRAMES, first)
        frames = []
        for i in range((COUNT - 1) * STEP + 1):
            capture.grab()
            if i % STEP == 0:
                frames.append(capture.retrieve()[1][..., ::-1])
        return numpy.stack(frames)

    return peer_of(read, job, f"opencv {cv2.__version__}")


def decord(job):
    import decord as library

    def read(path, first):
        return library.VideoReader(path, num_threads=1).get_batch(list(wanted_frames(first))).asnumpy()

    return peer_of(read, job, f"decord {library.__version__}")


def torchcodec(job):
    import torch
    import torchcodec as library
    from torchcodec.decoders import VideoDecoder
    torch.set_num_threads(1)

    def read(path, first):
        decoder = VideoDecoder(path, num_ffmpeg_threads=1, dimension_order="NHWC", seek_mode="exact")
        return decoder.get_frames_at(list(wanted_frames(first))).data.numpy()

    return peer_of(read, job, f"torchcodec {library.__version__}")
