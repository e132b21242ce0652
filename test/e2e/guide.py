# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/'s pages work, and print what the pages show.

A block ```console holds commands, each after `$ `, and lines that must stand in what they print, in
this order; `...` stands for anything. A block ```pipe NAME, or ```mlir NAME, is written to that file first.
"""
import os
import re
import shlex
import subprocess
import sys

from support import ROOT, ToolTest, main, make_folder

BLOCK = re.compile(r"^```(\w*) ?(\S*)\n(.*?)^```$", re.M | re.S)


def blocks(path):
    with open(path) as file:
        return BLOCK.findall(file.read())


def page(name):
    return os.path.join(ROOT, "docs", name)


class Guide(ToolTest):
    def setUp(self):
        super().setUp()
        for name in ("compiler", "docs", "examples", "scripts", "stdlib", "test"):
            os.symlink(os.path.join(ROOT, name), os.path.join(self.folder, name))
        make_folder(os.path.join(self.folder, "build", "sample-data"), per_class=40, sizes=(200, 300))
        subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "make-sample-sounds"), os.path.join(self.folder, "build", "sample-sounds")], check=True)
        tools = os.path.join(self.folder, "bin")
        os.makedirs(tools)
        os.symlink(self.tool, os.path.join(tools, "penstock"))
        self.opt = os.path.join(os.path.dirname(os.path.dirname(self.tool)), "penstock-opt", "penstock-opt")
        os.symlink(self.opt, os.path.join(tools, "penstock-opt"))
        self.path = tools + os.pathsep + os.environ["PATH"]

    def type_in(self, command, expected):
        words = shlex.split(command)
        if words[0].startswith("scripts/"):  # installs, builds: run by hand and by CI
            self.assertTrue(os.access(os.path.join(ROOT, words[0]), os.X_OK), words[0])
            return
        done = subprocess.run(command, shell=True, cwd=self.folder, capture_output=True, text=True, timeout=300,
                              env={**self.environment(), "PATH": self.path})
        shown = done.stdout + done.stderr
        self.assertNotIn(done.returncode, (2, 127), f"{command}\n{shown}")
        self.assertEqual(done.returncode != 0, "error:" in expected, f"{command}\n{shown}")
        place = 0
        for line in expected.splitlines():
            pattern = ".*".join(re.escape(part) for part in line.split("..."))
            found = re.compile(f"^{pattern}$" if line.strip() else "", re.M).search(shown, place)
            self.assertIsNotNone(found, f"{command}\nthe guide shows\n  {line}\nand this is printed:\n{shown}")
            place = found.end()

    def follow(self, guide):
        """Types in all commands of a page; the number of those of ours."""
        commands = 0
        for kind, name, text in blocks(page(guide)):
            if kind in ("pipe", "mlir"):
                with open(os.path.join(self.folder, name), "w") as file:
                    file.write(text)
                continue
            if kind != "console":
                continue
            self.assertTrue(text.startswith("$ "), text)
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, _, expected = part.partition("\n")
                with self.subTest(command=command):
                    self.type_in(command, expected)
                commands += command.startswith("penstock")
        return commands

    def test_every_command_of_the_guide(self):
        self.assertGreater(self.follow("guide.md"), 15)

    def test_every_operator_that_is_written_step_by_step(self):
        self.assertGreater(self.follow("operators.md"), 7)

    def test_every_command_about_checkpoints_and_shards(self):
        self.assertGreater(self.follow("jpeg-index.md"), 3)

    def test_an_op_is_followed_through_the_tree(self):
        if not os.path.exists(self.opt):
            self.skipTest("penstock-opt is not built")
        self.assertGreater(self.follow("adding-an-op.md"), 4)

    def test_pipelines_that_are_shown_have_the_layout(self):
        for name in ("guide.md", "operators.md", "jpeg-index.md", "adding-an-op.md"):
            for kind, file, text in blocks(page(name)):
                if kind == "pipe":
                    with self.subTest(file=file):
                        done = subprocess.run(self.command("fmt", "-"), input=text, capture_output=True, text=True)
                        self.assertEqual((done.stderr, done.stdout), ("", text))

    def test_no_command_hides_in_another_block(self):
        for name in ("guide.md", "operators.md"):
            for kind, _, text in blocks(page(name)):
                if kind != "console":
                    self.assertNotRegex(text, r"(?m)^\$? ?penstock ")


if __name__ == "__main__":
    main()
