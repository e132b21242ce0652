#include "runtime/sources/FolderIndex.h"

#include <algorithm>
#include <array>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

namespace {

constexpr std::array<char, 8> magic = {'P', 'S', 'T', 'K', 'D', 'I', 'R', '1'};

bool isImageName(std::string_view name) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos)
    return false;
  std::string end(name.substr(dot));
  for (char &c : end)
    if (c >= 'A' && c <= 'Z')
      c = char(c | 0x20);
  constexpr std::string_view known[] = {".jpg", ".jpeg", ".png", ".ppm",  ".bmp",
                                        ".pgm", ".tif",  ".tiff", ".webp"};
  return std::find(std::begin(known), std::end(known), end) != std::end(known);
}

std::string join(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && path.back() != '/')
    path += '/';
  return path += name;
}

} // namespace

struct FolderIndex::Header {
  std::array<char, 8> magic;
  uint64_t checksum; // of all that follows it
  uint64_t size;     // of the whole
  uint64_t files;
  uint32_t folders; // folder 0 is the root; the others go by label, then path
  uint32_t classes;
  uint64_t rootLength;
};

struct FolderIndex::Folder {
  uint64_t path; // where its path below the root begins in the text
  uint32_t pathLength;
  uint32_t label;
  int64_t modifiedNs;
  uint64_t firstFile; // files of a folder follow one another
};

/// Collects in vectors, then writes the one block.
struct FolderIndex::Builder {
  FileSystem &files;
  std::string root;
  struct Found {
    std::string path;
    uint32_t label;
    int64_t modifiedNs;
    std::vector<std::string> names;
  };
  std::vector<Found> order; // as in the index
  std::vector<std::pair<uint64_t, uint64_t>> above; // the folders being walked

  Status walk(std::string path, uint32_t label, std::vector<Found> &out);
  Status scan();
  Error nothingFound(const std::vector<FolderEntry> &entries) const;
  FolderIndex finish() const;
};

Status FolderIndex::Builder::walk(std::string path, uint32_t label,
                                  std::vector<Found> &out) {
  std::string full = join(root, path);
  // The time comes first: what changes during the listing makes it stale.
  Result<FileInfo> info = files.stat(full);
  if (!info)
    return info.error();
  std::pair identity(info->device, info->number);
  if (std::find(above.begin(), above.end(), identity) != above.end())
    return Error{Code::InvalidArgument,
                 "folder " + full + " is a link to a folder that it lies in"};
  Result<std::vector<FolderEntry>> entries = files.listFolder(full);
  if (!entries)
    return entries.error();
  above.push_back(identity);
  size_t mine = out.size();
  out.push_back({path, label, info->modifiedNs, {}});
  for (FolderEntry &entry : *entries) {
    if (entry.kind == FileKind::Folder) {
      Status status = walk(join(path, entry.name), label, out);
      if (!status)
        return status;
    } else if (isImageName(entry.name)) {
      // Broken links too: they become bad samples with a name, not nothing.
      out[mine].names.push_back(std::move(entry.name));
    }
  }
  above.pop_back();
  return {};
}

Error FolderIndex::Builder::nothingFound(const std::vector<FolderEntry> &entries) const {
  size_t images = 0, others = 0;
  for (const FolderEntry &entry : entries)
    ++(isImageName(entry.name) ? images : others);
  if (images)
    return {Code::NotFound, "folder " + root + " has no class folders, but " +
                                std::to_string(images) +
                                " images of its own; each class needs a folder"};
  return {Code::NotFound, "folder " + root + " has no class folders (" +
                              (others ? std::to_string(others) + " other files"
                                      : std::string("it is empty")) +
                              ")"};
}

Status FolderIndex::Builder::scan() {
  Result<FileInfo> info = files.stat(root);
  if (!info)
    return Error{info.error().code, "image_folder: " + info.error().message};
  if (info->kind != FileKind::Folder)
    return Error{Code::NotFound, "image_folder: " + root + " is not a folder"};
  Result<std::vector<FolderEntry>> entries = files.listFolder(root);
  if (!entries)
    return entries.error();
  order.push_back({"", 0, info->modifiedNs, {}});
  above.push_back({info->device, info->number});
  std::vector<std::vector<Found>> classes;
  for (const FolderEntry &entry : *entries) {
    if (entry.kind != FileKind::Folder)
      continue;
    classes.emplace_back();
    Status status =
        walk(entry.name, uint32_t(classes.size() - 1), classes.back());
    if (!status)
      return status;
  }
  if (classes.empty())
    return nothingFound(*entries);
  std::vector<std::string> empty;
  size_t images = 0;
  for (std::vector<Found> &found : classes) {
    // torchvision sorts the folders of a class by their whole paths.
    std::sort(found.begin(), found.end(),
              [](const Found &a, const Found &b) { return a.path < b.path; });
    size_t here = 0;
    for (const Found &folder : found)
      here += folder.names.size();
    images += here;
    if (here == 0)
      empty.push_back(found[0].path);
  }
  if (images == 0)
    return Error{Code::NotFound, "folder " + root + " has no images in its " +
                                     std::to_string(classes.size()) +
                                     " class folders (names end in .jpg, .jpeg, .png, "
                                     ".ppm, .pgm, .bmp, .webp, .tif or .tiff)"};
  if (!empty.empty()) {
    std::string names;
    for (size_t i = 0; i < std::min<size_t>(empty.size(), 3); ++i)
      names += (i ? ", `" : "`") + empty[i] + "`";
    if (empty.size() > 3)
      names += " ...";
    return Error{Code::NotFound,
                 "folder " + root + ": " + std::to_string(empty.size()) + " of " +
                     std::to_string(classes.size()) +
                     " class folders have no images: " + names};
  }
  for (std::vector<Found> &found : classes)
    for (Found &folder : found)
      order.push_back(std::move(folder));
  return {};
}

FolderIndex FolderIndex::Builder::finish() const {
  std::string text = root;
  std::vector<Folder> folders;
  std::vector<uint64_t> ends;
  uint64_t files = 0;
  for (const Found &found : order) {
    folders.push_back({text.size(), uint32_t(found.path.size()), found.label,
                       found.modifiedNs, files});
    text += found.path;
    files += found.names.size();
  }
  ends.reserve(files + 1);
  ends.push_back(text.size());
  for (const Found &found : order)
    for (const std::string &name : found.names) {
      text += name;
      ends.push_back(text.size());
    }
  uint32_t classes = 0;
  for (const Folder &folder : folders)
    classes = std::max(classes, folder.label + 1);
  Header header{magic, 0, 0, files, uint32_t(folders.size()), classes, root.size()};
  size_t foldersSize = folders.size() * sizeof(Folder);
  size_t endsSize = ends.size() * sizeof(uint64_t);
  header.size = sizeof header + foldersSize + endsSize + text.size();
  auto block = std::make_shared<std::vector<uint8_t>>(header.size);
  uint8_t *at = block->data() + sizeof header;
  std::memcpy(at, folders.data(), foldersSize);
  std::memcpy(at + foldersSize, ends.data(), endsSize);
  std::memcpy(at + foldersSize + endsSize, text.data(), text.size());
  std::memcpy(block->data(), &header, sizeof header);
  constexpr size_t covered = offsetof(Header, size);
  header.checksum = XXH3_64bits(block->data() + covered, block->size() - covered);
  std::memcpy(block->data(), &header, sizeof header);
  return FolderIndex(Mapping{{block->data(), block->size()}, block});
}

Result<FolderIndex> FolderIndex::scan(FileSystem &files, std::string_view root) {
  Builder builder{files, std::string(root), {}, {}};
  if (Status status = builder.scan(); !status)
    return status.error();
  return builder.finish();
}

Result<FolderIndex> FolderIndex::parse(Mapping mapping, std::string_view root) {
  Error bad{Code::Corrupt, "the cached index is damaged"};
  std::span<const uint8_t> bytes = mapping.bytes;
  Header header;
  if (bytes.size() < sizeof header)
    return bad;
  std::memcpy(&header, bytes.data(), sizeof header);
  constexpr size_t covered = offsetof(Header, size);
  if (header.magic != magic || header.size != bytes.size() ||
      header.checksum != XXH3_64bits(bytes.data() + covered, bytes.size() - covered))
    return bad;
  // A right checksum over wrong contents is somebody's malice; it shall not
  // lead outside the block either.
  uint64_t rest = bytes.size() - sizeof header;
  if (header.folders < 2 || header.folders > rest / sizeof(Folder))
    return bad;
  rest -= header.folders * sizeof(Folder);
  if (header.files >= rest / sizeof(uint64_t))
    return bad;
  rest -= (header.files + 1) * sizeof(uint64_t);
  FolderIndex index(std::move(mapping));
  if (header.rootLength > rest ||
      std::string_view(index.text(), header.rootLength) != root)
    return bad;
  uint64_t file = 0;
  uint32_t nextClass = 0;
  for (const Folder &folder : index.folders()) {
    if (folder.path > rest || folder.pathLength > rest - folder.path ||
        folder.firstFile < file || folder.firstFile > header.files)
      return bad;
    file = folder.firstFile;
    if (&folder != index.folders().data()) {
      if (folder.label > nextClass || folder.label + 1 < nextClass)
        return bad;
      nextClass = std::max(nextClass, folder.label + 1);
    }
  }
  if (nextClass != header.classes || index.folders()[0].firstFile != 0 ||
      index.folders()[1].firstFile != 0)
    return bad;
  const uint64_t *ends = index.nameEnds();
  for (uint64_t i = 0; i < header.files; ++i)
    if (ends[i] > ends[i + 1])
      return bad;
  if (ends[header.files] > rest)
    return bad;
  return index;
}

bool FolderIndex::isCurrent(FileSystem &files) const {
  for (const Folder &folder : folders()) {
    Result<FileInfo> info = files.stat(join(root(), folderPath(folder)));
    if (!info || info->kind != FileKind::Folder ||
        info->modifiedNs != folder.modifiedNs)
      return false;
  }
  return true;
}

int64_t FolderIndex::lastChangeNs() const {
  int64_t last = INT64_MIN;
  for (const Folder &folder : folders())
    last = std::max(last, folder.modifiedNs);
  return last;
}

// The block begins at an aligned address (a page, or operator new), and all
// parts before the text are multiples of 8 bytes.
const FolderIndex::Header &FolderIndex::header() const {
  return *reinterpret_cast<const Header *>(mapping.bytes.data());
}

std::span<const FolderIndex::Folder> FolderIndex::folders() const {
  return {reinterpret_cast<const Folder *>(mapping.bytes.data() + sizeof(Header)),
          header().folders};
}

const uint64_t *FolderIndex::nameEnds() const {
  return reinterpret_cast<const uint64_t *>(folders().data() + header().folders);
}

const char *FolderIndex::text() const {
  return reinterpret_cast<const char *>(nameEnds() + header().files + 1);
}

std::string_view FolderIndex::folderPath(const Folder &folder) const {
  return {text() + folder.path, folder.pathLength};
}

uint64_t FolderIndex::fileCount() const { return header().files; }
uint32_t FolderIndex::classCount() const { return header().classes; }
std::string_view FolderIndex::root() const { return {text(), header().rootLength}; }

std::string_view FolderIndex::className(uint32_t label) const {
  auto all = folders().subspan(1);
  auto found = std::lower_bound(all.begin(), all.end(), label,
                                [](const Folder &folder, uint32_t wanted) {
                                  return folder.label < wanted;
                                });
  std::string_view path = folderPath(*found);
  return path.substr(0, path.find('/'));
}

const FolderIndex::Folder &FolderIndex::folderOf(uint64_t file) const {
  auto all = folders();
  auto behind = std::upper_bound(all.begin(), all.end(), file,
                                 [](uint64_t wanted, const Folder &folder) {
                                   return wanted < folder.firstFile;
                                 });
  return *(behind - 1);
}

uint32_t FolderIndex::label(uint64_t file) const { return folderOf(file).label; }

std::string FolderIndex::relativePath(uint64_t file) const {
  const uint64_t *ends = nameEnds();
  return join(folderPath(folderOf(file)),
              {text() + ends[file], size_t(ends[file + 1] - ends[file])});
}

} // namespace penstock::runtime
