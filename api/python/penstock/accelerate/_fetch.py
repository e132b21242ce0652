# SPDX-License-Identifier: Apache-2.0
"""A batch's samples, as torch's fetcher asks a data set for them: by `__getitems__` where there is one, else one by one."""
from __future__ import annotations

import copy
from typing import Any

from torch.utils.data import Subset
from torch.utils.data._utils.fetch import _MapDatasetFetcher


def fetched(dataset: Any, indices: Any) -> Any:
    """The samples, before they are put together."""
    return _MapDatasetFetcher(dataset, True, lambda samples: samples, False).fetch(copy.copy(indices)) # `__getitems__` may sort them


def batch_maker(dataset: Any) -> Any:
    """The data set whose own `__getitems__` makes the batches of this one; None: each sample is made by itself. That of a Subset, in
    newer versions of torch, only hands the indices on."""
    if not getattr(dataset, "__getitems__", None):
        return None
    forwards = isinstance(dataset, Subset) and "__getitems__" not in vars(dataset) and all(
        getattr(type(dataset), name, None) is getattr(Subset, name, None) for name in ("__getitem__", "__getitems__"))
    return batch_maker(dataset.dataset) if forwards else dataset
