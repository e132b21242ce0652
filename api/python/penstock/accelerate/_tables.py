# SPDX-License-Identifier: Apache-2.0
"""The data sets of torchvision whose rows are known without calling `__getitem__`: lists of files, and arrays."""
from __future__ import annotations

import bisect
import copy
import functools
import os
import tempfile
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy
import torch
import torchvision
from torch.utils.data import ConcatDataset, Subset
from torchvision import datasets

from ._fetch import batch_maker

#: Endings of files that `decode` does not read, and Pillow does.
OTHER_FORMATS = (".tif", ".tiff", ".gif", ".avif", ".heic", ".jxl", ".jp2")


class Declined(Exception):
    """A loader runs as it is; the text says why."""


@dataclass(eq=False)
class Part:
    """A data set that holds rows itself, and the parts of its `__getitem__`."""
    dataset: Any
    #: The images: a list of paths, or an array of u8[row, ...].
    images: Any
    #: For an array, `column`'s type and the expression of the image in a pipeline; None for paths.
    layout: tuple[str, str] | None
    #: The argument of its transform: "image", or "grey" for Pillow's mode L.
    takes: str
    #: The target of a row, before `target_transform`.
    target: Callable[[int], Any]
    #: The same of the rows as they are now, whatever becomes of the data set: workers have copies.
    frozen: Callable[[], Callable[[int], Any]]
    #: True while row k of the data set is the image that it was.
    same: Callable[[int], bool]
    #: The folder that paths start from, if there are relative ones.
    folder: str = ""

    @property
    def transform(self) -> Any:
        return self.dataset.transform


@dataclass
class Table:
    """The rows of a loader's data set: those of its parts, one after the other."""
    dataset: Any
    parts: list[Part]
    #: The row of each index of the data set; None: the same number.
    rows: numpy.ndarray | None
    length: int

    def row_of(self, indices: Sequence[Any]) -> numpy.ndarray | None:
        """The rows of a batch's indices; None where the data set itself has to say what they mean."""
        try:
            found = numpy.asarray(indices)
        except (TypeError, ValueError):
            return None
        if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
            return None
        found = found.astype(numpy.int64, copy=False)
        if found.min() < 0 or found.max() >= self.length:
            return None
        return found if self.rows is None else self.rows[found]

    def place(self, row: int) -> tuple[Part, int]:
        """The part that a row lies in, and its number there."""
        for part in self.parts:
            if row < len(part.images):
                return part, row
            row -= len(part.images)
        raise IndexError(row)

    def still(self, indices: Sequence[Any], rows: Sequence[int]) -> bool:
        """True if the data set gives these rows for these indices, with the images that they had."""
        for index, row in zip(indices, rows):
            part, inner = self.place(row)
            dataset, found = inner_of(self.dataset, int(index))
            if dataset is not part.dataset or found != inner or not part.same(inner):
                return False
        return True

    def same_as(self, other: Table) -> bool:
        """True if a session over the other table gives the same images."""
        def one(a: Part, b: Part) -> bool:
            if isinstance(a.images, list) or isinstance(b.images, list):
                return a.images == b.images and a.folder == b.folder
            return all(getattr(a.images, name) == getattr(b.images, name) for name in ("shape", "strides", "dtype")) and (
                a.images.__array_interface__["data"] == b.images.__array_interface__["data"])
        return len(self.parts) == len(other.parts) and all(map(one, self.parts, other.parts))


# --- data sets that hold rows -----------------------------------------------------------------------------------------

def _own(dataset: Any, base: type, *names: str) -> bool:
    """True if a class overrides neither its base's __getitem__ nor its methods of these names."""
    return all(getattr(type(dataset), name) is getattr(base, name) for name in ("__getitem__", *names))


def files_of(dataset: Any) -> Part | None:
    if not isinstance(dataset, datasets.DatasetFolder) or not _own(dataset, datasets.DatasetFolder):
        return None
    if dataset.loader not in (datasets.folder.default_loader, datasets.folder.pil_loader):
        raise Declined(f"{name_of(dataset)} has a loader of its own, {name_of(dataset.loader)}")
    if dataset.loader is datasets.folder.default_loader and torchvision.get_image_backend() != "PIL":
        raise Declined("torchvision's image backend is not PIL")
    samples, loader = dataset.samples, dataset.loader
    paths = [os.fspath(path) for path, _ in samples]

    def frozen() -> Callable[[int], Any]:
        samples = list(dataset.samples)
        return lambda row: samples[row][1]
    return Part(dataset, paths, None, "image", lambda row: dataset.samples[row][1], frozen,
                lambda row: row < len(dataset.samples) and dataset.loader is loader and os.fspath(dataset.samples[row][0]) == paths[row],
                "" if all(map(os.path.isabs, paths)) else os.getcwd())


def array_of(dataset: Any) -> Part | None:
    """Data sets of images of one size, in memory."""
    kinds = [(datasets.CIFAR10, "hwc", "targets"), (datasets.MNIST, "hw", "targets"), (datasets.STL10, "chw", "labels"),
             (datasets.SVHN, "chw", "labels")]
    for base, order, name in kinds:
        if isinstance(dataset, base) and _own(dataset, base):
            break
    else:
        return None

    def target(row: int, targets: Any = None) -> Any:
        targets = getattr(dataset, name) if targets is None else targets
        if base is datasets.CIFAR10: # whatever they are
            return targets[row]
        return None if base is datasets.STL10 and targets is None else int(targets[row])
    images = dataset.data
    array = images.numpy() if isinstance(images, torch.Tensor) else images
    if not isinstance(array, numpy.ndarray) or array.dtype != numpy.uint8 or array.ndim != 1 + len(order):
        raise Declined(f"{name_of(dataset)}.data is no array of bytes of the usual shape")
    if order == "hwc" and array.transpose(0, 3, 1, 2).flags.c_contiguous: # CIFAR's, planes in memory
        order, array = "chw", array.transpose(0, 3, 1, 2)
    extents = dict(zip(order, array.shape[1:]))
    if extents.get("c", 3) != 3:
        raise Declined(f"{name_of(dataset)}.data has {extents['c']} channels")
    column = ", ".join(f"{axis} = {'rgb' if axis == 'c' else extents[axis]}" for axis in order)
    return Part(dataset, array, (f"u8[{column}]", "row.image |> three_equal" if order == "hw"
                                 else "row.image"), "grey" if order == "hw" else "image", target,
                lambda: functools.partial(target, targets=copy.deepcopy(getattr(dataset, name))), lambda row: dataset.data is images)


def name_of(thing: Any) -> str:
    cls = thing if isinstance(thing, type) or hasattr(thing, "__qualname__") else type(thing)
    return f"{cls.__module__}.{cls.__qualname__}"


def inner_of(dataset: Any, index: int) -> tuple[Any, int]:
    """The data set that holds an index of `dataset`, and its number there."""
    while True:
        if isinstance(dataset, Subset):
            dataset, index = dataset.dataset, int(dataset.indices[index])
        elif isinstance(dataset, ConcatDataset):
            part = bisect.bisect_right(dataset.cumulative_sizes, index)
            index -= dataset.cumulative_sizes[part - 1] if part else 0
            dataset = dataset.datasets[part]
        else:
            return dataset, index


# --- data sets of data sets -------------------------------------------------------------------------------------------

def table_of(dataset: Any) -> Table:
    """The rows of a data set. Raises Declined where only `__getitem__` or `__getitems__` knows them."""
    if (maker := batch_maker(dataset)) is not None:
        raise Declined(f"data set {name_of(maker)}: its batches are made by its own __getitems__")
    parts: list[Part] = []
    starts: dict[int, int] = {}

    def rows(inner: Any) -> tuple[numpy.ndarray | None, int]:
        # Nothing and the length where rows are the data set's own numbers, from 0 on.
        if type(inner).__getitem__ is Subset.__getitem__ if isinstance(inner, Subset) else False:
            found, length = rows(inner.dataset)
            chosen = numpy.asarray(inner.indices, dtype=numpy.int64).reshape(-1)
            if len(chosen) and not (0 <= chosen.min() and chosen.max() < length):
                raise Declined("a Subset has indices beyond its data set")
            return (chosen if found is None else found[chosen]), len(chosen)
        if isinstance(inner, ConcatDataset) and type(inner).__getitem__ is ConcatDataset.__getitem__:
            each = [rows(part) for part in inner.datasets]
            every = [numpy.arange(length) if found is None else found for found, length in each]
            return numpy.concatenate(every), sum(length for _, length in each)
        start = starts.get(id(inner))
        if start is None:
            part = files_of(inner) or array_of(inner)
            if part is None:
                raise Declined(f"data set {name_of(inner)}: only its own __getitem__ knows its samples")
            start = starts[id(inner)] = sum(len(one.images) for one in parts)
            parts.append(part)
        length = len(next(part for part in parts if part.dataset is inner).images)
        return (None if start == 0 else numpy.arange(start, start + length)), length

    found, length = rows(dataset)
    if len({(part.layout, part.takes) for part in parts}) != 1:
        raise Declined("its parts have images of different kinds")
    if found is not None and len(found) == sum(len(part.images) for part in parts) and (
            found == numpy.arange(len(found))).all():
        found = None
    return Table(dataset, parts, found, length)


# --- as the source of a pipeline --------------------------------------------------------------------------------------

@dataclass
class Source:
    """The source of a pipeline that reads a table: its call, parameters and declarations, and the expression of the image."""
    source: str
    #: Parameters of the pipeline, each with a comma behind it.
    parameters: str
    image: str
    declarations: str = ""


#: Pillow's mode L has three equal channels in a pipeline (penstock.torch).
THREE = "fn three_equal(x: u8[h, w]) -> u8[h, w, c: rgb] = stack([x, x, x], c)\n"


FILES = Source("csv(list, root, data = column(0, bytes))", "list: path, root: path, ", "row.data |> decode(rgb)")


#: Images that are given as they come (ItemSession).
ITEMS = Source("external_source(data = bytes)", "", "row.data |> decode(rgb)")
GREY_ITEMS = Source("external_source(data = bytes)", "", "row.data |> decode(rgb) |> grayscale")


def source_of(table: Table) -> Source:
    layout = table.parts[0].layout
    if layout is None:
        return FILES
    column, image = layout
    return Source(f"raw(image = column(images, {column}))", "images: path, ", image, THREE if table.parts[0].takes == "grey" else "")


def nothing() -> None:
    pass


def open_with(table: Table) -> tuple[dict[str, Any], dict[str, Any], Callable[[], None], Callable[[], None]]:
    """Parameters and columns for a session over a table, what to do once it is open, and what when an epoch begins."""
    if table.parts[0].layout is not None:
        arrays = [part.images for part in table.parts]
        if len(arrays) == 1 and arrays[0].flags.c_contiguous: # what the script writes into it shows
            return {}, {"image": arrays[0]}, nothing, nothing
        whole = numpy.concatenate(arrays)
        if not whole.flags.c_contiguous:
            whole = numpy.ascontiguousarray(whole)

        def renew() -> None:
            numpy.concatenate(arrays, out=whole)
        return {}, {"image": whole}, nothing, renew
    handle, name = tempfile.mkstemp(suffix=".csv", prefix="penstock-")
    with os.fdopen(handle, "wb") as file:
        file.writelines(b'"' + os.fsencode(os.path.abspath(os.path.join(part.folder, path))).lstrip(b"/").replace(b'"', b'""') + b'"\n' for part in table.parts
                        for path in part.images)
    return {"list": name, "root": "/"}, {}, lambda: os.unlink(name), nothing
