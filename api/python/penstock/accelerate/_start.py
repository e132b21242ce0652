# SPDX-License-Identifier: Apache-2.0
"""Installs the replacement as soon as torch is there: in this process, and in those that it starts."""
from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
from typing import Any, Sequence

#: In the environment of child processes: how many batches are compared.
VARIABLE = "PENSTOCK_ACCELERATE"
WAITED_FOR = "torch.utils.data.dataloader"


class _After(importlib.abc.MetaPathFinder):
    """Finds one module as others do, and calls `install` when it has run."""

    def __init__(self, compare: int):
        self.compare = compare

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name in ("torchvision", WAITED_FOR):
            _load_library()
        if name != WAITED_FOR:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                _when_whole(self.compare)
            spec.loader.exec_module = exec_module # type: ignore[method-assign]
        return spec


def _when_whole(compare: int) -> None:
    """torch is still being imported, and we import torch: so at the first iterator."""
    loader = sys.modules[WAITED_FOR].DataLoader # type: ignore[attr-defined]
    original = loader._get_iterator

    def _get_iterator(self: Any) -> Any:
        loader._get_iterator = original
        _install(compare)
        return self._get_iterator()
    loader._get_iterator = _get_iterator


def _install(compare: int) -> None:
    """Where it cannot be installed, the script runs as it is."""
    try:
        from penstock.accelerate import install
        install(compare)
    except Exception as error: # noqa: BLE001: of whatever is missing here
        print(f"penstock accelerate: nothing is accelerated in this process: {type(error).__name__}: {error}", file=sys.stderr, flush=True)


def _load_library() -> None:
    """Loads Penstock's library before torchvision's, which bring an old libjpeg of the same name. What fails is said by `_install`."""
    with contextlib.suppress(Exception):
        import penstock # noqa: F401


def _watch_originals() -> None:
    """Has `_originals` remember what is imported: without the package, as sitecustomize loads this."""
    name = "penstock.accelerate._originals"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, pathlib.Path(__file__).resolve().with_name("_originals.py"))
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    sys.modules[name].watch() # type: ignore[attr-defined]


def watch(compare: int) -> None:
    """Installs it in this process, now or when torch is imported."""
    _watch_originals()
    if WAITED_FOR in sys.modules:
        _install(compare)
    else:
        sys.meta_path.insert(0, _After(compare))


def watch_children(compare: int) -> None:
    """Installs it in Pythons that this process starts, such as ranks: their sitecustomize does."""
    here = pathlib.Path(__file__).resolve().parent
    paths = [str(here / "start"), str(here.parents[1]), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    os.environ[VARIABLE] = str(compare)
