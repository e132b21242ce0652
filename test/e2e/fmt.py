# SPDX-License-Identifier: Apache-2.0
"""penstock fmt on files, folders, links and stdin. What the layout is, test/unit/dsl/format_test.cpp says."""
import os
import stat
import subprocess

from support import ROOT, ToolTest, main

LOOSE = "pipe  1\nconst a=1 // one\n"
NEAT = "pipe 1\nconst a = 1  // one\n"


class Fmt(ToolTest):
    def write(self, name, text=LOOSE):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", newline="") as file:
            file.write(text)
        return path

    def read(self, path):
        with open(path, newline="") as file:
            return file.read()

    def test_a_file_is_replaced_and_says_nothing(self):
        path = self.write("a.pipe")
        os.chmod(path, 0o640)
        done = self.run_tool("fmt", path)
        self.assertEqual((done.stdout, done.stderr, self.read(path)), ("", "", NEAT))
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o640)
        before = os.stat(path)
        self.run_tool("fmt", path)
        self.assertEqual(os.stat(path), before)  # nothing to do, nothing written
        self.assertEqual(os.listdir(self.folder), ["a.pipe"])

    def test_a_link_stays_a_link(self):
        path = self.write("a.pipe")
        link = os.path.join(self.folder, "b.pipe")
        os.symlink("a.pipe", link)
        self.run_tool("fmt", link)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(self.read(path), NEAT)

    def test_check_names_the_files_and_changes_none(self):
        paths = [self.write("x/a.pipe"), self.write("x/y/b.pipe"), self.write("x/c.pipe", NEAT), self.write("x/d.txt")]
        done = self.run_tool("fmt", "--check", os.path.join(self.folder, "x"), expect=1)
        self.assertEqual(done.stdout.splitlines(), paths[:2])
        self.assertEqual([self.read(path) for path in paths], [LOOSE, LOOSE, NEAT, LOOSE])
        self.run_tool("fmt", os.path.join(self.folder, "x"))
        self.assertEqual([self.read(path) for path in paths], [NEAT, NEAT, NEAT, LOOSE])
        self.run_tool("fmt", "--check", os.path.join(self.folder, "x"))

    def test_stdin_to_stdout(self):
        def pipe(text, *more):
            done = subprocess.run(self.command("fmt", "-", *more), input=text, capture_output=True, text=True)
            return done.returncode, done.stdout, done.stderr
        self.assertEqual(pipe(LOOSE), (0, NEAT, ""))
        self.assertEqual(pipe(LOOSE, "--check"), (1, "<stdin>\n", ""))
        self.assertEqual(pipe(NEAT, "--check"), (0, "", ""))
        code, out, messages = pipe("pipe 1\nconst a = (1\n")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("<stdin>:2:11: error: `(` is never closed\n", messages)

    def test_a_file_with_an_error_is_left_alone_and_the_others_are_not(self):
        broken, loose = self.write("a.pipe", "pipe 1\nconst  a =\n"), self.write("b.pipe")
        done = self.run_tool("fmt", broken, loose, "nowhere.pipe", expect=1)
        self.assertIn("a.pipe:2:", done.stderr)
        self.assertIn("cannot read nowhere.pipe: No such file or directory", done.stderr)
        self.assertEqual([self.read(broken), self.read(loose)], ["pipe 1\nconst  a =\n", NEAT])

    def test_what_a_kill_leaves_the_next_run_takes_away(self):
        path = self.write("a.pipe")
        for limit in (5, 12):
            self.kill_while_writing("fmt", path, limit=limit)
            self.assertEqual(self.read(path), LOOSE)
        self.run_tool("fmt", path)
        self.assertEqual((self.read(path), os.listdir(self.folder)), (NEAT, ["a.pipe"]))

    def test_what_cannot_be_written_is_said(self):
        path = self.write("full/a.pipe")
        # A name that leaves no room for the new file's beside it.
        long = self.write("full/" + "a" * 250 + ".pipe")
        done = self.run_tool("fmt", path, long, expect=1)
        self.assertIn("cannot write " + long + ": File name too long\n", done.stderr)
        self.assertEqual([self.read(path), self.read(long)], [NEAT, LOOSE])

    def test_the_repository_is_formatted(self):
        self.run_tool("fmt", "--check", *(os.path.join(ROOT, name) for name in ("examples", "stdlib", "bench")))


if __name__ == "__main__":
    main()
