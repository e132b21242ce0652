"""Data sets of the script's own, by leaves: its iterator runs, with its workers; only the images come from a pipeline."""
from __future__ import annotations

import collections
import contextlib
import copy
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import torch
from torch.utils.data import DataLoader, _utils
from torch.utils.data._utils import collate as torch_collate
from torch.utils.data._utils.collate import default_collate

from ..errors import SessionError
from ..torch._chain import Chain
from . import _compare, _lazy
from ._plan import Work, as_value, askable, asked_ahead, capacity_of, compiles, pipeline_of, work_of
from ._report import Entry
from ._session import epoch_number
from ._items import ItemSession
from ._tables import GREY_ITEMS, ITEMS, Declined, Source, name_of
from ._workers import WorkerRandomness

#: Batches of leaves that are taken from the script's iterator before the first is delivered.
AHEAD = 2


# --- in the workers ---------------------------------------------------------------------------------------------------

@dataclass
class LeafBatch:
    """What default_collate makes of leaves: the tensor of these images (paths, encoded bytes or pixels) by the Compose of this number."""
    number: int
    items: list[Any]


class OneLeaf(LeafBatch):
    """A leaf by itself: no axis for samples."""


@dataclass
class MixedBatch:
    """The same where they are not all leaves, or not of one Compose."""
    parts: list[Any]


@dataclass
class Packed:
    """A tensor as an array: in a queue it takes no file descriptor."""
    array: Any


class Traced:
    """A data set whose `__getitem__` is traced. In all else it is the data set."""

    def __init__(self, dataset: Any, composes: list[tuple[Any, str]], drawing: frozenset[int]):
        # Composes by place: in a spawned worker they have other addresses.
        self.__dict__.update(_dataset=dataset, _composes=composes, _drawing=drawing, _numbers=None)

    @property
    def __class__(self) -> Any: # type: ignore[override]
        return type(self.__dict__["_dataset"])

    def __getattr__(self, name: str) -> Any:
        if name == "__getitems__" or "_dataset" not in self.__dict__: # while it is unpickled
            raise AttributeError(name)
        return getattr(self.__dict__["_dataset"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_dataset"], name, value)

    def __reduce__(self) -> Any:
        return Traced, (self.__dict__["_dataset"], self.__dict__["_composes"], self.__dict__["_drawing"])

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def __len__(self) -> int:
        return len(self.__dict__["_dataset"])

    def __getitem__(self, index: Any) -> Any:
        known = self.__dict__
        if known["_numbers"] is None:
            known["_numbers"] = {(id(compose), mode): number for number, (compose, mode) in enumerate(known["_composes"])}
            if torch.utils.data.get_worker_info() is not None:
                _lazy.patches.use() # until this process ends
        with _lazy.traced(known["_numbers"], known["_drawing"]):
            return index, known["_dataset"][index]


class Collected:
    """In place of collate_fn. Gives the indices of the samples, and what they are: put together where that is default_collate's,
    or where there are no leaves; else as a list, for the script's own collate_fn to have tensors."""

    def __init__(self, collate_fn: Callable[[Any], Any]):
        self.collate_fn = collate_fn

    def __call__(self, batch: list[tuple[Any, Any]]) -> tuple[list[Any], bool, Any]:
        indices, samples = [index for index, _ in batch], [sample for _, sample in batch]
        fn_map = getattr(torch_collate, "default_collate_fn_map", None)
        if self.collate_fn is default_collate and fn_map is not None:
            tensors = fn_map[torch.Tensor]

            def collate_tensors(batch: Any, **options: Any) -> Any: # the first is none
                return collate_leaves(batch) if any(type(one) is _lazy.Leaf for one in batch) else tensors(batch, **options)
            fn_map[_lazy.Leaf], fn_map[torch.Tensor] = collate_leaves, collate_tensors
            try:
                return indices, True, default_collate(samples)
            finally:
                fn_map[torch.Tensor] = tensors
                del fn_map[_lazy.Leaf]
        if not any(_unseen_in(samples)):
            return indices, True, self.collate_fn(_packed(samples, False))
        return indices, False, _packed(samples, torch.utils.data.get_worker_info() is not None)


def collate_leaves(leaves: Any, **options: Any) -> Any:
    if all(map(_lazy.unseen, leaves)):
        number = leaves[0].__dict__["number"]
        if all(leaf.__dict__["number"] == number for leaf in leaves):
            return LeafBatch(number, [leaf.__dict__["item"] for leaf in leaves])
    packed = torch.utils.data.get_worker_info() is not None
    return MixedBatch([_packed(leaf, packed) for leaf in leaves])


def _unseen_in(value: Any) -> Iterator[bool]:
    if type(value) is _lazy.Leaf:
        yield _lazy.unseen(value)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _unseen_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _unseen_in(inner)


def _packed(value: Any, arrays: bool) -> Any:
    if type(value) is _lazy.Leaf:
        if not _lazy.unseen(value):
            return _packed(_lazy.looked(value), arrays)
        return OneLeaf(value.__dict__["number"], [value.__dict__["item"]])
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

def composes_in(dataset: Any) -> list[Any]:
    """The torchvision containers that a data set refers to; not those within one of them that is known."""
    kinds = tuple(cls for cls, _ in _lazy.containers())
    found, seen, pending = [], set(), [(dataset, 0)]
    while pending and len(seen) < 10000:
        value, depth = pending.pop()
        if id(value) in seen or depth > 8 or isinstance(value, (str, bytes, int, float, torch.Tensor, type)):
            continue
        seen.add(id(value))
        if isinstance(value, kinds):
            found.append(value)
            continue
        if isinstance(value, dict):
            inner = list(value.values()) if len(value) <= 64 else []
        elif isinstance(value, (list, tuple)):
            inner = list(value) if len(value) <= 64 else []
        else:
            inner = list(getattr(value, "__dict__", {}).values())
            for cell in getattr(value, "__closure__", None) or ():
                try:
                    inner.append(cell.cell_contents)
                except ValueError: # empty
                    pass
        pending += [(one, depth + 1) for one in inner]
    return found


@dataclass
class LeafPlan:
    """The pipelines of the Composes of a data set, each with the mode of its images."""
    composes: list[tuple[Any, str]]
    works: list[Work]
    capacity: int
    texts: list[str]
    idle: list[list[ItemSession | None]] = field(default_factory=list)
    #: Whether leaves have been met in an iteration; None: there was none yet.
    useful: bool | None = None

    def same_as(self, other: LeafPlan) -> bool:
        return self.capacity == other.capacity and self.texts == other.texts and len(self.composes) == len(other.composes) and all(
            a[0] is b[0] and a[1] == b[1] for a, b in zip(self.composes, other.composes)) and all(a.same_as(b) for a, b in zip(self.works, other.works))

    @property
    def draws(self) -> bool:
        return any(work.draws for work in self.works)


def leaf_plan_of(loader: DataLoader, why: str) -> LeafPlan:
    """How a loader's images are made. Raises Declined; `why`, for data sets of which nothing else can be said."""
    composes, works, texts, reasons = [], [], [], []
    for compose in composes_in(loader.dataset):
        for mode, source, takes in (("RGB", ITEMS, "image"), ("L", GREY_ITEMS, "grey")):
            try:
                work = work_of(compose, takes, lambda work: pipeline_of(source, work)) # noqa: B023: called at once
                text = _text_of(work, source)
            except Declined as declined:
                reasons.append(str(declined))
                continue
            composes.append((compose, mode))
            works.append(work)
            texts.append(text)
    if not composes:
        if not reasons:
            raise Declined(f"{why}, and no torchvision Compose is found in it" if why.startswith("data set ") else why)
        raise Declined(why if reasons[0] in why else f"{why}; {reasons[0]}")
    return LeafPlan(composes, works, capacity_of(loader), texts)


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
        self._loader, self._plan, self._entry, self._compared = loader, plan, entry, compared
        self._proxy = copy.copy(loader)
        drawing = frozenset(number for number, work in enumerate(plan.works) if work.draws or work.drew or work.rest)
        self._proxy.__dict__.update(dataset=Traced(loader.dataset, plan.composes, drawing), collate_fn=Collected(loader.collate_fn),
                                    pin_memory=False)
        self._sessions: list[ItemSession | None] = []
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
        if not any(self._sessions): # at first, and after an epoch of persistent workers
            kept = self._plan.idle.pop() if self._plan.idle else [None] * len(self._plan.works)
            self._sessions = [session if session is not None and session.session.is_open else None for session in kept]
        for number, session in enumerate(self._sessions):
            if session is not None:
                session.begin(self._epoch_of(number))
        self._queue: collections.deque[Any] = collections.deque()
        self._number, self._ended, self._failed = 0, False, False
        # Without workers the data set runs here, between what the script does.
        self._pulled = 0
        # Each batch that is taken has the workers ask for another. Without workers the data set runs here, between what the script does.
        self._early = askable(self._loader.batch_sampler) - asked_ahead(self._loader) if self._loader.num_workers else 0
        self._entry.begun()

    def _epoch_of(self, number: int) -> int:
        return epoch_number(self._inner._base_seed, self._begun, number)

    def __iter__(self) -> LeafIterator:
        return self

    def __len__(self) -> int:
        return len(self._inner)

    def __next__(self) -> Any:
        start = time.perf_counter()
        while not self._ended and (not self._queue or len(self._queue) <= AHEAD and self._pulled < self._early):
            self._pull()
        if not self._queue:
            if self._plan.useful is None:
                self._plan.useful = False
            self._leave()
            raise StopIteration
        found = self._queue.popleft()
        if isinstance(found, BaseException):
            raise found
        data = self._filled(*found)
        if self._number < self._compared:
            _compare.compare(self._loader.dataset, self._loader.collate_fn, found[0], data, self._plan.draws,
                             f"{self._entry.name}, batch {self._number}")
        self._number += 1
        if self._loader.pin_memory and torch.cuda.is_available():
            data = _utils.pin_memory.pin_memory(data)
        self._entry.delivered(len(found[0]), start, time.perf_counter())
        return data

    def _pull(self) -> None:
        """Takes another batch of leaves, and gives their images to the sessions."""
        self._pulled += 1
        try:
            with _lazy.patches if not self._loader.num_workers else contextlib.nullcontext():
                indices, collated, data = next(self._inner)
        except StopIteration:
            self._ended = True
            return
        except Exception as error: # of the script's own, in its turn
            self._queue.append(error)
            return
        counts: dict[int, int] = {}
        for number, items in grouped(data).items():
            if not self._failed:
                self._session(number).push(items)
            counts[number] = len(items)
        if counts:
            self._plan.useful = True
        self._queue.append((indices, collated, data, counts))

    def _session(self, number: int) -> ItemSession:
        session = self._sessions[number]
        if session is None:
            session = self._sessions[number] = ItemSession(self._plan.texts[number], self._plan.capacity)
            session.begin(self._epoch_of(number))
        return session

    def _filled(self, indices: list[Any], collated: bool, data: Any, counts: dict[int, int]) -> Any:
        images: dict[int, torch.Tensor] = {}
        good = not counts or not self._failed
        try:
            for number, count in counts.items() if good else ():
                images[number], read = self._session(number).take(count)
                good = good and read
        except SessionError as error: # files that nothing can stand in for, say
            self._entry.failed(error)
            self._failed, good = True, False
        self._entry.images += sum(counts.values()) if good else 0
        if not good: # Pillow may know better, and else it raises what the script expects
            with self._workers.of(self._number):
                return self._loader.collate_fn([self._loader.dataset[index] for index in indices])
        places = dict.fromkeys(counts, 0)
        if collated and not any(self._plan.works[number].rest for number in counts):
            return self._put(data, images, places)
        with self._workers.of(self._number):
            filled = self._put(data, images, places)
            return filled if collated else self._loader.collate_fn(filled)

    def _put(self, value: Any, images: dict[int, torch.Tensor], places: dict[int, int]) -> Any:
        if isinstance(value, LeafBatch):
            first = places[value.number]
            last = places[value.number] = first + len(value.items)
            tensors, work = images[value.number][first:last], self._plan.works[value.number]
            if not work.rest:
                return tensors[0] if isinstance(value, OneLeaf) else tensors
            chain, = work.outputs.values()
            made = [self._rest(as_value(tensor, chain), work) for tensor in tensors]
            return made[0] if isinstance(value, OneLeaf) else torch.stack(made)
        if isinstance(value, Packed):
            return torch.from_numpy(value.array)
        if isinstance(value, MixedBatch):
            return torch.stack([self._put(item, images, places) for item in value.parts])
        return rebuilt(value, lambda inner: self._put(inner, images, places))

    @staticmethod
    def _rest(value: Any, work: Work) -> Any:
        for transform in work.rest:
            value = transform(value)
        return value

    def _leave(self) -> None:
        sessions, self._sessions = self._sessions, [None] * len(self._plan.works)
        if any(sessions) and not self._failed and len(self._plan.idle) < 2:
            self._plan.idle.append(sessions)

    def __del__(self) -> None:
        if "_sessions" in self.__dict__:
            self._leave()


def grouped(value: Any) -> dict[int, list[Any]]:
    """The images of the leaves in a structure, by number, in their order."""
    found: dict[int, list[Any]] = {}

    def walk(inner: Any) -> Any:
        if isinstance(inner, LeafBatch):
            found.setdefault(inner.number, []).extend(inner.items)
            return inner
        return rebuilt(inner, walk)
    walk(value)
    return found
