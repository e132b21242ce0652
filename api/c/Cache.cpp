//===- Cache.cpp - compiled programs on disk
//-------------------------------===//

#include "api/c/Cache.h"
#include "api/c/CompilerLibrary.h"
#include "api/c/Values.h"
#include "dsl/AST/Numbers.h"
#include "runtime/core/CacheFolder.h"
#include "runtime/core/RealFileSystem.h"
#include "stdlib/Modules.h"
#include <cstring>
#include <fstream>
#include <sys/stat.h>
#include <xxhash.h>

using namespace penstock;
using namespace penstock::api;

//===--- bytes
//-------------------------------------------------------------===//

namespace {

/// Length-prefixed fields, with a checksum in front.
class Writer {
public:
  void number(uint64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes.append(value);
  }
  std::string finish() const {
    const uint64_t sum = XXH3_64bits(bytes.data(), bytes.size());
    return "PSTKC002" + std::string(reinterpret_cast<const char *>(&sum), sizeof sum) + bytes;
  }

private:
  std::string bytes;
};

/// Reads what Writer wrote; `good` turns false where it did not.
class Reader {
public:
  explicit Reader(std::string file) : bytes(std::move(file)) {
    uint64_t sum = 0;
    good = bytes.size() >= 16 && bytes.compare(0, 8, "PSTKC002") == 0;
    if (!good)
      return;
    std::memcpy(&sum, bytes.data() + 8, sizeof sum);
    good = sum == XXH3_64bits(bytes.data() + 16, bytes.size() - 16);
  }
  uint64_t number() {
    uint64_t value = 0;
    if ((good = good && bytes.size() - at >= sizeof value)) {
      std::memcpy(&value, bytes.data() + at, sizeof value);
      at += sizeof value;
    }
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    if (!(good = good && size <= bytes.size() - at))
      return {};
    at += size;
    return bytes.substr(at - size, size);
  }
  bool good = false;

private:
  std::string bytes;
  size_t at = 16;
};

} // namespace

static void writeParameters(Writer &writer, const std::vector<Parameter> &parameters) {
  writer.number(parameters.size());
  for (const Parameter &parameter : parameters) {
    writer.text(parameter.name);
    writer.text(parameter.type);
    writer.text(parameter.doc);
    writer.number(parameter.isStatic);
    writer.number(parameter.defaultValue.has_value());
    writer.text(parameter.defaultValue.value_or(""));
  }
}

static std::vector<Parameter> readParameters(Reader &reader) {
  std::vector<Parameter> parameters;
  for (uint64_t count = reader.number(); reader.good && parameters.size() < count;) {
    Parameter parameter;
    parameter.name = reader.text();
    parameter.type = reader.text();
    parameter.doc = reader.text();
    parameter.isStatic = reader.number();
    const bool hasDefault = reader.number();
    std::string value = reader.text();
    if (hasDefault)
      parameter.defaultValue = std::move(value);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

//===--- keys
//--------------------------------------------------------------===//

static std::string hashOf(const std::string &bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

/// Which compiler this is: its file's place, size and time, so that a rebuilt
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
  for (std::string_view module : stdlib::moduleNames())
    writer.text(stdlib::moduleText(module).value_or(""));
  textKey = hashOf(writer.finish());
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
  return hashOf(writer.finish());
}

std::string Cache::pathOf(const std::string &key, const char *ending) const {
  return folder + "/" + key + ending;
}

//===--- entries
//-----------------------------------------------------------===//

static std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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
  Reader list(readFile(pathOf(textKey, ".parameters")));
  const std::vector<Parameter> parameters = readParameters(list);
  if (!list.good)
    return std::nullopt;
  for (const auto &[name, value] : request.parameters) {
    auto known = std::find_if(parameters.begin(), parameters.end(),
                              [&](const Parameter &parameter) { return parameter.name == name; });
    if (known == parameters.end() || !isValue(*known, value))
      return std::nullopt; // compiling says what is wrong with it
  }
  const std::string path = pathOf(keyWith(parameters), ".program");
  Reader entry(readFile(path));
  Compiled compiled;
  compiled.name = entry.text();
  compiled.parameters = readParameters(entry);
  compiled.gpuPlace = entry.text();
  const std::string plan = entry.text(), image = entry.text();
  if (!entry.good)
    return std::nullopt;
  compiled.plan.assign(plan.begin(), plan.end());
  compiled.image.assign(image.begin(), image.end());
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
  Writer list;
  writeParameters(list, compiled.parameters);
  write(pathOf(textKey, ".parameters"), list.finish());
  Writer entry;
  entry.text(compiled.name);
  writeParameters(entry, compiled.parameters);
  entry.text(compiled.gpuPlace);
  entry.text({reinterpret_cast<const char *>(compiled.plan.data()), compiled.plan.size()});
  entry.text({reinterpret_cast<const char *>(compiled.image.data()), compiled.image.size()});
  write(pathOf(keyWith(compiled.parameters), ".program"), entry.finish());
  runtime::limitCache(*files, runtime::CacheFolder::ofUser(folder));
}
