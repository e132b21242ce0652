# SPDX-License-Identifier: Apache-2.0
"""The compiler is a library of its own, loaded when something has to be compiled."""
import os
import re
import shutil
import subprocess
import sys

from support import EXAMPLES, ToolTest, main, make_folder

IMAGENET = os.path.join(EXAMPLES, "imagenet_train.pipe")


class Loading(ToolTest):
    def libraries(self, *arguments):
        """The libraries behind the compiler that a run of the tool opens."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300,
                              env={**self.environment(), "LD_DEBUG": "files"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return set(re.findall(r"calling init: \S*/lib(penstock|penstock-compiler|MLIR|LLVM)\.so", done.stderr))

    def test_a_program_from_the_cache_loads_no_compiler(self):
        make_folder(self.data, per_class=10)
        cold = self.libraries(*self.imagenet("--batches", "1"))
        self.assertEqual(cold, {"penstock", "penstock-compiler"})  # which has MLIR and LLVM in it
        warm = self.libraries(*self.imagenet("--batches", "1"))
        self.assertEqual(warm, {"penstock"})

    def library(self):
        linked = subprocess.run(["ldd", self.tool], capture_output=True, text=True, check=True).stdout
        return re.search(r"libpenstock\.so\S* => (\S+)", linked)[1]

    def test_a_program_that_keeps_the_symbols_to_itself_compiles(self):
        # As Python extensions are opened.
        text = """import ctypes, sys
library, program = ctypes.CDLL(sys.argv[1], ctypes.RTLD_LOCAL), ctypes.c_void_p()
source = open(sys.argv[2], "rb").read()
library.pst_compile.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
sys.exit(library.pst_compile(source, len(source), b"x.pipe", None, ctypes.byref(program)))
"""
        done = subprocess.run([sys.executable, "-c", text, self.library(), IMAGENET], capture_output=True, text=True,
                              env={**self.environment(), "XDG_CACHE_HOME": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_missing_compiler_is_an_error_that_names_its_file(self):
        shutil.copy(self.library(), self.folder)
        done = subprocess.run(self.command("check", IMAGENET), capture_output=True, text=True,
                              env={**self.environment(), "LD_LIBRARY_PATH": self.folder})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"error: the compiler cannot be loaded: .*libpenstock-compiler\.so")


if __name__ == "__main__":
    main()
