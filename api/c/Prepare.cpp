// SPDX-License-Identifier: Apache-2.0
//
// The functions pst_index() and pst_pack().
#include "api/c/Arguments.h"
#include "api/c/Entry.h"
#include "runtime/core/Processors.h"
#include "runtime/core/RealFileSystem.h"
#include "runtime/prepare/IndexData.h"
#include "runtime/prepare/PackData.h"
#include "runtime/prepare/ShardRows.h"
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace penstock;
using namespace penstock::api;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

runtime::Result<std::unique_ptr<runtime::RealFileSystem>>
openRoots(std::vector<runtime::RealFileSystem::Root> roots, const pst_prepare_options &options) {
  for (size_t i = 0; i < options.allowed_folder_count; ++i)
    roots.push_back({options.allowed_folders[i], false});
  return runtime::RealFileSystem::create(std::move(roots));
}

pst_prepare_options readOptions(const pst_prepare_options *given) {
  pst_prepare_options options = PST_PREPARE_OPTIONS_INIT;
  if (given) {
    std::memcpy(&options, given, std::min(given->size, sizeof options));
    options.size = given->size;
  }
  if (options.threads == 0)
    options.threads = runtime::findProcessors().usable();
  return options;
}

runtime::PrepareProgress progressOf(const pst_prepare_options &options) {
  if (!options.progress)
    return {};
  return [&options](uint64_t done, uint64_t total) {
    return options.progress(options.progress_context, done, total) == 0;
  };
}

pst_status give(const runtime::Result<Json> &report, pst_text &text) {
  if (!report)
    return failWith(text, report.error());
  text.data = report->dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return PST_OK;
}

std::string folderOf(const std::string &path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return path;
  const size_t slash = path.rfind('/');
  return path.substr(0, std::max<size_t>(slash, 1));
}

/// Returns the path of the sidecar. In a folder of several it has the data's name.
std::string sidecarPath(const std::string &path, const char *out) {
  std::error_code ignored;
  const std::string ending = ".penstock-index";
  if (!out)
    return path + (fs::is_directory(path, ignored) ? "/" : "") + ending;
  const std::string given = runtime::absolutePath(out);
  if (!fs::is_directory(given, ignored))
    return given;
  return given + path.substr(path.rfind('/')) + ending;
}

runtime::Result<Json> indexRows(const std::string &path, const pst_prepare_options &options) {
  if (options.out || options.root || options.column || options.separator)
    return runtime::Error{runtime::Code::InvalidArgument,
                          "where rows lie is written beside each tar file: `out`, `root`, `column` "
                          "and `separator` have no meaning for it"};
  auto files = openRoots({{folderOf(path), true}}, options);
  if (!files)
    return files.error();
  auto done = runtime::writeShardRows(**files, path, options.threads, progressOf(options));
  if (!done)
    return done.error();
  return Json{{"shards", done->shards},
              {"rows", done->rows},
              {"data_bytes", done->dataBytes},
              {"index_bytes", done->indexBytes}};
}

runtime::Result<Json> index(const std::string &path, const pst_prepare_options &options) {
  const std::string out = sidecarPath(path, options.out);
  std::vector<runtime::RealFileSystem::Root> roots = {{folderOf(path), false},
                                                      {folderOf(out), true}};
  runtime::Listing::Options listed;
  listed.path = path;
  if (options.root) {
    listed.root = options.root;
    roots.push_back({listed.root, false});
  }
  if (options.column)
    listed.column = options.column;
  if (options.separator)
    listed.separator = options.separator;
  auto files = openRoots(std::move(roots), options);
  if (!files)
    return files.error();
  auto listing = runtime::Listing::make(**files, listed);
  if (!listing)
    return listing.error();
  auto done = runtime::indexData(**files, *listing, out, options.threads, progressOf(options));
  if (!done) {
    runtime::Error error = done.error();
    if (error.code == runtime::Code::Permission && !options.out)
      error.message += "; `--out` keeps the checkpoints elsewhere";
    return error;
  }
  const runtime::IndexReport &found = *done;
  Json report = {{"file", out},
                 {"images", found.images},
                 {"indexed", found.states[0]},
                 {"earlier", found.earlier}};
  report["left_out"] = Json::object();
  for (size_t i = 1; i < found.states.size(); ++i)
    if (found.states[i])
      report["left_out"][describe(runtime::CheckpointState(i))] = found.states[i];
  if (found.unreadable)
    report["left_out"]["cannot be read"] = found.unreadable;
  report["left_out_files"] = Json::array();
  for (const auto &[name, reason] : found.leftOut)
    report["left_out_files"].push_back({{"name", name}, {"reason", reason}});
  report["others"] = found.others;
  report["data_bytes"] = found.dataBytes;
  report["index_bytes"] = found.indexBytes;
  report["warnings"] = found.warnings;
  return report;
}

runtime::Result<Json> pack(const std::string &path, const std::string &out,
                           const pst_prepare_options &options) {
  // Before there is a folder: in the data, it would be a class.
  std::error_code why;
  if (!fs::is_directory(path, why))
    return runtime::Error{runtime::Code::NotFound, path + " is not a folder"};
  if (const fs::path inside = fs::weakly_canonical(out, why),
      data = fs::weakly_canonical(path, why);
      runtime::liesWithin(inside.string(), data.string()))
    return runtime::Error{runtime::Code::InvalidArgument,
                          out + " lies in " + path + ": it would be a class"};
  fs::create_directories(out, why);
  if (why)
    return runtime::Error{runtime::Code::Io, "cannot make folder " + out + ": " + why.message()};
  auto files = openRoots({{path, false}, {out, true}}, options);
  if (!files)
    return files.error();
  runtime::PackOptions wanted;
  wanted.root = path;
  wanted.out = out;
  if (options.shard_size)
    wanted.shardSize = options.shard_size;
  wanted.threads = options.threads;
  wanted.verify = options.verify != 0;
  auto done = runtime::packData(**files, wanted, progressOf(options));
  if (!done)
    return done.error();
  const runtime::PackReport &found = *done;
  Json report = {{"images", found.images},
                 {"shards", found.shards},
                 {"earlier", found.earlier},
                 {"renamed", found.renamed}};
  report["left_out"] = Json::array();
  for (const auto &[name, reason] : found.leftOut)
    report["left_out"].push_back({{"name", name}, {"reason", reason}});
  report["data_bytes"] = found.dataBytes;
  report["out_bytes"] = found.outBytes;
  report["verified_bytes"] = found.verified;
  report["extensions"] = found.extensions;
  return report;
}

} // namespace

pst_status pst_index(const char *path, const pst_prepare_options *options, pst_text **out_report) {
  return makeText(out_report, [&](pst_text &text) {
    const pst_prepare_options given = readOptions(options);
    for (const runtime::Status &status : {checkPath(path, "path"), checkOptions(given)})
      if (!status)
        return failWith(text, status.error());
    const std::string data = runtime::absolutePath(path);
    return give(given.rows ? indexRows(data, given) : index(data, given), text);
  });
}

pst_status pst_pack(const char *path, const char *out, const pst_prepare_options *options,
                    pst_text **out_report) {
  return makeText(out_report, [&](pst_text &text) {
    const pst_prepare_options given = readOptions(options);
    for (const runtime::Status &status :
         {checkPath(path, "path"), checkPath(out, "out"), checkOptions(given)})
      if (!status)
        return failWith(text, status.error());
    return give(pack(runtime::absolutePath(path), runtime::absolutePath(out), given), text);
  });
}
