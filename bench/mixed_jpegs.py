# SPDX-License-Identifier: Apache-2.0
"""Files as they are found: each ImageNet-like file of data.py once more, with the
same pixels, of which as many are progressive as among photographs in public
repositories, and some are odd in other ways: components in scans of their own,
fill bytes, stray bytes between segments, odd scan parameters, no end marker.
"""

import pathlib
import random
import subprocess
import tempfile

# (kind, per cent of the files)
SHARES = (("progressive", 10), ("several scans", 1.5), ("fill bytes", 1), ("odd header", 1), ("no end", 0.5))
AS_IT_WAS = "as it was"


def kinds_of(count, seed):
    """One kind per file, each as often as its share says."""
    kinds = [kind for kind, share in SHARES for _ in range(round(count * share / 100))]
    kinds += [AS_IT_WAS] * (count - len(kinds))
    random.Random(seed).shuffle(kinds)
    return kinds


def jpegtran(encoded, *options):
    return subprocess.run(["jpegtran", "-copy", "all", *options], input=encoded, check=True, capture_output=True).stdout


def segments(encoded):
    """The segments before the entropy-coded data, whole, and those data."""
    at, found = 2, []
    while not found or found[-1][1] != 0xDA:
        end = at + 2 + int.from_bytes(encoded[at + 2:at + 4], "big")
        found.append(encoded[at:end])
        at = end
    return found, encoded[at:]


def change(encoded, kind, is_gray):
    """The same pixels in a file of another kind."""
    if kind == "progressive":
        return jpegtran(encoded, "-progressive")
    if kind == "several scans" and not is_gray:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as script:
            script.write("0; 1 2;")
            script.flush()
            return jpegtran(encoded, "-optimize", "-scans", script.name)
    if kind == "no end":
        return encoded[:-2]
    head, rest = segments(encoded)
    if kind == "fill bytes":
        return encoded[:2] + b"".join(b"\xff\xff" + segment for segment in head) + rest[:-2] + b"\xff" + rest[-2:]
    if kind == "odd header":
        # Stray bytes behind the first segment, a comment, zeros for a scan's parameters.
        head[-1] = head[-1][:-3] + bytes(3)
        return encoded[:2] + head[0] + b"stray" + b"\xff\xfe\0\x08photo." + b"".join(head[1:]) + rest
    return encoded


def make(folder, rows, into, seed):
    """Writes the files of `rows` again, and returns each one's kind by its path."""
    kinds = {}
    for kind, row in zip(kinds_of(len(rows), seed), rows):
        target = pathlib.Path(into) / row["path"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(change((folder / row["path"]).read_bytes(), kind, row["sampling"] == "gray"))
        kinds[row["path"]] = kind
    return kinds
