# SPDX-License-Identifier: Apache-2.0
"""Waits, threads, forks and the interpreter's end: nothing hangs."""
import dis
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import numpy
import penstock
from loader import numbers, squares

DAMAGED = """pipe 1
pipeline files() with on_error = substitute(100%) {
  for row in external_source(data = bytes, label = i64)
  batch 4 per rank last keep { output x: u8[n, h = 4, w = 4, c] = row.data |> decode(rgb) }
}
"""


class Files:
    """Images of which each third is damaged."""

    def __len__(self):
        return 60

    def __getitem__(self, i):
        return b"P6 4 4 255\n" + bytes(range(48)) if i % 3 else b"damaged", i


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

    def test_closing_waits_for_the_call_that_is_made_alone(self):
        begun, go, calls = threading.Event(), threading.Event(), []
        class Waiting(Files):
            def __getitem__(self, i):
                calls.append(i)
                begun.set()
                go.wait(60)
                return super().__getitem__(1)
        loader = penstock.load(DAMAGED, dataset=penstock.from_dataset(Waiting()), cache="", prefetch=8)
        def wait():
            with self.assertRaises(penstock.CancelledError):
                next(iter(loader))
        waiting = threading.Thread(target=wait)
        waiting.start()
        begun.wait(60)
        waiting.join(0.2) # the library's other threads come to the same door
        loader.cancel()
        go.set()
        loader.close()
        waiting.join(30)
        self.assertEqual(len(calls), 1)

    def test_threads_ask_while_others_iterate(self):
        done = self.run_python("""
import faulthandler
faulthandler.dump_traceback_later(50, exit=True)
l, errors, going = penstock.load(ends.DAMAGED, dataset=penstock.from_dataset(ends.Files()), cache=""), [], True
def watch(ask):
    try:
        while going:
            ask()
    except Exception as error:
        errors.append(error)
asks = (l.bad_samples, l.state_dict, l.statistics, lambda: l.info, lambda: l.classes, lambda: l.sample(1), lambda: l.transfer)
threads = [threading.Thread(target=watch, args=(ask,)) for ask in asks * 2]
for t in threads: t.start()
counts = [sum(batch.count for batch in l) for _ in range(30)]
going = False
for t in threads: t.join()
print(set(counts), errors, len(l.bad_samples()) > 100)
""")
        self.assertEqual((done.returncode, done.stdout), (0, "{60} [] True\n"), done.stderr)

    def test_closing_while_threads_ask(self):
        done = self.run_python("""
import faulthandler, time
faulthandler.dump_traceback_later(50, exit=True)
errors = []
def watch(ask):
    try:
        while True:
            ask()
    except penstock.PenstockError:
        pass
    except Exception as error:
        errors.append(error)
for i in range(30):
    l = penstock.load(ends.DAMAGED, dataset=penstock.from_dataset(ends.Files()), cache="")
    list(l)
    going = True
    def cancel():
        l.cancel()
        if not going: l.state_dict()
    threads = [threading.Thread(target=watch, args=(ask,)) for ask in
               (l.bad_samples, l.state_dict, l.statistics, lambda: l.info, lambda: l.sample(1), cancel)]
    for t in threads: t.start()
    time.sleep(0.002)
    l.close()
    going = False
    for t in threads: t.join()
print("ended", errors)
""")
        self.assertEqual((done.returncode, done.stdout), (0, "ended []\n"), done.stderr)

    def test_who_waits_for_a_batch_makes_room(self):
        go = threading.Event()
        class Waiting(Files):
            def __getitem__(self, i):
                go.wait(60)
                return super().__getitem__(1)
        look, late, asks = penstock._c.library.session_next_within, [0], 30
        def counted(session, wait, where): # looks again and again, while somebody else wants the session
            late[0] += loader._wanted
            if late[0] > 200:
                go.set()
            time.sleep(0.001) # others run meanwhile
            return look(session, 0, where)
        loader = penstock.load(DAMAGED, dataset=penstock.from_dataset(Waiting()), cache="")
        with loader, mock.patch.object(penstock._c.library, "session_next_within", counted):
            waiting = threading.Thread(target=lambda: next(iter(loader)))
            waiting.start()
            waiting.join(0.2)
            for _ in range(asks):
                self.assertEqual((loader.transfer, loader.statistics()["batches"]), ("pixels", 0))
            self.assertLessEqual(late[0], asks) # one that had begun
            go.set()
            waiting.join(30)

    def test_a_function_that_gives_rows_may_ask_but_not_begin(self):
        asked = []
        def rows(epoch):
            asked.append(loader.info["table_length"])
            asked.append(loader.state_dict()["penstock"][:8])
            loader.sample(0)
            yield [0]
        with numbers(rows=rows) as loader:
            with self.assertRaisesRegex(penstock.SessionError, "runs inside of a call of the loader"):
                list(loader)
        self.assertEqual(asked, [100, "penstock"])

    def test_a_handler_of_a_signal_may_ask_for_the_state(self):
        done = self.run_python("""
l = penstock.load(ends.SLOW, cache="")
def end(*_):
    print(l.state_dict()["penstock"][:8], l.statistics()["batches"])
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
signal.alarm(40)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
next(iter(l))
""")
        self.assertEqual((done.returncode, done.stdout), (3, "penstock 0\n"), done.stderr)

    def test_a_handler_of_a_signal_may_close(self):
        done = self.run_python("""
import faulthandler
faulthandler.dump_traceback_later(50, exit=True)
def stop(*_):
    l.close()
    l.close()
    try:
        l.state_dict()
    except penstock.SessionError as error:
        met.add(str(error))
signal.signal(signal.SIGTERM, stop)
met = set()
for k in range(60):
    l = (penstock.load(ends.DAMAGED, cache="", dataset=penstock.from_dataset(ends.Files())) if k % 2 else
         penstock.load(ends.SLOW, cache=""))
    threading.Timer(k / 500, os.kill, (os.getpid(), signal.SIGTERM)).start()
    try:
        while True:
            for batch in l:
                l.state_dict(), l.bad_samples(), l.classes
    except penstock.PenstockError as error:
        met.add(str(error))
    if l._session or l._ending:
        print("open")
print("the loader was closed" in met, met <= {"the loader is closed", "the loader was closed", "the session was cancelled"})
""")
        self.assertEqual((done.returncode, done.stdout), (0, "True True\n"), done.stderr)

    def test_what_a_handler_may_call_inside_of_a_call(self):
        """At each line of the functions that hold a lock."""
        Loader = penstock.loader.Loader
        calls = {Loader._next: lambda: next(batches), Loader._begin: lambda: loader.set_epoch(1), Loader._read_info: lambda: loader.info,
                 Loader.bad_samples: lambda: loader.bad_samples(), Loader._end: lambda: loader.close(), Loader.sample: lambda: loader.sample(0),
                 Loader.state_dict: lambda: loader.state_dict(), Loader.load_state_dict: lambda: loader.load_state_dict(state)}
        inside, ran = [], []
        def handler():
            ran.append(line)
            for call in (lambda: loader.sample(1), loader.state_dict):
                try:
                    call()
                except penstock.SessionError as error:
                    inside.append(str(error))
            loader.close()
        for function, call in calls.items():
            code = function.__code__
            for line in sorted({line for _, line in dis.findlinestarts(code) if line})[1:]:
                with self.subTest(function=function.__name__, line=line - code.co_firstlineno), numbers() as loader:
                    state, batches = loader.state_dict(), iter(loader)
                    def look(frame, event, _):
                        if frame.f_code is code and event == "line" and frame.f_lineno == line:
                            sys.settrace(None)
                            handler()
                        return look
                    ran.clear()
                    watch = threading.Timer(40, os._exit, (3,)) # where it hangs
                    watch.start()
                    sys.settrace(look)
                    try:
                        call()
                    except penstock.PenstockError as error:
                        self.assertRegex(str(error), "closed|cancelled")
                    finally:
                        sys.settrace(None)
                        watch.cancel()
                    if ran: # of lines for errors there is none
                        self.assertFalse(loader._session or loader._ending)
        self.assertIn("a handler of a signal has come into a call of the loader: it may ask what the loader tells, such as state_dict, and "
                      "cancel it", inside)

    def test_a_function_that_gives_rows_and_is_interrupted_ends_no_epoch(self):
        interrupts = [True]
        def rows(epoch):
            for first in range(0, 100, 8):
                if first == 80 and interrupts:
                    interrupts.clear()
                    raise KeyboardInterrupt # as Ctrl-C does there
                yield list(range(first, min(first + 8, 100)))
        with numbers(rows=rows) as loader:
            found, batches = [], iter(loader)
            with self.assertRaises(KeyboardInterrupt):
                for batch in batches:
                    found += batch.rows
            for _ in range(2): # behind the batches before
                with self.assertRaisesRegex(penstock.SessionError, r"the function that gives the rows of epoch 0 ended with KeyboardInterrupt; load_state"):
                    for batch in batches:
                        found += batch.rows
            self.assertEqual(found, list(range(80)))
            loader.load_state_dict(loader.state_dict())
            found += [row for batch in loader for row in batch.rows]
            self.assertEqual((found, len(list(loader))), (list(range(100)), 13))

    def test_a_function_that_gives_rows_may_close(self):
        def rows(epoch):
            yield [0]
            loader.close()
            yield [1]
        with numbers(rows=rows) as loader:
            with self.assertRaisesRegex(penstock.CancelledError, "the loader was closed"):
                list(loader)
            self.assertFalse(loader._session)

    def test_a_data_set_may_ask_but_not_begin_or_close(self):
        told = []
        class Asking(Files):
            def __getitem__(self, i):
                for call in (lambda: loader.sample(0), lambda: next(batches), lambda: loader.set_epoch(3), loader.close):
                    try:
                        call()
                    except penstock.SessionError as error:
                        told.append(str(error).partition(":")[0])
                loader.state_dict()
                return super().__getitem__(1)
        for any_thread in (False, True):
            loader = penstock.load(DAMAGED, dataset=penstock.from_dataset(Asking(), any_thread=any_thread), cache="")
            with loader:
                batches = iter(loader)
                self.assertEqual(next(batches).count, 4)
                loader.cancel()
            self.assertEqual(set(told), {"the data set is asked inside of the loader's work",
                                         "the data set is asked by a thread of the loader, which close() would wait for"})
            told.clear()
        with penstock.load(DAMAGED, dataset=penstock.from_dataset(Asking()), cache="") as loader:
            batches = iter(loader)
            with self.assertRaisesRegex(penstock.SessionError, "cancelled"):
                loader.sample(0) # in this thread, which closes behind it
            self.assertFalse(loader._session)

    def test_ctrl_c_in_a_data_set_ends_the_call_for_a_sample(self):
        class Interrupted(Files):
            def __getitem__(self, i):
                raise KeyboardInterrupt
        with penstock.load(DAMAGED, dataset=penstock.from_dataset(Interrupted()), cache="") as loader:
            with self.assertRaises(KeyboardInterrupt):
                loader.sample(0)

    def test_a_loader_that_is_dropped_ends_where_garbage_is_collected(self):
        """On a thread of its own session, and while somebody holds a lock that the data set waits for."""
        for collect in ("gc.collect()", "self.made = [[j] for j in range(3000)]", "lock.acquire(), lock.release()"):
            done = self.run_python(f"""
import faulthandler, gc, time, weakref
faulthandler.dump_traceback_later(50, exit=True)
lock = threading.Lock()
class Items(ends.Files):
    calls = 0
    def __len__(self): return 2000
    def __getitem__(self, i):
        Items.calls += 1
        {collect}
        time.sleep(0.002)
        return super().__getitem__(1)
class Trainer:
    def __init__(self):
        self.loader = penstock.load(ends.DAMAGED, dataset=penstock.from_dataset(Items()), cache="", prefetch=40)
        self.hooks = [self.step]
    def step(self):
        return next(iter(self.loader))
for k in range(4):
    t = Trainer()
    t.step()
    ended = weakref.ref(t.loader)
    with lock:
        del t
        if {"lock" in collect}: gc.collect()
    until = time.time() + 20
    while ended() is not None and time.time() < until: time.sleep(0.01)
    while penstock.loader._endings: time.sleep(0.01)
    calls = Items.calls
    time.sleep(0.02)
    print(ended() is None, Items.calls == calls, gc.collect() >= 0)
loader = penstock.load(ends.DAMAGED, dataset=penstock.from_dataset(Items()), cache="", prefetch=40)
next(iter(loader))
del loader # and the interpreter ends
""")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "True True True\n" * 4, ""), collect)

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

    def test_timeouts_by_a_signal_lose_no_batch(self):
        done = self.run_python("""
import time
class Timeout(Exception): pass
def late(number, frame):
    if frame.f_globals is not globals(): # not where the batch is there, and no name has it yet
        raise Timeout
signal.signal(signal.SIGALRM, late)
class Slow(ends.Files):
    def __getitem__(self, i):
        time.sleep(0.002)
        return super().__getitem__(1)
found, times, epochs = [], 0, 0
l = penstock.load(ends.DAMAGED, dataset=penstock.from_dataset(Slow()), cache="")
while epochs < 5 or times <= 20: # a busy machine has fewer in each
    batches = iter(l)
    epochs += 1
    while True:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.006)
            batch = next(batches)
            signal.setitimer(signal.ITIMER_REAL, 0)
            found += batch.positions
        except Timeout:
            times += 1
        except StopIteration:
            signal.setitimer(signal.ITIMER_REAL, 0)
            break
print(found == list(range(60)) * epochs)
""")
        self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)

    def test_signals_come_through_while_rows_are_asked_for(self):
        done = self.run_python("""
import collections, gc, random
class Boom(BaseException): pass
def handler(number, frame):
    if armed and frame.f_globals is not globals() and frame.f_code.co_name != "__del__": # as above, and from there nothing can be raised
        raise Boom
signal.signal(signal.SIGALRM, handler)
gc.disable()
given = [list(range(i, i + 8)) for i in range(0, 96, 8)]
random.seed(0)
seen, trials, booms = collections.Counter(), 0, 0
while trials < 60 or booms < 20 and trials < 2000:
    armed = False
    trials += 1
    with loader.numbers(rows=lambda epoch: given if trials % 2 else (batch for batch in given), threads=1) as l:
        got, came, ended, batches = [], 0, False, iter(l)
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0001, 0.004))
        while not ended:
            try:
                armed = True
                batch = next(batches)
                armed = False
                got.append(list(batch.rows))
            except StopIteration:
                armed, ended = False, True
            except Boom:
                armed, came = False, came + 1
            except penstock.SessionError as error: # a generator that the signal has ended
                armed, ended = False, trials % 2 == 0 and "ended with Boom; load_state_dict" in str(error)
                seen[str(error)] += not ended
        signal.setitimer(signal.ITIMER_REAL, 0)
        seen["wrong"] += got != given[:len(got)] or came == 0 and got != given or trials % 2 and got != given
        booms += came
print(booms >= 20, +seen)
""")
        self.assertEqual((done.returncode, done.stdout), (0, "True Counter()\n"), done.stderr)

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

    def test_a_forked_child_is_told_by_every_call(self):
        with numbers() as loader:
            next(iter(loader))
            calls = (loader.state_dict, loader.statistics, loader.bad_samples, lambda: loader.info, lambda: loader.classes,
                     lambda: loader.sample(0), lambda: loader.set_epoch(3), lambda: loader.load_state_dict({"penstock": "x"}),
                     lambda: loader.row_text(0), lambda: loader.transfer, lambda: iter(loader), lambda: len(loader))
            loader._turn.acquire(), loader._lock.acquire(), loader._telling.acquire() # as a thread that is not in the child
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                for number, call in enumerate(calls):
                    try:
                        call()
                        os._exit(1 + number)
                    except penstock.SessionError as error:
                        if f"belongs to process {os.getppid()}" not in str(error):
                            os._exit(101 + number)
                loader.close()
                os._exit(0)
            loader._turn.release(), loader._lock.release(), loader._telling.release()
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

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
