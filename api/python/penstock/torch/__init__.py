# SPDX-License-Identifier: Apache-2.0
"""Penstock for PyTorch: torchvision's transforms as pipelines, and loaders that trainers take for a DataLoader."""
from ._compile import Stages, UnknownTransform, compile_transforms, follow_transforms
from ._loader import Loader, Ragged, as_tensor

__all__ = ["Loader", "Ragged", "Stages", "UnknownTransform", "as_tensor", "compile_transforms", "follow_transforms"]
