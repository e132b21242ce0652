"""The compiler is a library of its own, loaded when something has to be compiled."""
import os
import re
import shutil
import subprocess

from support import EXAMPLES, ToolTest, main, make_folder

IMAGENET = os.path.join(EXAMPLES, "imagenet_train.pipe")


class Loading(ToolTest):
    def libraries(self, *arguments):
        """Which of the libraries behind the compiler a run of the tool opens."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300,
                              env={**self.environment(), "LD_DEBUG": "files"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return set(re.findall(r"calling init: \S*/lib(penstock|penstock-compiler|MLIR|LLVM)\.so", done.stderr))

    def test_a_program_from_the_cache_loads_neither_mlir_nor_llvm(self):
        make_folder(self.data, per_class=10)
        cold = self.libraries(*self.imagenet("--batches", "1"))
        self.assertEqual(cold, {"penstock", "penstock-compiler", "MLIR", "LLVM"})
        warm = self.libraries(*self.imagenet("--batches", "1"))
        self.assertEqual(warm, {"penstock"})

    def test_a_missing_compiler_is_an_error_that_names_its_file(self):
        linked = subprocess.run(["ldd", self.tool], capture_output=True, text=True, check=True).stdout
        path = re.search(r"(libpenstock\.so\S*) => (\S+)", linked)
        shutil.copy(path[2], os.path.join(self.folder, path[1]))
        done = subprocess.run(self.command("check", IMAGENET), capture_output=True, text=True,
                              env={**self.environment(), "LD_LIBRARY_PATH": self.folder})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"error: the compiler cannot be loaded: .*libpenstock-compiler\.so")


if __name__ == "__main__":
    main()
