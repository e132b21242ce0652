# SPDX-License-Identifier: Apache-2.0
"""Damaged data, kills, interrupts: nothing is lost, nothing shifts."""
import os
import random
import re
import shutil
import signal
import subprocess
import time

from support import ROOT, ToolTest, make_folder, main, read_hashes

KILLS = int(os.environ.get("PENSTOCK_KILLS", 50))


class Interrupts(ToolTest):
    def test_a_second_signal_ends_what_waits_for_a_reader(self):
        path = os.path.join(self.folder, "rows.pipe")
        with open(path, "w") as file:
            file.write("pipe 1\npipeline p() {\n  for row in synthetic(100000, label = 0 .. 3)\n"
                       "  batch 1 per rank last keep { output y: i64[n] = row.label }\n}\n")
        self.run_tool("compile", path)
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        for arguments in (["--hashes", pipe], ["--profile", pipe, "--batches", "9"], ["--hashes", "-"]):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(arguments=arguments, number=number):
                    tool = subprocess.Popen(self.command("run", path, *arguments), stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, env=self.environment())
                    time.sleep(0.7)
                    self.assertIsNone(tool.poll())
                    tool.send_signal(number)
                    time.sleep(0.5)
                    self.assertIsNone(tool.poll())  # it ends by itself where it can
                    tool.send_signal(number)
                    self.assertEqual(tool.wait(timeout=20), 130)
                    self.assertIn(b"interrupted\n", tool.stderr.read())
                    tool.stdout.close()
                    tool.stderr.close()

    def test_the_last_words_can_be_interrupted_too(self):
        path = os.path.join(self.folder, "rows.pipe")
        with open(path, "w") as file:
            file.write("pipe 1\npipeline p(scale: f32 = 1.0) {\n  for row in synthetic(9, label = 0 .. 3)\n"
                       "  batch 1 per rank last keep { output y: i64[n] = row.label }\n}\n")
        self.run_tool("compile", path)
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            while os.write(writer, b" " * 4096):
                pass
        except BlockingIOError:
            os.set_blocking(writer, True)
        tool = subprocess.Popen(self.command("run", path), stdout=writer, stderr=subprocess.PIPE, env=self.environment())
        for _ in range(60):  # the first may come while it still runs
            time.sleep(0.7)
            if tool.poll() is not None:
                break
            tool.send_signal(signal.SIGINT)
        self.assertIn(tool.wait(timeout=1), (-signal.SIGINT, 130))
        tool.stderr.close()
        os.close(reader)
        os.close(writer)


class BadData(ToolTest):
    def damage(self, paths):
        """One of each kind; returns {path: part of the reason}."""
        chosen = random.Random(1).sample(paths, 4)
        truncated, mutated, empty, other = chosen
        data = open(truncated, "rb").read()
        open(truncated, "wb").write(data[: len(data) // 2])
        data = bytearray(open(mutated, "rb").read())
        data[2:40] = b"\0" * 38
        open(mutated, "wb").write(data)
        open(empty, "wb").close()
        open(other, "wb").write(b"this is text, not a picture\n" * 20)
        return chosen

    def test_damaged_files_are_reported_and_replaced(self):
        damaged = self.damage(make_folder(self.data))
        report = self.run_json(*self.imagenet("--on-error", "10%"))
        self.assertEqual(report["samples"], 96)  # 100 rows, batches of 8, the last one dropped
        names = {bad["name"] for bad in report["bad_samples"]}
        seen = {os.path.join(self.data, name) if not os.path.isabs(name) else name for name in names}
        self.assertLessEqual(seen, set(damaged))
        self.assertGreaterEqual(len(seen), 3)
        for bad in report["bad_samples"]:
            self.assertTrue(bad["reason"])
            self.assertNotEqual(bad["substitute"], bad["row"])

    def test_other_samples_do_not_change(self):
        paths = make_folder(self.data)
        clean, dirty = (os.path.join(self.folder, name) for name in ("clean", "dirty"))
        self.run_tool(*self.imagenet("--hashes", clean))
        self.damage(paths)
        report = self.run_json(*self.imagenet("--hashes", dirty, "--on-error", "10%"))
        before, after = read_hashes(clean), read_hashes(dirty)
        self.assertEqual(before.keys(), after.keys())
        replaced = {(bad["epoch"], bad["position"]) for bad in report["bad_samples"]}
        differing = {key for key in before if before[key] != after[key]}
        self.assertEqual(differing, replaced)

    def test_the_limit_ends_the_job_with_the_file_and_the_reason(self):
        damaged = self.damage(make_folder(self.data))
        done = self.run_tool(*self.imagenet("--on-error", "fail"), expect=1)
        self.assertIn("error:", done.stderr)
        self.assertTrue(any(os.path.basename(path) in done.stderr for path in damaged), done.stderr)

    def test_truncation_is_seen_whatever_is_needed_of_the_picture(self):
        """Only the first rows are used, so the damage lies below what is decoded."""
        path = os.path.join(self.folder, "corner.pipe")
        with open(path, "w") as file:
            file.write("""pipe 1
use vision
pipeline corner(root: path) with on_error = substitute(100%) {
  for row in image_folder(root)
  let corner = row.data |> decode(rgb) |> crop(0, 0, 8, 8)
  batch 4 per rank last drop { output corner: u8[n, h, w, c] = corner }
}""")
        cut = make_folder(self.data, per_class=20)[::4]
        for i, name in enumerate(cut):
            os.truncate(name, os.path.getsize(name) * (50 + 5 * i) // 100)
        found = []
        for options in ([], ["--disable-pass", "required-regions"]):
            report = self.run_json("run", path, "--set", f"root={self.data}", *options)
            found.append([(bad["position"], bad["name"]) for bad in report["bad_samples"]])
        self.assertEqual(found[0], found[1])
        self.assertEqual({name for _, name in found[0]},
                         {os.path.relpath(name, self.data) for name in cut})

    def test_bad_substitutes_are_counted_apart(self):
        paths = make_folder(self.data, per_class=6)
        for path in paths[::2]:
            os.truncate(path, 300)
        self.settings = ["--set", "size=32", "--set", "per_rank=4"]
        run = self.imagenet("--on-error", "100%")
        bad = self.run_json(*run)["bad_samples"]
        done = self.run_tool(*run)
        lines = done.stderr.splitlines()
        listed = {kind: [re.match(r"bad \w+: epoch 0, position (\d+): (.+?): ", line).groups() for line in lines
                         if line.startswith(f"bad {kind}: ")] for kind in ("sample", "substitute")}
        self.assertEqual(sorted((str(one["position"]), one["name"]) for one in bad),
                         sorted(listed["sample"] + listed["substitute"]))
        self.assertEqual({name for _, name in listed["sample"]}, {os.path.relpath(path, self.data) for path in paths[::2]})
        self.assertEqual(len(listed["sample"]), 6)
        self.assertGreater(len(listed["substitute"]), 0)
        count = len(listed["substitute"])
        self.assertEqual(lines[-1], "6 bad samples, each filled by a substitute; "
                         f"{count} substitute{'s were' if count > 1 else ' was'} bad, too")

    def test_a_folder_that_is_not_there(self):
        done = self.run_tool(*self.imagenet(), expect=1)
        self.assertIn(self.data, done.stderr)


class Resume(ToolTest):
    def test_any_threads_prefetch_and_world_give_the_same_samples(self):
        make_folder(self.data)
        whole = os.path.join(self.folder, "whole")
        self.run_tool(*self.imagenet("--hashes", whole, "--threads", "1", "--prefetch", "1"))
        parts = [os.path.join(self.folder, f"rank{rank}") for rank in range(2)]
        for rank, part in enumerate(parts):
            self.run_tool(*self.imagenet("--hashes", part, "--threads", "2", "--prefetch", "4",
                                         "--rank", rank, "--world", "2"))
        expected, found = read_hashes(whole), read_hashes(*parts)
        common = expected.keys() & found.keys()
        self.assertGreaterEqual(len(common), 90)
        self.assertEqual({key: expected[key] for key in common}, {key: found[key] for key in common})

    def test_kill_and_resume_lose_and_repeat_nothing(self):
        """Kills at random points, of the compilation and of the writing of the cache too."""
        make_folder(self.data, per_class=100)
        whole = os.path.join(self.folder, "whole")
        self.run_tool(*self.imagenet("--hashes", whole, "--epochs", "3"))
        expected = read_hashes(whole)
        state, resumed, cache = (os.path.join(self.folder, name) for name in ("state", "resumed", "cache"))
        rng = random.Random(7)
        kills = rounds = 0
        while kills < KILLS:
            # With an empty cache now and then; the next attempts find what a kill left in it.
            if rng.random() < 0.1:
                shutil.rmtree(cache, ignore_errors=True)
            arguments = self.imagenet("--hashes", resumed, "--state", state, "--epochs", "3",
                                      "--threads", 1 + kills % 2, "--prefetch", 1 + kills % 3)
            process = subprocess.Popen(self.command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       env={**self.environment(), "XDG_CACHE_HOME": cache})
            try:
                _, errors = process.communicate(timeout=0.01 * 60 ** rng.random())
                self.assertEqual(process.returncode, 0, errors.decode())
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
                if kills < KILLS:
                    continue
            # A kill between the hash file and the state file repeats a batch, with the same
            # contents (read_hashes checks that); none may be missing up to the last one.
            found = read_hashes(resumed) if os.path.exists(resumed) else {}
            last = max(found, default=(0, -1))
            self.assertEqual(found, {key: value for key, value in expected.items() if key <= last})
            if process.returncode == 0:
                self.assertEqual(found, expected)
                rounds += 1
                os.remove(resumed)
                os.remove(state)
        print(f"{kills} kills in {rounds + 1} rounds")

    def test_what_has_run_to_its_end_has_nothing_left(self):
        make_folder(self.data, per_class=20)
        whole, parts, state = (os.path.join(self.folder, name) for name in ("whole", "parts", "state"))
        self.run_tool(*self.imagenet("--hashes", whole, "--epochs", 3))
        self.run_tool(*self.imagenet("--hashes", parts, "--state", state, "--epochs", 2))
        with open(state) as file:
            ended = file.read()
        self.assertIn(" epoch=2 position=0 ", ended)
        # Behind the last batch, where the run may have been killed, and at the end of the epoch.
        for text in (re.sub(" epoch=2 position=0 ", " epoch=1 position=40 ", ended), ended):
            with open(state, "w") as file:
                file.write(text)
            again = self.run_json(*self.imagenet("--hashes", parts, "--state", state, "--epochs", 2))
            self.assertEqual((again["samples"], again["batches"]), (0, 0), text)
            with open(state) as file:
                self.assertEqual(file.read(), ended)
        self.assertEqual(again["fetched_bytes"], 0)
        self.run_tool(*self.imagenet("--hashes", parts, "--state", state, "--epochs", 3))
        with open(parts) as file, open(whole) as all_at_once:
            self.assertEqual(file.read(), all_at_once.read())

    def test_the_state_of_another_pipeline_is_refused(self):
        make_folder(self.data, per_class=20)
        state = os.path.join(self.folder, "state")
        self.run_tool(*self.imagenet("--state", state, "--batches", "1"))
        self.settings = ["--set", "size=48", "--set", "per_rank=8"]
        done = self.run_tool(*self.imagenet("--state", state, "--batches", "1"), expect=1)
        self.assertIn("another pipeline", done.stderr)


def shared_memory():
    return {name for name in os.listdir("/dev/shm") if "penstock" in name}


class Interrupt(ToolTest):
    def test_what_is_not_begun_ends_at_once(self):
        """While it compiles there is no session to cancel: not one data set is opened behind it."""
        pipe = os.path.join(ROOT, "bench", "pipelines", "views_40.pipe")
        nowhere = os.path.join(self.folder, "nowhere")
        process = subprocess.Popen(self.command("run", pipe, "--no-cache", "--set", f"root={nowhere}"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment())
        masked = f"/proc/{process.pid}/status"
        while "SigBlk:\t0000000000000000" in open(masked).read():  # until it takes signals itself
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        self.assertEqual((process.returncode, said), (130, "interrupted\n"))

    def test_ctrl_c_ends_soon_and_leaves_nothing(self):
        make_folder(self.data)
        before = shared_memory()
        process = subprocess.Popen(self.command(*self.imagenet("--epochs", "1000000")),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment())
        time.sleep(3)
        self.assertIsNone(process.poll(), "it ended by itself")
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        # One second is the promise; the rest is for a loaded machine.
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(shared_memory() - before, set())


if __name__ == "__main__":
    main()
