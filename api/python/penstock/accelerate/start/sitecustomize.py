# SPDX-License-Identifier: Apache-2.0
"""Python runs this at its start, in the processes that `penstock accelerate` starts; then the sitecustomize that it hides."""
import os
import sys


def _start() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path or os.curdir) != here]
    import importlib.machinery
    import importlib.util
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    if "PENSTOCK_ACCELERATE" in os.environ:
        # Not `penstock` itself: it loads the library, which most of a training job's Pythons never need.
        path = os.path.join(os.path.dirname(here), "_start.py")
        spec = importlib.util.spec_from_file_location("penstock_accelerate_start", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.watch(int(os.environ["PENSTOCK_ACCELERATE"]))


_start()
