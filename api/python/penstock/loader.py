# SPDX-License-Identifier: Apache-2.0
"""Sessions that run compiled pipelines."""
from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes
import os
import re
import threading
import warnings
import weakref
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from . import _c
from ._asked import Asked
from ._sheet import contact_sheet
from .dataset import Calls, array_of, as_tables
from .errors import CancelledError, CompileError, SessionError
from .outputs import DTYPES, TYPESTR, Batch, Places, Sample, BatchHandle, SampleHandle, output_names
from .program import Program, is_bundle, read_source

_open_loaders: "weakref.WeakSet[Loader]" = weakref.WeakSet()

#: Locks that are held while sessions of loaders that nobody closed end on threads of their own.
_endings: set[Any] = set()
#: What threads of sessions read that could not be ended.
_abandoned: list[Any] = []

#: Nanoseconds of a wait before Python checks for Ctrl-C.
_LOOK_NS = 50_000_000


@atexit.register
def _close_all() -> None:
    # A session's threads must not run on while the interpreter is taken down.
    for loader in list(_open_loaders):
        loader.close()
    while _endings:
        for ending in list(_endings):
            with ending:
                pass


def _after_fork() -> None:
    # A thread that held a lock is not there in the child.
    for loader in list(_open_loaders):
        loader._renew_locks()
    _endings.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True)
class BadSample:
    """A sample that could not be used, and the row that stands in its place (-1: none)."""
    epoch: int
    position: int
    row: int
    name: str
    reason: str
    substitute: int


def load(source: str | os.PathLike[str], *, pipeline: str | None = None, parameters: Mapping[str, Any] | None = None,
         columns: Mapping[str, Any] | None = None, seed: int | None = None, epoch: int = 0, rank: int = 0,
         world: int = 1, threads: int = 0, ranks_here: int = 1, prefetch: int = 2, memory_budget: int = 0,
         fetch_threads: int = 0, held: str = "grow", last: str | None = None, rows: Callable[[int], Iterable[Sequence[int]]] | None = None,
         on_error: float | str | None = None, allowed_folders: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
         dataset: Any = None, cache: str | os.PathLike[str] | None = None, target: str | None = None, without: Iterable[str] = (),
         gpu: str | None = None, transfer: str | None = None, machine: str | os.PathLike[str] | Mapping[str, Any] | None = None,
         device: int | str = 0, remote_cache: str | os.PathLike[str] | None = None, remote_cache_bytes: int = 0, **values: Any) -> Loader:
    """Compiles a pipeline and opens a session of it.

    source           a .pipe file, or its text; or a bundle, ``train.pstk``
    pipeline         which one, where the file has several
    values           the pipeline's parameters: ``root="data", per_rank=256``
    parameters       the same as a mapping, for names that this function has, too
    columns          arrays for the columns of a `raw` source, by name or by the parameter that names its file, of NumPy's or what numpy.asarray
                     takes, in the type that the pipeline declares; their files need not be given then. Arrays are read where they lie; lists are copied
    seed, epoch      in place of the pipeline's seed; the first epoch
    rank, world      this rank's number and how many there are
    threads          0: the processors that this process may use, divided by `ranks_here` (the ranks on this machine)
    prefetch         batches in the making or ready
    fetch_threads    files that are read, or asked for, at a time; 0: 8, and 64 where some are behind URLs
    memory_budget    bytes of memory for the fixed part, and as many, at most 1 GiB, for files that are read ahead; 0: no limit, and 1 GiB
    held             what happens when more batches are held than there is memory for: "grow" takes more, within
                     `memory_budget`; "error"
    last             what becomes of rows that fill no batch, in place of what the pipeline says: "drop", "keep", or "pad", a
                     smaller batch for which the epoch's first rows come again, so that all ranks have as many
    rows             which rows come, in place of the pipeline's order: a function that for an epoch gives an iterable of
                     batches of row numbers, of at most the batch size each. It is asked for a few batches ahead, in
                     the thread that waits; what it raises comes behind the batches before
    on_error         share of bad samples of this rank's epoch that may be substituted, rounded down, but one at least unless it is 0:
                     0 to 1, or "0%" to "100%"; or "fail"; None: what the pipeline says
    allowed_folders  folders that links in the data may lead to, or one; URLs below which lists name files
    dataset          what each `external_source` of the pipeline reads: `from_dataset(ds)`, or a data set as it takes it; a list
                     of them where there are several, that of ``for`` first
    cache            folder of the compile cache; None: the user's, "": none
    target, without  instruction set ("x86-64-v3" ...) and optimising passes to leave out (or one), as `penstock compile`
    gpu              run kernels on a GPU: "native", this machine's, or what to compile for ("sm_80,sm_90"). Outputs come back
                     to the host's memory unless they stand `on gpu`
    transfer         what crosses to the GPU: "pixels" (None), as decoded; "planes", JPEG files as luma and chroma, half of the bytes;
                     "resampled", behind all resampling and all warps, which
                     the host runs then; "final", outputs alone; "auto", the one of these that costs least; "all", as "auto",
                     and `Loader.transfer` goes to another one. The samples are the same
    machine          what the machine does in a second, for "auto" and "all": a file of JSON, or what it holds as a mapping;
                     docs/cuda.md says what that is
    device           which GPU, from 0, where kernels were compiled for one or outputs stand `on gpu`; "cpu" delivers these in
                     the host's memory, too
    remote_cache     a folder on a disk of this machine in which what is read of URLs is kept, for all epochs, ranks and runs, made where
                     it is missing; None: nothing is kept. `remote_cache_bytes` is the most that it may take; 0: all but a twentieth of
                     the disk

    Raises CompileError, SessionError, and OSError where the file cannot be read."""
    if twice := sorted(set(parameters or {}) & set(values)):
        raise TypeError(f"the parameter `{twice[0]}` is given by name and in `parameters`")
    given = {**(parameters or {}), **values}
    if is_bundle(source):
        if pipeline or target or gpu or transfer or machine or len(_c.encode_texts(without)):
            raise CompileError(f"{os.fspath(source)} is compiled: `pipeline`, `target`, `without`, `gpu`, `transfer` and `machine` do not "
                               "apply to a bundle")
        program = Program.of_bundle(source, given)
    else:
        text, file_name = read_source(source)
        program = Program(text, file_name, given, pipeline, cache, target, without, gpu=gpu, transfer=transfer, machine=machine)
    return Loader(program, columns=columns, seed=seed, epoch=epoch, rank=rank, world=world, threads=threads,
                  ranks_here=ranks_here, prefetch=prefetch, memory_budget=memory_budget, fetch_threads=fetch_threads, held=held, last=last, rows=rows,
                  on_error=on_error, allowed_folders=allowed_folders, dataset=dataset, device=device,
                  remote_cache=remote_cache, remote_cache_bytes=remote_cache_bytes)


#: The least values of options that are integers; the greatest are those of their types in C.
LEAST = {"epoch": 0, "rank": 0, "world": 1, "threads": 0, "ranks_here": 1, "prefetch": 1, "memory_budget": 0, "fetch_threads": 0, "device": 0, "remote_cache_bytes": 0}

LAST = {None: _c.LAST_PIPELINE, "drop": _c.LAST_DROP, "keep": _c.LAST_KEEP, "pad": _c.LAST_PAD}


class Loader(_c.OfThisProcess):
    """An open session over a compiled pipeline. Iterating gives the batches of an epoch::

        with penstock.load("train.pipe", root="photos") as loader:
            for epoch in range(90):
                for image, label in loader:
                    ...

    Each ``for`` begins the next epoch, also where the one before was left early; after ``set_epoch(e)`` it is e, and
    after ``load_state_dict`` it goes on in the middle of one. One iterator at a time: a new one ends the old, and one of which
    nothing was taken leaves its epoch to it.

    Any thread may call anything. Several may share one iterator: each batch goes to one of them."""
    _instead = "a loader has threads and memory of this process: open one in each process, with penstock.load"

    def __init__(self, program: Program, *, columns: Mapping[str, Any] | None = None, seed: int | None = None,
                 epoch: int = 0, rank: int = 0, world: int = 1, threads: int = 0, ranks_here: int = 1, prefetch: int = 2,
                 memory_budget: int = 0, fetch_threads: int = 0, held: str = "grow", last: str | None = None,
                 rows: Callable[[int], Iterable[Sequence[int]]] | None = None, on_error: float | str | None = None,
                 allowed_folders: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (), samples_only: bool = False, dataset: Any = None,
                 device: int | str = 0, remote_cache: str | os.PathLike[str] | None = None, remote_cache_bytes: int = 0):
        #: The compiled pipeline.
        self.program = program
        self._session = c_void_p()
        self._renew_locks()
        self._names: Places | None = None
        self._sample_names: Places | None = None
        self._parameters: dict[str, Any] = {} # run-time ones, with other values than at the start
        self._restored: tuple[int, str] | None = None # the epoch and the state that it goes on with
        self._iterator: object = None # which one is under way, and which one was when an epoch ended
        self._ended: object = None
        #: Where the library puts the batch that is asked for; None while none is. A handler of a signal may come before the batch
        #: is handed over, and raise: the batch is then among those that are left, and comes next.
        self._due: BatchHandle | None = None
        self._left: list[BatchHandle] = []
        #: A call for a batch was interrupted, and may have met the end of the epoch.
        self._unsure = False
        self._columns = dict(columns or {}) # and with them their memory
        self._tables, self._calls = as_tables(dataset), Calls()
        #: It was closed; what is left to do is to end the session: for the call that this thread is in, which a handler of a signal
        #: interrupted. And the session of which nothing but its end is left.
        self._closing, self._ends_in, self._ending = False, 0, None
        if held not in ("grow", "error"):
            raise ValueError(f'held is "grow" or "error", not {held!r}')
        if last not in LAST:
            raise ValueError(f'last is "drop", "keep" or "pad", not {last!r}')
        if device != "cpu" and not hasattr(device, "__index__"):
            raise ValueError(f'device is "cpu" or the number of a GPU, not {device!r}')
        share = -1.0 if on_error == "fail" else _share(on_error) if isinstance(on_error, str) else on_error
        if on_error not in (None, "fail") and not (hasattr(share, "__float__") and 0 <= float(share) <= 1):
            raise ValueError(f'on_error is a share of the samples, 0 to 1 or "0%" to "100%", or "fail", not {on_error!r}')
        self._asked = Asked(rows) if rows is not None else None
        given = {"epoch": epoch, "rank": rank, "world": world, "threads": threads, "ranks_here": ranks_here, "prefetch": prefetch,
                 "memory_budget": memory_budget, "fetch_threads": fetch_threads, "device": 0 if device == "cpu" else device, "remote_cache_bytes": remote_cache_bytes}
        types = dict(_c.SessionOptions._fields_, device=ctypes.c_int32)
        numbers = {name: _c.integer(name, value, types[name], LEAST[name]) for name, value in given.items()}
        self._options = {
            **numbers, "device": _c.DEVICE_CPU if device == "cpu" else _c.DEVICE_AUTO, "device_number": numbers["device"],
            "held": _c.HELD_GROW if held == "grow" else _c.HELD_ERROR, "last": LAST[last], "samples_only": samples_only,
            "remote_cache": None if remote_cache is None else _c.encode(os.fspath(remote_cache)),
            "seed": None if seed is None else ctypes.pointer(ctypes.c_int64(_c.integer("seed", seed, ctypes.c_int64))),
            "on_error": None if share is None else ctypes.pointer(ctypes.c_double(float(share)))}
        self._allowed = _c.encode_texts(allowed_folders)
        self._open()
        _open_loaders.add(self)

    def _renew_locks(self) -> None:
        #: Guards the session: one call at a time, but for those that only read.
        self._lock: Any = threading.RLock()
        #: Queue for the session while a thread waits for a batch: one thread at a time; `_wanted` tells the waiting one.
        self._turn, self._wanted = threading.RLock(), False
        #: Guards functions that read the session, whose texts live until the next such call, and its end. Nobody waits while
        #: holding it; a handler of a signal may come in between.
        self._telling: Any = threading.RLock()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Holds the session for one call at a time. A thread that waits for a batch makes room at its next check."""
        self._refuse_within()
        try:
            with self._turn:
                self._wanted = True # a lock is not fair: without it, who waits takes it again and again
                try:
                    with self._lock:
                        yield
                finally:
                    self._wanted = False
        finally:
            if self._ends_in:
                self._end_if_here()

    def _refuse_within(self) -> None:
        """Raises a SessionError in what runs inside of the loader's work, and would wait for itself."""
        if self._asked is not None and self._asked.thread == threading.get_ident():
            who = "the function that gives rows runs inside of a call of the loader"
        elif self._calls.here():
            who = "the data set is asked inside of the loader's work"
        elif self._lock._is_owned():
            who = "a handler of a signal has come into a call of the loader"
        else:
            return
        raise SessionError(f"{who}: it may ask what the loader tells, such as state_dict, and cancel it")

    @contextlib.contextmanager
    def _told(self) -> Iterator[Any]:
        """The session, for functions that read it."""
        try:
            with self._telling:
                yield self._live()
        finally:
            if self._ends_in:
                self._end_if_here()

    def _open(self) -> None:
        given = {}
        if self._columns: # columns in memory take the place of files
            self._check_columns()
            given = {p.name: "" for p in self.program.parameters
                     if p.type == "path" and p.default is None and p.name not in self.program._given}
        values = _c.encode_parameters(given)
        columns = (_c.MemoryColumn * len(self._columns))()
        for place, (name, column) in zip(columns, list(self._columns.items())):
            place.name, (place.dtype, place.rank, place.extents, place.data, self._columns[name]) = _c.encode(name), _memory_column(name, column)
        tables = (_c.ExternalTable * len(self._tables))()
        for place, table in zip(tables, self._tables):
            table.fill(place, self.program.names_column, self._calls)
        options = _c.SessionOptions(
            size=ctypes.sizeof(_c.SessionOptions), parameters=values, parameter_count=len(values), columns=columns,
            column_count=len(columns), allowed_folders=self._allowed, allowed_folder_count=len(self._allowed),
            tables=tables, table_count=len(tables), **self._options)
        if self._asked is not None:
            options.order, options.ask_again = _c.ORDER_CALLER, True
        self._process = os.getpid()
        status = _c.library.session_open(self.program._handle, byref(options), byref(self._session))
        if status != _c.OK:
            message = self._error()
            _c.library.session_close(self._session)
            self._session = c_void_p()
            self._calls.reraise()
            raise SessionError(message)
        if found := _c.decode(_c.library.session_warnings(self._session)):
            warnings.warn(found.rstrip(), stacklevel=4)
        self._info = self._read_info()
        #: The epoch at hand, and whether a batch of it, or an error in its place, has come since it was begun or restored.
        self._epoch, self._taken = self._info["epoch"], False

    def _check_columns(self) -> None:
        paths = {p.name for p in self.program.parameters if p.type == "path"} # the library knows whose they are
        strange = [name for name in self._columns if name not in paths and not self.program.names_column(name)]
        if not strange:
            return
        try:
            known = self.program.raw_columns()
        except CompileError: # without a compiler there are no names to tell
            return
        for name in strange:
            if name not in known:
                raise SessionError(f"columns: the pipeline has no column `{name}` of a `raw` source" +
                                   (f"; those that it has are {', '.join(f'`{one}`' for one in known)}" if known else ""))

    def _read_info(self) -> dict[str, Any]:
        info = _c.SessionInfo(size=ctypes.sizeof(_c.SessionInfo))
        with self._told() as session:
            has_due = self._has_due()
            _c.library.session_get_info(session, byref(info))
            values = _values(info)
            before = values.pop("position_before")
            return {**values, "position": before} if has_due else values

    def _has_due(self) -> bool:
        """True if the library's last batch is not handed over."""
        return bool(self._due or self._left)

    def _error(self) -> str:
        # With the lock that the call has, which it is the error of.
        return _c.decode(_c.library.session_error(self._session)).rstrip()

    def _live(self) -> Any:
        if not self._session or self._closing:
            raise SessionError("the loader is closed")
        if self._process != os.getpid(): # the session's functions return nothing there
            raise SessionError(self._error())
        return self._session

    # --- iterating ------------------------------------------------------------

    def __len__(self) -> int:
        """Batches of an epoch, with the parameters that were set last. Where `rows` says which come, that is not known."""
        if self._process != os.getpid(): # a closed loader may tell
            self._live()
        if self._info["batches_per_epoch"] < 0:
            raise TypeError("how many batches there are is known to who gives the rows")
        return self._info["batches_per_epoch"]

    def __iter__(self) -> Iterator[Batch]:
        return self._batches_as(None)

    def _batches_as(self, make: Callable[[Batch], Any] | None) -> Iterator[Any]:
        """The batches of `iter(loader)`, each as what `make` makes of it. A batch that comes while that is interrupted is not lost: the next
        `next()` gives it. So where `make` raises something, it is called again."""
        with self._alone():
            self._live()
            if self._taken:
                self._begin(_after(self._epoch), {})
            self._iterator = token = object()
        return _Epoch(self, token, make)

    def set_epoch(self, epoch: int, **parameters: Any) -> None:
        """The next ``for`` begins this epoch, with other values of run-time parameters if there are some; parameters that are not
        named keep theirs. Where it is the next one anyway, what was done ahead is used. What was restored with
        `load_state_dict` in this epoch stays. An iterator of which nothing was taken gives this epoch; any other ends."""
        epoch = _c.integer("epoch", epoch, ctypes.c_uint32)
        with self._alone():
            self._live()
            is_here = epoch == self._epoch and not self._taken
            if is_here and not parameters:
                return # here it is; rows may have been asked for already
            restored = self._restored
            self._begin(epoch, parameters)
            if is_here and restored is not None and restored[0] == epoch:
                self._restore(restored[1])

    def _begin(self, epoch: int, parameters: Mapping[str, Any]) -> None:
        values = _c.encode_parameters(dict(parameters))
        if _c.library.session_start(self._session, _c.integer("epoch", epoch, ctypes.c_uint32), values, len(values)) != _c.OK:
            raise SessionError(self._error())
        self._parameters.update(parameters)
        self._restored = None
        if values: # of the size of a batch, or of `where`
            self._info = self._read_info()
        if self._asked is not None:
            self._asked.restart()
        if self._taken: # trainers make an iterator, and then set the epoch that it is to give
            self._iterator = None
        self._epoch, self._taken = epoch, False
        self._forget()

    def _forget(self) -> None:
        """Work goes on elsewhere: no batch is left."""
        self._left, self._due, self._unsure = [], None, False

    @property
    def epoch(self) -> int:
        """The epoch that is iterated over, or comes first."""
        return self._epoch

    @property
    def transfer(self) -> str:
        """The form in which batches begun from now on cross to the GPU: "pixels", "resampled" or "final". Can be set between two
        batches of a pipeline that was compiled with ``transfer="all"``: those already begun come first, and no sample changes.
        Raises SessionError where there is no such level, or no memory for it."""
        with self._alone():
            return _c.decode(_c.library.session_transfer(self._live()))

    @transfer.setter
    def transfer(self, level: str) -> None:
        with self._alone():
            if _c.library.session_set_transfer(self._live(), _c.encode(level)) != _c.OK:
                raise SessionError(self._error())

    def _next(self, epoch: _Epoch | None = None) -> Batch | None:
        # Ctrl-C, and what other handlers of signals raise, comes behind a call of C or of Python. From there on that the library
        # has given a batch until it is returned there is such a place only where the batch is known to be `due`.
        due, waits = BatchHandle(), False
        if self._lock._is_owned() or self._calls.here():
            self._refuse_within()
        try:
            while True: # handlers of signals run between two looks
                if self._wanted:
                    with self._turn:
                        pass
                with self._lock:
                    if self._closing and waits:
                        raise CancelledError("the loader was closed")
                    if epoch is not None and self._iterator is not epoch._token:
                        if self._ended is epoch._token: # for another thread, which shares it, or for an interrupted call
                            epoch._loader = None
                            return None
                        self._live()
                        raise SessionError("this loader has begun another epoch or iterator since; one iterator at a time")
                    session = self._live() if self._closing else self._session or self._live()
                    waits = True
                    if self._left:
                        self._taken = True
                        self._due = due = self._left[0]
                        del self._left[0]
                        break
                    if self._unsure and epoch is not None and self._met_end():
                        status = _c.END_OF_EPOCH
                    else:
                        if self._asked is not None:
                            self._give_rows(self._asked, session)
                        self._due = due
                        status = _c.library.session_next_within(session, _LOOK_NS, byref(due))
                        if status != _c.TIMEOUT:
                            self._taken = True
                    if status == _c.OK:
                        break
                    if status == _c.END_OF_EPOCH:
                        self._ended = self._iterator
                        self._epoch, self._taken, self._iterator, self._unsure = _after(self._epoch), False, None, False
                        if epoch is not None:
                            epoch._loader = None
                        return None
                    if status == _c.CANCELLED:
                        raise CancelledError(f"the loader was {'closed' if self._closing else 'cancelled'}")
                    if status != _c.TIMEOUT:
                        if self._asked is not None:
                            self._asked.reraise()
                        raise SessionError(self._error())
            if self._names is None:
                self._names = output_names(due, _c.library.batch_output_count(due), _c.library.batch_output)
            batch = Batch(due, self._names)
            if self._ends_in: # in a handler, meanwhile
                raise CancelledError("the loader was closed")
            if self._due is due: # of threads that share an iterator another one's may be
                self._due = None
            return batch
        except BaseException:
            self._take_back(due, epoch)
            raise

    def _give_rows(self, asked: Asked, session: Any) -> None:
        try:
            asked.give(session, self._info["batch_size"])
        except BaseException:
            self._taken = True # it is in the place of a batch
            raise

    def _take_back(self, due: BatchHandle, epoch: _Epoch | None) -> None:
        """Of an interrupted call."""
        self._unsure, self._due = True, None
        if due and due not in self._left and (epoch is None or self._iterator is epoch._token):
            self._left.insert(0, due)
        if self._ends_in:
            self._end_if_here()

    def _met_end(self) -> bool:
        """True if the library has ended the epoch, and an interrupted call has not told."""
        self._unsure = False
        return self._read_info()["epoch"] != self._epoch

    def sample(self, position: int, epoch: int = 0) -> Sample:
        """The sample at a position of an epoch, computed alone."""
        sample = SampleHandle()
        position, epoch = _c.integer("position", position, ctypes.c_int64), _c.integer("epoch", epoch, ctypes.c_uint32)
        with self._alone():
            status = _c.library.session_sample(self._live(), epoch, position, byref(sample))
            self._calls.reraise()
            if status != _c.OK:
                raise SessionError(self._error())
        if self._sample_names is None:
            self._sample_names = output_names(sample, _c.library.sample_output_count(sample), _c.library.sample_output)
        return Sample(sample, self._sample_names)

    # --- state ----------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The position of the next batch, and the run-time parameters that `set_epoch` has given other values. Restoring it gives
        the same remaining samples under any number of threads, prefetch and ranks."""
        with self._told() as session:
            tell = _c.library.session_state_before if self._has_due() else _c.library.session_state
            parameters = {"parameters": dict(self._parameters)} if self._parameters else {}
            return {"penstock": _c.decode(tell(session)), **parameters}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next ``for`` goes on where `state_dict` was taken, with its run-time parameters. Another pipeline's state is an
        error, behind which the epoch may begin anew, with those parameters."""
        text = state.get("penstock") if isinstance(state, Mapping) else None
        if not isinstance(text, str):
            raise SessionError("this is not the state of a session: that is what state_dict() gives, a mapping with a text for `penstock`")
        parameters = state.get("parameters", {})
        if not isinstance(parameters, Mapping):
            raise SessionError("this is not the state of a session: `parameters` is a mapping from names of run-time parameters to values")
        with self._alone():
            self._live()
            if parameters:
                self._begin(self._epoch, parameters)
            self._restore(text)
            self._iterator = None

    def _restore(self, text: str) -> None:
        if _c.library.session_restore(self._live(), _c.encode(text)) != _c.OK:
            raise SessionError(self._error())
        info = self._read_info()
        self._epoch, self._taken = info["epoch"], False
        self._restored = (self._epoch, text)
        if self._asked is not None:
            self._asked.restart(info["epoch"], info["position"] // self._options["world"])
        self._forget()

    # --- what is known --------------------------------------------------------

    @property
    def batch_size(self) -> int:
        """Samples in a full batch of this rank; in the largest one, where batches go by length."""
        return self._info["batch_size"]

    @property
    def info(self) -> dict[str, Any]:
        """Lengths, threads and memory of the session, and the epoch and position of the next batch."""
        return self._read_info()

    @property
    def classes(self) -> list[str]:
        """The names of the classes that labels number, where the table has such: the folders of `image_folder`, `audio_folder` and
        `video_clips`, the list beside CIFAR's files."""
        with self._told() as session:
            return [_c.decode(_c.library.session_class_name(session, i)) for i in range(_c.library.session_class_count(session))]

    def row_text(self, row: int, column: str = "name") -> str:
        """A column of text of a row of the table, of `csv` any that the file names; `batch.rows` are those of a batch."""
        text, row, name = ctypes.c_char_p(), _c.integer("row", row, ctypes.c_int64), _c.encode(column)
        with self._alone():
            if _c.library.session_row_text(self._live(), row, name, byref(text)) != _c.OK:
                raise SessionError(self._error())
            return _c.decode(text.value)

    def statistics(self) -> dict[str, Any]:
        """Time and counts since the session was opened: samples, batches, stages, what limits, JPEG files by decoder."""
        numbers = _c.Statistics(size=ctypes.sizeof(_c.Statistics))
        with self._told() as session:
            _c.library.session_statistics(session, byref(numbers))
            return _values(numbers)

    def bad_samples(self) -> list[BadSample]:
        """The samples that could not be used so far, of batches that were delivered; of more than 65,536 the last ones."""
        with self._told() as session:
            found, count = _bad_of(session)
            return [BadSample(b.epoch, b.position, b.row, _c.decode(b.name), _c.decode(b.reason), b.substitute)
                    for b in (found[i] for i in range(count))]

    # --- the end --------------------------------------------------------------

    def cancel(self) -> None:
        """Makes whoever waits for a batch, and all who will, get a CancelledError. From any thread, and without a wait."""
        with self._telling:
            if self._session:
                _c.library.session_cancel(self._session)

    def close(self) -> None:
        """Ends all work and threads. Batches that are held stay valid. Closing twice is closing once.

        A call of a data set that is made is waited for, and no other is made. Where a handler of a signal has come into a call of the
        loader, or the function that gives rows closes it, the end comes with that call, whose error is a CancelledError where it waits
        for a batch. A data set cannot close the loader that asks it: SessionError."""
        if not self._session and not self._ending:
            return
        if self._calls.here() and not self._lock._is_owned():
            raise SessionError("the data set is asked by a thread of the loader, which close() would wait for: it may cancel it")
        self._closing = True
        self.cancel()
        if self._is_within():
            self._ends_in = threading.get_ident()
        else:
            self._end()

    def _is_within(self) -> bool:
        """True inside of a call of the loader on this thread, whose session cannot end before it."""
        return self._lock._is_owned() or self._telling._is_owned()

    def _end_if_here(self) -> None:
        """Ends the session where that was left to this call."""
        if self._ends_in == threading.get_ident() and not self._is_within():
            self._end()

    def _end(self) -> None:
        with self._turn:
            self._wanted = True
            try:
                with self._lock:
                    with self._telling: # nobody uses it from now on
                        if self._session:
                            self._ending, self._session = self._session, c_void_p()
                    if self._ending:
                        session, self._ending = self._ending, None
                        _c.library.session_close(session)
                    self._ends_in = 0
                    self._forget()
            finally:
                self._wanted = False

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Garbage is collected anywhere: in a data set, on a thread that the end of the session waits for, or while somebody holds what
        # a data set waits for.
        session = getattr(self, "_session", None) or getattr(self, "_ending", None)
        if not session:
            return
        if not self._calls.readers:
            self.close()
        elif self._process == os.getpid():
            self._session, self._ending, self._closing = c_void_p(), None, True
            _end_elsewhere(session, [self._calls, self._tables, self._columns, self._asked])

    def _repr_png_(self) -> bytes | None:
        # Notebooks show this.
        return contact_sheet(self) if self._session else None

    def __repr__(self) -> str:
        return f"<penstock.Loader {self.program.name}: batches of {self.batch_size}>"


def _bad_of(session: Any) -> tuple[Any, int]:
    """The library's records of bad samples, and how many there are."""
    found, count = ctypes.POINTER(_c.BadSample)(), ctypes.c_size_t()
    _c.library.session_bad_samples(session, byref(found), byref(count))
    return found, count.value


def _share(text: str) -> float:
    """The share that a percentage names, "5%" is 0.05; below 0 where a text is none."""
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else -1.0
    except ValueError:
        return -1.0


def _after(epoch: int) -> int:
    """The number of the next epoch: behind the greatest of 32 bits comes 0, as in the library."""
    return (epoch + 1) % (1 << 32)


def _end_elsewhere(session: Any, kept: list[Any]) -> None:
    """Ends a session on a thread of its own, without a wait; `kept` is what its threads read."""
    _c.library.session_cancel(session)
    ending = _thread.allocate_lock()

    def end() -> None:
        try:
            _c.library.session_close(session)
        finally:
            kept.clear()
            _endings.discard(ending)
            ending.release()

    ending.acquire()
    _endings.add(ending)
    try:
        _thread.start_new_thread(end, ()) # threading's would take locks, which this thread may hold
    except RuntimeError: # there is no thread any more
        _endings.discard(ending)
        _abandoned.append(kept)


class _Epoch:
    """The batches of one epoch, or of what is left of it."""
    __slots__ = ("_loader", "_token", "_make")

    def __init__(self, loader: Loader, token: object, make: Callable[[Batch], Any] | None):
        self._loader: Loader | None = loader
        self._token, self._make = token, make

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Batch:
        loader = self._loader
        if loader is None:
            raise StopIteration
        batch = None
        try:
            batch = loader._next(self)
            if batch is not None:
                return batch if self._make is None else self._make(batch)
        except BaseException: # up to Python 3.10 there is more than one place for them behind the call
            if batch is not None:
                loader._take_back(batch._owner, self)
            raise
        raise StopIteration

    def __length_hint__(self) -> int:
        return len(self._loader) if self._loader else 0


def _numbers_by_code() -> dict[str, tuple[int, str]]:
    """Element types, number and name, by their code in NumPy's array interface."""
    return {code: (number, dtype) for number, dtype in DTYPES.items() if (code := TYPESTR.get(dtype))}


def _memory_column(name: str, column: Any) -> tuple[Any, ...]:
    """The fields of pst_memory_column for an array, but for its name, and what has its memory."""
    try:
        dtype, shape, strides, address, owner = array_of(column)
    except Exception as error: # whatever an array's own library raises
        raise SessionError(f"column `{name}`: {error}; a column is an array of NumPy's, or what numpy.asarray takes") from error
    if not shape:
        raise SessionError(f"column `{name}`: an array of rows has at least one axis")
    number = next(number for number, one in DTYPES.items() if one == dtype)
    step = 1 if dtype == "bool" else int(re.sub(r"\D*", "", dtype)) // 8
    for extent, stride in reversed(list(zip(shape, strides))):
        if stride != step and extent > 1 and 0 not in shape:
            raise SessionError(f"column `{name}`: the array is not contiguous; hint: numpy.ascontiguousarray(array)")
        step *= extent
    return number, len(shape), (ctypes.c_int64 * len(shape))(*shape), address, owner


def _values(struct: ctypes.Structure) -> dict[str, Any]:
    """A struct as data: texts decoded, arrays of named entries as mappings by name."""
    found: dict[str, Any] = {}
    for name, *_ in struct._fields_:
        value = getattr(struct, name)
        if name == "size":
            continue
        if isinstance(value, bytes) or value is None:
            value = _c.decode(value)
        elif isinstance(value, ctypes.Structure):
            value = _values(value)
        elif isinstance(value, ctypes.Array):
            value = {}
            for entry in getattr(struct, name):
                inner = _values(entry)
                key = inner.pop("name")
                value[key] = inner if len(inner) > 1 else inner["count"]
        found[name] = value
    return found
