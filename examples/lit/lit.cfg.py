# SPDX-License-Identifier: Apache-2.0
#
# How lit runs the tests in this folder. Copy it beside your own pipelines.
#
#     PREFIX=...                 where Penstock is installed
#     python3 /usr/lib/llvm-19/build/utils/lit/lit.py -v --param penstock=$PREFIX .
#
# lit and FileCheck come from Debian's llvm-19-tools; --param llvm=DIR says where another
# LLVM has them.
import os

import lit.formats

config.name = "my pipelines"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".pipe", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params.get("out", config.test_source_root)

prefix = lit_config.params.get("penstock", os.path.join(config.test_source_root, "..", "..", "..", ".."))
llvm = lit_config.params.get("llvm", "/usr/lib/llvm-19")
folders = [os.path.join(prefix, "bin"), os.path.join(llvm, "bin")]
config.environment["PATH"] = os.pathsep.join(folders + [os.environ["PATH"]])
