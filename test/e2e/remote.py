# SPDX-License-Identifier: Apache-2.0
"""Files that URLs point to: the same bits as from the disk, over a server that fails as servers do."""
import io
import json
import os
import signal
import ssl
import subprocess
import tarfile
import threading
import time
import unittest

from store import KEY, REGION, SECRET, Store
from support import jpeg_bytes, main, make_folder, numpy
from pipelines import LanguageTest

PICTURES = """use vision
pipeline test(root: path) with on_error = fail {
  for row in image_folder(root) order shuffled
  let image = row.data |> decode(rgb) |> resize(16, 16)
  batch 8 per rank last keep { output image: u8[n, h, w, c] = image  output label: i64[n] = row.label }
}"""
SHARDS = """use vision
pipeline test(shards: path) with on_error = fail {
  for row in tar_shards(shards, jpg = bytes, cls = i64) order shuffled
  let image = row.jpg |> decode(rgb) |> resize(16, 16)
  batch 8 per rank last keep { output image: u8[n, h, w, c] = image  output label: i64[n] = row.cls }
}"""
LISTED = """use vision
pipeline test(list: path) with on_error = substitute(50%) {
  for row in csv(list, data = column("file", bytes), label = i64) order shuffled
  let image = row.data |> decode(rgb) |> resize(16, 16)
  batch 8 per rank last keep { output image: u8[n, h, w, c] = image  output label: i64[n] = row.label }
}"""
WAVES = """pipeline test(list: path) with on_error = fail {
  for row in file_list(list) order shuffled
  let wave = row.data |> decode(mono)
  let start = draw int(0 .. 90000)
  batch 4 per rank last keep { output part: f32[n, t] = wave[t = start .. start + 500] }
}"""
ARRAYS = """pipeline test(values: path) with on_error = fail {
  for row in raw(x = npy(values, f32[k = 7])) order shuffled
  batch 4 per rank last keep { output x: f32[n, k] = row.x }
}"""


class RemoteTest(LanguageTest):
    def setUp(self):
        super().setUp()
        self.store = Store()
        self.addCleanup(self.store.close)
        self.more = {}

    def environment(self):
        mine = {name: value for name, value in super().environment().items() if not name.startswith(("AWS_", "AZURE_", "IDENTITY_", "MSI_"))}
        home = os.path.join(self.folder, "home")
        os.makedirs(home, exist_ok=True)
        return {**mine, "HOME": home, "AWS_EC2_METADATA_DISABLED": "true", **self.more}

    def as_store(self, **more):
        """Has the tool take the server for S3."""
        self.more = {"AWS_ENDPOINT_URL": self.store.url(), "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION, **more}
        self.store.signs = True

    def upload(self, folder, to):
        for path, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(path, name), "rb") as file:
                    self.store.files[to + os.path.join(path, name)[len(folder):]] = file.read()

    def tars(self, count=3, rows=10):
        """Shards on the disk and on the server; returns their folder."""
        rng = numpy.random.default_rng(5)
        folder = os.path.join(self.folder, "shards")
        os.makedirs(folder, exist_ok=True)
        for shard in range(count):
            with tarfile.open(os.path.join(folder, f"train-{shard:03}.tar"), "w") as file:
                for row in range(rows):
                    size = 400 if row == 3 else 60  # one does not fit what the first request brings
                    for name, data in ((f"{shard}{row}.jpg", jpeg_bytes(rng, size, size, quality=95)), (f"{shard}{row}.cls", b"%d" % row)):
                        info = tarfile.TarInfo(name)
                        info.size = len(data)
                        file.addfile(info, io.BytesIO(data))
        self.upload(folder, "/data")
        return folder

    def listed(self, count=20):
        """A table with pictures beside it, some of whose names need encoding in a URL."""
        rng = numpy.random.default_rng(6)
        folder = os.path.join(self.folder, "listed")
        os.makedirs(os.path.join(folder, "some pictures"), exist_ok=True)
        names = [f"some pictures/ä #{i}.jpg" if i % 3 == 0 else f"{i}.jpg" for i in range(count)]
        for name in names:
            with open(os.path.join(folder, name), "wb") as file:
                file.write(jpeg_bytes(rng, 50, 70))
        with open(os.path.join(folder, "list.csv"), "w") as file:
            file.write("file,label\n" + "".join(f"{name},{i}\n" for i, name in enumerate(names)))
        self.upload(folder, "/listed")
        return os.path.join(folder, "list.csv")

    def classes(self, *labels):
        """A folder of pictures for each label."""
        rng = numpy.random.default_rng(1)
        folder = os.path.join(self.folder, "classes")
        for label in labels:
            os.makedirs(os.path.join(folder, label))
            for i in range(3):
                with open(os.path.join(folder, label, f"{i}.jpg"), "wb") as file:
                    file.write(jpeg_bytes(rng, 30, 20))
        return folder


class OverHttp(RemoteTest):
    def test_tables_shards_sounds_and_arrays_are_what_the_disk_has(self):
        self.assertEqual(self.hashes(LISTED, list=self.listed()), self.hashes(LISTED, list=self.store.url("/listed/list.csv")))
        folder = self.tars()
        wanted = self.hashes(SHARDS, shards=folder)
        self.assertEqual(len(wanted), 30)
        self.assertEqual(wanted, self.hashes(SHARDS, shards=self.store.url("/data/train-{000..002}.tar")))
        self.assertEqual(wanted, self.hashes(SHARDS, shards=os.path.join(folder, "train-{000..002}.tar")))
        self.store.files["/lists/shards.txt"] = b"".join(b"../data/train-00%d.tar\n" % i for i in range(3))
        self.assertEqual(wanted, self.hashes(SHARDS, "--allow", self.store.url("/data"), shards=self.store.url("/lists/shards.txt")))

        import soundfile
        rng = numpy.random.default_rng(7)
        waves = os.path.join(self.folder, "waves")
        os.makedirs(waves)
        for i in range(8):
            soundfile.write(os.path.join(waves, f"{i}.wav"), rng.uniform(-1, 1, 100000), 16000)
        with open(os.path.join(waves, "list.txt"), "w") as file:
            file.writelines(f"{i}.wav\n" for i in range(8))
        self.upload(waves, "/waves")
        wanted = self.hashes(WAVES, list=os.path.join(waves, "list.txt"))
        self.store.log.clear()
        self.assertEqual(wanted, self.hashes(WAVES, list=self.store.url("/waves/list.txt")))
        for path, first, last in self.store.log:  # of 200,044 bytes
            self.assertTrue(path.endswith(".txt") or last - first < 100_000, (path, first, last))

        numpy.save(os.path.join(self.folder, "x.npy"), rng.normal(size=(40, 7)).astype("f4"))
        self.upload(self.folder, "/all")
        self.assertEqual(self.hashes(ARRAYS, values=os.path.join(self.folder, "x.npy")), self.hashes(ARRAYS, values=self.store.url("/all/x.npy")))

    def test_the_index_of_shards_is_kept_and_made_again_where_they_change(self):
        self.tars()
        url = self.store.url("/data/train-{000..002}.tar")
        first = self.hashes(SHARDS, shards=url)
        self.store.log.clear()
        self.assertEqual(first, self.hashes(SHARDS, shards=url))
        self.assertEqual(sum(1 for _, begin, last in self.store.log if last == 0), 3)  # each asked once whether it is the same
        name = "/data/train-001.tar"
        self.store.files[name] = self.store.files["/data/train-000.tar"]
        self.store.changed[name] = 1.1e9
        self.assertNotEqual(self.hashes(SHARDS, shards=url), {})
        self.assertEqual(len(self.hashes(SHARDS, shards=url)), 30)

    def with_rows(self):
        """Shards on the server with what `penstock index --rows` writes beside them; the hashes of all samples."""
        folder = self.tars()
        done = self.run_tool("index", "--rows", folder)
        self.assertIn("30 rows in 3 shards", done.stdout)
        self.upload(folder, "/data")
        return self.hashes(SHARDS, shards=folder)

    def test_an_index_beside_a_shard_is_read_in_place_of_its_headers(self):
        wanted = self.with_rows()
        url = self.store.url("/data/train-{000..002}.tar")
        rows = "pipeline test(shards: path) { for row in tar_shards(shards, cls = i64) order sequential batch 30 per rank last drop { output y: i64[n] = row.cls } }"
        self.store.log.clear()
        self.hashes(rows, shards=url)  # labels are in the index: nothing else is read
        asked = {(path, first, last) for path, first, last in self.store.log}
        self.assertEqual(asked, {(f"/data/train-00{i}.tar{end}", 0, last) for i in range(3) for end, last in ((".index", 65535), ("", 0))})
        self.assertEqual(self.hashes(SHARDS, shards=url), wanted)
        self.as_store()
        self.forget_index()
        self.assertEqual(self.hashes(SHARDS, shards="s3://data/"), wanted)

    def forget_index(self):
        subprocess.run(["find", self.shared_cache, self.folder, "-name", "tar-shards*", "-delete"], check=True)

    def test_an_index_that_is_of_no_use_is_left_alone(self):
        wanted = self.with_rows()
        url = self.store.url("/data/train-{000..002}.tar")
        index = self.store.files["/data/train-001.tar.index"]
        for other in (b"", b"x" * 1000, index[:-1], index[:100] + bytes([index[100] ^ 1]) + index[101:], self.store.files["/data/train-000.tar.index"]):
            self.store.files["/data/train-001.tar.index"] = other
            self.forget_index()
            self.assertEqual(self.hashes(SHARDS, shards=url), wanted)
        self.store.files["/data/train-001.tar.index"] = index
        # A row came behind its index, within the hour.
        before, longer = self.store.files["/data/train-001.tar"], io.BytesIO(self.store.files["/data/train-001.tar"])
        with tarfile.open(fileobj=longer, mode="a") as file:
            for end, data in ((".jpg", jpeg_bytes(numpy.random.default_rng(1), 900, 900)), (".cls", b"1")):
                info = tarfile.TarInfo("99" + end)
                info.size = len(data)
                file.addfile(info, io.BytesIO(data))
        self.store.files["/data/train-001.tar"] = longer.getvalue()
        self.forget_index()
        self.assertEqual(len(self.hashes(SHARDS, shards=url)), 31)
        self.store.files["/data/train-001.tar"] = before
        self.store.fault = lambda path, first: 403 if path.endswith(".index") else None
        self.forget_index()
        self.assertEqual(self.hashes(SHARDS, shards=url), wanted)

    def test_an_index_of_another_shard_is_noticed(self):
        self.with_rows()
        url, name = self.store.url("/data/train-{000..002}.tar"), "/data/train-001.tar"
        # The same sizes, rows of other names, uploaded in the hour of the index.
        other = io.BytesIO()
        with tarfile.open(fileobj=io.BytesIO(self.store.files[name])) as before, tarfile.open(fileobj=other, mode="w") as after:
            for member in before:
                info = tarfile.TarInfo("9" + member.name[1:])
                info.size = member.size
                after.addfile(info, before.extractfile(member))
        self.assertEqual(len(other.getvalue()), len(self.store.files[name]))
        before, self.store.files[name] = self.store.files[name], other.getvalue()
        said = self.failure(SHARDS, shards=url)
        self.assertIn("train-001.tar.index again (`penstock index --rows`)", said)
        # Of a shard that is much newer, the index is not taken.
        self.store.changed[name] = 1e9 + 3700
        self.forget_index()
        self.assertEqual(len(self.hashes(SHARDS, shards=url)), 30)
        # Labels of the same size: an hour tells them, too.
        relabelled = io.BytesIO()
        with tarfile.open(fileobj=io.BytesIO(before)) as old, tarfile.open(fileobj=relabelled, mode="w") as new:
            for member in old:
                new.addfile(member, io.BytesIO(b"7") if member.name.endswith(".cls") else old.extractfile(member))
        self.store.files[name] = relabelled.getvalue()
        self.forget_index()
        remote = self.hashes(SHARDS, shards=url)
        with open(os.path.join(self.folder, "shards", "train-001.tar"), "wb") as file:
            file.write(relabelled.getvalue())
        self.assertEqual(remote, self.hashes(SHARDS, shards=os.path.join(self.folder, "shards")))

    def test_each_shard_is_opened_once(self):
        self.tars()
        self.store.delay = 0.05
        url = self.store.url("/data/train-{000..002}.tar")
        wanted = self.hashes(SHARDS, shards=url)
        self.store.log.clear()
        self.assertEqual(wanted, self.hashes(SHARDS, shards=url))
        self.assertEqual(sum(1 for _, _, last in self.store.log if last == 65535), 3)

    def test_how_many_requests_are_under_way(self):
        rng = numpy.random.default_rng(4)
        self.store.files["/many/list.csv"] = b"file,label\n" + b"".join(b"%d.jpg,0\n" % i for i in range(150))
        self.store.files.update({f"/many/{i}.jpg": jpeg_bytes(rng, 10, 10) for i in range(150)})
        for arguments, least, most in ((("--fetch-threads", "3"), 2, 3), ((), 40, 64), (("--fetch-threads", "100"), 70, 100)):
            under_way, times, known = 0, [], threading.Lock()
            answered = self.store.fault

            def fault(path, first):
                nonlocal under_way
                if not path.endswith(".jpg"):
                    return None
                def answer(handler):
                    nonlocal under_way
                    with known:
                        under_way += 1
                        times.append(under_way)
                    time.sleep(0.05)
                    with known:
                        under_way -= 1
                    return handler.do_GET(faults=False)
                return answer
            self.store.fault = fault
            self.assertEqual(len(self.hashes(LISTED, *arguments, list=self.store.url("/many/list.csv"))), 150)
            self.store.fault = answered
            self.assertGreaterEqual(max(times), least, arguments)
            self.assertLessEqual(max(times), most, arguments)

    def test_what_fails_is_tried_again(self):
        folder, seen = self.tars(), {}
        wanted = self.hashes(SHARDS, shards=folder)
        kinds = [503, "cut", "drop", 500, (429, [("Retry-After", "0")])]

        def fault(path, first):
            count = seen[path, first] = seen.get((path, first), -1) + 1
            return kinds[(hash(path) + first + count) % len(kinds)] if count < 2 else None

        self.store.fault = fault
        self.assertEqual(wanted, self.hashes(SHARDS, shards=self.store.url("/data/train-{000..002}.tar")))
        self.assertGreater(len(seen), 20)
        seen.clear()
        self.store.fault = lambda path, first: fault(path, first) if path.endswith(".jpg") else None
        self.assertEqual(self.hashes(LISTED, list=self.listed()), self.hashes(LISTED, list=self.store.url("/listed/list.csv")))

    def test_a_part_goes_on_where_its_connection_broke(self):
        self.store.files["/x/big.wav"] = body = b"RIFF" + bytes(300_000)
        self.store.files["/x/list.txt"] = b"big.wav\n"
        self.store.fault = lambda path, first: "cut" if path.endswith("wav") and first < 60_000 else None
        self.failure(WAVES, list=self.store.url("/x/list.txt"))
        self.assertIn(("/x/big.wav", 32768, 65535), self.store.log)

    def test_a_server_that_goes_away_ends_the_run_and_no_sample_is_replaced(self):
        self.listed()
        self.store.fault = lambda path, first: 503 if path.endswith("11.jpg") else None
        started = time.monotonic()
        said = self.failure(LISTED, list=self.store.url("/listed/list.csv"))
        self.assertIn("11.jpg: the server says 503 Service Unavailable, 10 times in a row", said)
        self.assertIn("cannot be made", said)
        self.assertLess(time.monotonic() - started, 60)
        gone = Store()
        url = gone.url("/listed/list.csv")
        gone.close()
        self.assertIn("3 times in a row", self.failure(LISTED, list=url))

    def test_a_missing_or_forbidden_file_is_a_bad_sample(self):
        wanted = self.listed()
        del self.store.files["/listed/4.jpg"]
        self.store.fault = lambda path, first: 403 if path == "/listed/5.jpg" else None
        path = self.write(LISTED)
        done = self.run_json("run", path, "--set", "list=" + self.store.url("/listed/list.csv"))
        reasons = sorted(bad["reason"] for bad in done["bad_samples"])
        base = self.store.url("/listed/")
        self.assertEqual(reasons, [f"cannot read {base}4.jpg: the server says 404 Not Found", f"cannot read {base}5.jpg: the server says 403 Forbidden"])
        os.remove(os.path.join(os.path.dirname(wanted), "4.jpg"))
        os.remove(os.path.join(os.path.dirname(wanted), "5.jpg"))
        self.assertEqual(self.hashes(LISTED, list=wanted), self.hashes(LISTED, list=self.store.url("/listed/list.csv")))

    def test_a_file_that_changes_while_it_is_read_is_noticed(self):
        self.tars()
        body = self.store.files["/data/train-001.tar"]
        changed = bytearray(body)
        changed[100_000] ^= 1  # of the same size
        reads = []

        def fault(path, first):
            if path == "/data/train-001.tar":
                reads.append(first)
                if len(reads) >= 4 and first > 65536:  # of a row
                    self.store.files[path] = bytes(changed)
            return None

        self.store.fault = fault
        said = self.failure(SHARDS, shards=self.store.url("/data/train-{000..002}.tar"))
        self.assertRegex(said, "changed (while it was read|since this run began)")

    def test_shards_of_one_size_and_time(self):
        self.tars(count=1, rows=3)
        url = self.store.url("/data/train-000.tar")
        wanted = self.hashes(SHARDS, shards=url)
        body = self.store.files["/data/train-000.tar"]
        self.store.files["/data/train-000.tar"] = body.replace(b"2" + bytes(511), b"5" + bytes(511))  # a label, which the index holds
        self.assertNotEqual(wanted, self.hashes(SHARDS, shards=url))

    def test_servers_without_ranges_and_without_tags(self):
        folder = self.tars()
        wanted = self.hashes(SHARDS, shards=folder)
        self.store.takes_ranges = False
        url = self.store.url("/data/train-{000..002}.tar")
        self.assertEqual(wanted, self.hashes(SHARDS, shards=url))
        self.store.has_tags = False
        self.assertEqual(wanted, self.hashes(SHARDS, shards=url))
        self.store.takes_ranges = True
        self.assertEqual(wanted, self.hashes(SHARDS, shards=url))
        self.store.takes_ranges = False
        self.store.files["/big.tar"] = bytes(70 << 20)
        self.assertIn("the server sends whole files only (it takes no `Range`), and this one has 73400320 bytes", self.failure(SHARDS, shards=self.store.url("/big.tar")))

    def test_an_empty_file_is_one_and_a_refusal_is_none(self):
        self.store.files.update({"/e/list.txt": b"a.wav\n", "/e/a.wav": b""})
        self.assertIn("a.wav: not a sound file: it is empty", self.failure(WAVES, list=self.store.url("/e/list.txt")))
        self.store.files["/e/a.wav"] = lambda handler: handler.answer(416, b"", [("Content-Range", "bytes */3")])
        self.assertIn("a.wav: the server says 416 Range Not Satisfiable", self.failure(WAVES, list=self.store.url("/e/list.txt")))

    def test_signed_urls_and_lists_without_a_length(self):
        folder = self.tars(count=2)
        self.assertEqual(len(self.hashes(SHARDS, shards=self.store.url("/data/train-000.tar?X-Amz-Signature=a/b.c"))), 10)
        self.assertEqual(self.hashes(SHARDS, shards=folder), self.hashes(SHARDS, shards=self.store.url("/data/train-{000..001}.tar?sig=1/2")))

        def chunked(handler):
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            for piece in (b"train-000.tar\n", b"train-001.tar\n"):
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            handler.wfile.write(b"0\r\n\r\n")

        self.store.files["/data/list"] = chunked
        self.assertEqual(self.hashes(SHARDS, shards=folder), self.hashes(SHARDS, "--allow", self.store.url("/data"), shards=self.store.url("/data/list")))

    def test_nothing_comes_twice(self):
        import soundfile
        wave = os.path.join(self.folder, "a.wav")
        soundfile.write(wave, numpy.random.default_rng(0).uniform(-1, 1, 91000), 16000)
        self.upload(self.folder, "/w")
        self.store.files["/w/list.txt"] = b"a.wav\n"
        text = WAVES.replace("draw int(0 .. 90000)", "0").replace("start + 500", "91000")
        with open(os.path.join(self.folder, "list.txt"), "w") as file:
            file.write("a.wav\n")
        wanted = self.hashes(text, list=os.path.join(self.folder, "list.txt"))
        self.assertEqual(wanted, self.hashes(text, list=self.store.url("/w/list.txt")))
        parts = {(first, last) for path, first, last in self.store.log if path == "/w/a.wav"}
        self.assertEqual(parts, {(0, 65535), (65536, os.path.getsize(wave) - 1)})

    def test_lists_open_nothing(self):
        secret = os.path.join(self.folder, "secret.jpg")
        with open(secret, "wb") as file:
            file.write(jpeg_bytes(numpy.random.default_rng(0), 20, 20))
        self.upload(self.folder, "/other")
        for name, message in ((secret, "leads out of the folders given to this pipeline"),
                              (self.store.url("/other/secret.jpg"), f"lies outside of the URLs given to this pipeline; `--allow {self.store.url('/other')}` opens it"),
                              ("../other/secret.jpg", "lies outside of"), ("%2E%2e/other/secret.jpg", "lies outside of"),
                              ("..%2fother/secret.jpg", "lies outside of"), ("..%5Cother%2Fsecret.jpg", "lies outside of")):
            self.store.files["/mine/list.csv"] = f"file,label\n{name},1\n".encode()
            self.store.log.clear()
            self.assertIn(message, self.failure(LISTED, list=self.store.url("/mine/list.csv")))
            self.assertEqual({path for path, _, _ in self.store.log}, {"/mine/list.csv"})
        # A table on the disk may name URLs where the caller opens them.
        with open(os.path.join(self.folder, "local.csv"), "w") as file:
            file.write(f"file,label\n{self.store.url('/other/secret.jpg')},1\n")
        local = os.path.join(self.folder, "local.csv")
        self.assertIn("lies outside of", self.failure(LISTED, "--allow", self.store.url("/mine"), list=local))
        self.assertIn("leads out of the folders", self.failure(LISTED, list=local))
        self.assertEqual(len(self.hashes(LISTED, "--allow", self.store.url("/other"), list=local)), 1)

    def test_redirections(self):
        listed = self.listed()
        other = Store(self.store.files)
        self.addCleanup(other.close)
        self.store.files = {path: lambda handler, to=other.url(path): handler.answer(302, b"", [("Location", to.replace(" ", "%20").replace("#", "%23").replace("ä", "%C3%A4"))])
                            for path in other.files}
        self.assertEqual(self.hashes(LISTED, list=listed), self.hashes(LISTED, list=self.store.url("/listed/list.csv")))
        self.store.files["/loop"] = lambda handler: handler.answer(302, b"", [("Location", "/loop")])
        self.assertIn("redirects", self.failure(LISTED, list=self.store.url("/loop")))
        self.store.files["/file"] = lambda handler: handler.answer(302, b"", [("Location", f"file://{listed}")])
        self.assertIn("cannot read", self.failure(LISTED, list=self.store.url("/file")))

    def test_what_http_has_not_is_said(self):
        self.listed()
        self.assertIn("servers of HTTP have no folders; name the files in a list (`file_list`, `csv`, `json_lines`), or shards as `train-{0000..0099}.tar`",
                      self.failure(PICTURES, root=self.store.url("/listed/list.csv")))
        self.assertIn("the server says 404 Not Found", self.failure(LISTED, list=self.store.url("/nothing.csv?token=secret")))
        self.assertNotIn("secret", self.failure(LISTED, list=self.store.url("/nothing.csv?token=secret").replace("http://", "http://me:secret@")))
        for command in (["index", self.store.url("/listed")], ["pack", "s3://bucket/x", self.folder], ["pack", self.folder, "s3://bucket/x"]):
            self.assertIn("is a URL, which sessions alone read", self.run_tool(*command, expect=1).stderr)
        self.assertIn("hint: URLs are `http://`, `https://`, `s3://`, `gs://`, `az://` and `hf://`, in small letters", self.failure(LISTED, list="HTTP://x/list.csv"))
        self.assertIn("one range of numbers is taken", self.failure(SHARDS, shards=self.store.url("/a-{0..1}-{0..1}.tar")))
        most = 2 ** 64 - 1
        self.assertIn("404 Not Found", self.failure(SHARDS, shards=self.store.url(f"/x-{{{most}..{most}}}.tar")))
        self.store.files["/t.csv"] = b"file,label\na.jpg,x\n"
        said = self.failure(LISTED, list=self.store.url("/t.csv?token=secret").replace("http://", "http://me:secret@"))
        self.assertIn(self.store.url("/t.csv:2: column `label`"), said)
        self.assertNotIn("secret", said)
        self.assertIn("the numbers between braces go from the least to the largest", self.failure(SHARDS, shards=self.store.url("/x-{5..1}.tar")))

    def test_a_signal_ends_it_soon(self):
        self.listed()
        self.store.fault = lambda path, first: "stall" if path == "/listed/7.jpg" else None
        command = self.command("run", self.write(LISTED), "--set", "list=" + self.store.url("/listed/list.csv"))
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        begin = time.monotonic()
        child.communicate(timeout=30)
        self.assertLess(time.monotonic() - begin, 8)

    def test_certificates_are_checked(self):
        listed = self.listed()
        key, bundle = os.path.join(self.folder, "key"), os.path.join(self.folder, "bundle")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", bundle, "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(bundle, key)
        self.store.socket = context.wrap_socket(self.store.socket, server_side=True)
        url = self.store.url("/listed/list.csv").replace("http:", "https:")
        self.assertIn("certificate", self.failure(LISTED, list=url))
        with open(listed) as file, open(os.path.join(self.folder, "far.csv"), "w") as out:
            out.writelines(line if line.startswith("file") else url.replace("list.csv", "") + line for line in file)
        self.assertIn("cannot be made", self.failure(LISTED, "--allow", url, "--allow", os.path.dirname(url), list=os.path.join(self.folder, "far.csv")))
        self.more = {"CURL_CA_BUNDLE": bundle}
        self.assertEqual(self.hashes(LISTED, list=listed), self.hashes(LISTED, list=url))
        # What is asked for in secret is not answered in the open.
        other = Store({"/listed/list.csv": self.store.files["/listed/list.csv"]})
        self.addCleanup(other.close)
        self.store.files["/listed/list.csv"] = lambda handler: handler.answer(302, b"", [("Location", other.url("/listed/list.csv"))])
        self.assertIn(f"list.csv: the server redirects from https to {other.url('/listed/list.csv')}", self.failure(LISTED, list=url))
        self.assertEqual(other.log, [])

    def test_without_libcurl_it_says_what_to_install(self):
        self.more = {"PENSTOCK_LIBCURL": os.path.join(self.folder, "none.so")}
        self.assertIn("URLs are read by libcurl 7.85 or later, and there is none", self.failure(LISTED, list=self.store.url("/x.csv")))


class OverS3(RemoteTest):
    def test_folders_tables_and_shards_are_what_the_disk_has(self):
        self.as_store()
        make_folder(self.data, classes=3, per_class=7)
        os.rename(os.path.join(self.data, "class1", "0003.jpg"), os.path.join(self.data, "class1", "a b+ä&%20?#.jpg"))
        self.upload(self.data, "/bucket/pictures")
        self.store.files["/bucket/pictures/class1/"] = b""  # how consoles make a folder
        self.store.page = 4  # so that listings go on
        wanted = self.hashes(PICTURES, root=self.data)
        self.assertEqual(len(wanted), 21)
        for root in ("s3://bucket/pictures", "s3://bucket/pictures/"):
            self.assertEqual(wanted, self.hashes(PICTURES, root=root))
        listed = self.listed()
        self.upload(os.path.dirname(listed), "/bucket/listed")
        self.assertEqual(self.hashes(LISTED, list=listed), self.hashes(LISTED, list="s3://bucket/listed/list.csv"))
        folder = self.tars()
        self.upload(folder, "/bucket/shards")
        wanted = self.hashes(SHARDS, shards=folder)
        for shards in ("s3://bucket/shards", "s3://bucket/shards/train-{000..002}.tar"):
            self.assertEqual(wanted, self.hashes(SHARDS, shards=shards))

    def test_other_folders_of_buckets(self):
        import soundfile
        self.as_store()
        rng = numpy.random.default_rng(2)
        for label in "ab":
            os.makedirs(os.path.join(self.data, label))
            for i in range(2):
                soundfile.write(os.path.join(self.data, label, f"{i}.wav"), rng.uniform(-1, 1, 3000), 8000)
        cifar = os.path.join(self.folder, "cifar")
        os.makedirs(cifar)
        for name in [f"data_batch_{i}.bin" for i in range(1, 6)]:
            with open(os.path.join(cifar, name), "wb") as file:
                file.write(b"".join(bytes([i]) + rng.bytes(3072) for i in range(3)))
        self.upload(self.data, "/bucket/sounds")
        self.upload(cifar, "/bucket/cifar")
        head = "pipeline test(root: path) with on_error = fail {\n  for row in "
        for source, folder, output in (("audio_folder(root)", "sounds", "f32[n, t] = (row.data |> decode(mono))[t = 5 .. 900]"),
                                       ("cifar10(root)", "cifar", "u8[n, h, w, c] = row.image")):
            text = f"{head}{source} order shuffled\n  batch 2 per rank last keep {{ output x: {output}  output label: i64[n] = row.label }}\n}}"
            local = self.data if folder == "sounds" else cifar
            self.assertEqual(self.hashes(text, root=local), self.hashes(text, root=f"s3://bucket/{folder}"), source)

    def test_videos_of_a_bucket(self):
        if not os.path.exists(os.path.join(os.path.dirname(self.tool), "../../api/c/libpenstock_video.so")):
            self.skipTest("without the module for videos")
        self.as_store()
        os.makedirs(os.path.join(self.data, "a"))
        for i in range(2):
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=64x48:r=10:d={i + 2}", "-c:v", "mpeg4", os.path.join(self.data, "a", f"{i}.mp4")], check=True)
        self.upload(self.data, "/bucket/videos")
        text = """pipeline test(root: path) with on_error = fail {
  for row in video_clips(root, length = 4, step = 2) order shuffled
  let clip = row.video |> decode(rgb, first = row.start, count = 4, step = 2)
  batch 2 per rank last keep { output x: u8[n, t, h, w, c] = clip[h = 0 .. 48, w = 0 .. 64] }
}"""
        self.assertEqual(self.hashes(text, root=self.data), self.hashes(text, root="s3://bucket/videos"))

    def test_a_bucket_of_another_region_is_found(self):
        self.as_store(AWS_REGION="us-west-2")
        self.store.delay = 0.03  # so that many ask before one knows
        listed = self.listed()
        self.upload(self.tars(), "/bucket/shards")
        self.upload(os.path.dirname(listed), "/bucket/listed")
        self.assertEqual(len(self.hashes(SHARDS, shards="s3://bucket/shards")), 30)
        local = os.path.join(self.folder, "local.csv")
        with open(listed) as file, open(local, "w") as out:
            out.writelines(line.replace("some pictures", "s3://bucket/listed/some pictures") if line.startswith("some") else
                           line if line.startswith("file") else "s3://bucket/listed/" + line for line in file)
        self.assertEqual(self.hashes(LISTED, list=listed), self.hashes(LISTED, "--on-error", "fail", "--allow", "s3://bucket/listed", list=local))

    def test_keys_are_what_they_are(self):
        self.as_store()
        rng = numpy.random.default_rng(3)
        names = ["a//b.jpg", "a/b.jpg", "a/%2e/b.jpg", "a/b.jpg?x", "a/b+c.jpg"]
        for name in names:
            self.store.files["/bucket/k/" + name] = jpeg_bytes(rng, 20, 30)
        self.store.files["/bucket/k/list.csv"] = ("file,label\n" + "".join(f"{name},0\n" for name in names)).encode()
        self.assertEqual(len(set(self.hashes(LISTED, "--on-error", "fail", list="s3://bucket/k/list.csv").values())), len(names))
        self.assertIn("`k/a//` has an empty part", self.failure(PICTURES, root="s3://bucket/k"))

    def test_expired_credentials_end_the_run(self):
        listed = self.listed()
        self.as_store()
        self.upload(os.path.dirname(listed), "/bucket/listed")
        body = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
        self.store.fault = lambda path, first: (lambda handler: handler.answer(400, body)) if path.endswith("/7.jpg") else None
        said = self.failure(LISTED, list="s3://bucket/listed/list.csv")
        self.assertIn("cannot be made: cannot read s3://bucket/listed/7.jpg: the store says 400 Bad Request (The provided token has expired.); the credentials are those of AWS_ACCESS_KEY_ID", said)

    def test_credentials_come_from_files_and_from_the_machine(self):
        self.upload(self.tars(), "/bucket/shards")
        self.as_store()
        home = os.path.join(self.folder, "home", ".aws")
        os.makedirs(home)
        with open(os.path.join(home, "credentials"), "w") as file:
            file.write(f"# keys\n[default]\naws_access_key_id = wrong\naws_secret_access_key = wrong\n\n[work]\naws_access_key_id={KEY}\naws_secret_access_key = {SECRET}\n")
        with open(os.path.join(home, "config"), "w") as file:
            file.write(f"[profile work]\nregion = {REGION}\nendpoint_url = {self.store.url()}/\ns3 =\n  addressing_style = path\n")
        self.more = {"AWS_PROFILE": "work"}
        self.assertEqual(len(self.hashes(SHARDS, shards="s3://bucket/shards")), 30)
        self.more = {"AWS_ENDPOINT_URL_S3": self.store.url(), "AWS_REGION": REGION}
        self.assertIn("403 Forbidden (The request signature we calculated does not match); the credentials are those of profile `default`", self.failure(SHARDS, shards="s3://bucket/shards"))
        os.remove(os.path.join(home, "credentials"))
        self.assertIn("403 Forbidden (Access Denied); no credentials were found: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws/credentials, give them",
                      self.failure(SHARDS, shards="s3://bucket/shards"))

        machine = Store()
        self.addCleanup(machine.close)
        self.store.token = "of/the+role="
        role = json.dumps({"Code": "Success", "AccessKeyId": KEY, "SecretAccessKey": SECRET, "Token": self.store.token, "Expiration": "2100-01-01T00:00:00Z"})
        machine.files = {"/latest/api/token": b"of-the-session", "/latest/meta-data/iam/security-credentials/": b"trainer",
                         "/latest/meta-data/iam/security-credentials/trainer": role.encode(), "/role": role.encode()}
        machine.fault = lambda path, first: None
        ec2 = {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": machine.url()}
        for source in (ec2, {"AWS_CONTAINER_CREDENTIALS_FULL_URI": machine.url("/role")}):
            self.more = {"AWS_ENDPOINT_URL": self.store.url(), "AWS_REGION": REGION, **source}
            machine.log.clear()
            self.assertEqual(len(self.hashes(SHARDS, shards="s3://bucket/shards")), 30)
            self.assertLessEqual(len(machine.log), 3)  # once for the run

    def test_public_buckets_need_no_credentials(self):
        self.upload(self.tars(), "/bucket/shards")
        self.more = {"AWS_ENDPOINT_URL": self.store.url(), "AWS_NO_SIGN_REQUEST": "true", "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        self.assertEqual(len(self.hashes(SHARDS, shards="s3://bucket/shards")), 30)

    def test_what_is_not_there_is_said(self):
        self.as_store()
        self.upload(self.tars(), "/bucket/shards")
        self.assertIn("cannot read s3://bucket/none: the store says 404 Not Found (The specified key does not exist.)", self.failure(SHARDS, shards="s3://bucket/none"))
        self.assertIn("has no class folders", self.failure(PICTURES, root="s3://bucket/shards"))
        self.assertIn("s3:///x.csv names no bucket; a URL is s3://BUCKET/KEY", self.failure(LISTED, list="s3:///x.csv"))


if __name__ == "__main__":
    main()
