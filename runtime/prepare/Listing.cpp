// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepare/Listing.h"

#include "runtime/sources/CsvSource.h"
#include "runtime/sources/FolderIndex.h"
#include "runtime/sources/Tar.h"

#include <algorithm>
#include <charconv>

namespace penstock::runtime {

std::string_view Listing::text(size_t image) const {
  const uint64_t begin = image ? images[image - 1].name : 0;
  return std::string_view(names).substr(begin, images[image].name - begin);
}

std::string Listing::pathOf(std::string_view name) const {
  if (name.empty())
    return root;
  return name[0] == '/' ? std::string(name) : (root == "/" ? root : root + "/") + std::string(name);
}

std::string Listing::name(size_t image) const {
  const std::string own(text(image));
  const uint32_t shard = images[image].shard;
  return shard ? shards[shard - 1] + ":" + own : own;
}

void Listing::add(std::string_view name, uint32_t shard, uint64_t offset, uint64_t size) {
  names += name;
  images.push_back({names.size(), offset, size, shard});
}

Result<FileInfo> Listing::info(FileSystem &files, size_t image) const {
  const Image &one = images[image];
  if (!one.shard)
    return files.stat(pathOf(text(image)));
  FileInfo info = shardInfos[one.shard - 1];
  info.size = one.size;
  return info;
}

Status Listing::read(FileSystem &files, size_t image, Buffer &out) const {
  constexpr uint64_t most = uint64_t(1) << 30;
  const Image &one = images[image];
  if (!one.shard)
    return files.readFile(pathOf(text(image)), out, most);
  if (one.size > most)
    return Error{Code::Limit, "it has more than 1 GiB"};
  auto file = files.openFile(pathOf(shards[one.shard - 1]));
  if (!file)
    return file.error();
  if (Status status = (*file)->read(one.offset, size_t(one.size), out); !status)
    return status;
  if (out.size() < one.size)
    return Error{Code::Truncated, "the tar file ends inside of it"};
  return {};
}

Status Listing::addTar(FileSystem &files, const std::string &name) {
  auto file = files.openFile(pathOf(name));
  if (!file)
    return file.error();
  shards.push_back(name);
  shardInfos.push_back((*file)->info());
  Buffer bytes;
  TarReader reader((*file)->info().size,
                   [&](uint64_t at, size_t count) -> Result<std::span<const uint8_t>> {
                     if (Status status = (*file)->read(at, count, bytes); !status)
                       return status.error();
                     return std::span<const uint8_t>(bytes.span());
                   });
  TarMember member;
  for (;;) {
    auto more = reader.next(member);
    if (!more)
      return Error{more.error().code, pathOf(name) + ": " + more.error().message};
    if (!*more)
      return {};
    if (isImageName(member.name))
      add(member.name, uint32_t(shards.size()), member.offset, member.size);
    else
      ++otherFiles;
  }
}

Status Listing::addFile(FileSystem &files, const std::string &name, bool named) {
  if (name.ends_with(".tar"))
    return addTar(files, name);
  if (named || isImageName(name))
    add(name, 0, 0, 0);
  else
    ++otherFiles;
  return {};
}

Status Listing::addFolder(FileSystem &files, const std::string &name,
                          std::vector<FileInfo> &above) {
  auto info = files.stat(pathOf(name));
  if (!info)
    return info.error();
  if (std::any_of(above.begin(), above.end(), [&](const FileInfo &other) {
        return other.device == info->device && other.number == info->number;
      }))
    return Error{Code::InvalidArgument,
                 "folder " + pathOf(name) + " is a link to a folder that it lies in"};
  auto entries = files.listFolder(pathOf(name));
  if (!entries)
    return entries.error();
  above.push_back(*info);
  const std::string begin = name.empty() ? "" : name + "/";
  for (const FolderEntry &entry : *entries)
    if (entry.link == Link::Outside &&
        (entry.kind == FileKind::Folder || isImageName(entry.name) || entry.name.ends_with(".tar")))
      if (auto target = files.stat(pathOf(begin + entry.name)); !target)
        return target.error();
  for (const FolderEntry &entry : *entries)
    if (entry.kind == FileKind::File || // links that lead nowhere are images that cannot be read
        (entry.kind == FileKind::Other && isImageName(entry.name)))
      if (Status status = addFile(files, begin + entry.name, false); !status)
        return status;
  for (const FolderEntry &entry : *entries)
    if (entry.kind == FileKind::Folder)
      if (Status status = addFolder(files, begin + entry.name, above); !status)
        return status;
  above.pop_back();
  return {};
}

/// Refuses what is no text: its bytes would be file names.
static Status checkText(FileSystem &files, const std::string &path, char separator) {
  constexpr size_t most = 4096;
  auto file = files.openFile(path);
  if (!file)
    return file.error();
  Buffer begin;
  if (Status status = (*file)->read(0, most, begin); !status)
    return status;
  // Names of files need not be UTF-8: letters above 127 are not looked at.
  const auto isOfText = [&](uint8_t c) {
    return c >= ' ' || (c >= '\t' && c <= '\r') || c == uint8_t(separator);
  };
  if (std::all_of(begin.data(), begin.data() + begin.size(), isOfText))
    return {};
  return Error{Code::Unsupported,
               path + " is no text with the names of files: give a folder, a file whose name ends "
                      "in .tar, or a list with a file name per line"};
}

Status Listing::addList(FileSystem &files, const Options &options) {
  if (Status status = checkText(files, options.path, options.separator); !status)
    return status;
  if (options.column.empty())
    hint = "each line was taken for a file's name: of a table, `--column` says which column has "
           "the names, and ";
  hint += options.root.empty() ? "`--root` names the folder of the files, which is now " + root
                               : "files are looked for in " + root;
  CsvOptions table;
  table.path = options.path;
  table.root = root;
  table.separator = options.column.empty() ? '\0' : options.separator;
  CsvColumn column{"data", plan::DType::bytes, int64_t(0)};
  int64_t number = 0;
  const char *end = options.column.data() + options.column.size();
  const auto [behind, error] = std::from_chars(options.column.data(), end, number);
  const bool isNumber = error == std::errc() && behind == end;
  if (!options.column.empty() && !isNumber)
    column.from = options.column;
  else
    column.from = number;
  table.header = !options.column.empty() && !isNumber;
  auto rows = openCsv(files, table, {column});
  if (!rows)
    return rows.error();
  for (int64_t row = 0; row < (*rows)->length(); ++row)
    if (const std::string name = (*rows)->rowName(row); !name.empty())
      if (Status status = addFile(files, name, true); !status)
        return status;
  return {};
}

Result<Listing> Listing::make(FileSystem &files, const Options &given) {
  Options options = given;
  options.path = absolutePath(given.path);
  auto info = files.stat(options.path);
  if (!info)
    return info.error();
  const bool isFolder = info->kind == FileKind::Folder, isTar = options.path.ends_with(".tar");
  for (const auto &[name, isGiven] : {std::pair("root", !options.root.empty()),
                                      {"column", !options.column.empty()},
                                      {"separator", options.separator != Options().separator}})
    if (isGiven && (isFolder || isTar))
      return Error{Code::InvalidArgument, "`" + std::string(name) + "` is for lists, and " +
                                              options.path + " is a " +
                                              (isFolder ? "folder" : "tar file")};
  Listing listing;
  const size_t slash = options.path.rfind('/');
  listing.root = isFolder               ? options.path
                 : options.root.empty() ? options.path.substr(0, std::max<size_t>(slash, 1))
                                        : absolutePath(options.root);
  std::vector<FileInfo> above;
  Status status;
  if (isFolder)
    status = listing.addFolder(files, "", above);
  else if (isTar)
    status = listing.addTar(files, options.path.substr(slash + 1));
  else
    status = listing.addList(files, options);
  if (!status)
    return status.error();
  if (listing.count() == 0)
    return Error{Code::NotFound, options.path + " has no images (" +
                                     std::to_string(listing.otherFiles) + " other files)"};
  return listing;
}

} // namespace penstock::runtime
