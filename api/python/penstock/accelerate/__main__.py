# SPDX-License-Identifier: Apache-2.0
"""`python -m penstock.accelerate [OPTIONS] train.py args...`, which `penstock accelerate` runs."""
from __future__ import annotations

import argparse
import builtins
import importlib.machinery
import importlib.util
import io
import os
import runpy
import sys
import types

from . import _start


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="penstock accelerate", description="Runs a PyTorch script with Penstock's batches where its DataLoaders allow it; docs/accelerate.md "
        "says where. At its end, stderr has what was done with each loader.",
        epilog="Exit code: the script's. Example: penstock accelerate train.py --epochs 90")
    found.add_argument("--compare", type=int, default=0, metavar="N",
                       help="the first N batches of each loader are also made by the original; deterministic parts must have equal "
                            "bits, or an exception ends the loop")
    found.add_argument("-m", dest="module", action="store_true", help="what follows is a module, as for python -m")
    found.add_argument("script", help="the script, or module")
    found.add_argument("arguments", nargs=argparse.REMAINDER, metavar="args", help="its arguments")
    return found


def main(arguments: list[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    if options.compare < 0:
        parser().error("--compare takes a number of batches")
    _start.watch_children(options.compare)
    _start.watch(options.compare)
    sys.argv = [options.script, *options.arguments]
    if not options.module and not os.path.exists(options.script):
        parser().error(f"there is no file {options.script}")
    if not getattr(sys.flags, "safe_path", False): # where no such folder stands
        sys.path[0] = os.getcwd() if options.module else os.path.dirname(os.path.abspath(options.script))
    if missing := whats_missing(options.script, options.module):
        sys.exit(f"{sys.executable}: {missing}")
    if options.module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        return
    if options.script.endswith(".py"):
        run_script(os.path.abspath(options.script))
    else:
        runpy.run_path(options.script, run_name="__main__")


def whats_missing(script: str, is_module: bool) -> str:
    """What Python says where there is nothing to run, for which runpy has an exception with its traceback."""
    if not is_module:
        lacks = os.path.isdir(script) and not os.path.exists(os.path.join(script, "__main__.py"))
        return f"can't find '__main__' module in {script!r}" if lacks else ""
    try:
        found = importlib.util.find_spec(script)
        if found is None:
            return f"No module named {script}"
        if found.submodule_search_locations is not None and importlib.util.find_spec(script + ".__main__") is None:
            return f"No module named {script}.__main__; {script!r} is a package and cannot be directly executed"
    except ModuleNotFoundError as why: # of a package that it lies in
        if why.name and (script + ".").startswith(why.name + "."):
            return f"Error while finding module specification for {script!r} ({type(why).__name__}: {why})"
        raise
    return ""


def run_script(path: str) -> None:
    """As python3 runs it: `__file__` is absolute, and sys.argv as it was given, of which runpy has one or the other."""
    script = types.ModuleType("__main__")
    vars(script).update(__file__=path, __builtins__=builtins, __cached__=None, __annotations__={},
                        __loader__=importlib.machinery.SourceFileLoader("__main__", path))
    sys.modules["__main__"] = script
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, vars(script))


if __name__ == "__main__":
    main()
