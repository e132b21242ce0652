# SPDX-License-Identifier: Apache-2.0
"""Data sets of the script's own, by leaves: its iterator runs, with its workers; only the images come from pipelines: one for each Compose
that is known, and one for each Key that is recorded (`_record`)."""
from __future__ import annotations

import collections
import contextlib
import copy
import functools
import operator
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import torch
from torch.utils.data import DataLoader, _utils
from torch.utils.data._utils import collate as torch_collate
from torch.utils.data._utils.collate import default_collate

from ..errors import SessionError
from ..torch._chain import Chain, Unknown
from ..torch._compile import Stages
from ..torch._state import keeps_state
from . import _compare, _functional, _lazy # noqa: F401: _functional adds to what is traced
from ._plan import Work, as_value, askable, asked_ahead, capacity_of, compiles, notes_of, pipeline_of, work_of
from ._fetch import batch_maker, fetched
from ._files import File
from ._guard import Guard, guard_of, unlike
from ._record import Recorded, chain_of, columns_of, source_of
from ._report import Entry
from ._search import calls_functions, composes_in
from ._session import FORKED, epoch_number
from ._items import ItemSession
from ._tables import GREY_ITEMS, ITEMS, Declined, Source, name_of
from ._workers import WorkerRandomness

#: Pipelines of what is recorded that a worker makes leaves for.
PIPELINES = 8
#: Batches of leaves that are taken from the script's iterator before the first is delivered.
AHEAD = 2


# --- in the workers ---------------------------------------------------------------------------------------------------

@dataclass
class LeafBatch:
    """A collated batch of leaves: images (paths, encoded bytes or pixels), and their pipeline's key, the number of a Compose or
    the Key of a record."""
    key: Any
    items: list[Any]


@dataclass
class OneLeaf(LeafBatch):
    """A leaf by itself: no axis for samples, and its class."""
    stands_for: type = torch.Tensor


@dataclass
class MixedBatch:
    """A collated batch whose elements are not all leaves, or not of one Compose."""
    parts: list[Any]


@dataclass
class Packed:
    """A tensor as an array: in a queue it takes no file descriptor."""
    array: Any


@dataclass
class Fetched:
    """The samples of a batch as a data set's own `__getitems__` gives them, and the indices that it was asked for."""
    indices: Any
    samples: Any


class Traced:
    """A data set whose `__getitem__` and `__getitems__` are traced. In all else it is the data set."""

    def __init__(self, dataset: Any, composes: list[tuple[Any, str]], rests: list[int], drawing: frozenset[int],
                 kinds: list[tuple[bool, torch.dtype]]):
        # Composes by place: in a spawned worker they have other addresses. They are now as they were compiled, there, too; worker_init_fn comes later.
        guards: dict[int, Guard] = {}
        for (compose, _), rest in zip(composes, rests):
            guards.setdefault(id(compose), guard_of(compose, rest))
        self.__dict__.update(_dataset=dataset, _composes=composes, _rests=rests, _drawing=drawing, _kinds=kinds, _numbers=None, _seen={},
                             _unlike="", _keys=set(), _guards=[guards[id(compose)] for compose, _ in composes])

    @property
    def __class__(self) -> Any: # type: ignore[override]
        return type(self.__dict__["_dataset"])

    def __getattr__(self, name: str) -> Any:
        if "_dataset" not in self.__dict__: # while it is unpickled
            raise AttributeError(name)
        if name == "__getitems__":
            if batch_maker(self.__dict__["_dataset"]) is None:
                raise AttributeError(name)
            return functools.partial(_traced_batch, self) # as a method it would be there for all data sets
        return getattr(self.__dict__["_dataset"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_dataset"], name, value)

    def __reduce__(self) -> Any:
        return Traced, tuple(self.__dict__[name] for name in ("_dataset", "_composes", "_rests", "_drawing", "_kinds"))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def __len__(self) -> int:
        return len(self.__dict__["_dataset"])

    def __getitem__(self, index: Any) -> Any:
        return index, self._traced(operator.getitem, index)

    def _traced(self, get: Callable[[Any, Any], Any], wanted: Any) -> Any:
        """What the function gets from the data set, with leaves in it."""
        known = self.__dict__
        if known["_numbers"] is None:
            known["_numbers"] = {(id(compose), mode): number for number, (compose, mode) in enumerate(known["_composes"])}
            known["_unlike"] = unlike() # worker_init_fn may have changed this
            if torch.utils.data.get_worker_info() is not None:
                _lazy.patches.use() # until this process ends
        if known["_unlike"]:
            return get(known["_dataset"], wanted)
        with _lazy.traced(known["_numbers"], known["_drawing"], known["_guards"], known["_kinds"]):
            found = get(known["_dataset"], wanted)
        for leaf in leaves_in(found):
            recorded = _lazy.recorded_in(leaf)
            if recorded is not None:
                leaf.__dict__["key"] = self._chosen(recorded.row()[0])
        return found

    def _chosen(self, key: Any) -> Any:
        """The key if a pipeline is worth it: each further one must have come once more often. Else None. Images of all sizes that are
        handed over as they are would be a pipeline for each size."""
        seen, keys = self.__dict__["_seen"], self.__dict__["_keys"]
        if key in keys:
            return key
        if len(keys) == PIPELINES or len(seen) > 1000:
            return None
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= len(keys):
            return None
        keys.add(key)
        return key


def _traced_batch(traced: Traced, indices: Any) -> Fetched:
    # They may be sorted by the data set, and are asked for once more where an image cannot be made.
    return Fetched(indices, traced._traced(lambda dataset, wanted: dataset.__getitems__(wanted), copy.copy(indices)))


class Collected:
    """In place of collate_fn. Gives the indices of the samples, and what they are: put together where that is default_collate's,
    or where there are no leaves; else as a list, for the script's own collate_fn to have tensors."""

    def __init__(self, collate_fn: Callable[[Any], Any]):
        self.collate_fn = collate_fn

    def __call__(self, batch: list[tuple[Any, Any]] | Fetched) -> tuple[Any, bool, Any]:
        if isinstance(batch, Fetched):
            indices, samples = batch.indices, batch.samples
        else:
            indices, samples = [index for index, _ in batch], [sample for _, sample in batch]
        fn_map = getattr(torch_collate, "default_collate_fn_map", None)
        if self.collate_fn is default_collate and fn_map is not None:
            tensors = fn_map[torch.Tensor]

            def collate_tensors(batch: Any, **options: Any) -> Any: # the first is none
                return collate_leaves(batch) if any(map(_lazy.is_leaf, batch)) else tensors(batch, **options)
            fn_map[_lazy.Leaf], fn_map[torch.Tensor] = collate_leaves, collate_tensors
            try:
                return indices, True, default_collate(samples)
            finally:
                fn_map[torch.Tensor] = tensors
                del fn_map[_lazy.Leaf]
        if not any(map(_lazy.unseen, leaves_in(samples))):
            return indices, True, self.collate_fn(_packed(samples, False))
        return indices, False, _packed(samples, torch.utils.data.get_worker_info() is not None)


def collate_leaves(leaves: Any, **options: Any) -> Any:
    keys = [_lazy.key_of(leaf) for leaf in leaves]
    if keys[0] is not None and all(key == keys[0] for key in keys):
        return LeafBatch(keys[0], [leaf.__dict__["item"] for leaf in leaves])
    packed = torch.utils.data.get_worker_info() is not None
    return MixedBatch([_packed(leaf, packed) for leaf in leaves])


def leaves_in(value: Any) -> Iterator[Any]:
    if _lazy.is_leaf(value):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from leaves_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from leaves_in(inner)


def _packed(value: Any, arrays: bool) -> Any:
    if _lazy.is_leaf(value):
        key = _lazy.key_of(value)
        if key is None:
            return _packed(_lazy.looked(value), arrays)
        return OneLeaf(key, [value.__dict__["item"]], value.__class__)
    if arrays and type(value) is torch.Tensor and value.device.type == "cpu" and not value.requires_grad and (
            value.dtype != torch.bfloat16 and value.layout == torch.strided):
        return Packed(value.numpy())
    return rebuilt(value, lambda inner: _packed(inner, arrays))


def rebuilt(value: Any, function: Callable[[Any], Any]) -> Any:
    """The container with the function of each element; anything else as it is."""
    if type(value) in (list, tuple):
        return type(value)(map(function, value))
    if isinstance(value, MixedBatch):
        return MixedBatch([function(inner) for inner in value.parts])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(function, value))
    if isinstance(value, dict):
        made = copy.copy(value)
        for key, inner in value.items():
            made[key] = function(inner)
        return made
    return value


# --- which data sets --------------------------------------------------------------------------------------------------

@dataclass
class LeafPlan:
    """The pipelines of the Composes of a data set, each with the mode of its images."""
    composes: list[tuple[Any, str]]
    works: list[Work]
    capacity: int
    texts: list[str]
    #: The texts of pipelines by the Key of a record; None: it does not compile.
    recorded: dict[Any, str | None] = field(default_factory=dict)
    idle: list[dict[Any, ItemSession]] = field(default_factory=list)
    #: True if an iteration has met leaves; None: there was no iteration yet.
    useful: bool | None = None

    def same_as(self, other: LeafPlan) -> bool:
        return self.capacity == other.capacity and self.texts == other.texts and len(self.composes) == len(other.composes) and all(
            a[0] is b[0] and a[1] == b[1] for a, b in zip(self.composes, other.composes)) and all(a.same_as(b) for a, b in zip(self.works, other.works))

    @property
    def draws(self) -> bool:
        return any(work.draws for work in self.works)

    def session(self, key: Any) -> ItemSession | None:
        """A session for a Compose by its number, or for a Key. None: its images are made as they are originally."""
        if not isinstance(key, tuple):
            return ItemSession(self.texts[key], self.capacity)
        if key not in self.recorded:
            self.recorded[key] = recorded_text(key)
        text = self.recorded[key]
        return None if text is None else ItemSession(text, self.capacity, list(columns_of(key)))


def leaf_plan_of(loader: DataLoader, why: str) -> LeafPlan:
    """The plan of a loader's images. Raises Declined, with the reason `why` for data sets without another one."""
    composes, works, texts, reasons = [], [], [], []
    with _lazy.patches: # what cannot be replaced is found now, not in a worker
        pass
    for compose in composes_in(loader.dataset):
        for mode, source, takes in (("RGB", ITEMS, "image"), ("L", GREY_ITEMS, "grey")):
            try:
                work = work_of(compose, takes, lambda work: pipeline_of(source, work)) # noqa: B023: called at once
                text = _text_of(work, source)
                if state := keeps_state(*work.rest):
                    raise Declined(f"{work.why}; it, or what stands behind it, {state}")
            except Declined as declined:
                reasons.append(str(declined))
                continue
            composes.append((compose, mode))
            works.append(work)
            texts.append(text)
    if not composes and not (why.startswith("data set ") and calls_functions(loader.dataset)):
        if not reasons:
            raise Declined(f"{why}, and no torchvision Compose is found in it" if why.startswith("data set ") else why)
        raise Declined(why if reasons[0] in why else f"{why}; {reasons[0]}")
    return LeafPlan(composes, works, capacity_of(loader), texts)


def recorded_text(key: Any) -> str | None:
    source = source_of(key)
    try:
        text = pipeline_of(source, Work(Stages(*chain_of(key))))
    except Unknown:
        return None
    return text if compiles(text) else None


def kind_of(work: Work) -> tuple[bool, torch.dtype]:
    """Whether what a Compose makes is a tv_tensors.Image, and its element type, for `_lazy.traced`."""
    made = work.stages.result
    if work.rest or not isinstance(made, Chain):
        return False, _lazy.UNKNOWN
    return made.cls == "Image", torch.float32 if made.kind == "tensor" else torch.uint8


def _text_of(work: Work, source: Source) -> str:
    if not isinstance(work.stages.result, Chain):
        raise Declined("a Compose makes several images")
    if work.stages.result.kind == "image" and not work.rest:
        raise Declined("a Compose makes a Pillow image")
    if not work.stages.result.stages:
        raise Declined("a Compose does nothing with its image")
    text = pipeline_of(source, work)
    if not compiles(text):
        raise Declined("images that a Compose leaves of different sizes make no batch")
    return text


# --- in the script's process ------------------------------------------------------------------------------------------

class LeafIterator:
    """The script's own iterator, and the images in the places of their leaves."""

    def __init__(self, loader: DataLoader, plan: LeafPlan, entry: Entry, compared: int, original: Callable[[DataLoader], Any]):
        self._plan, self._entry, self._compared = plan, entry, compared
        # As torch's iterators, not the loader: one with persistent workers has its iterator, which would live on with them in a cycle until garbage
        # is collected, and that closes the queues of workers before they are told to stop.
        self._proxy = copy.copy(loader)
        self._dataset, self._collate_fn = loader.dataset, loader.collate_fn
        self._num_workers, self._pin_memory = loader.num_workers, loader.pin_memory
        drawing = frozenset(number for number, work in enumerate(plan.works) if work.draws or work.drew or work.rest)
        traced = Traced(loader.dataset, plan.composes, [len(work.rest) for work in plan.works], drawing, list(map(kind_of, plan.works)))
        self._guards = traced.__dict__["_guards"]
        self._proxy.__dict__.update(dataset=traced, collate_fn=Collected(loader.collate_fn),
                                    pin_memory=False)
        self._sessions: dict[Any, ItemSession | None] = {}
        self._failed = False
        self._inner = original(self._proxy)
        self._workers = WorkerRandomness(self._inner._base_seed, loader.num_workers)
        self._begun = -1
        self._begin()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_inner" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._inner, name)

    def _reset(self, loader: DataLoader, first_iter: bool = False) -> None:
        self._inner._reset(self._proxy, first_iter)
        self._begin()

    def _begin(self) -> None:
        self._begun += 1
        if not self._sessions and self._plan.idle: # at first, and after an epoch of persistent workers
            self._sessions = {key: session for key, session in self._plan.idle.pop().items() if session.session.is_open}
        for key, session in self._sessions.items():
            if session is not None:
                session.begin(self._epoch_of(key))
        self._queue: collections.deque[Any] = collections.deque()
        self._number, self._ended, self._failed = 0, False, False
        # Without workers the data set runs here, between what the script does.
        self._pulled = 0
        # Each batch that is taken has the workers ask for another. Without workers the data set runs here, between what the script does.
        self._early = askable(self._proxy.batch_sampler) - asked_ahead(self._proxy) if self._num_workers else 0
        self._entry.begun()

    def _epoch_of(self, key: Any) -> int:
        return epoch_number(self._inner._base_seed, self._begun, 0 if isinstance(key, tuple) else key) # a Key draws nothing

    def __iter__(self) -> LeafIterator:
        return self

    def __len__(self) -> int:
        return len(self._inner)

    def __next__(self) -> Any:
        start = time.perf_counter()
        if not self._failed and not all(session is None or session.session.is_open for session in self._sessions.values()):
            self._entry.failed(SessionError(FORKED))
            self._failed = True
        while not self._ended and (not self._queue or len(self._queue) <= AHEAD and self._pulled < self._early):
            self._pull()
        if not self._queue:
            if self._plan.useful is None:
                self._plan.useful = False
            self._leave()
            raise StopIteration
        if isinstance(self._queue[0], BaseException):
            raise self._queue.popleft() # a variable would be a cycle through its traceback, too
        found = self._queue.popleft()
        data = self._filled(*found)
        if self._number < self._compared:
            _compare.compare(self._dataset, self._collate_fn, found[0], data, self._plan.draws,
                             f"{self._entry.name}, batch {self._number}")
        self._number += 1
        if self._pin_memory and torch.cuda.is_available():
            data = _utils.pin_memory.pin_memory(data)
        self._entry.delivered(len(found[0]), start, time.perf_counter())
        return data

    def _pull(self) -> None:
        """Takes another batch of leaves, and gives their images to the sessions."""
        self._pulled += 1
        try:
            with _lazy.patches if not self._num_workers else contextlib.nullcontext():
                indices, collated, data = next(self._inner)
        except StopIteration:
            self._ended = True
            return
        except Exception as error: # of the script's own, in its turn
            self._queue.append(error)
            return
        counts: dict[Any, int] = {}
        for key, items in grouped(data).items():
            session = None if self._failed else self._session(key)
            if session is not None and isinstance(key, tuple):
                session.push([(one.item, *one.row()[1]) for one in items], items[0].extents)
            elif session is not None:
                session.push(items)
            counts[key] = len(items)
        if counts:
            self._plan.useful = True
        self._queue.append((indices, collated, data, counts))

    def _session(self, key: Any) -> ItemSession | None:
        if key not in self._sessions:
            session = self._sessions[key] = self._plan.session(key)
            if session is not None:
                session.begin(self._epoch_of(key))
            if not isinstance(key, tuple): # a Compose was known for images of both modes; this is one that there are
                for note in notes_of(self._plan.works[key], self._num_workers):
                    self._entry.note(note)
        return self._sessions[key]

    def _filled(self, indices: Any, collated: bool, data: Any, counts: dict[Any, int]) -> Any:
        images: dict[Any, torch.Tensor] = {}
        good = not counts or not self._failed
        try:
            for key, count in counts.items() if good else ():
                session = self._session(key)
                if session is None:
                    continue
                images[key], read = session.take(count)
                good = good and read
        except SessionError as error: # files that nothing can stand in for, say
            self._entry.failed(error)
            self._failed, good = True, False
        good = good and all(map(unchanged, (one for key, items in grouped(data).items() if key in images for one in items)))
        if not good: # Pillow may know better, and else it raises what the script expects
            images = {}
        missing = [key for key in counts if key not in images]
        if any(not isinstance(key, tuple) for key in missing) or missing and not readable(data, missing):
            with self._workers.of(self._number):
                return self._collate_fn(fetched(self._dataset, indices))
        self._entry.images += sum(counts[key] for key in images)
        places = dict.fromkeys(counts, 0)
        if collated and not any(not isinstance(key, tuple) and self._plan.works[key].rest for key in counts):
            return self._put(data, images, places)
        with self._workers.of(self._number):
            filled = self._put(data, images, places)
            return filled if collated else self._collate_fn(filled)

    def _put(self, value: Any, images: dict[Any, torch.Tensor], places: dict[Any, int]) -> Any:
        if isinstance(value, LeafBatch):
            tensors = self._tensors(value, images, places)
            if not isinstance(value, OneLeaf):
                return tensors if isinstance(tensors, torch.Tensor) else torch.stack(tensors)
            return tensors[0] if value.stands_for is torch.Tensor else tensors[0].as_subclass(value.stands_for)
        if isinstance(value, Packed):
            return torch.from_numpy(value.array)
        if isinstance(value, MixedBatch):
            return torch.stack([self._put(item, images, places) for item in value.parts])
        return rebuilt(value, lambda inner: self._put(inner, images, places))

    def _tensors(self, leaves: LeafBatch, images: dict[Any, torch.Tensor], places: dict[Any, int]) -> Any:
        """The images of some leaves: the next ones that their pipeline has made, or as they are made originally."""
        if leaves.key not in images:
            return [_lazy.made(recorded) for recorded in leaves.items]
        first = places[leaves.key]
        last = places[leaves.key] = first + len(leaves.items)
        tensors = images[leaves.key][first:last]
        work = None if isinstance(leaves.key, tuple) else self._plan.works[leaves.key]
        if work is None or not work.rest:
            return tensors
        chain, = work.outputs.values()
        guard = self._guards[leaves.key]
        return [guard.made(lambda: self._rest(as_value(tensor, chain), work)) for tensor in tensors] # noqa: B023: called at once

    @staticmethod
    def _rest(value: Any, work: Work) -> Any:
        for transform in work.rest:
            value = transform(value)
        return value

    def _leave(self) -> None:
        sessions, self._sessions = {key: session for key, session in self._sessions.items() if session is not None}, {}
        if sessions and not self._failed and len(self._plan.idle) < 2:
            self._plan.idle.append(sessions)

    def __del__(self) -> None:
        if "_sessions" in self.__dict__:
            self._leave()


def unchanged(one: Any) -> bool:
    """False for an image of a file that another one has taken the place of: its pipeline may have read either."""
    item = one.item if isinstance(one, Recorded) else one
    return not isinstance(item, File) or item.is_same()


def grouped(value: Any) -> dict[Any, list[Any]]:
    """The images of the leaves in a structure, by key, in their order."""
    found: dict[Any, list[Any]] = {}

    def walk(inner: Any) -> Any:
        if isinstance(inner, LeafBatch):
            found.setdefault(inner.key, []).extend(inner.items)
            return inner
        return rebuilt(inner, walk)
    walk(value)
    return found


def readable(value: Any, keys: list[Any]) -> bool:
    """True if Pillow can make all images of these keys."""
    try:
        for key, items in grouped(value).items():
            for recorded in items if key in keys else ():
                _lazy.made(recorded)
    except Exception: # noqa: BLE001: whatever it is, the script gets it from its own data set
        return False
    return True
