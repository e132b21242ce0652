"""Penstock for PyTorch: torchvision's transforms as pipelines, and loaders that trainers take for a DataLoader."""
from ._compile import Stages, UnknownTransform, compile_transforms, follow_transforms

__all__ = ["Stages", "UnknownTransform", "compile_transforms", "follow_transforms"]
