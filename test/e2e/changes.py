# SPDX-License-Identifier: Apache-2.0
"""Videos that change while a session runs: each clip is of one version of its file, or a bad sample."""
import json
import os
import random
import signal
import subprocess
import sys
import time

from sources import Sources
from support import ROOT, main, read_hashes

sys.path.insert(0, os.path.join(ROOT, "test", "parity"))
import clips  # noqa: E402

EPOCHS = int(os.environ.get("PENSTOCK_CHANGE_EPOCHS", 60))
H264 = clips.x264(clips.GOP)


class Changes(Sources):
    text = """
pipeline p(list: path, root: path) with on_error = substitute(100%) {
  for row in SOURCE order sequential
  let clip = row.video |> decode(rgb, first = row.start, count = COUNT, step = 4)
  batch 1 per rank last keep { output clip: u8[n, t, h, w, c] = clip[h = 0 .. 80, w = 0 .. 96] }
}"""
    listed = 'csv(list, root, video = column("file", bytes), start = i64)'
    # Messages about a static file that is cut off anywhere, and about changes.
    reasons = ("^(cannot (open|stat) .*: No such file or directory"
               "|the file was changed while it was read"
               "|the file has become shorter than the [0-9]+ bytes that it had when it was opened"
               "|the file has changed since it was indexed"
               "|no video file of a format that is read, or damaged: .*"
               "|truncated or damaged video: .*"
               "|frame [0-9]+ (is damaged|does not come out of the decoder)"
               "|no frame of the video can be decoded"
               "|the video stream is empty"
               "|the file has no video stream"
               "|frames [0-9]+ to [0-9]+ are wanted, and the video has [0-9]+)$")

    def versions(self, ending, options=H264, frames=48, steady=1):
        """Two versions of one video; before it stand `steady` others that nobody touches."""
        self.root = os.path.join(self.folder, "videos")
        self.path = os.path.join(self.root, "b", "moving" + ending)
        for folder in "ab":
            os.makedirs(os.path.join(self.root, folder))
        contents = []
        for seed in (1, 2, 3):
            clips.encode(self.path, *options, frames=frames, seed=seed)
            with open(self.path, "rb") as file:
                contents.append(file.read())
        for i in range(steady):
            os.utime(self.put(f"videos/a/{i}{ending}", contents[2]), (1e9, 1e9))
        return contents[:2]

    def table(self, ending, steady, moving):
        """Rows by where their clips begin in a video that stays, and in the one that does not."""
        self.steady = len(steady)
        rows = [f"a/0{ending},{start}\n" for start in steady] + [f"b/moving{ending},{start}\n" for start in moving]
        self.paths = {"list": self.put("list.csv", "file,start\n" + "".join(rows)), "root": self.root}

    def allowed(self, contents, text):
        """The hashes that a sample may have: by row, one for each version of its file."""
        found = {}
        for content in contents:
            self.put(self.path, content)
            for (_, position), value in self.hashes(text, **self.paths).items():
                found.setdefault(position, set()).add(value)
        self.assertEqual([len(found[row]) for row in range(len(found))],
                         [1] * self.steady + [len(contents)] * (len(found) - self.steady))
        return found

    def change(self, kind, contents, rng, process):
        """One change, in one step as the process sees it."""
        content = rng.choice(contents)
        if kind == "replace":
            os.replace(self.put("new", content), self.path)
        elif kind == "remove":
            if os.path.exists(self.path):
                os.remove(self.path)
        elif os.path.exists(self.path):
            process.send_signal(signal.SIGSTOP)
            if process.returncode is not None:
                return  # it ended, as send_signal found
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            with open(self.path, "r+b") as file:
                if kind == "overwrite":
                    file.write(content)
                    file.truncate()
                else:
                    file.truncate(rng.randrange(len(content)))
            process.send_signal(signal.SIGCONT)

    def storm(self, contents, kinds, text, rows):
        """Runs while the file changes, after the first epoch: what was delivered, and the report."""
        rng = random.Random(5)
        hashes = os.path.join(self.folder, "stormy")
        settings = [word for name, path in self.paths.items() for word in ("--set", f"{name}={path}")]
        command = self.command("run", self.write(text), *settings, "--json", "--hashes", hashes, "--epochs", EPOCHS)
        with open(os.path.join(self.folder, "report"), "w+") as report:
            process = subprocess.Popen(command, stdout=report, stderr=subprocess.PIPE, text=True,
                                       env=self.environment())
            while process.poll() is None and not (os.path.exists(hashes) and len(read_hashes(hashes)) >= rows):
                time.sleep(0.005)
            while process.poll() is None:
                self.change(rng.choice(kinds), contents, rng, process)
                time.sleep(0.02 * rng.random())
            # FFmpeg says this of a file's last packet, and nobody can keep it from it.
            said = [line for line in process.communicate()[1].splitlines()
                    if not line.startswith("Truncating packet of size ")]
            self.assertEqual((process.returncode, said), (0, []))
            report.seek(0)
            return read_hashes(hashes), json.load(report)["bad_samples"]

    def check(self, source, count, contents, kinds, good=None):
        """`good`: the versions whose pixels may come; all unless given. Returns what bad samples said."""
        text = self.text.replace("SOURCE", source).replace("COUNT", str(count))
        allowed = self.allowed(good or contents, text)
        found, report = self.storm(contents, kinds, text, len(allowed))
        bad = {}  # several of a sample whose substitutes are bad too
        for one in report:
            bad.setdefault((one["epoch"], one["position"]), []).append(one)
        self.assertEqual(len(found), EPOCHS * len(allowed))
        seen = {row: set() for row in allowed}
        for (epoch, position), value in found.items():
            row = position % len(allowed)
            for one in bad.pop((epoch, position), ()):
                self.assertEqual(one["row"], row)
                self.assertGreaterEqual(row, self.steady)
                self.assertRegex(one["reason"], self.reasons)
                row = one["substitute"]
            self.assertIn(value, allowed[row], (epoch, position))
            seen[row].add(value)
        self.assertEqual(bad, {})
        self.assertEqual(seen, allowed)  # else this has shown nothing
        return {one["reason"] for one in report}

    def test_a_listed_file_is_one_of_its_versions(self):
        for ending in (".mp4", ".mkv"):
            with self.subTest(ending):
                self.setUp()
                contents = self.versions(ending)
                self.table(ending, range(20), (0, 5, 12, 26))
                said = self.check(self.listed, 6, contents, ("replace", "truncate", "remove", "overwrite"))
                self.assertGreater(len(said), 2)
                self.doCleanups()

    def test_frames_of_two_versions_are_not_mixed(self):
        """Files of the same layout: the index of one would do for the other."""
        contents = self.versions(".avi", ("-c:v", "rawvideo", "-pix_fmt", "yuv420p"), 200)
        self.assertEqual(len(contents[0]), len(contents[1]))
        self.table(".avi", range(18), range(6))
        said = self.check(self.listed, 40, contents, ("overwrite",))
        self.assertEqual(said, {"the file was changed while it was read"})

    def test_video_clips_knows_its_files_from_the_start(self):
        contents = self.versions(".mp4", steady=9)
        self.table(".mp4", (), ())
        self.steady = 9 * 3
        said = self.check("video_clips(root, length = 6, step = 4, every = 12)", 6, contents,
                          ("replace", "truncate", "remove"), good=contents[:1])
        self.assertIn("the file has changed since it was indexed", said)


if __name__ == "__main__":
    main()
