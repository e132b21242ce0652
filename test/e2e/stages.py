# SPDX-License-Identifier: Apache-2.0
"""`--from`: the text of a stage is data. What does not fit is refused at its line, and nothing crashes.

Which numbers may stand in such a text, test/unit/compiler/StageTextTest.cpp tries.
"""
import os
import re

from support import EXAMPLES, ToolTest, main

PIPELINE = """pipe 1
use vision
pipeline p(root: path, size: int = 8) {
  for row in image_folder(root) order shuffled
  let image = row.data |> decode(rgb) |> center_crop(32, 32)
  batch size per rank last drop {
    output image: u8[n, h, w, c] = image |> invert
    output label: i64[n] = row.label
  }
}
"""
LABEL = '%18 = pipe.field %17 "label" : i64'
IMAGE = 'axes ["n", "h", "w", "c"] stored ["n", "h", "w", "c"] : !pipe.tensor<u8[h=32, w=32, c=3:rgb]>'


class Stages(ToolTest):
    def stage(self, name):
        path = os.path.join(self.folder, "p.pipe")
        with open(path, "w") as file:
            file.write(PIPELINE)
        text = self.run_tool("compile", path, "--no-cache", "--emit", name).stdout
        return re.sub(r" *(attributes )?\{pipe\.remarks = \[.*?\]\}", "", text)

    def refused(self, stage, text, message, to="llvm"):
        path = os.path.join(self.folder, "p.mlir")
        with open(path, "w") as file:
            file.write(text)
        done = self.run_tool("compile", path, "--no-cache", "--from", stage, "--emit", to, expect=1)
        self.assertIn(f"error: {message}\n", done.stderr)

    def test_what_lies_before_it_is_refused(self):
        for earlier in "ast", "pipe", "pipe-opt":
            self.refused("kernels", self.stage("kernels"), f"stage `{earlier}` comes before stage `kernels`, at which the program was read back", to=earlier)

    def test_parameters_have_their_types(self):
        types = ["u8", "i8", "u16", "i16", "i32", "int", "f16", "bf16", "f32", "f64", "bool"]
        text = os.path.join(self.folder, "typed.pipe")
        with open(text, "w") as file:
            file.write("pipe 1\npipeline typed(" + ", ".join(f"p_{t}: {t} = {'true' if t == 'bool' else 1}" for t in types)
                       + ") {\n  for row in synthetic(4, label = i64)\n  batch 2 per rank last keep {\n"
                       + "".join(f"    output o_{t}: {'i64' if t == 'int' else t}[n] = p_{t}\n" for t in types)
                       + "    output label: i64[n] = row.label\n  }\n}\n")
        given = [word for t in types for word in ("--set", f"p_{t}={'false' if t == 'bool' else 2}")]

        def run(*arguments):
            return self.run_tool("run", *arguments, *given, "--hashes", "-").stdout.splitlines()[:4]

        wanted = run(text)
        for stage in ("pipe", "pipe-opt", "kernels", "schedule"):
            path = os.path.join(self.folder, f"{stage}.mlir")
            with open(path, "w") as file:
                file.write(self.run_tool("compile", text, "--no-cache", "--emit", stage).stdout)
            found = self.run_json("check", path, "--from", stage)["parameters"]
            self.assertEqual([parameter["type"] for parameter in found], types)
            self.assertEqual(run(path, "--from", stage), wanted)
            for name, value, said in (
                    ("p_u8", "300", "the value `300` given for `p_u8` is no u8\nhint: a whole number from 0 to 255\n"),
                    ("p_bool", "2", "the value `2` given for `p_bool` is no bool\nhint: `true` or `false`\n"),
                    ("size", "3", f"stage `{stage}` of this pipeline has no parameter `size`\nhint: it has `p_u8`, `p_i8`, `p_u16`, ")):
                done = self.run_tool("run", path, "--from", stage, "--set", f"{name}={value}", expect=1)
                self.assertIn("error: " + said, done.stderr)
        path = os.path.join(self.folder, "loops.mlir")
        with open(path, "w") as file:
            file.write(self.run_tool("compile", text, "--no-cache", "--emit", "loops").stdout)
        done = self.run_tool("compile", path, "--from", "loops", "--set", "p_u8=3", "--emit", "asm", expect=1)
        self.assertIn("error: stage `loops` of this pipeline has no parameter `p_u8`\nhint: it has none; ", done.stderr)

    def changed(self, text, old, new):
        self.assertIn(old, text)
        return text.replace(old, new, 1)

    def test_code_for_another_machine(self):
        for stage in ("schedule", "loops", "llvm"):
            path = self.stage_for(stage, "x86-64-v4-vnni")
            for target in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
                done = self.run_tool("compile", path, "--no-cache", "--from", stage, "--target", target, "--emit", "obj",
                                     expect=1)
                self.assertRegex(done.stderr, rf"error: the code uses `llvm\.x86\.[a-z0-9.]+`, which {target} does not have; "
                                 r"`--target x86-64-v[a-z0-9-]+` has it\n")
            self.run_tool("compile", path, "--no-cache", "--from", stage, "--target", "x86-64-v4-vnni", "--emit", "asm")

    def stage_for(self, stage, target):
        path = os.path.join(self.folder, "example.mlir")
        done = self.run_tool("compile", os.path.join(EXAMPLES, "imagenet_train.pipe"), "--no-cache", "--target", target,
                             "--emit", stage)
        with open(path, "w") as file:
            file.write(done.stdout)
        return path

    def test_what_the_plan_cannot_say(self):
        text = self.stage("kernels")
        for old, new, message in (
                ("pipe.entry 8 :", "pipe.entry 22 :", "reads a slot beyond the parameter block"),
                ("pipe.set_entry 21,", "pipe.set_entry -1,", "writes a slot beyond the parameter block"),
                ("slots 22", "slots 1099511627776",
                 "has a parameter block of 1099511627776 slots; at most 1048576 make sense"),
                ("@k0(%22)", "@k9(%22)", "launches `k9`, which is no kernel"),
                ('"image_folder"(%14)', '"image_folder"(%0)', None),
                ("%17 = pipe.row", "%99 = pipe.row  shuffled %16\n    %17 = pipe.row", "`row` is the second one"),
                ("pipe.set_entry 9, %21", "pipe.set_entry 9, %21 : i64\n    pipe.set_entry 10, %21",
                 "`set_entry` is the second slot for one number of a header; CSE has not run"),
                ("pipe.set_entry 21, %18", "%99 = pipe.constant 1 : i64 -> i64\n    pipe.set_entry 21, %99",
                 "`set_entry` fills a slot with what is no parameter, field or header value"),
                (LABEL, LABEL.replace("label", "lable"),
                 "`set_entry` reads column `lable`, which the source does not have"),
                ('pipe.output "label"', f'pipe.output "again" %23 {IMAGE}\n      pipe.output "label"',
                 "`output` does not deliver the result of a kernel of its own"),
                ('pipe.output "image" %23', '%99 = pipe.peer %23[%0] : !pipe.tensor<u8[h=32, w=32, c=3:rgb]> -> '
                 '!pipe.tensor<u8[h=32, w=32, c=3:rgb]>\n      pipe.output "image" %99',
                 "no buffer holds this tensor when the plan is made"),
                ("%15 = pipe.param", '%99 = pipe.param "data" : !pipe.bytes\n    %15 = pipe.param',
                 "is a parameter of type '!pipe.bytes'; parameters are numbers and texts")):
            wrong = self.changed(text, old, new)
            if message is None:
                wrong = self.changed(wrong, "name = !pipe.text} : !pipe.text", "name = !pipe.text} : i64")
                message = "`source` has an argument `root` that is neither a parameter nor a constant"
            self.refused("kernels", wrong, message)

    def test_what_has_no_place_in_a_stage(self):
        kernels = self.stage("kernels")
        self.refused("kernels", "module {\n}\n", "holds no pipeline")
        helper = "func.func private @f()\n  pipe.kernel @select"
        self.refused("kernels", self.changed(kernels, "pipe.kernel @select", helper),
                     "does not stand at the top of stage `kernels`")
        self.refused("pipe", kernels, "does not stand at the top of stage `pipe`")
        two = re.sub(r"(  pipe\.pipeline @p .*\n  \}\n)", lambda found: found[1] + found[1].replace("@p", "@q"), kernels,
                     flags=re.S)
        self.refused("kernels", two, "is the second pipeline of this text")
        self.refused("kernels", self.stage("pipe"), "has not been split")
        self.refused("llvm", self.stage("loops"), "the module is not at stage llvm", to="obj")


if __name__ == "__main__":
    main()
