// SPDX-License-Identifier: Apache-2.0
#include "test/unit/dsl/Inputs.h"

#include "dsl/Diagnostics/Render.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

namespace penstock::dsl::test {

namespace {

void addFiles(const std::filesystem::path &folder, std::vector<std::filesystem::path> &files) {
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".pipe")
      files.push_back(entry.path());
}

const std::filesystem::path root = PENSTOCK_ROOT;

} // namespace

std::vector<std::filesystem::path> pipeFiles(const std::string &folder) {
  std::vector<std::filesystem::path> files;
  addFiles(root / "test/dsl" / folder, files);
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::filesystem::path> shippedFiles() {
  std::vector<std::filesystem::path> files;
  for (const char *folder : {"examples", "bench/pipelines", "stdlib"})
    addFiles(root / folder, files);
  std::sort(files.begin(), files.end());
  return files;
}

std::string readFile(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<ModuleLoader::Module> FakeModuleLoader::load(std::string_view name) {
  auto found = modules.find(std::string(name));
  if (found == modules.end())
    return std::nullopt;
  return Module{"stdlib/" + found->first + ".pipe", found->second};
}

std::vector<std::string> FakeModuleLoader::names() {
  std::vector<std::string> all;
  for (const auto &[name, text] : modules)
    all.push_back(name);
  return all;
}

FakeModuleLoader exampleLibrary() {
  FakeModuleLoader loader;
  for (const char *name :
       {"prelude", "audio", "signal", "augment", "video", "volume", "points", "detect"})
    loader.modules[name] = "pipe 1\n";
  loader.modules["vision"] =
      "pipe 1\npub const imagenet = { mean = 0.5, std = 0.5 }\n"
      "fn hue_of(r: u8, g: u8, b: u8) -> u8 = r + g + b\nconst steps = 65536.0\n";
  return loader;
}

Builtins exampleBuiltins() {
  return {
      .functions = {"autocontrast",
                    "audio_folder",
                    "center_rect",
                    "chance",
                    "clip_boxes",
                    "coco",
                    "color_jitter",
                    "compact",
                    "crop_around",
                    "decode",
                    "erase",
                    "exp",
                    "extent",
                    "fft",
                    "fill_edges",
                    "fit",
                    "flip",
                    "floor",
                    "frames",
                    "grayscale",
                    "group",
                    "hann",
                    "identity",
                    "image_folder",
                    "kitti_scans",
                    "log",
                    "log_clamped",
                    "mask_span",
                    "max",
                    "mel",
                    "min",
                    "mix",
                    "mosaic",
                    "nifti_pairs",
                    "norm",
                    "normalize",
                    "one_hot",
                    "pick",
                    "point",
                    "posterize",
                    "power",
                    "random_affine",
                    "random_crop",
                    "random_resized_crop",
                    "random_segment",
                    "range_ok",
                    "rect",
                    "resample_to",
                    "resize",
                    "respace",
                    "rotate",
                    "rotate_boxes",
                    "round",
                    "scale",
                    "shear",
                    "shift",
                    "solarize",
                    "sqrt",
                    "sum",
                    "trunc",
                    "video_clips",
                    "window_level"},
      .values = {"inf"},
      .distributions = {"beta", "int", "normal", "permutation", "uniform"},
      .types = {"path", "range", "rect", "axis", "axes", "duration", "frequency", "length", "text",
                "bytes"},
  };
}

Builtins shippedBuiltins() {
  Builtins all = exampleBuiltins();
  auto add = [](Builtins::Set &names, const std::string &text, const char *pattern) {
    const std::regex regex(pattern);
    for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
      names.insert((*it)[1]);
  };
  std::vector<std::filesystem::path> modules;
  addFiles(root / "stdlib", modules);
  for (const auto &module : modules) {
    add(all.functions, readFile(module), "\npub fn (\\w+)");
    add(all.values, readFile(module), "\npub const (\\w+)");
  }
  add(all.functions, readFile(root / "docs/intrinsics.md"), "`(\\w+)\\(");
  for (const char *value : {"pi", "edge", "reflect", "symmetric", "wrap", "constant"})
    all.values.insert(value);
  return all;
}

std::vector<std::string> languagePageFiles() {
  const std::string page = readFile(root / "docs/language.md");
  std::vector<std::string> files;
  for (size_t at = page.find("```\n"); at != std::string::npos;) {
    const size_t end = page.find("```", at + 4);
    const std::string code = page.substr(at + 4, end - at - 4);
    const bool whole = code.starts_with("pipe 1\n");
    const bool part = code.starts_with("fn ") || // not the list of reserved words
                      (code.starts_with("pipeline ") && !code.starts_with("pipeline fn"));
    if (whole || part)
      files.push_back(whole ? code : "pipe 1\n" + code);
    at = page.find("```\n", end + 3);
  }
  return files;
}

Checked::Checked(std::string text, const std::string &name)
    : Checked(std::move(text), exampleLibrary(), name) {}

Checked::Checked(std::string text, FakeModuleLoader loader, const std::string &name,
                 const Builtins &builtins) {
  FileId file = sources.add(name, std::move(text));
  program = loadProgram(file, sources, loader, builtins, diagnostics);
}

std::string Checked::messages() const { return renderText(diagnostics, sources); }

} // namespace penstock::dsl::test
