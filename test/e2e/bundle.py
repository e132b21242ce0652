# SPDX-License-Identifier: Apache-2.0
"""Bundles: the same samples as from the text, chosen by the machine's level, refused where they are damaged, and run where
there is no compiler."""
import json
import os
import re
import shutil
import subprocess

from support import EXAMPLES, ToolTest, main, make_folder

PIPE = os.path.join(EXAMPLES, "imagenet_train.pipe")
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "armv8-a")
# Libraries that a program which only runs may be linked with: the C and C++ libraries, media and checksums.
LIBRARIES = re.compile(r"(linux-vdso|ld-linux-x86-64|libc|libm|libstdc\+\+|libgcc_s|libxxhash|libpenstock|libjpeg|libspng|libz|"
                       r"libwebp|libsharpyuv|libwebpdemux)\.so[.0-9]*$")


class Bundles(ToolTest):
    def setUp(self):
        super().setUp()
        self.runner = os.path.join(os.path.dirname(os.path.dirname(self.tool)), "penstock-run", "penstock-run")
        make_folder(self.data, per_class=10)
        self.bundle = os.path.join(self.folder, "train.pstk")

    def compile(self, *arguments, pipe=PIPE):
        return self.done("compile", pipe, "-o", self.bundle, *arguments)

    def done(self, *arguments, program=None):
        command = self.command(*arguments) if program is None else [program, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=self.environment(), timeout=120)

    def hashes(self, *arguments, program=None):
        path = os.path.join(self.folder, "hashes")
        if os.path.exists(path):
            os.remove(path)
        result = self.done(*arguments, "--hashes", path, program=program)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(path) as file:
            return file.read()

    def assert_refused(self, result, *words):
        self.assertEqual(result.returncode, 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def offered(self):
        """The levels of this machine."""
        return [level for level in LEVELS if self.done("check", PIPE, "--target", level).returncode == 0 and
                self.done("run", PIPE, "--target", level, "--set", f"root={self.data}", *self.settings).returncode == 0]

    def test_gives_the_samples_of_the_text(self):
        self.assertEqual(self.compile(*self.settings).returncode, 0)
        expected = self.hashes("run", PIPE, "--set", f"root={self.data}", *self.settings)
        self.assertEqual(len(expected.splitlines()), 16)
        root = ("--set", f"root={self.data}")
        self.assertEqual(self.hashes(self.bundle, *root, program=self.runner), expected)
        self.assertEqual(self.hashes("run", self.bundle, *root), expected)
        self.assertEqual(self.hashes(self.bundle, *root, "--seed", "5", program=self.runner),
                         self.hashes("run", PIPE, *root, *self.settings, "--seed", "5"))

    def test_each_level_has_its_code(self):
        expected = self.hashes("run", PIPE, "--set", f"root={self.data}", *self.settings)
        offered = self.offered()
        for level in LEVELS:
            done = self.compile("--target", level, *self.settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            if level in offered:
                self.assertEqual(self.hashes(self.bundle, "--set", f"root={self.data}", program=self.runner), expected)
            else:
                self.assert_refused(self.done(self.bundle, program=self.runner), f"has code for {level}",
                                    f"`--target {offered[-1]}`")
        alone = os.path.getsize(self.bundle)
        self.assertEqual(self.compile("--target", ",".join(LEVELS), *self.settings).returncode, 0)
        self.assertGreater(os.path.getsize(self.bundle), 2 * alone)
        self.assertEqual(self.done(self.bundle, "--set", f"root={self.data}", program=self.runner).returncode, 0)

    def test_a_stage_that_is_read_back(self):
        """A stage that is read back keeps the parameters of sessions, so that it runs as the text does."""
        stage = os.path.join(self.folder, "schedule.mlir")
        with open(stage, "w") as file:
            file.write(self.done("compile", PIPE, "--no-cache", "--target", LEVELS[0], "--emit", "schedule", *self.settings).stdout)
        done = self.done("compile", stage, "--from", "schedule", "-o", self.bundle, "--target", LEVELS[0])
        self.assertEqual(done.returncode, 0, done.stderr)
        given = ("--set", f"root={self.data}", "--set", "per_rank=8")
        expected = self.hashes("run", PIPE, *given, *self.settings)
        self.assertEqual(self.hashes(self.bundle, *given, program=self.runner), expected)
        self.assertEqual(self.hashes("run", stage, "--from", "schedule", *given), expected)
        self.assert_refused(self.done("run", stage, "--from", "schedule"), "parameter `root` needs a value")

    def test_parameters(self):
        pipe = os.path.join(self.folder, "scaled.pipe")
        with open(pipe, "w") as file:
            file.write("pipe 1\npipeline scaled(factor: f32, size: int = 3, length: int = 5) {\n"
                       "  for row in synthetic(length, x = f32[k = size])\n  batch 5 { output y: f32[n, k] = row.x * factor }\n}\n")
        done = self.compile("--set", "factor=2.0", pipe=pipe)
        self.assertEqual(done.returncode, 0, done.stderr)
        doubled = self.hashes("run", pipe, "--set", "factor=2.0")
        self.assertEqual(self.hashes(self.bundle, program=self.runner), doubled)  # what was given is its default
        self.assertEqual(self.hashes(self.bundle, "--set", "factor=3.0", "--set", "size=3", program=self.runner),
                         self.hashes("run", pipe, "--set", "factor=3.0"))
        self.assert_refused(self.done(self.bundle, "--set", "size=4", program=self.runner),
                            "`size` was 3 when this was compiled", "compile it again")
        self.assert_refused(self.done(self.bundle, "--set", "faktor=4", program=self.runner),
                            "there is no parameter `faktor`", "`factor`, `size`")
        self.assert_refused(self.done(self.bundle, "--set", "factor=four", program=self.runner), "factor", "four")

    def test_shows_what_it_takes(self):
        pipe = os.path.join(self.folder, "shown.pipe")
        with open(pipe, "w") as file:
            file.write("pipe 1\nconst base = 32\npipeline shown(factor: f32, bias: f32 = 0.1 * 3.0, size: int = 2 * base, double: int = 2 * size,\n"
                       "               span: range = 0.5 .. 2.0 * 1.0, side: border = edge, unread: u8 = 3) {\n  for row in synthetic(4, x = f32[k = size])\n"
                       "  let x = extend(row.x, k, double, 0, side) * draw uniform(span)\n"
                       "  batch 2 { output y: f32[n, k] = map (v in x) { v * factor + bias } }\n}\n")

        def shown():
            return {one["name"]: one["default"] for one in json.loads(self.done("check", self.bundle, "--json").stdout)["parameters"]}

        for _ in "compiled", "from the cache":
            self.assertEqual(self.compile(pipe=pipe).returncode, 0)
            self.assertEqual(shown(), {"factor": None, "bias": "0.1 * 3.0", "size": "64", "double": "128", "span": "0.5 .. 2", "side": "edge", "unread": "3"})
        for given in ("size=64", "size=6_4", "double=+128", "span=0.50..2", "side=edge", "unread=255"):
            done = self.done(self.bundle, "--set", "factor=1.0", "--set", given, program=self.runner)
            self.assertEqual(done.returncode, 0, done.stderr)
        for given, was in (("size=128", "`size` was 64"), ("span=0.5 ..= 2", "`span` was 0.5 .. 2"), ("side=wrap", "`side` was edge"),
                           ("unread=300", "`unread`: `300` is not a whole number from 0 to 255"),
                           ("factor=1e39", "`factor`: `1e39` does not fit f32")):
            self.assert_refused(self.done(self.bundle, "--set", given, program=self.runner), was)
        done = self.compile("--set", "size=128", "--set", "factor=2.0", "--set", "span=0.1..0.2", pipe=pipe)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(shown(), {"factor": "2.0", "bias": "0.1 * 3.0", "size": "128", "double": "256", "span": "0.1..0.2", "side": "edge", "unread": "3"})
        self.assertRegex(self.done("check", self.bundle).stdout, r"size +int +static +128\n")

    def test_what_is_no_bundle(self):
        self.assert_refused(self.done(PIPE, program=self.runner), "is no bundle", "penstock compile")
        self.assert_refused(self.done(os.path.join(self.folder, "none.pstk"), program=self.runner), "No such file")
        self.assert_refused(self.done(self.folder, program=self.runner), "Is a directory")
        self.assertEqual(self.compile(*self.settings).returncode, 0)
        with open(self.bundle, "rb") as file:
            whole = file.read()
        for what, words in ((b"PSTKB999" + whole[8:], "has format 999"), (whole[:-1], "is damaged"), (whole + b"x", "is damaged"),
                            (whole[:8], "is damaged"), (whole[:4], "is no bundle"), (b"", "is empty")):
            with open(self.bundle, "wb") as file:
                file.write(what)
            self.assert_refused(self.done(self.bundle, program=self.runner), words)

    def test_no_damage_is_run(self):
        self.assertEqual(self.compile("--target", "x86-64-v2", *self.settings).returncode, 0)
        with open(self.bundle, "rb") as file:
            whole = bytearray(file.read())
        for at in range(8, len(whole), len(whole) // 60):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << at % 8
            with open(self.bundle, "wb") as file:
                file.write(damaged)
            self.assert_refused(self.done(self.bundle, program=self.runner), "is damaged")

    def test_what_needs_the_text(self):
        self.assertEqual(self.compile(*self.settings).returncode, 0)
        for command in (("explain",), ("compile", "--emit", "loops")):
            self.assert_refused(self.done(command[0], self.bundle, *command[1:]), "is a bundle", "needs the .pipe file")
        self.assert_refused(self.done("run", self.bundle, "--target", "x86-64-v2"), "--target does not apply")
        self.assert_refused(self.done("run", self.bundle, "--no-cache"), "--no-cache does not apply")
        self.assert_refused(self.done("compile", self.bundle, "-o", self.bundle + ".pstk"), "-o does not apply")
        done = self.done("compile", PIPE, "-o", os.path.join(self.folder, "train.o"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("ends in .pstk", done.stderr)

    def test_an_error_keeps_what_was_there(self):
        self.assertEqual(self.compile(*self.settings).returncode, 0)
        with open(self.bundle, "rb") as file:
            before = file.read()
        self.assert_refused(self.compile("--target", "x86-64-v9"), "unknown target `x86-64-v9`")
        self.assert_refused(self.compile("--set", "size=none"), "size")
        with open(self.bundle, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assert_refused(self.done("compile", PIPE, "-o", os.path.join(self.folder, "none", "x.pstk")), "cannot write")

    def test_runs_where_nothing_else_is(self):
        listed = subprocess.run(["ldd", self.runner], capture_output=True, text=True, check=True).stdout
        libraries = {line.split()[0]: line.split()[2] if "=>" in line else line.split()[0] for line in listed.splitlines()}
        for name in libraries:
            self.assertRegex(os.path.basename(name), LIBRARIES)
        if os.geteuid() != 0:
            self.skipTest("a chroot needs root")
        self.assertEqual(self.compile(*self.settings).returncode, 0)
        expected = self.hashes("run", PIPE, "--set", f"root={self.data}", *self.settings)
        root = os.path.join(self.folder, "root")
        for source in [self.runner, *(path for path in libraries.values() if path.startswith("/"))]:
            place = os.path.join(root, "lib" if source != self.runner else "bin", os.path.basename(source))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.path.realpath(source), place)
        os.makedirs(os.path.join(root, "lib64"))
        shutil.copy("/lib64/ld-linux-x86-64.so.2", os.path.join(root, "lib64"))
        shutil.copy(self.bundle, root)
        shutil.copytree(self.data, os.path.join(root, "data"))
        done = subprocess.run(["/usr/sbin/chroot", root, "/bin/penstock-run", "/train.pstk", "--set", "root=/data", "--hashes", "/hashes"],
                              capture_output=True, text=True, env={"LD_LIBRARY_PATH": "/lib"}, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(root, "hashes")) as file:
            self.assertEqual(file.read(), expected)


if __name__ == "__main__":
    main()
