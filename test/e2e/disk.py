# SPDX-License-Identifier: Apache-2.0
"""Disks that are full, caches that cannot be used, signals: the samples stay the same."""
import os
import random
import resource
import shutil
import subprocess
import sys

from support import EXAMPLES, ToolTest, make_folder, main, read_hashes

STORM = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 and sys.argv[2].endswith(".so") else None


class Disk(ToolTest):
    def setUp(self):
        super().setUp()
        make_folder(self.data, per_class=20)
        for folder, _, _ in os.walk(self.data):
            os.utime(folder, (1e9, 1e9))  # of folders that have just changed no index is kept
        self.cache = os.path.join(self.folder, "cache")
        self.runs = 0

    def environment(self):
        return {**super().environment(), "XDG_CACHE_HOME": self.cache}

    def hashes(self, **process):
        """The hashes of the samples that a run delivers."""
        self.runs += 1
        path = os.path.join(self.folder, f"hashes{self.runs}")
        done = subprocess.run(self.command(*self.imagenet("--hashes", path)), capture_output=True, text=True,
                              timeout=300, **{"env": self.environment(), **process})
        self.assertEqual(done.returncode, 0, done.stderr)
        return read_hashes(path)

    def kept(self):
        """All files of the cache but the one whose time alone counts."""
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.cache) for name in names
                if name != "last-cleaned"]

    def test_a_cache_that_cannot_be_written(self):
        expected = self.hashes()
        shutil.rmtree(self.cache)
        with open(self.cache, "w"):
            pass  # a file where the folder should be
        self.assertEqual(self.hashes(), expected)
        os.remove(self.cache)
        os.makedirs(os.path.join(self.cache, "penstock"), mode=0o777)
        os.chmod(os.path.join(self.cache, "penstock"), 0o777)  # anybody's code could lie there
        self.assertEqual(self.hashes(), expected)
        self.assertEqual(os.listdir(os.path.join(self.cache, "penstock")), [])

    def test_a_full_disk_below_the_cache(self):
        expected = self.hashes()
        for limit in (0, 100, 5000):
            shutil.rmtree(self.cache)
            done = subprocess.run(self.command(*self.imagenet("--json")), capture_output=True, text=True,
                                  timeout=300, env=self.environment(),
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual(done.returncode, 0, done.stderr)
            # Nothing that is cut off is taken for whole.
            self.assertEqual(self.hashes(), expected)

    def test_what_kills_leave_in_the_cache_the_next_run_takes_away(self):
        for limit in (100, 5000, 6000):
            self.kill_while_writing(*self.imagenet(), limit=limit)
        self.hashes()
        kept = {os.path.splitext(path)[1] for path in self.kept()}
        self.assertEqual(kept, {".parameters", ".program", ".index"})

    def test_cache_files_that_are_cut_or_changed(self):
        expected = self.hashes()
        rng = random.Random(5)
        files = self.kept()
        self.assertGreaterEqual(len(files), 3, files)  # parameters, program, index
        for path in files:
            with open(path, "rb") as file:
                whole = file.read()
            for damage in range(6):
                data = bytearray(whole)
                if damage < 3:
                    data = data[:rng.randrange(len(data)) if damage else 0]
                else:
                    for _ in range(damage):
                        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                with open(path, "wb") as file:
                    file.write(data)
                self.assertEqual(self.hashes(), expected, f"{path} damaged, {damage}")
                with open(path, "wb") as file:
                    file.write(whole)

    def test_cache_files_that_cannot_be_read(self):
        """Folders, pipes, what is not to be read by this user or gives an error when it is: as if there were none."""
        expected = self.hashes()
        for path in self.kept():
            def link(to, path=path):
                os.symlink(to, path)

            for kind, make in (("folder", os.mkdir), ("pipe", os.mkfifo), ("no rights", lambda path: os.open(path, os.O_CREAT, 0o000)),
                               ("error", lambda path: link("/proc/self/mem")), ("no end", lambda path: link("/dev/zero")),
                               ("circle", lambda path: link(os.path.basename(path)))):
                os.rename(path, path + ".away")
                make(path)
                self.assertEqual(self.hashes(), expected, f"{path}: {kind}")
                os.rmdir(path) if kind == "folder" else os.remove(path)
                os.rename(path + ".away", path)

    def test_a_relative_cache_folder_is_ignored(self):
        """As the XDG rules want it: then the cache is in ~/.cache."""
        make = {**self.environment(), "XDG_CACHE_HOME": "relative", "HOME": self.folder}
        self.hashes(env=make, cwd=self.folder)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "relative")))
        self.assertTrue(os.listdir(os.path.join(self.folder, ".cache", "penstock")))

    def test_cache_files_in_place_of_others(self):
        """A file that is whole, and another pipeline's, is not run for the one whose name it has."""
        def run(text):
            pipe = os.path.join(self.folder, "one.pipe")
            with open(pipe, "w") as file:
                file.write("pipe 1\nuse vision\npipeline p(root: path) {\n  for row in image_folder(root)\n  batch 4 per rank last keep {\n"
                           f"    output image: u8[n, h, w, c] = row.data |> decode(rgb) |> {text}\n  }}\n}}\n")
            path = os.path.join(self.folder, f"hashes{len(expected)}")
            self.run_tool("run", pipe, "--set", f"root={self.data}", "--hashes", path)
            found = read_hashes(path)
            os.remove(path)
            return found

        texts, expected = ("resize(20, 20)", "resize(20, 21)"), []
        files = []
        for text in texts:
            expected.append(run(text))
            new = [path for path in self.kept() if path not in [known for one in files for known in one]]
            files.append(sorted(path for path in new if path.endswith((".program", ".parameters"))))
        self.assertEqual([len(one) for one in files], [2, 2])
        for ending in (".program", ".parameters"):
            one, other = ([path for path in files[i] if path.endswith(ending)][0] for i in range(2))
            shutil.copyfile(other, one)
            self.assertEqual(run(texts[0]), expected[0], ending)
            self.assertEqual(run(texts[1]), expected[1], ending)

    def test_hashes_that_cannot_be_written(self):
        for path in ("/dev/full", os.path.join(self.folder, "nowhere", "hashes")):
            done = self.run_tool(*self.imagenet("--hashes", path), expect=1)
            self.assertIn(f"error: cannot write {path}", done.stderr)

    def test_files_that_may_not_grow(self):
        """Below `ulimit -f` a write fails, with an error that says so; no signal ends the command."""
        self.hashes()
        for arguments, name in ((self.imagenet("--hashes", os.path.join(self.folder, "hashes")), "hashes"),
                                (self.imagenet("--state", os.path.join(self.folder, "state")), "state"),
                                (["compile", os.path.join(EXAMPLES, "imagenet_train.pipe"), *self.settings, "-o",
                                  os.path.join(self.folder, "one.pstk")], "one.pstk")):
            done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300, env=self.environment(),
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40)))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, f"error: cannot write .*{name}.*: File too large")

    def test_a_state_that_cannot_be_written_or_read(self):
        path = os.path.join(self.folder, "nowhere", "state")
        done = self.run_tool(*self.imagenet("--state", path), expect=1)
        self.assertIn(f"error: cannot write {path}", done.stderr)
        # An empty file is what a full disk left of a state: not a reason to begin anew.
        path = os.path.join(self.folder, "state")
        with open(path, "w"):
            pass
        done = self.run_tool(*self.imagenet("--state", path), expect=1)
        self.assertIn(f"error: {path}: this is not the state of a session", done.stderr)

    def test_a_state_that_is_no_file(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        for path in ("/dev/full", "/dev/zero", "/dev/null", pipe):
            done = self.run_tool(*self.imagenet("--state", path), expect=1)
            self.assertEqual(done.stderr.splitlines()[-1], f"penstock: error: cannot read {path}: it is not a regular file")

    def test_a_storm_of_signals(self):
        """A signal every 200 us interrupts whatever waits."""
        if not STORM:
            self.skipTest("without the library that raises signals")
        expected = self.hashes()
        for _ in range(3):
            self.assertEqual(self.hashes(env={**self.environment(), "LD_PRELOAD": STORM}), expected)


if __name__ == "__main__":
    main()
