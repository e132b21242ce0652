// SPDX-License-Identifier: Apache-2.0
//
// Compiled programs to carry elsewhere.
#include "api/c/Bundle.h"
#include "api/c/Packing.h"
#include "codegen/cpu/Target.h"
#include "runtime/core/RealFileSystem.h"
#include <algorithm>

using namespace penstock;
using namespace penstock::api;
using runtime::Code;
using runtime::Error;

/// The last three digits are the format's number: what is written into a bundle, or into the
/// plans and images in it, changes with it.
static constexpr std::string_view family = "PSTKB", format = "006";

bool Bundle::has(const std::string &target) const {
  return std::any_of(levels.begin(), levels.end(),
                     [&](const Level &level) { return level.target == target; });
}

runtime::Result<std::vector<Compiled>> Bundle::take() {
  const codegen::Target host = codegen::Target::host();
  Level *best = nullptr;
  auto targetOf = [](const Level &level) { return *codegen::Target::named(level.target); };
  std::string all;
  for (Level &level : levels) {
    all += (all.empty() ? "" : ", ") + level.target;
    if (host.includes(targetOf(level)) && (!best || targetOf(level).includes(targetOf(*best))))
      best = &level;
  }
  if (!best)
    return Error{Code::Unsupported, "has code for " + all + ", and this processor offers " +
                                        host.describe() + "; compile it with `--target " +
                                        host.describe() + "`"};
  return std::move(best->programs);
}

runtime::Status Bundle::write(const std::string &path) const {
  Writer writer;
  writer.text(PENSTOCK_VERSION);
  writer.number(settings.size());
  for (const auto &[name, value] : settings) {
    writer.text(name);
    writer.text(value);
  }
  writer.number(levels.size());
  for (const Level &level : levels) {
    writer.text(level.target);
    writer.number(level.programs.size());
    for (const Compiled &program : level.programs)
      writeProgram(writer, program);
  }
  const std::string bytes = writer.finish(std::string(family) + std::string(format));
  const std::string whole = runtime::absolutePath(path);
  const std::string folder = whole.substr(0, std::max<size_t>(whole.rfind('/'), 1));
  auto files = runtime::RealFileSystem::create({{folder, true}});
  if (!files)
    return Error{files.error().code, "cannot write " + path + ": " + files.error().message};
  if (auto written = (*files)->writeFileAtomically(
          whole, {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
      !written)
    return written.error(); // which names it
  return {};
}

static Error damaged(const std::string &path) {
  return {Code::Corrupt,
          path + " is damaged: its checksum does not match; copy it again, or compile it again"};
}

runtime::Result<Bundle> Bundle::read(const std::string &path) {
  runtime::Buffer bytes;
  if (auto read = runtime::readNamedFile(path, bytes); !read)
    return read.error();
  return parse({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, path);
}

runtime::Result<Bundle> Bundle::parse(std::string bytes, const std::string &path) {
  if (bytes.size() < family.size() + format.size() || bytes.compare(0, family.size(), family) != 0)
    return Error{Code::Corrupt,
                 path + " is no bundle; `penstock compile train.pipe -o train.pstk` makes one"};
  const std::string theirs = bytes.substr(family.size(), format.size());
  if (theirs != format)
    return Error{Code::Unsupported,
                 path + " has format " + theirs + ", and Penstock " PENSTOCK_VERSION " reads " +
                     std::string(format) + "; compile it again with this version"};
  Reader reader(std::move(bytes), std::string(family) + std::string(format));
  if (!reader.good)
    return damaged(path);
  Bundle bundle;
  (void)reader.text(); // the version that wrote it
  for (uint64_t count = reader.number(); reader.good && bundle.settings.size() < count;) {
    std::string name = reader.text(), value = reader.text();
    bundle.settings.emplace_back(std::move(name), std::move(value));
  }
  for (uint64_t count = reader.number(); reader.good && bundle.levels.size() < count;) {
    std::string target = reader.text();
    reader.good = reader.good && codegen::Target::named(target).has_value() && !target.empty();
    Level &level = bundle.levels.emplace_back();
    level.target = std::move(target);
    for (uint64_t programs = reader.number(); reader.good && level.programs.size() < programs;)
      level.programs.push_back(readProgram(reader));
    reader.good = reader.good && !level.programs.empty();
  }
  if (!reader.good || bundle.levels.empty())
    return damaged(path);
  return bundle;
}
