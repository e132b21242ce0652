# SPDX-License-Identifier: Apache-2.0
"""The parts that run bundles can be built without LLVM, MLIR and ANTLR."""
import os
import re
import subprocess
import tempfile
import unittest

from support import ROOT, main


class RunOnly(unittest.TestCase):
    def test_neither_llvm_nor_antlr_is_looked_for(self):
        with tempfile.TemporaryDirectory(prefix="penstock-run-only-") as build:
            subprocess.run(["cmake", "--preset", "release", "-B", build, "-DPENSTOCK_RUN_ONLY=ON", "-DPENSTOCK_TESTS=unit"], cwd=ROOT,
                           check=True, capture_output=True)
            with open(os.path.join(build, "CMakeCache.txt")) as file:
                looked_for = set(re.findall(r"^(\w+):", file.read(), re.M))
            self.assertEqual(looked_for & {"MLIR_DIR", "LLVM_DIR", "PENSTOCK_ANTLR", "PENSTOCK_GD"}, set())
            targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
            made = set(re.findall(r"^(?:\S*/)?([\w.-]+): ", targets, re.M))
            wanted = {"libpenstock.so", "libpenstock_video.so", "penstock-run", "runtime_sched_test"}
            self.assertEqual(wanted - made, set())
            self.assertEqual(made & {"penstock_cli", "penstock-opt", "libpenstock_dsl.a", "libpenstock-compiler.so"}, set())
            with open(os.path.join(build, "tools", "penstock-run", "cmake_install.cmake")) as file:
                self.assertIn("$ORIGIN/../lib", file.read(), "where it is installed, it does not find the library")


if __name__ == "__main__":
    main()
