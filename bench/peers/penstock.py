# SPDX-License-Identifier: Apache-2.0
"""Penstock itself, through its C API."""

import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
import types

from bench.peers.peer import Missing, Peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFETCH = 2


def library_path():
    """$PENSTOCK_LIBRARY, else the release build; never a debug build by chance."""
    if given := os.environ.get("PENSTOCK_LIBRARY"):
        return pathlib.Path(given)
    for folder in ("build/release/api/c", "build/release/lib", "build/release"):
        if (ROOT / folder / "libpenstock.so").exists():
            return ROOT / folder / "libpenstock.so"
    raise Missing("libpenstock.so is not built: cmake --preset release && ninja -C build/release, "
                  "or name it in PENSTOCK_LIBRARY")


def build_probe(name):
    """bench/NAME.cpp, linked with the measured library's runtime."""
    build = library_path().parents[2]
    binary, source, runtime = build.parent / "bench" / name, ROOT / f"bench/{name}.cpp", build / "runtime/libpenstock_runtime.a"
    sources = [source, ROOT / "bench/kernel_calls.h", runtime]
    binary.parent.mkdir(parents=True, exist_ok=True)
    if binary.exists() and binary.stat().st_mtime > max(file.stat().st_mtime for file in sources):
        return binary
    result = subprocess.run(["clang++-19", "-O2", "-std=c++20", "-I", ROOT, "-I", build, "-o", binary, source, runtime, "-ljpeg",
                             "-lxxhash", "-lz", "-lspng", "-lwebp", "-lwebpdemux", "-lFLAC", "-lflatbuffers"],
                            capture_output=True, text=True)
    if result.returncode != 0:
        raise Missing(f"{source.name} does not build: {result.stderr.splitlines()[:1]}")
    return binary


def package():
    """api/python over the library that is measured."""
    os.environ["PENSTOCK_LIBRARY"] = str(library_path())
    if str(ROOT / "api/python") not in sys.path:
        sys.path.insert(0, str(ROOT / "api/python"))
    try:
        return importlib.import_module("penstock")
    except ImportError as error:
        raise Missing(str(error)) from error


class Session:
    """A compiled pipeline and a session over it."""

    def __init__(self, pipe, threads=1, pipeline=None, without=(), **values):
        """`without`: optimising passes to leave out."""
        ours, source = package(), pathlib.Path(pipe)
        if not source.exists():
            raise Missing(f"{source} does not exist")
        try:
            self.loader = ours.load(source, pipeline=pipeline, without=without, threads=threads, prefetch=PREFETCH,
                                    held="error", parameters=values)
        except ours.PenstockError as error:
            raise Missing(first_line(str(error))) from error
        self.version, self.batches = ours.__version__, iter(())

    def info(self):
        return types.SimpleNamespace(**self.loader.info)

    def next(self, use=None):
        """Samples of the next batch, over the end of an epoch; `use(batch)`
        looks at it before it is given back."""
        batch = next(self.batches, None)
        if batch is None:
            self.batches = iter(self.loader)
            batch = next(self.batches)
        if use:
            use(batch)
        return batch.count

    def take(self, batches):
        return sum(self.next() for _ in range(batches))

    def arrays(self, batches, output=0):
        """Copies of one output of the next batches, along n."""
        import numpy
        found = []
        for _ in range(batches):
            self.next(lambda batch: found.append(numpy.array(batch[output])))
        return numpy.concatenate(found)

    def close(self):
        self.loader.close()


def first_line(message):
    lines = message.strip().splitlines()
    return lines[0] if lines else "no message"


def peer_of(session, output, batches=None, **facts):
    """A turn is an epoch, or `batches`. Batches that are ready or in the making when the clock starts are as many
    as when it stops: PREFETCH of them are taken before."""
    batches = batches or session.info().batches_per_epoch
    session.take(batches)
    return Peer(lambda: session.take(batches), output, f"penstock {session.version}",
                before=lambda: session.take(PREFETCH), **facts)


def folder_of(job):
    """A folder with exactly the job's files: hard links, where they are fewer."""
    if len(job["paths"]) == len(job["all_paths"]):
        return job["root"]
    folder = pathlib.Path(job["work"]) / f"imagenet-{job['hash']}-{len(job['paths'])}"
    for path in job["paths"]:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            os.link(pathlib.Path(job["root"]) / path, target)
    return folder


def imagenet(job):
    pipe, more = ROOT / "examples/imagenet_train.pipe", {}
    if job.get("indexed"):
        kept = pathlib.Path(job["work"]) / f"checkpoints-{job['hash']}"
        kept.mkdir(mode=0o700, exist_ok=True)
        pipe, more = ROOT / "bench/pipelines/imagenet_indexed.pipe", {"kept": kept}
        # One epoch makes what is missing, and keeps it.
        first = Session(pipe, 1, root=folder_of(job), per_rank=job["batch"], **more)
        first.take(first.info().batches_per_epoch)
        first.close()
    session = Session(pipe, job["threads"], root=folder_of(job), per_rank=job["batch"], **more)

    def fixed_box(path, box, flip):
        with tempfile.TemporaryDirectory(dir=job["work"]) as folder:
            kind = pathlib.Path(folder) / "only"
            kind.mkdir()
            os.link(path, kind / pathlib.Path(path).name)
            one = Session(ROOT / "bench/pipelines/imagenet_box.pipe", 1, root=folder, top=box[0], left=box[1],
                          height=box[2], width=box[3], mirrored=bool(flip))
            array = one.arrays(1)[0]
            one.close()
        return array

    return peer_of(session, "f16 CHW", fixed_box=fixed_box)


def cifar(job):
    import numpy
    session = Session(ROOT / "bench/pipelines/cifar.pipe", job["threads"], images=job["images"],
                      labels=job["labels"], per_rank=job["batch"])

    def fixed_box(index, box, flip):
        draws = numpy.array([[box[0], box[1], int(flip)]], numpy.int32)
        image = numpy.fromfile(job["images"], numpy.uint8, 3072, offset=3072 * int(index))
        return kernel_arrays("cifar", image, draws, per_rank=1)[0]

    return peer_of(session, "f32 CHW", fixed_box=fixed_box)


def fusion(job):
    """A pipeline of bench/pipelines/fusion.pipe (or another file), with or without the pass."""
    pipe = ROOT / f"bench/pipelines/{job.get('file', 'fusion')}.pipe"
    values = {"images": job["images"]} if job["pipeline"] == "ten" else {"root": folder_of(job)}
    session = Session(pipe, 1, job["pipeline"], job.get("without", ()), **values)

    def fixed_box(path, box, flip):
        one = Session(pipe, 1, job["pipeline"], job.get("without", ()), **values)
        array = one.arrays(1)[0]
        one.close()
        return array

    # A difference of some percent is seen in many short turns better than in a few long ones: the machine's speed changes.
    return peer_of(session, "f16 CHW", batches=4, fixed_box=fixed_box if job["pipeline"] == "ten" else None)


# Columns of the rows of a chain's draws, in the order of bench/kernel_data.py;
# also the names of their parameters.
COLUMNS = {"imagenet": ("top", "left", "height", "width", "flipped"), "cifar": ("dy", "dx", "flipped"),
           "colour": ("brightness", "contrast", "saturation")}


def kernel_values(chain, folder, images, rows):
    """The parameters of bench/pipelines/kernel_<chain>.pipe: files, one of the images and one for each draw."""
    import numpy
    values = {"images": f"{folder}/images"}
    images.tofile(values["images"])
    for index, name in enumerate(COLUMNS[chain]):
        column = rows[:, index]
        values[name] = f"{folder}/{name}"
        column.astype(numpy.float32 if column.dtype.kind == "f" else numpy.int64).tofile(values[name])
    return values


def kernel_pipe(chain):
    return ROOT / f"bench/pipelines/kernel_{chain}.pipe"


def kernel_arrays(chain, images, rows, **values):
    with tempfile.TemporaryDirectory() as folder:
        session = Session(kernel_pipe(chain), 1, **kernel_values(chain, folder, images, rows), **values)
        arrays = session.arrays(session.info().batches_per_epoch)
        session.close()
        return arrays


def kernel(job):
    """The generated pixel code of a chain alone: bench/kernel_probe.cpp makes the calls of a session once more."""
    from bench.kernel_data import BATCHES, chain_data
    chain = job["chain"]
    images, rows = chain_data(chain)
    # The probe maps these files, and the worker ends without tidying up.
    folder = pathlib.Path(job["work"]) / f"kernel-{chain}"
    folder.mkdir(exist_ok=True)
    values = kernel_values(chain, folder, images, rows)
    probe = subprocess.Popen(
        [build_probe("kernel_probe"), library_path().parent / "libpenstock-compiler.so", kernel_pipe(chain),
         str(BATCHES[chain]), *(f"{name}={value}" for name, value in values.items())],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
    first = probe.stdout.readline()
    if not first:
        raise Missing(probe.stderr.read().strip() or "kernel_probe failed")
    samples = int(first) * job["repeats"]

    def slice():
        probe.stdin.write(f"{job['repeats']}\n")
        return samples, float(probe.stdout.readline())

    def outputs(path, box, flip):
        return kernel_arrays(chain, images, rows)

    return Peer(slice, "as hand-written", f"penstock {package().__version__}", outputs)

