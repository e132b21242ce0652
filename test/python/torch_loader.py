# SPDX-License-Identifier: Apache-2.0
"""`penstock.torch.Loader`: what trainers look for, and tensors that view their batch."""
import io
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

try:
    import numpy
    import torch
    import torch.distributed
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import penstock
from loader import DTYPES, NUMBERS, RAGGED
from penstock._dlpack import make_capsules
from penstock.torch import Loader, Ragged

OPTIONS = {"columns": {"value": numpy.arange(100)}, "cache": ""}


def ranked(rank, rendezvous, results):
    torch.distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    with Loader(NUMBERS, **OPTIONS, per_rank=5, threads=1) as loader:
        results.put((rank, [square.tolist() for square, _ in loader]))
    torch.distributed.destroy_process_group()


class TorchLoader(unittest.TestCase):
    def test_what_trainers_ask_for(self):
        with Loader(NUMBERS, **OPTIONS) as loader:
            self.assertEqual((len(loader.dataset), loader.batch_size, len(loader), loader.drop_last, len(loader.sampler)),
                             (100, 8, 13, False, 100))
            self.assertEqual((loader.num_workers, loader.pin_memory, loader.batch_sampler), (0, False, None))
        with Loader(NUMBERS.replace("last keep", "last drop"), **OPTIONS) as loader:
            self.assertEqual((len(loader), loader.drop_last), (12, True))
        for rows in (96, 100): # of which batches of 8 take all, or not
            even = {"columns": {"value": numpy.arange(rows)}, "cache": ""}
            for text in ("keep", "drop"):
                for last in (None, "keep", "drop", "pad"):
                    with Loader(NUMBERS.replace("last keep", f"last {text}"), last=last, **even) as loader:
                        self.assertEqual(loader.drop_last, (last or text) == "drop", (rows, text, last))
        with Loader(penstock.load(NUMBERS, **OPTIONS)) as loader:
            self.assertEqual(len(list(map(len, loader))), 13)

    def test_tensors_whose_signs_lie_elsewhere(self):
        values = torch._neg_view(torch.arange(100)), torch.complex(torch.zeros(100), torch.arange(100.)).conj().imag.to(torch.int64)
        for value in values:
            with Loader(NUMBERS.replace("row.value * row.value", "row.value"), columns={"value": value}, cache="") as loader:
                self.assertEqual(sorted(n for squares, _ in loader for n in squares.tolist()), list(range(-99, 1)))

    def test_the_epoch_that_is_given_to_the_sampler(self):
        utils = torch.utils.data

        def loader_of(sampler, **options):
            return Loader(NUMBERS, batch_sampler=utils.BatchSampler(sampler, 8, drop_last=False), **OPTIONS, **options)

        def order(loader):
            return [square for squares, _ in loader for square in squares.tolist()]

        def wanted(epoch):
            own = utils.DistributedSampler(range(100), num_replicas=1, rank=0)
            own.set_epoch(epoch)
            return [row * row for row in own]
        sampler = utils.DistributedSampler(range(100), num_replicas=1, rank=0)
        with loader_of(sampler) as loader:
            for epoch in (5, 6, 9, 2, 2):
                sampler.set_epoch(epoch)
                self.assertEqual(order(loader), wanted(epoch))
            self.assertEqual(order(loader), wanted(3)) # as nobody gave one
            loader.sampler.set_epoch(8)
            self.assertEqual(order(loader), wanted(8))
            rest = iter(loader)
            before = [square for squares, _ in (next(rest), next(rest)) for square in squares.tolist()]
            state = loader.state_dict()
        sampler = utils.DistributedSampler(range(100), num_replicas=1, rank=0)
        with loader_of(sampler) as loader:
            loader.load_state_dict(state)
            self.assertEqual(before + order(loader), wanted(9))
        sampler.epoch = -1 # as some have before the first
        with loader_of(sampler) as loader:
            self.assertEqual(order(loader), wanted(0))
        sampler.set_epoch(4)
        with loader_of(sampler) as loader:
            self.assertEqual(order(loader), wanted(4))
        with loader_of(sampler, epoch=7) as loader:
            self.assertEqual(order(loader), wanted(7))
        with Loader(NUMBERS, batch_sampler=[[1, 2], [3]], **OPTIONS) as loader:
            self.assertEqual((len(loader), len(loader.sampler), order(loader)), (2, 3, [1, 4, 9]))

    def test_a_batch_that_comes_while_its_tensors_are_interrupted_is_not_lost(self):
        from penstock.torch import _loader
        for name, output in (("make_capsules", "tuple"), ("as_tuple", "dict"), ("as_tuple", lambda batch: tuple(batch.values()))):
            plain, calls = getattr(_loader, name), []

            def interrupted(*arguments):
                calls.append(1)
                if len(calls) % 3 == 0:
                    raise KeyboardInterrupt
                made = plain(*arguments)
                if len(calls) % 3 == 1:
                    raise TimeoutError
                return made
            with Loader(NUMBERS, output=output, **OPTIONS) as loader, mock.patch.object(_loader, name, interrupted):
                found, batches = [], iter(loader)
                while True:
                    try:
                        batch = next(batches)
                    except (KeyboardInterrupt, TimeoutError):
                        continue
                    except StopIteration:
                        break
                    found += (batch["square"] if output == "dict" else batch[0]).tolist()
                self.assertGreater(len(calls), 30)
            self.assertEqual(sorted(found), [n * n for n in range(100)])

    def test_tuples_dicts_and_functions(self):
        with Loader(NUMBERS, **OPTIONS) as loader:
            square, table = next(iter(loader))
            self.assertEqual((square.dtype, table.dtype, tuple(table.shape)), (torch.int64, torch.float32, (8, 4)))
            self.assertTrue(torch.equal(table[:, 0] * table[:, 0], square.float()))
        with Loader(NUMBERS, output="dict", **OPTIONS) as loader:
            self.assertTrue(torch.equal(next(iter(loader))["square"], square))
        with Loader(NUMBERS, output=lambda batch: {"x": batch["table"], "y": -batch["square"]}, **OPTIONS) as loader:
            self.assertTrue(torch.equal(next(iter(loader))["y"], -square))
        with self.assertRaisesRegex(ValueError, '"tuple", "dict" or a function'):
            Loader(NUMBERS, output="list", **OPTIONS)

    def test_ragged_outputs_have_their_offsets(self):
        with penstock.load(RAGGED, cache="") as loader:
            boxes = next(iter(loader))["boxes"]
            wanted, ends = numpy.asarray(boxes).tolist(), numpy.asarray(boxes.offsets).tolist()
        beside = RAGGED.replace("output boxes", "output flag: bool[n, k <= 5] ragged = row.boxes[box = 0] > 0.5 output boxes") # which older torch does not take from DLPack
        for text in (RAGGED, beside):
            for output in ("tuple", "dict", lambda batch: batch):
                with Loader(text, output=output, cache="") as loader:
                    batch = next(iter(loader))
                    boxes = batch[-1] if output == "tuple" else batch["boxes"]
                    self.assertIs(type(boxes), Ragged)
                    self.assertEqual((boxes.values.tolist(), boxes.offsets.tolist(), boxes.offsets.dtype), (wanted, ends, torch.int64))
                    if text == beside:
                        flag = batch[0] if output == "tuple" else batch["flag"]
                        self.assertEqual((flag.values.dtype, flag.offsets.tolist()), (torch.bool, ends))
                    plain = loader.loader.sample(2)["boxes"]
                    self.assertEqual(boxes.values.tensor_split(boxes.offsets[1:-1])[2].tolist(), numpy.asarray(plain).tolist())
        # Both view the batch, and keep it.
        with Loader(RAGGED, threads=1, cache="") as loader:
            (held,) = next(iter(loader))
            kept, places = [held.values.clone(), held.offsets.clone()], {held.values.data_ptr(), held.offsets.data_ptr()}
            for _ in range(4):
                for (other,) in loader:
                    self.assertFalse({other.values.data_ptr(), other.offsets.data_ptr()} & places)
        self.assertTrue(torch.equal(held.values, kept[0]) and torch.equal(held.offsets, kept[1]))
        with mock.patch.object(torch.Tensor, "pin_memory", lambda tensor, *_: tensor.clone()): # as torch does with what a DataLoader gives
            pinned = torch.utils.data._utils.pin_memory.pin_memory({"boxes": held})["boxes"]
        self.assertTrue(type(pinned) is Ragged and torch.equal(pinned.values, kept[0]) and torch.equal(pinned.offsets, kept[1]))
        self.assertTrue(pinned.values.data_ptr() != held.values.data_ptr() and pinned.offsets.data_ptr() != held.offsets.data_ptr())
        if hasattr(torch.nested, "nested_tensor_from_jagged"):
            nested = torch.nested.nested_tensor_from_jagged(*held)
            self.assertEqual((nested.values().data_ptr(), len(nested.unbind())), (held.values.data_ptr(), 6))

    def test_types_arrive_as_such(self):
        text = "".join(line + "\n" for line in DTYPES.splitlines() if "u16" not in line) # older torch has none
        with Loader(text, output="dict", cache="") as loader:
            batch = next(iter(loader))
        names = {"u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16",
                 "bf16": "bfloat16", "f32": "float32", "f64": "float64", "bool": "bool"}
        self.assertEqual({name: str(tensor.dtype) for name, tensor in batch.items()},
                         {name: f"torch.{dtype}" for name, dtype in names.items()})
        self.assertTrue(torch.equal(batch["bf16"], batch["f32"].bfloat16()))

    def test_tensors_view_the_batch_and_keep_it(self):
        with Loader(NUMBERS, threads=1, **OPTIONS) as loader:
            batches = iter(loader)
            _, held = next(batches)
            kept, address = held.clone(), held.data_ptr()
            self.assertNotIn(address, [table.data_ptr() for _, table in batches])
            del batches
        self.assertTrue(torch.equal(held, kept))
        with Loader(NUMBERS, threads=1, **OPTIONS) as loader:
            self.assertLessEqual(len({table.data_ptr() for _, table in loader}), 4)

    def test_a_tensor_that_is_not_taken_gives_its_memory_back(self):
        def refuse(capsule):
            raise RuntimeError("no")
        with penstock.load(NUMBERS, threads=1, held="error", **OPTIONS) as loader:
            for batch in loader: # or there would be no slot left
                with self.assertRaisesRegex(RuntimeError, "no"):
                    [refuse(capsule) for capsule in make_capsules(batch._owner, 0, None)]

    def test_what_a_batch_costs_the_caller(self):
        script = pathlib.Path(__file__).resolve().parents[2] / "bench/python_calls"
        # 10 on machines that do nothing else.
        done = subprocess.run([sys.executable, script, "--rounds", "8", "--most", "25"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("tensors of both", done.stdout)

    def test_epochs_as_a_trainer_sets_them(self):
        with Loader(NUMBERS, **OPTIONS) as loader:
            seen = {}
            for epoch in (0, 1, 2, 1):
                loader.sampler.set_epoch(epoch)
                found = [square.tolist() for square, _ in loader]
                self.assertEqual(seen.setdefault(epoch, found), found)
            self.assertNotEqual(seen[0], seen[1])

    def test_a_trainer_that_makes_its_iterator_first(self):
        def trained(loader, epochs, most=100):
            """As Lightning: it looks whether there is an iterator, makes one, and then sets its epoch."""
            seen = []
            for epoch in epochs:
                iter(loader)
                batches = iter(loader)
                loader.sampler.set_epoch(epoch)
                seen.append([square.tolist() for square, _ in itertools.islice(batches, most)])
            return seen

        def wanted(epochs, batch_sampler):
            with Loader(NUMBERS, batch_sampler=batch_sampler(), **OPTIONS) as loader:
                loader.set_epoch(epochs[0])
                return [[square.tolist() for square, _ in loader] for _ in epochs]
        utils = torch.utils.data
        for sampler in (lambda: None, lambda: utils.BatchSampler(utils.DistributedSampler(range(100), num_replicas=1, rank=0), 8, drop_last=False)):
            expected = wanted(range(3), sampler)
            with Loader(NUMBERS, batch_sampler=sampler(), **OPTIONS) as loader:
                self.assertEqual(trained(loader, range(3)), expected)
            with Loader(NUMBERS, batch_sampler=sampler(), **OPTIONS) as loader: # epochs that are left early
                self.assertEqual(trained(loader, range(3), 2), [batches[:2] for batches in expected])
                state = loader.state_dict()
            with Loader(NUMBERS, batch_sampler=sampler(), **OPTIONS) as loader: # and resumed
                loader.load_state_dict(state)
                self.assertEqual(trained(loader, [2]), [expected[2][2:]])

    def test_the_protocol_of_stateful_loaders(self):
        with Loader(NUMBERS, **OPTIONS) as loader:
            loader.sampler.set_epoch(3)
            batches = iter(loader)
            next(batches), next(batches)
            state = loader.state_dict()
            rest = [square.tolist() for square, _ in batches]
        with Loader(NUMBERS, **OPTIONS) as loader:
            loader.load_state_dict(state)
            loader.sampler.set_epoch(3) # as trainers do before each epoch
            self.assertEqual([square.tolist() for square, _ in loader], rest)
            loader.sampler.set_epoch(3)
            self.assertEqual(len(list(map(len, loader))), 13)

    def test_a_checkpoint_holds_its_state(self):
        with Loader(NUMBERS, **OPTIONS) as loader: # as accelerate's register_for_checkpointing saves it
            batches = iter(loader)
            next(batches), next(batches)
            checkpoint = io.BytesIO()
            torch.save(loader.state_dict(), checkpoint)
            rest = [square.tolist() for square, _ in batches]
        checkpoint.seek(0)
        with Loader(NUMBERS, **OPTIONS) as loader:
            loader.load_state_dict(torch.load(checkpoint))
            self.assertEqual([square.tolist() for square, _ in loader], rest)
            loader.set_epoch(0)
            self.assertEqual([square.tolist() for square, _ in itertools.islice(loader, 2, None)], rest) # without a state

    def test_samplers_of_torchs(self):
        utils = torch.utils.data
        values = list(range(100))
        for make in (lambda: utils.SequentialSampler(values), lambda: utils.RandomSampler(values, replacement=True, num_samples=50),
                     lambda: utils.WeightedRandomSampler([1.0] * 50 + [0.0] * 50, 40),
                     lambda: utils.DistributedSampler(values, 3, 1, seed=5)):
            expected = []
            torch.manual_seed(3)
            sampler = utils.BatchSampler(make(), 8, drop_last=False)
            for epoch in range(3):
                if hasattr(sampler.sampler, "set_epoch"):
                    sampler.sampler.set_epoch(epoch)
                expected.append([[row * row for row in batch] for batch in sampler])
            torch.manual_seed(3)
            with Loader(NUMBERS, batch_sampler=utils.BatchSampler(make(), 8, drop_last=False), **OPTIONS) as loader:
                self.assertEqual((len(loader), len(loader.sampler), loader.drop_last),
                                 (len(expected[0]), len(sampler.sampler), False))
                for epoch in range(3):
                    loader.sampler.set_epoch(epoch)
                    self.assertEqual([square.tolist() for square, _ in loader], expected[epoch])

    def test_a_sampler_without_end(self):
        class Endless:
            def __iter__(self):
                at = 0
                while True:
                    yield [at % 100, (at * 7) % 100]
                    at += 1
        with Loader(NUMBERS, batch_sampler=Endless(), **OPTIONS) as loader:
            batches = iter(loader)
            found = [next(batches)[0].tolist() for _ in range(150)]
            state = loader.state_dict()
            rest = [next(batches)[0].tolist() for _ in range(20)]
        self.assertEqual(found[120], [20 ** 2, 40 ** 2])
        with Loader(NUMBERS, batch_sampler=Endless(), **OPTIONS) as loader:
            loader.load_state_dict(state)
            batches = iter(loader)
            self.assertEqual([next(batches)[0].tolist() for _ in range(20)], rest)

    def test_ranks_are_those_of_the_process_group(self):
        context = torch.multiprocessing.get_context("spawn")
        with tempfile.TemporaryDirectory() as folder:
            results = context.Queue()
            ranks = [context.Process(target=ranked, args=(rank, os.path.join(folder, "meet"), results)) for rank in range(2)]
            for rank in ranks:
                rank.start()
            found = dict(results.get(timeout=60) for _ in ranks)
            for rank in ranks:
                rank.join(60)
                self.assertEqual(rank.exitcode, 0)
        self.assertEqual(sorted(sum(found[0] + found[1], [])), [i * i for i in range(100)])

    def test_a_model_learns(self):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 1e-5)
        losses = []
        with Loader(NUMBERS, output="dict", **OPTIONS) as loader:
            for _ in range(3):
                for batch in loader:
                    loss = (model(batch["table"])[:, 0] - 3 * batch["table"][:, 0]).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.item())
        self.assertLess(sum(losses[-5:]), 0.1 * sum(losses[:5]))


if __name__ == "__main__":
    unittest.main()
