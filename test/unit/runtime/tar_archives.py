# SPDX-License-Identifier: Apache-2.0
"""Tar files of random names, written by GNU tar and Python's tarfile in four formats, come back whole."""
import io
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROUNDS = int(os.environ.get("PENSTOCK_ARCHIVES", "3"))
FORMATS = ("ustar", "gnu", "pax", "v7")
# The longest name of each: of a single part, and of several.
LONGEST = {"ustar": (100, 250), "gnu": (250, 700), "pax": (250, 700), "v7": (99, 99)}
TOOL = None


def random_part(rng, length):
    """A file's name of that many bytes: letters, dots, and what is harder to write."""
    hard = [b" ", b".", b"=", b"\n", b"%", "é".encode(), "日".encode(), b"\xff", b"'", b"-"]
    part = b""
    while len(part) < length:
        piece = rng.choice(hard) if rng.random() < 0.2 else bytes([rng.randrange(97, 123)])
        part += piece if len(part) + len(piece) <= length else b"x"
    return b"x" + part[1:] if part in (b".", b"..") else part


def random_name(rng, form):
    one, most = LONGEST[form]
    # Around the widths of a header's fields, where the forms of a name change.
    edges = [length for length in (99, 100, 101, 155, 156, 157, 255, 256, 257, 511, 512, 513)]
    length = rng.choice([rng.randrange(1, 40), rng.randrange(1, most + 1), rng.choice(edges)])
    length = min(length, most)
    parts = []
    while length > 0:
        size = min(length, rng.randrange(1, one + 1) if form != "ustar" else rng.randrange(1, 90))
        parts.append(random_part(rng, size))
        length -= size + 1
    return b"/".join(parts)


def random_members(rng, form):
    """[(name, contents)]; samples of several fields among them. No name is a folder of another."""
    members, taken, folders = [], set(), set()
    for _ in range(40):
        name = random_name(rng, form)
        endings = rng.choice([[b""], [b".jpg", b".cls"], [b".x"], [b".JPG", b".cls"], [b".Seg.png", b".jpg"]])
        for ending in endings:
            full = name + ending
            above = {full[:i] for i in range(len(full)) if full[i:i + 1] == b"/"}
            if len(full) > LONGEST[form][1] or full in taken | folders or above & taken:
                continue
            if max(map(len, full.split(b"/"))) > (250 if form != "ustar" else 95):
                continue
            taken.add(full)
            folders |= above
            size = rng.choice([0, 1, 31, 32, 33, 511, 512, 513, rng.randrange(3000)])
            members.append((full, rng.randbytes(size)))
    return members


def python_tar(members, form):
    if form == "v7":
        return v7_tar(members)
    stream = io.BytesIO()
    kind = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}[form]
    kept = []
    with tarfile.open(fileobj=stream, mode="w", format=kind, errors="surrogateescape") as archive:
        for i, (name, data) in enumerate(members):
            info = tarfile.TarInfo(os.fsdecode(name))
            info.size, info.mtime = len(data), i + (0.25 if form == "pax" else 0)
            try:
                info.tobuf(kind)
            except ValueError:
                continue  # ustar cuts at a slash, and there is none
            archive.addfile(info, io.BytesIO(data))
            kept.append((name, data))
    return stream.getvalue(), kept


def v7_tar(members):
    """The oldest form, which tarfile does not write: no magic, no prefix."""
    out = b""
    for name, data in members:
        head = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
        head[:100] = name.ljust(100, b"\0")
        head[124:136] = b"%011o\0" % len(data)
        head[156:512] = bytes(356)
        head[148:156] = b" " * 8
        head[148:156] = b"%06o\0 " % sum(head)
        out += bytes(head) + data + bytes(-len(data) % 512)
    return out + bytes(1024), members


def gnu_tar(members, form, folder):
    for name, data in members:
        path = os.path.join(os.fsencode(folder), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    names = b"".join(name + b"\0" for name, _ in members)
    archive = folder + ".tar"
    done = subprocess.run(["tar", f"--format={form}", "-C", folder, "--null", "--verbatim-files-from", "-T", "-",
                           "-cf", archive], input=names, capture_output=True)
    with open(archive, "rb") as file:
        data = file.read()
    # tar reports members that a form has no room for and leaves them out; it lists the written ones.
    left_out = done.returncode != 0
    listed = set(tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape").getnames()) if left_out else None
    return data, [member for member in members if not left_out or os.fsdecode(member[0]) in listed]


def expected_rows(members):
    """As docs/sources.md says; rows in order."""
    rows, last = [], None
    for name, data in members:
        head, slash, end = name.rpartition(b"/")
        stem, dot, extension = end.partition(b".")
        if not dot or not stem or end.startswith(b"__"):
            continue
        key = head + slash + stem
        if key != last:
            rows.append((key, {}))
            last = key
        rows[-1][1][extension.lower()] = data
    return rows


class Archives(unittest.TestCase):
    def found(self, paths):
        """{path: (members, rows)}"""
        done = subprocess.run([TOOL, *paths], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        result, members, rows = {}, None, None
        for line in done.stdout.splitlines():
            words = line.split(" ")
            if line in paths:
                members, rows = result[line] = ([], [])
                continue
            self.assertNotEqual(words[0], "error", line)
            values = [bytes.fromhex(word[1:]) for word in words[1:]]
            if words[0] == "member":
                members.append(tuple(values))
            elif rows and rows[-1][0] == values[0] and values[1] not in rows[-1][1]:
                rows[-1][1][values[1]] = values[2]
            else:
                rows.append((values[0], {values[1]: values[2]}))
        return result

    def test_round_trips(self):
        with tempfile.TemporaryDirectory() as folder:
            wanted = {}
            for seed in range(ROUNDS):
                for form in FORMATS:
                    rng = random.Random(f"{form} {seed}")
                    members = random_members(rng, form)
                    for program, (data, kept) in (
                            ("python", python_tar(members, form)),
                            ("gnu", gnu_tar(members, form, os.path.join(folder, f"{form}{seed}")))):
                        self.assertGreater(len(kept), 10, (program, form))
                        path = os.path.join(folder, f"{program}-{form}-{seed}.tar")
                        with open(path, "wb") as file:
                            file.write(data)
                        wanted[path] = kept
            found = self.found(list(wanted))
            for path, members in wanted.items():
                with self.subTest(os.path.basename(path)):
                    self.assertEqual(found[path][0], members)
                    self.assertEqual(found[path][1], expected_rows(members))


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
