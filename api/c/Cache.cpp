// SPDX-License-Identifier: Apache-2.0
//
// Compiled programs on disk.
#include "api/c/Cache.h"
#include "api/c/CompilerLibrary.h"
#include "api/c/Packing.h"
#include "api/c/Values.h"
#include "dsl/AST/Numbers.h"
#include "runtime/core/CacheFolder.h"
#include "runtime/core/RealFileSystem.h"
#include "stdlib/Modules.h"
#include <cstdlib>
#include <sys/stat.h>
#include <xxhash.h>

using namespace penstock;
using namespace penstock::api;

static constexpr std::string_view magic = "PSTKC009";
static constexpr uint64_t mostEntryBytes = uint64_t(1) << 30;

//===--- keys ---------------------------------------------------------------===//

static std::string hashOf(const std::string &bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

/// Writes the identity of this compiler: the place, size and time of its file, so that a rebuilt
/// library never meets its predecessor's code.
static void writeCompiler(Writer &writer) {
  writer.text(pst_version());
  const std::string path = compilerPath();
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0)
    return;
  writer.text(path);
  writer.number(static_cast<uint64_t>(file.st_size));
  writer.number(static_cast<uint64_t>(file.st_mtim.tv_sec));
  writer.number(static_cast<uint64_t>(file.st_mtim.tv_nsec));
}

Cache::Cache(std::string cacheFolder, const CompileRequest &compileRequest,
             const std::string &target)
    : folder(std::move(cacheFolder)), request(compileRequest) {
  if (!folder.empty() && preparePrivateFolder(folder))
    if (auto opened = runtime::RealFileSystem::create({{folder, true}}))
      files = std::move(*opened);
  Writer writer;
  writeCompiler(writer);
  writer.text(target);
  writer.text(request.text);
  writer.text(request.fileName);
  writer.text(request.pipeline);
  writer.text(request.from);
  writer.number(request.disabledPasses.size());
  for (const std::string &pass : request.disabledPasses)
    writer.text(pass);
  writer.number(request.gpus.size());
  for (const std::string &gpu : request.gpus)
    writer.text(gpu);
  writer.text(request.transfer);
  writer.text(request.transfer == "auto" ? request.machine : "");
  // The user's choice of NVRTC, which compiles for GPUs.
  const char *nvrtc = request.gpus.empty() ? nullptr : std::getenv("PENSTOCK_NVRTC");
  writer.text(nvrtc ? nvrtc : "");
  for (std::string_view module : stdlib::moduleNames())
    writer.text(stdlib::moduleText(module).value_or(""));
  textKey = hashOf(writer.finish(magic));
}

std::string Cache::keyWith(const std::vector<Parameter> &parameters) const {
  Writer writer;
  writer.text(textKey);
  for (const auto &[name, value] : request.parameters)
    for (const Parameter &parameter : parameters)
      if (parameter.name == name && parameter.isStatic) {
        writer.text(name);
        writer.text(value);
      }
  return hashOf(writer.finish(magic));
}

std::string Cache::pathOf(const std::string &key, const char *ending) const {
  return folder + "/" + key + ending;
}

//===--- entries ------------------------------------------------------------===//

/// A file holds its key, too: one that was put in place of another is a miss.
static Writer entryOf(const std::string &key) {
  Writer entry;
  entry.text(key);
  return entry;
}

/// One that cannot be read, for whatever reason, is as good as none.
static Reader entryAt(runtime::FileSystem &files, const std::string &path, const std::string &key) {
  runtime::Buffer bytes;
  if (!files.readFile(path, bytes, mostEntryBytes))
    bytes.clear();
  Reader entry({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, magic);
  entry.good = entry.text() == key && entry.good;
  return entry;
}

static bool isValue(const Parameter &parameter, const std::string &text) {
  const std::string &type = parameter.type;
  if (parameter.isStatic || type == "path" || type == "text")
    return true; // part of the key, or anything goes
  return type == "bool" ? text == "true" || text == "false"
                        : dsl::parseNumber(type, text).has_value();
}

std::optional<Compiled> Cache::find() const {
  if (!files)
    return std::nullopt;
  Reader list = entryAt(*files, pathOf(textKey, ".parameters"), textKey);
  const std::vector<Parameter> parameters = readParameters(list);
  if (!list.good)
    return std::nullopt;
  for (const auto &[name, value] : request.parameters) {
    auto known = std::find_if(parameters.begin(), parameters.end(),
                              [&](const Parameter &parameter) { return parameter.name == name; });
    if (known == parameters.end() || !isValue(*known, value))
      return std::nullopt; // compiling says what is wrong with it
  }
  const std::string key = keyWith(parameters), path = pathOf(key, ".program");
  Reader entry = entryAt(*files, path, key);
  Compiled compiled = readProgram(entry);
  compiled.messages.text = entry.text();
  compiled.messages.json = entry.text();
  for (Parameter &parameter : compiled.parameters)
    if (std::string value = entry.text(); !value.empty())
      parameter.value = std::move(value);
  if (!entry.good)
    return std::nullopt;
  runtime::noteUse(*files, pathOf(textKey, ".parameters"));
  runtime::noteUse(*files, path);
  return compiled;
}

void Cache::store(const Compiled &compiled) const {
  if (!files)
    return;
  auto write = [&](const std::string &path, const std::string &bytes) {
    (void)files->writeFileAtomically(
        path, {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  };
  Writer list = entryOf(textKey);
  writeParameters(list, compiled.parameters);
  write(pathOf(textKey, ".parameters"), list.finish(magic));
  const std::string key = keyWith(compiled.parameters);
  Writer entry = entryOf(key);
  writeProgram(entry, compiled);
  entry.text(compiled.messages.text);
  entry.text(compiled.messages.json);
  for (const Parameter &parameter : compiled.parameters)
    entry.text(parameter.value.value_or(""));
  write(pathOf(key, ".program"), entry.finish(magic));
  runtime::limitCache(*files, runtime::CacheFolder::ofUser(folder));
}
