"""Penstock itself, through its C API."""

import ctypes
import os
import pathlib
import subprocess
import tempfile

from bench.peers.peer import Missing, Peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
OK, END_OF_EPOCH = 0, 2
DTYPES = {1: "u1", 2: "i1", 3: "u2", 4: "i2", 5: "i4", 6: "i8", 7: "f2", 9: "f4", 10: "f8", 11: "?"}
PREFETCH = 2

text, size = ctypes.c_char_p, ctypes.c_size_t


class Parameter(ctypes.Structure):
    _fields_ = [("name", text), ("value", text)]


class CompileOptions(ctypes.Structure):
    _fields_ = [("size", size), ("pipeline", text), ("parameters", ctypes.POINTER(Parameter)),
                ("parameter_count", size), ("disabled_passes", ctypes.POINTER(text)), ("disabled_pass_count", size),
                ("target", text), ("cache_folder", text), ("from_stage", text), ("check_only", ctypes.c_int)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", size), ("parameters", ctypes.POINTER(Parameter)), ("parameter_count", size),
                ("columns", ctypes.c_void_p), ("column_count", size), ("seed", ctypes.POINTER(ctypes.c_int64)),
                ("epoch", ctypes.c_uint32), ("rank", ctypes.c_uint32), ("world", ctypes.c_uint32),
                ("threads", ctypes.c_int32), ("ranks_here", ctypes.c_int32), ("prefetch", ctypes.c_int32),
                ("fetch_threads", ctypes.c_int32), ("memory_budget", ctypes.c_uint64),
                ("on_error", ctypes.POINTER(ctypes.c_double)), ("device", ctypes.c_int),
                ("device_number", ctypes.c_int32), ("stream", ctypes.c_void_p),
                ("allowed_folders", ctypes.c_void_p), ("allowed_folder_count", size), ("held", ctypes.c_int),
                ("order", ctypes.c_int), ("next_rows", ctypes.c_void_p), ("next_rows_context", ctypes.c_void_p),
                ("ask_again", ctypes.c_int), ("samples_only", ctypes.c_int)]


class StageStatistics(ctypes.Structure):
    _fields_ = [("name", text), ("count", ctypes.c_uint64), ("busy_ns", ctypes.c_int64)]


class JpegStatistics(ctypes.Structure):
    _fields_ = [("name", text), ("count", ctypes.c_uint64)]


class VideoReading(ctypes.Structure):
    _fields_ = [("name", text), ("count", ctypes.c_uint64)]


class VideoStatistics(ctypes.Structure):
    _fields_ = [("packets", ctypes.c_uint64), ("restarts", ctypes.c_uint64), ("indexes_made", ctypes.c_uint64),
                ("index_bytes", ctypes.c_uint64), ("indexes_reused", ctypes.c_uint64), ("late_bytes", ctypes.c_uint64),
                ("readings", VideoReading * 4)]


class Statistics(ctypes.Structure):
    _fields_ = [("size", size), ("stages", StageStatistics * 7), ("samples", ctypes.c_uint64),
                ("batches", ctypes.c_uint64), ("bad_samples", ctypes.c_uint64), ("fetched_bytes", ctypes.c_uint64),
                ("delivered_bytes", ctypes.c_uint64), ("decoded_blocks", ctypes.c_uint64),
                ("elapsed_ns", ctypes.c_int64), ("threads", ctypes.c_int32), ("limit", text),
                ("jpeg_entropy", JpegStatistics * 7), ("index_uses", ctypes.c_uint64), ("index_misses", ctypes.c_uint64),
                ("videos", VideoStatistics), ("last_wait_ns", ctypes.c_int64), ("longest_wait_ns", ctypes.c_int64),
                ("late_batches", ctypes.c_uint64), ("batch_slots", ctypes.c_int64)]


class SessionInfo(ctypes.Structure):
    _fields_ = [("size", size), ("table_length", ctypes.c_int64), ("batch_size", ctypes.c_int64),
                ("batches_per_epoch", ctypes.c_int64), ("samples_per_epoch", ctypes.c_int64),
                ("threads", ctypes.c_int32), ("fixed_memory", ctypes.c_uint64), ("sample_memory", ctypes.c_uint64),
                ("processors", ctypes.c_int32), ("processor_quota", ctypes.c_double), ("processor_limit", text),
                ("epoch", ctypes.c_uint32), ("position", ctypes.c_int64)]


class Output(ctypes.Structure):
    _fields_ = [("name", text), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32), ("axes", ctypes.POINTER(text)),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p), ("offsets", ctypes.POINTER(ctypes.c_int64))]


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
                             "-lxxhash", "-lz", "-lspng", "-lwebp", "-lwebpdemux", "-lflatbuffers"],
                            capture_output=True, text=True)
    if result.returncode != 0:
        raise Missing(f"{source.name} does not build: {result.stderr.splitlines()[:1]}")
    return binary


def library():
    path = library_path()
    try:
        api = ctypes.CDLL(str(path))
    except OSError as error:
        raise Missing(str(error)) from error
    handle = ctypes.c_void_p
    for name, result, arguments in (
            ("version", text, []),
            ("compile", ctypes.c_int, [text, size, text, ctypes.POINTER(CompileOptions), ctypes.POINTER(handle)]),
            ("program_messages", text, [handle]), ("program_release", None, [handle]),
            ("session_open", ctypes.c_int, [handle, ctypes.POINTER(SessionOptions), ctypes.POINTER(handle)]),
            ("session_error", text, [handle]), ("session_close", None, [handle]),
            ("session_next", ctypes.c_int, [handle, ctypes.POINTER(handle)]),
            ("session_statistics", None, [handle, ctypes.POINTER(Statistics)]),
            ("session_get_info", None, [handle, ctypes.POINTER(SessionInfo)]),
            ("batch_count", ctypes.c_int64, [handle]), ("batch_release", None, [handle]),
            ("batch_output", ctypes.POINTER(Output), [handle, size])):
        function = getattr(api, "pst_" + name)
        function.restype, function.argtypes = result, arguments
    return api


def parameters_of(values):
    items = [(str(name).encode(), (str(value).lower() if isinstance(value, bool) else str(value)).encode())
             for name, value in values.items()]
    return (Parameter * len(items))(*items), len(items)


class Session:
    """A compiled pipeline and a session over it."""

    def __init__(self, pipe, threads=1, pipeline=None, without=(), **values):
        """`without`: optimising passes to leave out."""
        self.api = library()
        source = pathlib.Path(pipe)
        if not source.exists():
            raise Missing(f"{source} does not exist")
        content = source.read_bytes()
        given, count = parameters_of(values)
        options = CompileOptions(size=ctypes.sizeof(CompileOptions), parameters=given, parameter_count=count,
                                 pipeline=pipeline.encode() if pipeline else None,
                                 disabled_passes=(text * len(without))(*(name.encode() for name in without)),
                                 disabled_pass_count=len(without))
        self.program, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        if self.api.pst_compile(content, len(content), str(source).encode(), ctypes.byref(options),
                                ctypes.byref(self.program)) != OK:
            raise Missing(first_line(self.api.pst_program_messages(self.program)))
        options = SessionOptions(size=ctypes.sizeof(SessionOptions), threads=threads, prefetch=PREFETCH, world=1,
                                 ranks_here=1)
        if self.api.pst_session_open(self.program, ctypes.byref(options), ctypes.byref(self.handle)) != OK:
            raise Missing(first_line(self.api.pst_session_error(self.handle)))

    def info(self):
        info = SessionInfo(size=ctypes.sizeof(SessionInfo))
        self.api.pst_session_get_info(self.handle, ctypes.byref(info))
        return info

    def statistics(self):
        numbers = Statistics(size=ctypes.sizeof(Statistics))
        self.api.pst_session_statistics(self.handle, ctypes.byref(numbers))
        return numbers

    def next(self, use=None):
        """Samples of the next batch, over the end of an epoch; `use(batch)`
        looks at it before it is given back."""
        batch = ctypes.c_void_p()
        status = self.api.pst_session_next(self.handle, ctypes.byref(batch))
        if status == END_OF_EPOCH:
            status = self.api.pst_session_next(self.handle, ctypes.byref(batch))
        if status != OK:
            raise RuntimeError(first_line(self.api.pst_session_error(self.handle)))
        count = self.api.pst_batch_count(batch)
        if use:
            use(batch)
        self.api.pst_batch_release(batch)
        return count

    def take(self, batches):
        return sum(self.next() for _ in range(batches))

    def arrays(self, batches, output=0):
        """Copies of one output of the next batches, along n."""
        import numpy
        found = []

        def copy(batch):
            out = self.api.pst_batch_output(batch, output).contents
            shape = [out.shape[axis] for axis in range(out.rank)]
            strides = [out.strides[axis] for axis in range(out.rank)]
            dtype = numpy.dtype(DTYPES[out.dtype])
            extent = sum((n - 1) * s for n, s in zip(shape, strides)) + dtype.itemsize
            bytes_ = (ctypes.c_uint8 * extent).from_address(out.data)
            found.append(numpy.ndarray(shape, dtype, bytes_, strides=strides).copy())

        for _ in range(batches):
            self.next(copy)
        return numpy.concatenate(found)

    def close(self):
        self.api.pst_session_close(self.handle)
        self.api.pst_program_release(self.program)


def first_line(message):
    lines = (message or b"").decode(errors="replace").strip().splitlines()
    return lines[0] if lines else "no message"


def peer_of(session, output, batches=None, **facts):
    """A turn is an epoch, or `batches`. Batches that are ready or in the making when the clock starts are as many
    as when it stops: PREFETCH of them are taken before."""
    batches = batches or session.info().batches_per_epoch
    session.take(batches)
    return Peer(lambda: session.take(batches), output, f"penstock {session.api.pst_version().decode()}",
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


# What the rows of a chain's draws hold, in the order of bench/kernel_data.py;
# also the names of the columns and of their parameters.
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

    return Peer(slice, "as hand-written", f"penstock {library().pst_version().decode()}", outputs)

