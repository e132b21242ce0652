# SPDX-License-Identifier: Apache-2.0
"""Waits, threads, forks and the interpreter's end: nothing hangs."""
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import unittest
from unittest import mock

import numpy
import penstock
from loader import numbers, squares

SLOW = """pipe 1
fn busy(x: f32) -> f32 = x |> repeat (400000000) { step }
fn step(x: f32) -> f32 = x * f32(0.9999) + f32(0.5)
pipeline slow() {
  for row in synthetic(100, x = f32)
  batch 1 per rank last keep { output x: f32[n] = busy(row.x) }
}
"""


class Ends(unittest.TestCase):
    def run_python(self, text, **more):
        """A process of its own, which must end."""
        head = f"import sys; sys.path[:0] = {sys.path!r}; import ends, loader, penstock, threading, os, signal\n"
        return subprocess.run([sys.executable, "-c", head + text], capture_output=True, text=True, timeout=60, **more)

    def test_the_interpreter_ends_with_a_live_session(self):
        done = self.run_python("l = loader.numbers(); it = iter(l); b = next(it); l.cycle = l; print(b[0].shape)")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "(8,)\n", ""))

    def test_the_interpreter_ends_while_a_thread_waits(self):
        done = self.run_python("""
l = penstock.load(ends.SLOW, cache="")
t = threading.Thread(target=lambda: next(iter(l)), daemon=True)
t.start()
t.join(0.3)
print("waits", t.is_alive())
""")
        self.assertEqual((done.returncode, done.stdout), (0, "waits True\n"), done.stderr)

    def test_sessions_end_before_the_interpreter(self):
        done = subprocess.run([sys.executable, "-c", f"""import sys, atexit
sys.path[:0] = {sys.path!r}
atexit.register(lambda: print("closed", not l._session)) # comes after what is registered later
import loader
l = loader.numbers()
next(iter(l))
"""], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "closed True\n"), done.stderr)

    def test_closing_ends_the_wait_of_another_thread(self):
        with mock.patch("penstock.loader._LOOK_NS", 10 ** 15):
            loader = penstock.load(SLOW, cache="")
            ended = []
            def wait():
                try:
                    next(iter(loader))
                except penstock.CancelledError as error:
                    ended.append(error)
            waiting = threading.Thread(target=wait)
            waiting.start()
            waiting.join(0.2)
            loader.close()
            waiting.join(30)
        self.assertEqual(len(ended), 1)

    def test_a_fork_while_a_thread_waits(self):
        done = self.run_python("""
l = penstock.load(ends.SLOW, cache="")
t = threading.Thread(target=lambda: next(iter(l)), daemon=True)
t.start()
t.join(0.3)
child = os.fork()
if child == 0:
    signal.alarm(20)
    l.close()
    os._exit(0)
print(os.waitpid(child, 0)[1], t.is_alive())
""")
        self.assertEqual((done.returncode, done.stdout), (0, "0 True\n"), done.stderr)

    def test_other_threads_run_while_one_waits(self):
        with penstock.load(SLOW, cache="") as loader:
            def wait():
                try:
                    next(iter(loader))
                except penstock.PenstockError as error:
                    ended.append(error)
            ended = []
            waiting = threading.Thread(target=wait)
            waiting.start()
            waiting.join(0.2)
            self.assertTrue(waiting.is_alive()) # and this thread runs
            loader.cancel()
            waiting.join(30)
            self.assertFalse(waiting.is_alive())
            self.assertIsInstance(ended[0], penstock.CancelledError)

    def test_ctrl_c_ends_a_wait(self):
        done = self.run_python("""
signal.signal(signal.SIGINT, signal.default_int_handler) # shells have jobs in the background ignore it
l = penstock.load(ends.SLOW, cache="")
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    next(iter(l))
except KeyboardInterrupt:
    print("interrupted", l.statistics()["batches"])
""")
        self.assertEqual((done.returncode, done.stdout), (0, "interrupted 0\n"), done.stderr)

    def test_a_forked_child_is_told_and_ends(self):
        with numbers() as loader:
            batches = iter(loader)
            held = next(batches)
            child = os.fork()
            if child == 0:
                try:
                    next(batches)
                except penstock.SessionError as error:
                    told = "fork" in str(error) and numpy.asarray(held[0]).shape == (8,)
                    loader.close()
                    del held, loader, batches
                    gc.collect()
                    os._exit(0 if told else 2)
                os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(len(list(map(len, batches))), 12)

    def test_spawned_workers_beside_a_loader(self):
        with numbers() as loader:
            batches = iter(loader)
            next(batches)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                self.assertEqual(pool.apply(abs, (-3,)), 3)
            self.assertEqual(len(list(map(len, batches))), 12)

    def test_a_forked_child_may_have_a_loader_of_its_own(self):
        with numbers() as loader:
            expected = squares(loader)
        child = os.fork()
        if child == 0:
            with numbers() as loader:
                os._exit(0 if squares(loader) == expected else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
