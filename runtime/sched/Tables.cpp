// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Tables.h"

#include "runtime/core/Memory.h"
#include "runtime/core/Plan.h"
#include "runtime/sched/Layout.h"
#include "runtime/sched/OpenSource.h"
#include "runtime/sources/ConcatSource.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

namespace {

using plan::DType;

constexpr std::string_view sidecarEnding = ".penstock-index";

/// The sidecars in a folder whose names begin like this, but for one.
void openAll(FileSystem &files, const CacheFolder &folder, std::string_view begin,
             const std::string &but, CheckpointBuilder::Files &found,
             std::vector<std::string> &warnings) {
  auto entries = files.listFolder(folder.path);
  if (!entries)
    return;
  for (const FolderEntry &entry : *entries)
    if (entry.kind == FileKind::File && entry.name.starts_with(begin) && entry.name != but &&
        entry.name.ends_with(sidecarEnding)) {
      const std::string path = folder.path + "/" + entry.name;
      if (folder.mostBytes)
        noteUse(files, path);
      openCheckpoints(files, path, found, warnings);
    }
}

/// A part of a file; of one that is far, only that is read.
Result<Mapping> mapPart(FileSystem &files, const FilePart &part) {
  if (isUrl(part.path)) {
    auto file = files.openFile(part.path);
    if (!file)
      return file.error();
    auto bytes = std::make_shared<Buffer>();
    if (Status status = (*file)->read(part.offset, size_t(part.size), *bytes); !status)
      return status.error();
    return Mapping{bytes->span(), bytes};
  }
  auto mapping = files.mapFile(part.path);
  if (mapping) {
    const uint64_t size = mapping->bytes.size(), begin = std::min(part.offset, size);
    mapping->bytes = mapping->bytes.subspan(begin, std::min(part.size, size - begin));
  }
  return mapping;
}

/// In shards, beside the data as `penstock index` writes them, and in the folder
/// of indexes.
Result<std::unique_ptr<Checkpoints>>
checkpointsOf(const plan::SourceT &source, const SourceArguments &arguments, const Source &table,
              const SessionOptions &options, std::vector<std::string> &warnings) {
  const auto media = [](const auto &column) { return column->type == DType::bytes; };
  if (!options.files || arguments.find("keep_index") || source.kind == "raw" ||
      source.kind == "external_source" || source.kind == "video_clips" ||
      source.kind == "audio_folder" || source.kind == "concat" ||
      std::none_of(source.columns.begin(), source.columns.end(), media))
    return std::unique_ptr<Checkpoints>();
  FileSystem &files = *options.files;
  CheckpointBuilder::Files found;
  for (const FilePart &part : table.checkpointParts())
    if (auto mapping = mapPart(files, part)) {
      if (auto file = CheckpointFile::parse(std::move(*mapping)))
        found.push_back(std::move(*file));
      else
        warnings.push_back("the checkpoints in " + part.path +
                           " are not used: " + file.error().message);
    }
  std::string key;
  for (const char *name : {"root", "list", "shards"})
    if (const plan::ArgumentT *argument = arguments.find(name);
        argument && !argument->text.empty()) {
      const std::string path = absolutePath(argument->text);
      (key += path) += '\n';
      if (isUrl(path)) // where `penstock index` writes nothing
        continue;
      const auto info = files.stat(path);
      const bool isFolder = info && info->kind == FileKind::Folder;
      openCheckpoints(files, path + (isFolder ? "/" : "") + std::string(sidecarEnding), found,
                      warnings);
    }
  auto folder = cacheFolder(source, arguments, options);
  if (!folder)
    return folder.error();
  char name[48];
  std::snprintf(name, sizeof name, "checkpoints-%016llx",
                static_cast<unsigned long long>(XXH3_64bits(key.data(), key.size())));
  const bool isAsked = arguments.find("index");
  const bool builds = isAsked || arguments.find("build_index");
  const std::string mine = name + (options.world > 1 ? "-" + std::to_string(options.rank) : "") +
                           std::string(sidecarEnding);
  if (folder->path.empty())
    return std::make_unique<Checkpoints>(files, std::move(found), "", warnings);
  const std::string minePath = folder->path + "/" + mine;
  openAll(files, *folder, isAsked ? "" : name, builds ? mine : "", found, warnings);
  if (builds && folder->mostBytes)
    noteUse(files, minePath);
  return std::make_unique<Checkpoints>(files, std::move(found), builds ? minePath : "", warnings);
}

/// Returns a text that identifies a table by its source and arguments.
std::string nameOfTable(const plan::PlanT &tree, const plan::SourceT &source,
                        const std::vector<plan::ArgumentT> &params) {
  const SourceArguments arguments(source, params);
  std::string name = source.kind;
  for (const auto &argument : source.arguments) {
    const plan::ArgumentT &value = *arguments.find(argument->name);
    for (const std::string &part :
         {argument->name, value.text, std::to_string(value.integer), std::to_string(value.number)})
      (name += '\0') += part;
  }
  for (const int32_t part : source.parts)
    (name += '\0') += nameOfTable(tree, *tree.sources[size_t(part)], params);
  return name;
}

} // namespace

Result<std::unique_ptr<Source>> Tables::openConcat(const plan::SourceT &source) const {
  std::vector<const Source *> parts;
  for (const int32_t part : source.parts)
    parts.push_back(tables[size_t(part)].source.get());
  std::vector<std::string> columns;
  for (const auto &column : source.columns)
    columns.push_back(column->name);
  auto opened = ConcatSource::open(std::move(parts), columns);
  if (!opened)
    return opened.error();
  return std::unique_ptr<Source>(std::move(*opened));
}

Status Tables::add(const plan::PlanT &tree, size_t number,
                   const std::vector<plan::ArgumentT> &params, const SessionOptions &options,
                   size_t &given) {
  const plan::SourceT &wanted = *tree.sources[number];
  const SourceArguments arguments(wanted, params);
  Table &table = tables[number];
  if (wanted.kind == "external_source") {
    auto opened = openGiven(tree, wanted, given++, options);
    if (!opened)
      return opened.error();
    table.external = opened->get();
    table.source = std::move(*opened);
  } else {
    auto opened =
        wanted.kind == "concat" ? openConcat(wanted) : openSource(tree, wanted, arguments, options);
    if (!opened)
      return opened.error();
    table.source = std::move(*opened);
  }
  for (const auto &column : wanted.columns) {
    const int at = table.source->columnNumber(column->name);
    if (at < 0)
      return sourceError(wanted, "there is no column `" + column->name + "`");
    const ColumnInfo &info = table.source->columns()[size_t(at)];
    if (info.type != column->type || info.dims.size() != column->dims.size())
      return sourceError(wanted, "column `" + column->name + "` is " + info.typeText() +
                                     ", the pipeline expects " + nameOf(column->type) + " with " +
                                     std::to_string(column->dims.size()) + " axes");
    table.columns.push_back(at);
  }
  auto checkpoints = checkpointsOf(wanted, arguments, *table.source, options, complaints);
  if (!checkpoints)
    return checkpoints.error();
  if (*checkpoints && !(*checkpoints)->isEmpty())
    table.checkpoints = std::move(*checkpoints);
  auto has = [&](auto is) {
    return std::any_of(tree.media.begin(), tree.media.end(), [&](const auto &media) {
      return is(*media) && size_t(tree.rows[size_t(media->row)]->source) == number;
    });
  };
  const bool hasVideos = has([](const plan::MediaT &media) { return media.media == "video"; });
  const bool hasSounds = has([](const plan::MediaT &media) { return media.media == "wave"; });
  const bool asksForHeaders = has([](const plan::MediaT &media) { return media.of_rows; });
  if (!(hasVideos || hasSounds || asksForHeaders) || !options.files)
    return {};
  auto folder = cacheFolder(wanted, arguments, options);
  if (!folder)
    return folder.error();
  if (hasSounds)
    table.sounds = std::make_unique<SoundStore>(*options.files, *folder);
  if (hasVideos)
    table.videos = std::make_unique<VideoStore>(*options.files, *folder);
  table.kept = std::move(*folder);
  table.name = nameOfTable(tree, wanted, params);
  return {};
}

Result<std::unique_ptr<Tables>> Tables::open(const plan::PlanT &tree,
                                             const std::vector<plan::ArgumentT> &params,
                                             const SessionOptions &options) {
  auto result = std::make_unique<Tables>();
  result->files = options.files;
  result->tables.resize(tree.sources.size());
  if (Status status = checkMemory(tree, options.memory); !status)
    return status.error();
  size_t given = 0;
  for (const bool isConcat : {false, true}) // parts first, wherever they stand
    for (size_t i = 0; i < tree.sources.size(); ++i)
      if ((tree.sources[i]->kind == "concat") == isConcat)
        if (Status status = result->add(tree, i, params, options, given); !status)
          return status.error();
  for (size_t i = 0; i < tree.sources.size(); ++i)
    for (const int32_t part : tree.sources[i]->parts)
      result->tables[i].parts.push_back(&result->tables[size_t(part)]);
  if (given < options.external.size())
    return Error{Code::InvalidArgument,
                 std::to_string(options.external.size()) + " tables of rows are given, and `" +
                     tree.name + "` has " + std::to_string(given) + " `external_source`"};
  return result;
}

Checkpoints *Tables::checkpoints(int source, int64_t row) const {
  const Table &table = tables[size_t(source)];
  if (table.parts.empty())
    return table.checkpoints.get();
  const size_t part = static_cast<const ConcatSource &>(*table.source).placeOf(row).part;
  return table.parts[part]->checkpoints.get();
}

Result<int64_t> Tables::scalar(int source, int64_t row, int column) const {
  const Table &table = tables[size_t(source)];
  return table.source->scalar(row, table.columns[size_t(column)]);
}

Result<int64_t> Tables::extent(int source, int64_t row, int column, int axis) const {
  const Table &table = tables[size_t(source)];
  TensorView view;
  if (Status status = table.source->shape(row, table.columns[size_t(column)], view); !status)
    return status.error();
  return view.extents[size_t(axis)];
}

Status Tables::tensor(int source, int64_t row, int column, Buffer &scratch, pst_tensor &out) const {
  const Table &table = tables[size_t(source)];
  const int number = table.columns[size_t(column)];
  auto view = table.source->tensor(row, number, scratch);
  if (!view)
    return view.error();
  int64_t stride = sizeOf(table.source->columns()[size_t(number)].type);
  for (int axis = view->rank; axis-- > 0;) {
    out.extent[axis] = view->extents[size_t(axis)];
    out.stride[axis] = stride;
    stride *= out.extent[axis];
  }
  const uint8_t *data = view->data;
  // Behind the last rows of a mapped file there may be no memory to read.
  const int64_t rowsBehind = table.source->rowsBehind(row);
  if (data != scratch.data() &&
      (stride == 0 || rowsBehind < (storageSlack + stride - 1) / stride)) {
    if (!scratch.resize(size_t(stride) + 1))
      return noMemory("for a row of " + std::to_string(stride) + " bytes");
    if (stride)
      std::memcpy(scratch.data(), data, size_t(stride));
    data = scratch.data();
  }
  if (!data && !scratch.resize(1)) // no elements; its address must not be null all the same
    return noMemory("for a row");
  out.data = const_cast<uint8_t *>(data ? data : scratch.data());
  return {};
}

Status Tables::fetch(int source, int64_t row, int column, Buffer &out) const {
  const Table &table = tables[size_t(source)];
  return table.source->fetch(row, table.columns[size_t(column)], out);
}

Result<MediaPlace> Tables::place(int source, int64_t row, int column) const {
  const Table &table = tables[size_t(source)];
  return table.source->place(row, table.columns[size_t(column)]);
}

Result<VideoStore::Found> Tables::video(int source, int64_t row, int column,
                                        const MediaPlace &place) const {
  const Table &table = tables[size_t(source)];
  return table.videos->find(place, table.source->mediaIndex(row, table.columns[size_t(column)]));
}

Result<SoundStore::Found> Tables::sound(int source, const MediaPlace &place) const {
  return tables[size_t(source)].sounds->find(place);
}

std::unique_ptr<HeaderIndex> Tables::headers(int source, const std::string &name,
                                             size_t width) const {
  const Table &table = tables[size_t(source)];
  if (!files || table.kept.path.empty())
    return nullptr;
  return std::make_unique<HeaderIndex>(*files, table.kept, table.name + '\0' + name, width);
}

VideoCounts Tables::videoCounts() const {
  VideoCounts counts;
  for (const Table &table : tables)
    if (table.videos) {
      counts.indexesMade += table.videos->made() + table.source->indexesMade();
      counts.indexBytes += table.videos->bytesRead();
    }
  return counts;
}

uint64_t Tables::checkpointBytes() const {
  uint64_t bytes = 0;
  for (const Table &table : tables)
    bytes += table.checkpoints ? table.checkpoints->heldBytes() : 0;
  return bytes;
}

void Tables::saveCheckpoints() const {
  for (const Table &table : tables)
    if (table.checkpoints)
      table.checkpoints->save();
}

Result<std::string> Tables::text(int source, int64_t row, std::string_view column) const {
  const Source &table = *tables[size_t(source)].source;
  if (row < 0 || row >= table.length())
    return Error{Code::InvalidArgument,
                 "row " + std::to_string(row) + " of a table of " + std::to_string(table.length())};
  const int number = table.columnNumber(column);
  const bool isText = number >= 0 && table.columns()[size_t(number)].isText();
  return isText ? table.text(row, number) : table.otherText(row, column);
}

std::string Tables::name(int source, int64_t row) const {
  return tables[size_t(source)].source->rowName(row);
}

std::string Tables::fileName(int source, int64_t row, int column) const {
  return tables[size_t(source)].source->fileName(row, column);
}

} // namespace penstock::runtime
