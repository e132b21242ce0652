# SPDX-License-Identifier: Apache-2.0
"""The installed tree works by itself: tools, headers, and a user's own lit tests (examples/lit)."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import ROOT, ToolTest, main

PROGRAM = r"""
#include <penstock.h>
#include <stdio.h>
#include <string.h>
static const char text[] = "pipe 1\npipeline p() {\n  for row in synthetic(8, x = u8[h = 3])\n  batch 2 { output x: u8[n, h] = row.x }\n}\n";
int main(void) {
  pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
  pst_session_options run = PST_SESSION_OPTIONS_INIT;
  pst_program *program;
  pst_session *session;
  pst_batch *batch;
  options.cache_folder = "";
  if (pst_compile(text, strlen(text), "p.pipe", &options, &program) != PST_OK) return puts(pst_program_messages(program)), 1;
  if (pst_session_open(program, &run, &session) != PST_OK) return puts(pst_session_error(session)), 2;
  if (pst_session_next(session, &batch) != PST_OK) return puts(pst_session_error(session)), 3;
  printf("%d\n", (int)pst_batch_count(batch));
  pst_batch_release(batch);
  pst_session_close(session);
  pst_program_release(program);
  return 0;
}
"""


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build = os.path.dirname(os.path.dirname(os.path.dirname(ToolTest.tool)))
        # Moved after installing: nothing may point at where it was first.
        first, cls.folder = tempfile.mkdtemp(prefix="penstock-install-"), tempfile.mkdtemp(prefix="penstock-moved-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.addClassCleanup(shutil.rmtree, first, ignore_errors=True)
        subprocess.run(["cmake", "--install", build, "--prefix", os.path.join(first, "p")], check=True, stdout=subprocess.DEVNULL)
        cls.prefix = shutil.move(os.path.join(first, "p"), os.path.join(cls.folder, "prefix"))
        cls.environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "PENSTOCK_LIBRARY", "PENSTOCK_TOOL", "PENSTOCK_VIDEO_MODULE")}
        cls.environment["XDG_CACHE_HOME"] = os.path.join(cls.folder, "cache")

    def at(self, *names):
        return os.path.join(self.prefix, *names)

    def run_it(self, *command, **more):
        done = subprocess.run(command, capture_output=True, text=True, env={**self.environment, **more}, timeout=300)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_the_tools_run(self):
        self.assertRegex(self.run_it(self.at("bin", "penstock"), "--version"), r"^penstock \d")
        cifar = self.at("share", "penstock", "examples", "cifar_train.pipe")
        self.assertIn("no errors", self.run_it(self.at("bin", "penstock"), "check", cifar))
        kernels = self.run_it(self.at("bin", "penstock"), "compile", cifar, "--emit", "kernels")
        path = os.path.join(self.folder, "kernels.mlir")
        with open(path, "w") as file:
            file.write(kernels)
        self.assertIn("pipe.kernel @k0", self.run_it(self.at("bin", "penstock-opt"), path))

    def project(self, name, build_file, text):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        for path, content in (("p.c", PROGRAM), (build_file, text)):
            with open(os.path.join(folder, path), "w") as file:
                file.write(content)
        return folder

    def test_a_project_with_pkg_config_builds_against_it(self):
        folder = self.project("make", "Makefile", "p: p.c\n\tcc -std=c99 -Wall -Werror `pkg-config --cflags penstock` $< -o $@ "
                              "`pkg-config --libs penstock`\n")
        self.run_it("make", "-C", folder, PKG_CONFIG_PATH=self.at("lib", "pkgconfig"))
        self.assertEqual(self.run_it(os.path.join(folder, "p"), LD_LIBRARY_PATH=self.at("lib")), "2\n")

    def test_a_cmake_project_builds_against_it(self):
        folder = self.project("cmake", "CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(p C)\n"
                              "find_package(Penstock 0.2 REQUIRED)\nadd_executable(p p.c)\n"
                              "target_link_libraries(p PRIVATE Penstock::penstock)\n")
        build = os.path.join(folder, "build")
        self.run_it("cmake", "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_it("cmake", "--build", build)
        self.assertEqual(self.run_it(os.path.join(build, "p")), "2\n")
        # Of another version that may differ, it says so.
        self.run_it("sed", "-i", "s/Penstock 0.2/Penstock 0.3/", os.path.join(folder, "CMakeLists.txt"))
        done = subprocess.run(["cmake", build], capture_output=True, text=True, env=self.environment, timeout=300)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("version", done.stderr)

    def test_the_command_that_an_error_names_builds_the_module_for_videos(self):
        videos = os.path.join(self.folder, "videos", "a")
        os.makedirs(videos)
        self.run_it("ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=64x48:rate=10:duration=1", os.path.join(videos, "a.mkv"))
        path = os.path.join(self.folder, "video.pipe")
        with open(path, "w") as file:
            file.write("pipe 1\nuse vision\npipeline p(root: path) {\n  for row in video_clips(root, length = 3, step = 2)\n"
                       "  let clip = row.video |> decode(rgb, first = row.start, count = 3, step = 2) |> center_crop(32)\n"
                       "  batch 1 { output clip: u8[n, t, h, w, c] = clip }\n}\n")
        command = [self.at("bin", "penstock"), "run", path, "--set", f"root={os.path.dirname(videos)}"]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=300)
        self.assertEqual(done.returncode, 1, done.stderr)
        named = re.search(r"and run `(sh \S+)`", done.stderr)
        self.assertIsNotNone(named, done.stderr)
        self.assertEqual(self.run_it(*named[1].split(), CXXFLAGS="-O0"), self.at("lib", "libpenstock_video.so") + "\n")
        self.run_it(*command)
        # A folder that is not the user's, and what is missing: it says what to do.
        for variables, words in (({"CXX": "no-such-compiler"}, "set CXX"), ({"PKG_CONFIG_LIBDIR": "/nowhere"}, "libavutil-dev")):
            done = subprocess.run(named[1].split(), capture_output=True, text=True, env={**self.environment, **variables})
            self.assertEqual((done.returncode, words in done.stderr), (1, True), done.stderr)

    def test_cuda_text_compiles_with_the_installed_header(self):
        text = os.path.join(self.folder, "kernels.cu")
        with open(text, "w") as file:
            file.write(self.run_it(self.at("bin", "penstock"), "compile", self.at("share", "penstock", "examples", "lit", "cuda.pipe"), "--emit", "cuda"))
        # shim.h, which has CUDA's keywords for a CPU, is a tool of the tests, and not installed.
        self.run_it("c++", "-x", "c++", "-std=c++17", "-fsyntax-only", "-include", os.path.join(ROOT, "codegen", "cuda", "shim.h"), "-I",
                    self.at("include"), text)

    def test_the_lit_tests_of_a_user_pass_and_can_fail(self):
        mine = os.path.join(self.folder, "my-tests")
        shutil.copytree(self.at("share", "penstock", "examples", "lit"), mine)
        lit = [sys.executable, "/usr/lib/llvm-19/build/utils/lit/lit.py", "-sv", "--param", f"penstock={self.prefix}", mine]
        self.run_it(*lit)
        self.assertEqual(len(glob.glob(os.path.join(mine, "*.pipe"))), 4)
        for name, old, new in [("kernels.pipe", "|> random_crop(32) |> fade", "|> fade(strength) |> autocontrast |> random_crop(32) |> fade"),
                               ("cuda.pipe", "f32(j) / f32(w)", "f32(w) / f32(j)"), ("cuda.pipe", "random_crop", "center_crop"),
                               ("code.pipe", "|> resize(32, 32)", "|> center_crop(32)"), ("mistake.pipe", "flip(ww)", "flip(w)")]:
            with self.subTest(name=name):
                path = os.path.join(mine, name)
                with open(path) as file:
                    text = file.read()
                self.assertIn(old, text)
                with open(path, "w") as file:
                    file.write(text.replace(old, new))
                done = subprocess.run([*lit[:-1], path], capture_output=True, text=True, env=self.environment)
                self.assertNotEqual(done.returncode, 0, f"{name} holds on to nothing")
                with open(path, "w") as file:
                    file.write(text)

    def test_notices_of_other_libraries_come_along(self):
        for package in ("libflac-dev", "libogg-dev", "libjpeg62-turbo-dev", "libmlir-19-dev"):
            with open(self.at("share", "doc", "penstock", "third-party", package)) as file:
                self.assertIn("Copyright", file.read())

    def test_the_reference_pages_are_whole(self):
        pages = {}
        for path in glob.glob(self.at("share", "doc", "penstock", "docs", "reference", "*.md")):
            with open(path) as file:
                pages[os.path.basename(path)] = file.read()
        self.assertEqual(set(pages), {"operators-reference.md", "ops.md", "passes.md", "grammar.md"})
        for page, heads, least in (("ops.md", r"^### `(?:pipe|lane)\.(\w+)`.*\n\n_(.*)_\n", 40), ("passes.md", r"^### `-(pipe-[\w-]+)`\n\n_(.*)_\n\n(.+)", 12)):
            found = re.findall(heads, pages[page], re.M)
            self.assertGreater(len(found), least, page)
            self.assertEqual(len(found), len(re.findall(r"^### ", pages[page], re.M)), f"{page}: something has no summary or description")
        self.assertIn("### random_resized_crop", pages["operators-reference.md"])
        self.assertIn("pipelineHead : 'pipeline' name params", pages["grammar.md"])
        for name in ("guide.md", "language.md", "stability.md"):
            self.assertTrue(os.path.exists(self.at("share", "doc", "penstock", "docs", name)))

    def test_links_between_the_pages_lead_somewhere(self):
        """Those to pages and examples; what else they name is in the sources alone."""
        count = 0
        for path in glob.glob(self.at("share", "doc", "penstock", "**", "*.md"), recursive=True):
            with open(path) as file:
                text = re.sub(r"```.*?```", "", file.read(), flags=re.S)
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                if link.endswith((".md", ".pipe")) or "examples/" in link:
                    count += 1
                    to = os.path.normpath(os.path.join(os.path.dirname(path), link))
                    if os.path.relpath(to, self.at("share", "doc", "penstock")).split("/")[0] in ("docs", "examples"):
                        self.assertTrue(os.path.exists(to), f"{path}: {link}")
        self.assertGreater(count, 150)


if __name__ == "__main__":
    main()
