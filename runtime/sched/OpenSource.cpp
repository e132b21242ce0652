// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/OpenSource.h"

#include "runtime/sources/Cifar.h"
#include "runtime/sources/ClassNames.h"
#include "runtime/sources/CsvSource.h"
#include "runtime/sources/ImageFolder.h"
#include "runtime/sources/JsonLines.h"
#include "runtime/sources/RawSource.h"
#include "runtime/sources/SyntheticSource.h"
#include "runtime/sources/TarShards.h"
#include "runtime/sources/VideoClips.h"

#include <algorithm>

namespace penstock::runtime {

using plan::DType;

namespace {

/// The name of the parameter that names a column's file; empty where none does.
std::string fileParam(const plan::PlanT &tree, const plan::SourceT &source,
                      const std::string &column) {
  for (const auto &argument : source.arguments)
    if (argument->name == column && argument->param >= 0)
      return tree.params[size_t(argument->param)]->name;
  return "";
}

bool isRawColumn(const plan::PlanT &tree, const std::string &name) {
  for (const auto &source : tree.sources)
    for (const auto &column : source->columns)
      if (source->kind == "raw" && column->name == name)
        return true;
  return false;
}

const MemoryColumn *named(const std::vector<MemoryColumn> &memory, const std::string &name) {
  const auto found = std::find_if(memory.begin(), memory.end(),
                                  [&](const MemoryColumn &one) { return one.name == name; });
  return found == memory.end() ? nullptr : &*found;
}

} // namespace

const MemoryColumn *memoryFor(const plan::PlanT &tree, const plan::SourceT &source,
                              const std::string &column, const std::vector<MemoryColumn> &memory) {
  const std::string param = fileParam(tree, source, column);
  if (!param.empty() && !isRawColumn(tree, param))
    if (const MemoryColumn *found = named(memory, param))
      return found;
  return named(memory, column);
}

Status checkMemory(const plan::PlanT &tree, const std::vector<MemoryColumn> &memory) {
  for (const MemoryColumn &one : memory) {
    const plan::SourceT *first = nullptr;
    std::string param, all;
    for (const auto &source : tree.sources)
      for (const auto &column : source->columns) {
        if (source->kind != "raw")
          continue;
        all += (all.empty() ? "`" : ", `") + column->name + "`";
        if (memoryFor(tree, *source, column->name, memory) != &one)
          continue;
        const std::string other = fileParam(tree, *source, column->name);
        if (first && other != param)
          return sourceError(*source, "two tables have a column `" + column->name +
                                          "`, and memory for it is given by its name; hint: give "
                                          "that of each by the name of its file's parameter, `" +
                                          param + "` and `" + other + "`");
        first = source.get();
        param = other;
      }
    if (!first)
      return Error{Code::InvalidArgument,
                   "no `raw` table has a column `" + one.name +
                       "` in memory, or its file from a parameter of that name" +
                       (all.empty() ? "" : "; columns are " + all)};
  }
  return {};
}

Error sourceError(const plan::SourceT &source, std::string message) {
  return {Code::InvalidArgument, source.kind + ": " + std::move(message)};
}

Result<CacheFolder> cacheFolder(const plan::SourceT &source, const SourceArguments &arguments,
                                const SessionOptions &options) {
  const plan::ArgumentT *index = arguments.find("index");
  if (!index)
    return arguments.find("keep_index") ? CacheFolder() : CacheFolder::ofUser(options.cacheFolder);
  // Where it was asked for, trouble is no secret.
  if (Status status = options.files->makePrivateFolder(index->text); !status)
    return sourceError(source, "no index can be kept: " + status.error().message);
  return CacheFolder(index->text);
}

namespace {

Error missing(const plan::SourceT &source, const plan::ArgumentT *argument, const char *what) {
  return sourceError(source, std::string("no ") + what + " is given" +
                                 (argument ? ": parameter `" + argument->name + "` is empty" : ""));
}

Result<std::unique_ptr<Source>> openFolder(const plan::SourceT &source,
                                           const SourceArguments &arguments,
                                           const SessionOptions &options) {
  const plan::ArgumentT *root = arguments.find("root");
  if (!root || root->text.empty())
    return missing(source, root, "folder");
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

Result<std::unique_ptr<Source>> openColumns(const plan::PlanT &tree, const plan::SourceT &source,
                                            const SourceArguments &arguments,
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
    const MemoryColumn *memory = memoryFor(tree, source, wanted->name, options.memory);
    if (memory) {
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
std::vector<Extent> extentsOf(const plan::ColumnT &column, const SourceArguments &arguments) {
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
                                             const SourceArguments &arguments) {
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

/// The lines of a text, without those that are empty, and without their ends.
std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (!line.empty())
      lines.emplace_back(line);
    begin = end + 1;
  }
  return lines;
}

/// Returns the classes of a column, which stand in the pipeline or in a file with a line for each;
/// null where it has numbers.
Result<std::shared_ptr<const ClassNames>> classesOf(const plan::SourceT &source,
                                                    const plan::ColumnT &column,
                                                    const SourceArguments &arguments,
                                                    FileSystem &files) {
  const plan::ArgumentT *written = arguments.find(column.name + ".classes"),
                        *file = arguments.find(column.name + ".classes_file");
  if (!written && !file)
    return std::shared_ptr<const ClassNames>();
  std::string where = "column `" + column.name + "`";
  std::string text = written ? written->text : "";
  if (file) {
    constexpr uint64_t most = 64 << 20;
    Buffer bytes;
    if (Status status = files.readFile(file->text, bytes, most); !status)
      return status.error();
    text.assign(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    where = file->text;
  }
  if (text.starts_with("\xEF\xBB\xBF"))
    text.erase(0, 3);
  auto names = ClassNames::make(linesOf(text));
  if (!names)
    return sourceError(source, where + ": " + names.error().message);
  return std::make_shared<const ClassNames>(std::move(*names));
}

/// Bytes, texts, and the numbers that parseValue() knows.
bool readsAsText(const plan::ColumnT &column) {
  return column.type != DType::f16 && column.type != DType::bf16;
}

/// The text of an argument that must be there.
Result<std::string> textOf(const plan::SourceT &source, const SourceArguments &arguments,
                           const char *name, const char *what) {
  const plan::ArgumentT *argument = arguments.find(name);
  if (!argument || argument->text.empty())
    return missing(source, argument, what);
  return argument->text;
}

Result<std::unique_ptr<Source>> openTable(const plan::SourceT &source,
                                          const SourceArguments &arguments, FileSystem &files) {
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
    auto classes = classesOf(source, *wanted, arguments, files);
    if (!classes)
      return classes.error();
    CsvColumn column{wanted->name, wanted->type, wanted->name, extentsOf(*wanted, arguments),
                     std::move(*classes)};
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

Result<std::unique_ptr<Source>> openObjects(const plan::SourceT &source,
                                            const SourceArguments &arguments, FileSystem &files) {
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
    auto classes = classesOf(source, *wanted, arguments, files);
    if (!classes)
      return classes.error();
    const plan::ArgumentT *from = arguments.find(wanted->name + ".from");
    columns.push_back(
        {{wanted->name, wanted->type, extentsOf(*wanted, arguments), std::move(*classes)},
         from ? from->text : wanted->name});
  }
  return openJsonLines(files, options, columns);
}

Result<std::unique_ptr<Source>>
openCifarFiles(const plan::SourceT &source, const SourceArguments &arguments, FileSystem &files) {
  auto root = textOf(source, arguments, "root", "folder");
  if (!root)
    return root.error();
  const plan::ArgumentT *train = arguments.find("train");
  return openCifar(files, *root, source.kind == "cifar10" ? Cifar::Ten : Cifar::Hundred,
                   !train || train->integer);
}

Result<std::unique_ptr<Source>> openTar(const plan::SourceT &source,
                                        const SourceArguments &arguments,
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
    auto classes = classesOf(source, *wanted, arguments, *options.files);
    if (!classes)
      return classes.error();
    const plan::ArgumentT *from = arguments.find(wanted->name + ".from");
    columns.push_back(
        {wanted->name, wanted->type, from ? from->text : wanted->name, std::move(*classes)});
  }
  return openTarShards(*options.files, tar, columns);
}

Result<std::unique_ptr<Source>> openVideos(const plan::SourceT &source,
                                           const SourceArguments &arguments,
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

} // namespace

Result<std::unique_ptr<Source>> openSource(const plan::PlanT &tree, const plan::SourceT &source,
                                           const SourceArguments &arguments,
                                           const SessionOptions &options) {
  if (source.kind == "image_folder" || source.kind == "audio_folder")
    return openFolder(source, arguments, options);
  if (source.kind == "raw")
    return openColumns(tree, source, arguments, options);
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

Result<std::unique_ptr<ExternalSource>> openGiven(const plan::PlanT &tree,
                                                  const plan::SourceT &source, size_t number,
                                                  const SessionOptions &options) {
  if (number >= options.external.size())
    return sourceError(source, "its rows come from the program that opens the session, which "
                               "gives " +
                                   (number ? std::to_string(number) + " such tables" : "none"));
  const std::vector<plan::ArgumentT> noParams;
  const SourceArguments arguments(source, noParams);
  std::vector<ColumnInfo> columns;
  for (const auto &wanted : source.columns)
    columns.push_back({wanted->name, wanted->type, extentsOf(*wanted, arguments)});
  ExternalTable table = options.external[number];
  if (!options.files) // nor can indexes of videos be kept
    table.files = nullptr;
  return openExternal(std::move(table), std::move(columns), usedColumns(tree, source));
}

} // namespace penstock::runtime
