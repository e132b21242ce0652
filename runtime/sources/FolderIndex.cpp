// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/FolderIndex.h"

#include "runtime/core/Parallel.h"
#include "runtime/core/TextValue.h"
#include "runtime/sources/IndexCache.h"
#include "runtime/sources/IndexHeader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace penstock::runtime {

namespace {

constexpr std::array<char, 8> magic = {'P', 'S', 'T', 'K', 'D', 'I', 'R', '4'};

/// Words of messages, by the kind of files that are looked for.
struct Wanted {
  const char *source, *files, *endings; ///< the last as ".jpg, .png or .ppm"
  const char *cacheKind;
};

const Wanted &wantedOf(FolderContents contents) {
  static constexpr Wanted images = {"image_folder", "images",
                                    ".jpg, .jpeg, .png, .ppm, .pgm, .bmp, .webp, .tif or .tiff",
                                    "image-folder"};
  static constexpr Wanted sounds = {"audio_folder", "sounds",
                                    ".wav, .flac, .mp3, .ogg, .oga, .opus, .m4a, .aac, .wma, .aif, "
                                    ".aiff, .au or .caf",
                                    "audio-folder"};
  static constexpr Wanted videos = {
      "video_clips", "videos",
      ".mp4, .m4v, .mov, .mkv, .webm, .avi, .ts, .mts, .m2ts, .mpg, .mpeg, .flv, .wmv, .ogv or "
      ".3gp",
      "video-folder"};
  return contents == FolderContents::Images   ? images
         : contents == FolderContents::Sounds ? sounds
                                              : videos;
}

bool isWantedName(const Wanted &wanted, std::string_view name) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos)
    return false;
  const std::string end = inSmallLetters(name.substr(dot));
  const std::string_view endings = wanted.endings;
  const size_t at = endings.find(end);
  const size_t behind = at + end.size();
  return at != std::string_view::npos && end.size() > 1 && end.find(' ') == std::string::npos &&
         (behind == endings.size() || endings[behind] == ',' || endings[behind] == ' ');
}

std::string join(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && path.back() != '/')
    path += '/';
  return path += name;
}

} // namespace

bool isImageName(std::string_view name) {
  return isWantedName(wantedOf(FolderContents::Images), name);
}

struct FolderIndex::Header : IndexHeader {
  uint64_t files;
  uint32_t folders; // folder 0 is the root; the others go by label, then path
  uint32_t classes;
  uint64_t rootLength;
  uint64_t whole;    // 0: some classes are missing, and labels mean nothing
  uint64_t rootsKey; // of the file system, where files were found through links; else 0
};

/// By what a folder is known to be the one that was listed, and unchanged. Archives give folders
/// the time that is written in them, so that alone says little.
struct FolderTimes {
  int64_t modifiedNs = 0, changedNs = 0;
  uint64_t number = 0;

  static FolderTimes of(const FileInfo &info) {
    return {info.modifiedNs, info.changedNs, info.number};
  }
  bool operator==(const FolderTimes &) const = default;
};

struct FolderIndex::Folder {
  uint64_t path; // where its path below the root begins in the text
  uint32_t pathLength;
  uint32_t label;
  FolderTimes times;
  uint64_t firstFile; // files of a folder follow one another
};

/// A folder as it was read; its names lie one after the other.
struct FolderIndex::Found {
  std::string path;
  uint32_t label = 0;
  FolderTimes times;
  std::string names;
  std::vector<uint64_t> ends; // of each name in `names`
  bool hasLinks = false;      // files among them are links

  void add(std::string_view name) {
    names += name;
    ends.push_back(names.size());
  }
};

/// The folders of an earlier index, by path.
class FolderIndex::Known {
public:
  explicit Known(const FolderIndex *index) : index(index) {
    if (!index)
      return;
    for (const Folder &folder : index->folders()) {
      const std::string_view path = index->folderPath(folder);
      byPath.emplace(path, &folder);
      const size_t slash = path.rfind('/');
      if (slash != std::string_view::npos)
        inside[path.substr(0, slash)].push_back(path.substr(slash + 1));
    }
  }

  /// Fills in the names and tells the folders inside, if this folder is known and
  /// has not been changed since.
  bool take(Found &found, std::vector<std::string> &folders) const {
    const auto entry = byPath.find(found.path);
    if (entry == byPath.end() || entry->second->times != found.times)
      return false;
    const Folder &folder = *entry->second;
    found.hasLinks = index->header().rootsKey != 0;
    const bool isLast = &folder == &index->folders().back();
    const uint64_t end = isLast ? index->fileCount() : (&folder + 1)->firstFile;
    for (uint64_t file = folder.firstFile; file < end; ++file)
      found.add(index->fileName(file));
    if (const auto below = inside.find(found.path); below != inside.end())
      folders.assign(below->second.begin(), below->second.end());
    return true;
  }

private:
  const FolderIndex *index;
  std::unordered_map<std::string_view, const Folder *> byPath;
  std::unordered_map<std::string_view, std::vector<std::string_view>> inside;
};

/// Reads one class after the other, several at a time.
struct FolderIndex::Builder {
  using Identity = std::pair<uint64_t, uint64_t>;

  FileSystem &files;
  std::string root;
  const Known &known;
  const std::function<void(const FolderIndex &)> &keep;
  const Wanted &wanted;
  Found top;
  std::vector<std::vector<Found>> classes;
  Identity identity; // of the root
  uint64_t rootsKey;

  Status walk(std::string path, uint32_t label, std::vector<Identity> &above,
              std::vector<Found> &out) const;
  Status takeEntry(const std::string &folder, FolderEntry &entry, Found &found,
                   std::vector<std::string> &inside) const;
  Status walkClasses(const std::vector<std::string> &names);
  Status scan();
  Status checkImages() const;
  Status brokenLink(const std::string &folder, const std::string &name) const;
  Error nothingFound(const std::vector<FolderEntry> &entries) const;
  FolderIndex finish(size_t done) const;
};

/// Returns whether what a link leads to may become a folder while the link, and the folder that it
/// is in, stay as they are. Such a folder is listed each time.
static bool mayBecomeFolder(const FolderEntry &entry) {
  return entry.link != Link::None && entry.kind != FileKind::Folder;
}

/// Takes an entry of a folder. Nothing is dropped in silence: a folder that cannot be entered would
/// take its files with it, and a link may lead to one. An unreadable picture is a row that fails.
Status FolderIndex::Builder::takeEntry(const std::string &folder, FolderEntry &entry, Found &found,
                                       std::vector<std::string> &inside) const {
  const bool isWanted = isWantedName(wanted, entry.name);
  const bool isFolder = entry.kind == FileKind::Folder;
  if (entry.link == (isWanted ? Link::Outside : Link::Broken))
    return brokenLink(folder, entry.name);
  if (isFolder)
    inside.push_back(std::move(entry.name));
  else if (isWanted)
    found.add(entry.name);
  found.hasLinks |= !isFolder && isWanted && entry.link != Link::None;
  if (mayBecomeFolder(entry) && !isWanted)
    found.times = {};
  return {};
}

/// Returns the error of a link that cannot be followed.
Status FolderIndex::Builder::brokenLink(const std::string &folder, const std::string &name) const {
  const std::string path = join(folder, name);
  const Result<FileInfo> info = files.stat(path);
  if (info)
    return Error{Code::Io, "folder " + folder + " changed while it was listed"};
  if (info.error().code == Code::OutsideRoot)
    return info.error();
  const std::string &message = info.error().message;
  return Error{info.error().code,
               "cannot follow the link " + path +
                   message.substr(std::min(message.rfind(": "), message.size())) +
                   "; it may stand for a folder of " + wanted.files};
}

Status FolderIndex::Builder::walk(std::string path, uint32_t label, std::vector<Identity> &above,
                                  std::vector<Found> &out) const {
  std::string full = join(root, path);
  // The time comes first: what changes during the listing makes it stale.
  Result<FileInfo> info = files.stat(full);
  if (!info)
    return info.error();
  Identity mine(info->device, info->number);
  if (std::find(above.begin(), above.end(), mine) != above.end())
    return Error{Code::InvalidArgument,
                 "folder " + full + " is a link to a folder that it lies in"};
  std::vector<std::string> inside;
  Found found{path, label, FolderTimes::of(*info), {}, {}};
  if (!known.take(found, inside)) {
    Result<std::vector<FolderEntry>> entries = files.listFolder(full);
    if (!entries)
      return entries.error();
    for (FolderEntry &entry : *entries)
      if (Status status = takeEntry(full, entry, found, inside); !status)
        return status;
  }
  out.push_back(std::move(found));
  above.push_back(mine);
  for (const std::string &name : inside)
    if (Status status = walk(join(path, name), label, above, out); !status)
      return status;
  above.pop_back();
  return {};
}

Error FolderIndex::Builder::nothingFound(const std::vector<FolderEntry> &entries) const {
  size_t images = 0, others = 0;
  for (const FolderEntry &entry : entries)
    ++(isWantedName(wanted, entry.name) ? images : others);
  if (images)
    return {Code::NotFound, "folder " + root + " has no class folders (" +
                                std::string(wanted.files) + " in it: " + std::to_string(images) +
                                "); each class needs a folder"};
  return {Code::NotFound,
          "folder " + root + " has no class folders (" +
              (others ? std::to_string(others) + " other files" : std::string("it is empty")) +
              ")"};
}

/// Keeps what is there from time to time, in whole classes: a start that was
/// interrupted goes on there.
Status FolderIndex::Builder::walkClasses(const std::vector<std::string> &names) {
  constexpr size_t atOnce = 256;
  constexpr uint64_t firstKept = 1'000'000;
  classes.resize(names.size());
  std::vector<std::optional<Error>> errors(names.size());
  uint64_t count = 0, keepAt = firstKept;
  for (size_t begin = 0; begin < names.size(); begin += atOnce) {
    const size_t end = std::min(begin + atOnce, names.size());
    parallelFor(end - begin, readingThreads, [&](size_t i) {
      const size_t label = begin + i;
      std::vector<Identity> above = {identity};
      std::vector<Found> &found = classes[label];
      if (Status status = walk(names[label], uint32_t(label), above, found); !status)
        errors[label] = status.error();
      // torchvision sorts the folders of a class by their whole paths.
      std::sort(found.begin(), found.end(),
                [](const Found &a, const Found &b) { return comesBefore(a.path, b.path); });
    });
    for (size_t label = begin; label < end; ++label) {
      if (errors[label])
        return *errors[label];
      for (const Found &folder : classes[label])
        count += folder.ends.size();
    }
    if (count >= keepAt && end < names.size()) {
      keep(finish(end));
      keepAt = count + count / 2;
    }
  }
  return {};
}

Status FolderIndex::Builder::scan() {
  Result<FileInfo> info = files.stat(root);
  if (!info)
    return Error{info.error().code, std::string(wanted.source) + ": " + info.error().message};
  if (info->kind != FileKind::Folder && !isUrl(root))
    return Error{Code::NotFound, std::string(wanted.source) + ": " + root + " is not a folder"};
  Result<std::vector<FolderEntry>> entries = files.listFolder(root);
  if (!entries)
    return entries.error();
  top.times = FolderTimes::of(*info);
  identity = {info->device, info->number};
  std::vector<std::string> names;
  for (const FolderEntry &entry : *entries) {
    // Without this class, those behind it would have other numbers. Entering one out of
    // the roots says so.
    if (entry.link == Link::Broken)
      return brokenLink(root, entry.name);
    if (entry.kind == FileKind::Folder)
      names.push_back(entry.name);
    if (mayBecomeFolder(entry))
      top.times = {};
  }
  if (names.empty())
    return nothingFound(*entries);
  if (Status status = walkClasses(names); !status)
    return status;
  return checkImages();
}

Status FolderIndex::Builder::checkImages() const {
  std::vector<std::string> empty;
  for (const std::vector<Found> &found : classes)
    if (std::all_of(found.begin(), found.end(), [](const Found &f) { return f.ends.empty(); }))
      empty.push_back(found[0].path);
  if (empty.size() == classes.size())
    return Error{Code::NotFound, "folder " + root + " has no " + wanted.files + " in its " +
                                     std::to_string(classes.size()) +
                                     " class folders (names end in " + wanted.endings + ")"};
  if (empty.empty())
    return {};
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(empty.size(), 3); ++i)
    names += (i ? ", `" : "`") + empty[i] + "`";
  if (empty.size() > 3)
    names += " ...";
  return Error{Code::NotFound, "folder " + root + ": " + std::to_string(empty.size()) + " of " +
                                   std::to_string(classes.size()) + " class folders have no " +
                                   wanted.files + ": " + names};
}

/// The block of the first `done` classes, written in place: there is no second
/// copy of tens of millions of names.
FolderIndex FolderIndex::Builder::finish(size_t done) const {
  std::vector<const Found *> order = {&top};
  for (size_t label = 0; label < done; ++label)
    for (const Found &found : classes[label])
      order.push_back(&found);
  uint64_t files = 0, textSize = root.size();
  bool hasLinks = false;
  for (const Found *found : order) {
    files += found->ends.size();
    hasLinks |= found->hasLinks;
    textSize += found->path.size() + found->names.size();
  }
  Header header{{magic, 0, 0},          files,       uint32_t(order.size()),
                uint32_t(done),         root.size(), done == classes.size(),
                hasLinks ? rootsKey : 0};
  const size_t foldersSize = order.size() * sizeof(Folder);
  auto block = std::make_shared<std::vector<uint8_t>>(sizeof header + foldersSize +
                                                      (files + 1) * sizeof(uint64_t) + textSize);
  uint8_t *const base = block->data();
  auto *folder = reinterpret_cast<Folder *>(base + sizeof header);
  auto *end = reinterpret_cast<uint64_t *>(base + sizeof header + foldersSize);
  auto *const text = reinterpret_cast<char *>(end + files + 1);
  uint64_t at = 0, file = 0;
  auto put = [&](std::string_view part) {
    std::memcpy(text + at, part.data(), part.size());
    at += part.size();
  };
  put(root);
  for (const Found *found : order) {
    *folder++ = {at, uint32_t(found->path.size()), found->label, found->times, file};
    put(found->path);
    file += found->ends.size();
  }
  *end++ = at;
  for (const Found *found : order) {
    for (uint64_t nameEnd : found->ends)
      *end++ = at + nameEnd;
    put(found->names);
  }
  IndexHeader::seal(*block, header);
  return FolderIndex(Mapping{{base, block->size()}, block});
}

Result<FolderIndex> FolderIndex::scan(FileSystem &files, std::string_view root,
                                      const FolderIndex *earlier,
                                      const std::function<void(const FolderIndex &)> &keep,
                                      FolderContents contents) {
  const Known known(earlier);
  Builder builder{files, std::string(root), known, keep, wantedOf(contents), {}, {},
                  {},    files.rootsKey()};
  if (Status status = builder.scan(); !status)
    return status.error();
  return builder.finish(builder.classes.size());
}

Result<FolderIndex> FolderIndex::open(FileSystem &files, std::string_view path,
                                      const CacheFolder &cacheFolder, FolderContents contents,
                                      bool *wasCached) {
  const std::string root = absolutePath(path);
  const IndexCache cache(files, cacheFolder, wantedOf(contents).cacheKind, root);
  std::optional<FolderIndex> earlier;
  if (Result<Mapping> kept = cache.map())
    if (Result<FolderIndex> index = parse(std::move(*kept), root))
      if (const uint64_t key = index->header().rootsKey; !key || key == files.rootsKey())
        earlier = std::move(*index);
  const bool isCurrent = earlier && earlier->isCurrent(files);
  if (wasCached)
    *wasCached = isCurrent;
  if (isCurrent)
    return std::move(*earlier);
  auto keep = [&](const FolderIndex &index) { cache.keep(index.bytes(), index.lastChangeNs()); };
  Result<FolderIndex> index = scan(files, root, earlier ? &*earlier : nullptr, keep, contents);
  if (index)
    keep(*index);
  return index;
}

Result<FolderIndex> FolderIndex::parse(Mapping mapping, std::string_view root) {
  Error bad{Code::Corrupt, "the cached index is damaged"};
  std::span<const uint8_t> bytes = mapping.bytes;
  Header header;
  if (!IndexHeader::open(bytes, magic, header))
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
  if (header.rootLength > rest || std::string_view(index.text(), header.rootLength) != root)
    return bad;
  uint64_t file = 0;
  uint32_t nextClass = 0;
  for (const Folder &folder : index.folders()) {
    if (folder.path > rest || folder.pathLength > rest - folder.path || folder.firstFile < file ||
        folder.firstFile > header.files)
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
  if (!header().whole)
    return false;
  for (const Folder &folder : folders()) {
    Result<FileInfo> info = files.stat(join(root(), folderPath(folder)));
    if (!info || info->kind != FileKind::Folder || FolderTimes::of(*info) != folder.times)
      return false;
  }
  return true;
}

int64_t FolderIndex::lastChangeNs() const {
  int64_t last = INT64_MIN;
  for (const Folder &folder : folders())
    last = std::max(last, folder.times.modifiedNs); // a change sets it, if to the same moment
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

std::vector<std::string> FolderIndex::classNames() const {
  std::vector<std::string> names;
  for (uint32_t label = 0; label < classCount(); ++label)
    names.emplace_back(className(label));
  return names;
}

std::string_view FolderIndex::className(uint32_t label) const {
  auto all = folders().subspan(1);
  auto found =
      std::lower_bound(all.begin(), all.end(), label,
                       [](const Folder &folder, uint32_t wanted) { return folder.label < wanted; });
  std::string_view path = folderPath(*found);
  return path.substr(0, path.find('/'));
}

const FolderIndex::Folder &FolderIndex::folderOf(uint64_t file) const {
  auto all = folders();
  auto behind =
      std::upper_bound(all.begin(), all.end(), file, [](uint64_t wanted, const Folder &folder) {
        return wanted < folder.firstFile;
      });
  return *(behind - 1);
}

uint32_t FolderIndex::label(uint64_t file) const { return folderOf(file).label; }

std::string_view FolderIndex::fileName(uint64_t file) const {
  const uint64_t *ends = nameEnds();
  return {text() + ends[file], size_t(ends[file + 1] - ends[file])};
}

std::string FolderIndex::relativePath(uint64_t file) const {
  return join(folderPath(folderOf(file)), fileName(file));
}

} // namespace penstock::runtime
