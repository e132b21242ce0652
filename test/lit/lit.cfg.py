# SPDX-License-Identifier: Apache-2.0
#
# How lit runs the tests of this folder. Registered with ctest as `lit`.
#
# FileCheck, not and split-file come with LLVM; our tools from the build folder
# given as --param build=DIR. A test names what it needs with REQUIRES.
import glob
import os

import lit.formats

config.name = "penstock"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".pipe", ".test"]
config.excludes = ["inputs"]
config.test_source_root = os.path.dirname(__file__)

build = lit_config.params.get("build", os.path.join(config.test_source_root, "../../build/dev"))
config.test_exec_root = os.path.join(build, "test", "lit")

llvm = lit_config.params.get("llvm", "/usr/lib/llvm-19")
folders = [os.path.join(llvm, "bin")]
folders += [os.path.join(build, "tools", tool) for tool in ("penstock", "penstock-opt", "penstock-run")]
config.environment["PATH"] = os.pathsep.join(folders + [os.environ["PATH"]])

for name in ("PENSTOCK_MUTANT", "PENSTOCK_ALL_IN_TURN"):  # see test/mutants and scripts/soak
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%examples", os.path.join(config.test_source_root, "../../examples")))
config.substitutions.append(("%build", build))
# Messages are pinned whole: every line, from its first column on.
config.substitutions.append(("%check_text", "FileCheck %s --match-full-lines --strict-whitespace"))

# Where codegen/cuda/Nvrtc.cpp looks.
cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
for folder in ("/usr/local/cuda/lib64", os.path.join(cache, "penstock/nvrtc/nvidia/cu13/lib")):
    if glob.glob(os.path.join(folder, "libnvrtc.so*")):
        config.available_features.add("nvrtc")
        config.environment["HOME"] = os.path.expanduser("~")

for tool in ("penstock", "penstock-opt", "penstock-import", "penstock-run"):
    if any(os.access(os.path.join(folder, tool), os.X_OK) for folder in folders[1:]):
        config.available_features.add(tool)
