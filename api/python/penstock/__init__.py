# SPDX-License-Identifier: Apache-2.0
"""Penstock for Python: pipelines from files on disk to batches for a training step.

    import penstock

    with penstock.load("train.pipe", root="photos", per_rank=256) as loader:
        for image, label in loader:
            ...  # numpy.asarray(image), torch.from_dlpack(image)

The language is described in docs/language.md, this package in docs/python.md.
"""
import importlib
from types import ModuleType

from . import _c
from .dataset import Table, from_dataset
from .errors import CancelledError, CompileError, PenstockError, SessionError
from .loader import BadSample, Loader, load
from .outputs import Array, Batch, Output, Sample
from .program import Parameter, Program, compile_bundle

__version__ = _c.decode(_c.library.version())
__all__ = ["Array", "BadSample", "Batch", "CancelledError", "CompileError", "Loader", "Output", "Parameter",
           "PenstockError", "Program", "Sample", "SessionError", "Table", "compile_bundle", "from_dataset", "load"]


def __getattr__(name: str) -> ModuleType:
    """`penstock.ops` and `penstock.torch`, when they are asked for: one needs NumPy, the other PyTorch."""
    if name in ("ops", "torch"):
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
