// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Tables.h"

#include "runtime/core/Memory.h"
#include "runtime/core/Plan.h"
#include "runtime/sched/Layout.h"
#include "runtime/sources/Cifar.h"
#include "runtime/sources/CsvSource.h"
#include "runtime/sources/ImageFolder.h"
#include "runtime/sources/JsonLines.h"
#include "runtime/sources/RawSource.h"
#include "runtime/sources/SyntheticSource.h"
#include "runtime/sources/TarShards.h"
#include "runtime/sources/VideoClips.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

namespace {

using plan::DType;

/// The arguments of one source, parameters resolved.
class Arguments {
public:
  Arguments(const plan::SourceT &source, const std::vector<plan::ArgumentT> &params)
      : source(source), params(params) {}

  /// Null where there is none of that name.
  const plan::ArgumentT *find(const std::string &name) const {
    for (const auto &argument : source.arguments)
      if (argument->name == name)
        return argument->param < 0 ? argument.get() : &params[size_t(argument->param)];
    return nullptr;
  }

private:
  const plan::SourceT &source;
  const std::vector<plan::ArgumentT> &params;
};

Error sourceError(const plan::SourceT &source, std::string message) {
  return {Code::InvalidArgument, source.kind + ": " + std::move(message)};
}

/// Returns the folder for a source's index.
Result<CacheFolder> cacheFolder(const plan::SourceT &source, const Arguments &arguments,
                                const SessionOptions &options) {
  const plan::ArgumentT *index = arguments.find("index");
  if (!index)
    return arguments.find("keep_index") ? CacheFolder() : CacheFolder::ofUser(options.cacheFolder);
  // Where it was asked for, trouble is no secret.
  if (Status status = options.files->makePrivateFolder(index->text); !status)
    return sourceError(source, "no index can be kept: " + status.error().message);
  return CacheFolder(index->text);
}

Result<std::unique_ptr<Source>> openFolder(const plan::SourceT &source, const Arguments &arguments,
                                           const SessionOptions &options) {
  const plan::ArgumentT *root = arguments.find("root");
  if (!root || root->text.empty())
    return sourceError(source, "no folder is given");
  if (!options.files)
    return sourceError(source, "no files can be opened here");
  ImageFolder::Options folder;
  auto cache = cacheFolder(source, arguments, options);
  if (!cache)
    return cache.error();
  folder.cacheFolder = *cache;
  if (source.kind == "audio_folder")
    folder.contents = FolderContents::Sounds;
  auto opened = ImageFolder::open(*options.files, root->text, folder);
  if (!opened)
    return opened.error();
  return std::unique_ptr<Source>(std::move(*opened));
}

/// Binds a column to the caller's memory; refuses other types and shapes than those compiled for.
Status useMemory(const MemoryColumn &memory, const plan::SourceT &source, RawColumn &column) {
  auto refuse = [&](const std::string &what) {
    return sourceError(source, "column `" + column.name + "` in memory " + what);
  };
  if (memory.type != column.type)
    return refuse(std::string("is ") + nameOf(memory.type) + ", the pipeline expects " +
                  nameOf(column.type));
  if (memory.extents.empty())
    return refuse("has no axis of rows");
  const std::vector<int64_t> dims(memory.extents.begin() + 1, memory.extents.end());
  if (dims != column.dims)
    return refuse("has rows of " + textOf(memory.type, dims) + ", the pipeline expects " +
                  textOf(column.type, column.dims));
  int64_t bytes = sizeOf(memory.type);
  for (int64_t extent : memory.extents)
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes))
      return refuse("has an impossible size");
  if (!memory.data && bytes)
    return refuse("has no address");
  column.path.clear();
  column.memory = {static_cast<const uint8_t *>(memory.data), size_t(bytes)};
  column.owner = memory.owner;
  return {};
}

Result<std::unique_ptr<Source>> openColumns(const plan::SourceT &source, const Arguments &arguments,
                                            const SessionOptions &options) {
  std::vector<RawColumn> columns;
  for (const auto &wanted : source.columns) {
    RawColumn column;
    column.name = wanted->name;
    column.type = wanted->type;
    for (const auto &dim : wanted->dims)
      column.dims.push_back(dim->extent);
    if (const plan::ArgumentT *path = arguments.find(wanted->name))
      column.path = path->text;
    const plan::ArgumentT *format = arguments.find(wanted->name + ".format");
    column.npy = format && format->text == "npy";
    auto memory = std::find_if(options.memory.begin(), options.memory.end(),
                               [&](const MemoryColumn &m) { return m.name == wanted->name; });
    if (memory != options.memory.end()) {
      if (Status status = useMemory(*memory, source, column); !status)
        return status.error();
    } else if (column.path.empty()) {
      return sourceError(source, "column `" + wanted->name + "` has neither a file nor memory");
    }
    columns.push_back(std::move(column));
  }
  return openRaw(std::move(columns), options.files);
}

double valueOf(const plan::ArgumentT &argument) {
  return argument.type == DType::i64 ? double(argument.integer) : argument.number;
}

/// Returns the range of each extent in a column's rows. The first alone may differ, and begins at
/// `NAME.least`, which stands there if it is not 0.
std::vector<Extent> extentsOf(const plan::ColumnT &column, const Arguments &arguments) {
  const plan::ArgumentT *least = arguments.find(column.name + ".least");
  std::vector<Extent> extents;
  for (const auto &dim : column.dims) {
    const int64_t bound = dim->extent >= 0 ? dim->extent : dim->bound;
    const bool hasLeast = least && extents.empty();
    extents.push_back({dim->extent >= 0 ? bound : hasLeast ? least->integer : 0, bound});
  }
  return extents;
}

Result<std::unique_ptr<Source>> openComputed(const plan::SourceT &source,
                                             const Arguments &arguments) {
  const plan::ArgumentT *rows = arguments.find("length");
  if (!rows)
    return sourceError(source, "the number of rows is missing");
  std::vector<SyntheticColumn> columns;
  for (const auto &wanted : source.columns) {
    SyntheticColumn column;
    column.name = wanted->name;
    column.type = wanted->type;
    column.dims = extentsOf(*wanted, arguments);
    const plan::ArgumentT *low = arguments.find(wanted->name + ".low");
    const plan::ArgumentT *end = arguments.find(wanted->name + ".end");
    if (low && end)
      column.range = {valueOf(*low), valueOf(*end)};
    columns.push_back(std::move(column));
  }
  const plan::ArgumentT *seed = arguments.find("seed");
  return openSynthetic(rows->integer, std::move(columns), seed ? uint64_t(seed->integer) : 0);
}

/// Bytes, texts, and the numbers that parseValue() knows.
bool readsAsText(const plan::ColumnT &column) {
  return column.type != DType::f16 && column.type != DType::bf16;
}

/// The text of an argument that must be there.
Result<std::string> textOf(const plan::SourceT &source, const Arguments &arguments,
                           const char *name, const char *what) {
  const plan::ArgumentT *argument = arguments.find(name);
  if (!argument || argument->text.empty())
    return sourceError(source, std::string("no ") + what + " is given");
  return argument->text;
}

Result<std::unique_ptr<Source>> openTable(const plan::SourceT &source, const Arguments &arguments,
                                          FileSystem &files) {
  auto path = textOf(source, arguments, "list", "file");
  if (!path)
    return path.error();
  CsvOptions options;
  options.path = *path;
  if (const plan::ArgumentT *root = arguments.find("root"))
    options.root = root->text;
  const bool isList = source.kind == "file_list";
  if (const plan::ArgumentT *separator = arguments.find("separator"); separator)
    options.separator = separator->text.empty() ? ',' : separator->text[0];
  if (isList)
    options.separator = '\0';
  options.header = !isList && !arguments.find("header");
  std::vector<CsvColumn> columns;
  for (const auto &wanted : source.columns) {
    CsvColumn column{wanted->name, wanted->type, wanted->name, extentsOf(*wanted, arguments)};
    if (!readsAsText(*wanted) || (isList && !wanted->dims.empty()))
      return sourceError(source, "column `" + wanted->name + "` cannot be read from text");
    const plan::ArgumentT *from = arguments.find(wanted->name + ".from");
    if (isList)
      column.from = int64_t(0);
    else if (from && from->type == DType::i64)
      column.from = from->integer;
    else if (from)
      column.from = from->text;
    columns.push_back(std::move(column));
  }
  return openCsv(files, options, columns);
}

Result<std::unique_ptr<Source>> openObjects(const plan::SourceT &source, const Arguments &arguments,
                                            FileSystem &files) {
  auto path = textOf(source, arguments, "list", "file");
  if (!path)
    return path.error();
  JsonLinesOptions options;
  options.path = *path;
  if (const plan::ArgumentT *root = arguments.find("root"))
    options.root = root->text;
  std::vector<JsonColumn> columns;
  for (const auto &wanted : source.columns) {
    if (!readsAsText(*wanted))
      return sourceError(source, "column `" + wanted->name + "` cannot be read from text");
    const plan::ArgumentT *from = arguments.find(wanted->name + ".from");
    columns.push_back({{wanted->name, wanted->type, extentsOf(*wanted, arguments)},
                       from ? from->text : wanted->name});
  }
  return openJsonLines(files, options, columns);
}

Result<std::unique_ptr<Source>> openCifarFiles(const plan::SourceT &source,
                                               const Arguments &arguments, FileSystem &files) {
  auto root = textOf(source, arguments, "root", "folder");
  if (!root)
    return root.error();
  const plan::ArgumentT *train = arguments.find("train");
  return openCifar(files, *root, source.kind == "cifar10" ? Cifar::Ten : Cifar::Hundred,
                   !train || train->integer);
}

Result<std::unique_ptr<Source>> openTar(const plan::SourceT &source, const Arguments &arguments,
                                        const SessionOptions &options) {
  auto path = textOf(source, arguments, "shards", "folder or file");
  if (!path)
    return path.error();
  auto cache = cacheFolder(source, arguments, options);
  if (!cache)
    return cache.error();
  TarOptions tar;
  tar.path = *path;
  tar.cacheFolder = *cache;
  std::vector<TarColumn> columns;
  for (const auto &wanted : source.columns) {
    if (!readsAsText(*wanted) || !wanted->dims.empty())
      return sourceError(source, "column `" + wanted->name + "` cannot be read from text");
    const plan::ArgumentT *from = arguments.find(wanted->name + ".from");
    columns.push_back({wanted->name, wanted->type, from ? from->text : wanted->name});
  }
  return openTarShards(*options.files, tar, columns);
}

Result<std::unique_ptr<Source>> openVideos(const plan::SourceT &source, const Arguments &arguments,
                                           const SessionOptions &options) {
  auto root = textOf(source, arguments, "root", "folder");
  if (!root)
    return root.error();
  auto cache = cacheFolder(source, arguments, options);
  if (!cache)
    return cache.error();
  VideoClipsOptions clips;
  clips.cacheFolder = *cache;
  for (auto [name, number] : {std::pair("length", &clips.length), std::pair("step", &clips.step),
                              std::pair("every", &clips.every)})
    if (const plan::ArgumentT *argument = arguments.find(name)) {
      if (argument->integer < 1)
        return sourceError(source, std::string("`") + name + "` is " +
                                       std::to_string(argument->integer) + ", the least is 1");
      *number = argument->integer;
    }
  return openVideoClips(*options.files, *root, clips);
}

Result<std::unique_ptr<Source>> openSource(const plan::SourceT &source,
                                           const std::vector<plan::ArgumentT> &params,
                                           const SessionOptions &options) {
  const Arguments arguments(source, params);
  if (source.kind == "image_folder" || source.kind == "audio_folder")
    return openFolder(source, arguments, options);
  if (source.kind == "raw")
    return openColumns(source, arguments, options);
  if (source.kind == "synthetic")
    return openComputed(source, arguments);
  const bool isText = source.kind == "csv" || source.kind == "file_list";
  const bool isJson = source.kind == "json_lines";
  const bool isCifar = source.kind == "cifar10" || source.kind == "cifar100";
  const bool isTar = source.kind == "tar_shards", isVideo = source.kind == "video_clips";
  if ((isText || isJson || isCifar || isTar || isVideo) && !options.files)
    return sourceError(source, "no files can be opened here");
  if (isText)
    return openTable(source, arguments, *options.files);
  if (isJson)
    return openObjects(source, arguments, *options.files);
  if (isTar)
    return openTar(source, arguments, options);
  if (isVideo)
    return openVideos(source, arguments, options);
  if (isCifar)
    return openCifarFiles(source, arguments, *options.files);
  return Error{Code::Unsupported, "there is no source `" + source.kind + "`"};
}

/// Columns that fields, media or buffers of the plan read.
std::vector<bool> usedColumns(const plan::PlanT &tree, const plan::SourceT &source) {
  std::vector<bool> used(source.columns.size());
  const auto note = [&](int32_t row, int32_t column) {
    if (tree.sources[size_t(tree.rows[size_t(row)]->source)].get() == &source)
      used[size_t(column)] = true;
  };
  for (const auto &field : tree.fields)
    note(field->row, field->column);
  for (const auto &media : tree.media)
    note(media->row, media->column);
  for (const auto &buffer : tree.buffers)
    if (buffer->kind == plan::BufferKind::field)
      note(buffer->row, buffer->column);
  return used;
}

/// `number`: among the tables of callers.
Result<std::unique_ptr<ExternalSource>> openGiven(const plan::PlanT &tree,
                                                  const plan::SourceT &source, size_t number,
                                                  const SessionOptions &options) {
  if (number >= options.external.size())
    return sourceError(source, "its rows come from the program that opens the session, which "
                               "gives " +
                                   (number ? std::to_string(number) + " such tables" : "none"));
  const std::vector<plan::ArgumentT> noParams;
  const Arguments arguments(source, noParams);
  std::vector<ColumnInfo> columns;
  for (const auto &wanted : source.columns)
    columns.push_back({wanted->name, wanted->type, extentsOf(*wanted, arguments)});
  ExternalTable table = options.external[number];
  if (!options.files) // nor can indexes of videos be kept
    table.files = nullptr;
  return openExternal(std::move(table), std::move(columns), usedColumns(tree, source));
}

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

/// In shards, beside the data as `penstock index` writes them, and in the folder
/// of indexes.
Result<std::unique_ptr<Checkpoints>> checkpointsOf(const plan::SourceT &source,
                                                   const Arguments &arguments, const Source &table,
                                                   const SessionOptions &options,
                                                   std::vector<std::string> &warnings) {
  const auto media = [](const auto &column) { return column->type == DType::bytes; };
  if (!options.files || arguments.find("keep_index") || source.kind == "raw" ||
      source.kind == "external_source" || source.kind == "video_clips" ||
      source.kind == "audio_folder" ||
      std::none_of(source.columns.begin(), source.columns.end(), media))
    return std::unique_ptr<Checkpoints>();
  FileSystem &files = *options.files;
  CheckpointBuilder::Files found;
  for (const FilePart &part : table.checkpointParts())
    if (auto mapping = files.mapFile(part.path); mapping && part.offset <= mapping->bytes.size()) {
      mapping->bytes = mapping->bytes.subspan(
          part.offset, std::min<uint64_t>(part.size, mapping->bytes.size() - part.offset));
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
      const auto info = files.stat(path);
      const bool isFolder = info && info->kind == FileKind::Folder;
      openCheckpoints(files, path + (isFolder ? "/" : "") + std::string(sidecarEnding), found,
                      warnings);
      (key += path) += '\n';
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
std::string nameOfTable(const plan::SourceT &source, const Arguments &arguments) {
  std::string name = source.kind;
  for (const auto &argument : source.arguments) {
    const plan::ArgumentT &value = *arguments.find(argument->name);
    for (const std::string &part :
         {argument->name, value.text, std::to_string(value.integer), std::to_string(value.number)})
      (name += '\0') += part;
  }
  return name;
}

} // namespace

Result<std::unique_ptr<Tables>> Tables::open(const plan::PlanT &tree,
                                             const std::vector<plan::ArgumentT> &params,
                                             const SessionOptions &options) {
  auto result = std::make_unique<Tables>();
  result->files = options.files;
  size_t given = 0;
  for (const auto &wanted : tree.sources) {
    Table &table = result->tables.emplace_back();
    if (wanted->kind == "external_source") {
      auto opened = openGiven(tree, *wanted, given++, options);
      if (!opened)
        return opened.error();
      table.external = opened->get();
      table.source = std::move(*opened);
    } else {
      auto opened = openSource(*wanted, params, options);
      if (!opened)
        return opened.error();
      table.source = std::move(*opened);
    }
    for (const auto &column : wanted->columns) {
      const int number = table.source->columnNumber(column->name);
      if (number < 0)
        return sourceError(*wanted, "there is no column `" + column->name + "`");
      const ColumnInfo &info = table.source->columns()[size_t(number)];
      if (info.type != column->type || info.dims.size() != column->dims.size())
        return sourceError(*wanted, "column `" + column->name + "` is " + info.typeText() +
                                        ", the pipeline expects " + nameOf(column->type) +
                                        " with " + std::to_string(column->dims.size()) + " axes");
      table.columns.push_back(number);
    }
    const Arguments arguments(*wanted, params);
    auto checkpoints =
        checkpointsOf(*wanted, arguments, *table.source, options, result->complaints);
    if (!checkpoints)
      return checkpoints.error();
    if (*checkpoints && !(*checkpoints)->isEmpty())
      table.checkpoints = std::move(*checkpoints);
    auto has = [&](auto is) {
      return std::any_of(tree.media.begin(), tree.media.end(), [&](const auto &media) {
        return is(*media) && tree.sources[size_t(tree.rows[size_t(media->row)]->source)] == wanted;
      });
    };
    const bool hasVideos = has([](const plan::MediaT &media) { return media.media == "video"; });
    const bool hasSounds = has([](const plan::MediaT &media) { return media.media == "wave"; });
    const bool asksForHeaders = has([](const plan::MediaT &media) { return media.of_rows; });
    if (!(hasVideos || hasSounds || asksForHeaders) || !options.files)
      continue;
    auto folder = cacheFolder(*wanted, arguments, options);
    if (!folder)
      return folder.error();
    if (hasSounds)
      table.sounds = std::make_unique<SoundStore>(*options.files, *folder);
    if (hasVideos)
      table.videos = std::make_unique<VideoStore>(*options.files, *folder);
    table.kept = std::move(*folder);
    table.name = nameOfTable(*wanted, arguments);
  }
  if (given < options.external.size())
    return Error{Code::InvalidArgument,
                 std::to_string(options.external.size()) + " tables of rows are given, and `" +
                     tree.name + "` has " + std::to_string(given) + " `external_source`"};
  return result;
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
  const int64_t rowsBehind = table.source->length() - 1 - row;
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

} // namespace penstock::runtime
