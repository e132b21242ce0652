# SPDX-License-Identifier: Apache-2.0
"""Scripts in the styles that are common (scripts/), under penstock.accelerate and without: the same output, losses included."""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import runpy
import sys
import tempfile
import unittest

try:
    import torch
    import torchvision # noqa: F401: once, for all scripts
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SCRIPTS = pathlib.Path(__file__).with_name("scripts")
# Loaders that are accelerated, and of them with leaves. Two ranks: examples/train.py, in accelerate.py.
EXPECTED = {"cifar": (2, 0), "imagenet": (1, 0), "contrastive": (1, 0), "multicrop": (1, 1), "dictionary": (2, 2), "recreates": (1, 0),
            "wraps": (1, 0), "segmentation": (1, 1), "pairs": (1, 1), "tv_tensors": (1, 1)}
# Of an image and its mask: what is drawn for both is the script's own, so that nothing differs; most images come from a pipeline.
PAIRED = ("segmentation", "pairs", "tv_tensors")
SECOND = importlib.util.find_spec("torchvision.transforms.v2") is not None


def run(path, words, accelerate):
    """(output, entries of the report) of a script in a child of this process, which has imported torch."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reading)
            text, entries = io.StringIO(), {}
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
                sys.argv, sys.path[0] = [str(path), *words], str(path.parent)
                if accelerate:
                    from penstock.accelerate._hook import Hook
                    hook = Hook(compared=1)
                    hook.install()
                runpy.run_path(str(path), run_name="__main__")
                if accelerate:
                    entries = [(entry.reason, entry.samples, entry.images) for entry in hook.report.entries.values()]
            with os.fdopen(writing, "w") as file:
                json.dump((text.getvalue(), list(entries)), file)
            status = 0
        finally:
            if status:
                sys.excepthook(*sys.exc_info())
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as file:
        written = file.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"{path.name} {words} ended with {status}")
    return json.loads(written)


class Handwritten(unittest.TestCase):
    def test_scripts_say_the_same(self):
        os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="penstock-test-")
        torch.set_num_threads(1) # a child has no more
        for name, (loaders, leaves) in EXPECTED.items():
            if name == "tv_tensors" and not SECOND:
                continue
            with tempfile.TemporaryDirectory() as folder:
                for words in ([folder], [folder, "--augment"]):
                    with self.subTest(name, words=words[1:]):
                        wanted, _ = run(SCRIPTS / f"{name}.py", words, False)
                        found, entries = run(SCRIPTS / f"{name}.py", words, True)
                        self.assertGreater(len(wanted.splitlines()), 2)
                        if name in ("cifar", "imagenet") and words[1:]: # losses, of other draws
                            wanted, found = (["".join(line.split()[:1]) for line in text.splitlines()] for text in (wanted, found))
                        self.assertEqual(wanted, found)
                        self.assertEqual([reason for reason, _, _ in entries], [""] * loaders)
                        self.assertEqual(sum(images > 0 for _, _, images in entries), leaves)
                        self.assertTrue(all(samples for _, samples, _ in entries))
                        if name in PAIRED and words[1:]:
                            (_, samples, images), = entries
                            self.assertGreater(images, samples * 0.8)


if __name__ == "__main__":
    unittest.main()
