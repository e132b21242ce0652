# SPDX-License-Identifier: Apache-2.0
"""What is read of URLs is kept on a disk: sent once, the same bits, whoever reads, writes or damages the folder meanwhile."""
import glob
import os
import shutil
import signal
import subprocess
import time
import unittest

import remote
from support import jpeg_bytes, main, numpy


class RemoteCache(remote.RemoteTest):
    def setUp(self):
        super().setUp()
        self.kept = os.path.join(self.folder, "kept")

    def cached(self, text, *arguments, **values):
        """The hashes of a run with the cache, and the bytes that the server sent for it. No index tells it where shards have what."""
        self.forget_indexes()
        self.store.log.clear()
        self.store.sent = 0
        hashes = self.hashes(text, "--remote-cache", self.kept, *arguments, **values)
        return hashes, self.store.sent

    def assert_all_is_kept(self, wanted, text, *arguments, **values):
        """Of each file a byte is asked for: whether it is still the same."""
        self.assertEqual(self.cached(text, *arguments, **values)[0], wanted)
        self.assertTrue(self.store.log)
        for path, first, last in self.store.log:
            self.assertEqual((first, last), (0, 0), path)

    def forget_indexes(self):
        for path in glob.glob(os.path.join(self.folder, "**", "*.index"), recursive=True):
            os.remove(path)

    def entries(self):
        return [path for path in glob.glob(os.path.join(self.kept, "*", "*")) if os.path.isfile(path)]

    def on_disk(self):
        return sum(os.lstat(path).st_blocks * 512 for path in self.entries())

    def photos(self, count=12, size=300):
        """A table of pictures of more than what a first request brings."""
        rng = numpy.random.default_rng(8)
        for i in range(count):
            self.store.files[f"/photos/{i}.jpg"] = jpeg_bytes(rng, size, size, quality=95)
        self.store.files["/photos/list.csv"] = ("file,label\n" + "".join(f"{i}.jpg,{i}\n" for i in range(count))).encode()
        return self.store.url("/photos/list.csv")

    def test_shards_and_pictures_are_sent_once(self):
        folder = self.tars()
        url = self.store.url("/data/train-{000..002}.tar")
        wanted = self.hashes(remote.SHARDS, shards=folder)
        first, sent = self.cached(remote.SHARDS, shards=url)
        self.assertEqual(first, wanted)
        self.assert_all_is_kept(wanted, remote.SHARDS, shards=url)

        url = self.photos()
        wanted = self.hashes(remote.LISTED, list=url)
        self.assertEqual(self.cached(remote.LISTED, list=url)[0], wanted)
        self.assert_all_is_kept(wanted, remote.LISTED, list=url)
        # Later epochs ask for nothing, but for what 64 threads open at once.
        again, sent = self.cached(remote.LISTED, "--epochs", "20", list=url)
        self.assertEqual(len(again), 240)
        self.assertLess(sent, 110)

    def test_parts_of_sounds_are_kept(self):
        import soundfile
        rng = numpy.random.default_rng(7)
        path = os.path.join(self.folder, "x.wav")
        for i in range(8):
            soundfile.write(path, rng.uniform(-1, 1, 100000), 16000)
            with open(path, "rb") as file:
                self.store.files[f"/waves/{i}.wav"] = file.read()
        self.store.files["/waves/list.txt"] = b"".join(b"%d.wav\n" % i for i in range(8))
        url = self.store.url("/waves/list.txt")
        wanted = self.hashes(remote.WAVES, list=url)
        self.assertEqual(self.cached(remote.WAVES, list=url)[0], wanted)
        for path, first, last in self.store.log:
            if path.endswith(".wav"):
                self.assertLess(last - first, 200_000, path)  # parts, and not the files
        self.cached(remote.WAVES, "--epochs", "60", list=url)  # until all parts are there
        self.assert_all_is_kept(wanted, remote.WAVES, list=url)

    def test_what_a_server_has_replaced_is_read_again(self):
        self.tars()
        url = self.store.url("/data/train-{000..002}.tar")
        first = self.cached(remote.SHARDS, shards=url)[0]
        self.store.files["/data/train-001.tar"] = self.store.files["/data/train-000.tar"]  # of the same time
        wanted = self.hashes(remote.SHARDS, shards=url)
        self.assertNotEqual(wanted, first)
        self.assertEqual(self.cached(remote.SHARDS, shards=url)[0], wanted)
        self.assertEqual(len(self.entries()), 3)

    def test_damaged_blocks_are_read_again(self):
        url = self.photos()
        wanted, _ = self.cached(remote.LISTED, list=url)
        rng = numpy.random.default_rng(9)
        for path in self.entries():
            with open(path, "r+b") as file:
                size = os.path.getsize(path)
                for at in (*rng.integers(0, min(size, 400), 3), *rng.integers(0, size, 2)):  # the header, the checksums and the blocks
                    file.seek(at)
                    file.write(bytes([rng.integers(256)]))
        self.assertEqual(self.cached(remote.LISTED, list=url)[0], wanted)
        for path in self.entries()[::2]:
            os.truncate(path, os.path.getsize(path) // 2)
        for path in self.entries()[1::4]:
            os.truncate(path, 0)
        self.assertEqual(self.cached(remote.LISTED, list=url)[0], wanted)
        self.assert_all_is_kept(wanted, remote.LISTED, list=url)

    def test_it_takes_what_it_may_and_keeps_what_it_has(self):
        url = self.photos(count=40)
        wanted = self.hashes(remote.LISTED, list=url)
        without = self.store.sent
        most = 1 << 20
        total = sum(len(data) for path, data in self.store.files.items() if path.startswith("/photos/"))
        self.assertGreater(total, 2 * most)
        for _ in range(3):
            hashes, sent = self.cached(remote.LISTED, "--remote-cache-size", str(most), list=url)
            self.assertEqual(hashes, wanted)
            self.assertLessEqual(self.on_disk(), most)
            self.assertGreater(self.on_disk(), most // 2)
        self.assertLess(sent, 0.85 * without)
        # What nobody has used for longest goes for what is read now.
        for i in range(40):
            self.store.files[f"/others/{i}.jpg"] = self.store.files[f"/photos/{i}.jpg"]
        self.store.files["/others/list.csv"] = "\n".join(["file,label", *(f"{i}.jpg,{i}" for i in range(3))]).encode() + b"\n"
        other = self.store.url("/others/list.csv")
        for _ in range(4):  # as 32 threads that read three files at once may want more than there is
            first, _ = self.cached(remote.LISTED, "--remote-cache-size", str(most), list=other)
        self.assert_all_is_kept(first, remote.LISTED, "--remote-cache-size", str(most), list=other)

    def test_processes_share_it_and_may_be_killed(self):
        self.tars(count=4, rows=40)
        url = self.store.url("/data/train-{000..003}.tar")
        wanted = self.hashes(remote.SHARDS, shards=url)
        path = os.path.join(self.folder, "shared.pipe")
        with open(path, "w") as file:
            file.write("pipe 1\n" + remote.SHARDS)
        command = self.command("run", path, "--set", f"shards={url}", "--remote-cache", self.kept)
        self.store.delay = 0.01
        for wait in (0.4, 0.5, 0.6, 0.8):
            running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment()) for _ in range(3)]
            time.sleep(wait)
            for process in running:
                process.send_signal(signal.SIGKILL)
                process.wait()
        self.store.delay = 0
        running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.environment()) for _ in range(3)]
        for process in running:
            self.assertEqual((process.wait(60), process.stderr.read()), (0, b""))
            process.stderr.close()
        self.assert_all_is_kept(wanted, remote.SHARDS, shards=url)

    def test_stores_of_other_names_are_kept_apart(self):
        self.store.files["/bucket/list.csv"] = b"file,label\na.jpg,1\n"
        self.store.files["/bucket/a.jpg"] = jpeg_bytes(numpy.random.default_rng(1), 300, 300, quality=95)
        self.as_store()
        first = self.cached(remote.LISTED, list="s3://bucket/list.csv")[0]
        other = remote.Store({**self.store.files, "/bucket/a.jpg": jpeg_bytes(numpy.random.default_rng(2), 300, 300, quality=95)})
        self.addCleanup(other.close)
        self.more["AWS_ENDPOINT_URL"] = other.url()
        self.assertNotEqual(self.cached(remote.LISTED, list="s3://bucket/list.csv")[0], first)
        self.assertEqual(len(self.entries()), 4)

    def test_files_without_parts_or_versions_are_not_kept(self):
        url = self.photos(count=4)
        wanted = self.hashes(remote.LISTED, list=url)
        self.store.takes_ranges = False
        for _ in range(2):
            self.assertEqual(self.cached(remote.LISTED, list=url)[0], wanted)

    def test_a_folder_that_cannot_be_used_is_said(self):
        url = self.photos(count=4)
        with open(self.kept, "w"):
            pass
        refusal = lambda: self.failure(remote.LISTED, "--remote-cache", self.kept, list=url)
        self.assertIn("cannot keep remote files in " + self.kept, refusal())
        os.remove(self.kept)
        os.makedirs(self.kept)
        os.chmod(self.kept, 0o777)
        self.assertIn("others may write to it", refusal())
        os.chmod(self.kept, 0o700)
        # No URL, no cache.
        os.rmdir(self.kept)
        folder = self.tars()
        self.assertTrue(self.hashes(remote.SHARDS, "--remote-cache", self.kept, shards=folder))
        self.assertFalse(os.path.exists(self.kept))

    def test_a_folder_that_goes_in_mid_run(self):
        url = self.photos(count=30)
        wanted = self.hashes(remote.LISTED, list=url)
        self.store.fault = lambda path, first: shutil.rmtree(self.kept, ignore_errors=True) if path.endswith("/7.jpg") else None
        self.assertEqual(self.cached(remote.LISTED, list=url)[0], wanted)


if __name__ == "__main__":
    main()
