// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/VideoClips.h"

#include "runtime/media/video/VideoLibrary.h"
#include "runtime/sources/FolderIndex.h"
#include "runtime/sources/IndexCache.h"
#include "runtime/sources/VideoIndex.h"

#include <algorithm>
#include <optional>

namespace penstock::runtime {

namespace {

enum Columns : int { VideoData, Start, Frames, Label, Name };
constexpr uint64_t maxFileBytes = uint64_t(1) << 30;

class VideoClips final : public Source {
public:
  VideoClips(FileSystem &files, FolderIndex folder, VideoIndex videos, int64_t every,
             std::vector<int64_t> ends)
      : Source(ends.empty() ? 0 : ends.back(), {{"video", plan::DType::bytes, {}},
                                                {"start", plan::DType::i64, {}},
                                                {"frames", plan::DType::i64, {}},
                                                {"label", plan::DType::i64, {}},
                                                {"name", plan::DType::text, {}}}),
        files(files), folder(std::move(folder)), videos(std::move(videos)), every(every),
        ends(std::move(ends)) {}

  std::string rowName(int64_t row) const override { return folder.relativePath(fileOf(row)); }

  Result<int64_t> scalar(int64_t row, int column) const override {
    const uint64_t file = fileOf(row);
    switch (column) {
    case Start:
      return (row - (file ? ends[file - 1] : 0)) * every;
    case Frames:
      return videos.frames(file);
    case Label:
      return int64_t(folder.label(file));
    default:
      return noSuchField(column, "a scalar");
    }
  }

  Result<std::string> text(int64_t row, int column) const override {
    if (column != Name)
      return noSuchField(column, "text");
    return rowName(row);
  }

  Status fetch(int64_t row, int column, Buffer &out) const override {
    auto place = this->place(row, column);
    if (!place)
      return place.error();
    if (place->size > maxFileBytes)
      return Error{Code::Limit, "the file has " + std::to_string(place->size) +
                                    " bytes, the limit is " + std::to_string(maxFileBytes)};
    return place->file->read(0, size_t(place->size), out);
  }

  Result<MediaPlace> place(int64_t row, int column) const override {
    if (column != VideoData)
      return noSuchField(column, "bytes");
    const uint64_t file = fileOf(row);
    if (const std::string_view problem = videos.problem(file); !problem.empty())
      return Error{Code::Corrupt, std::string(problem)};
    std::string path(folder.root());
    if (path.back() != '/')
      path += '/';
    path += folder.relativePath(file);
    auto opened = files.openFile(path);
    if (!opened)
      return opened.error();
    const FileInfo info = (*opened)->info();
    if (!videos.isOf(file, info))
      return Error{Code::Corrupt, "the file has changed since it was indexed"};
    return MediaPlace{std::move(*opened), 0, info.size, info.modifiedNs, std::move(path)};
  }

  std::span<const uint8_t> mediaIndex(int64_t row, int column) const override {
    return column == VideoData ? videos.index(fileOf(row)) : std::span<const uint8_t>();
  }

  std::vector<std::string> classNames() const override { return folder.classNames(); }

  uint64_t indexesMade() const override { return videos.made(); }

private:
  uint64_t fileOf(int64_t row) const {
    return uint64_t(std::upper_bound(ends.begin(), ends.end(), row) - ends.begin());
  }

  FileSystem &files;
  FolderIndex folder;
  VideoIndex videos;
  int64_t every;
  std::vector<int64_t> ends; // by file: the row behind its last
};

/// Returns the number of clips of a video.
int64_t clipsOf(int64_t frames, const VideoClipsOptions &options, int64_t every) {
  if (options.length == 0)
    return 1;
  const int64_t rest = frames - 1 - (options.length - 1) * options.step;
  return rest < 0 ? 0 : rest / every + 1;
}

Result<VideoIndex> indexFolder(FileSystem &files, const FolderIndex &folder,
                               const CacheFolder &cacheFolder) {
  const IndexCache cache(files, cacheFolder, "video-clips", folder.root());
  std::optional<VideoIndex> earlier;
  if (Result<Mapping> kept = cache.map())
    if (Result<VideoIndex> index = VideoIndex::parse(std::move(*kept)))
      earlier = std::move(*index);
  auto keep = [&](const VideoIndex &index) { cache.keep(index.bytes(), index.lastChangeNs()); };
  auto index = VideoIndex::make(files, folder, earlier ? &*earlier : nullptr, keep);
  const bool isNew = index && !(earlier && std::ranges::equal(earlier->bytes(), index->bytes()));
  if (isNew)
    keep(*index);
  return index;
}

} // namespace

Result<std::unique_ptr<Source>> openVideoClips(FileSystem &files, std::string_view root,
                                               const VideoClipsOptions &options) {
  auto refuse = [](std::string message) {
    return Error{Code::InvalidArgument, "video_clips: " + std::move(message)};
  };
  if (auto module = videoModule(); !module)
    return Error{module.error().code, "video_clips: " + module.error().message};
  constexpr int64_t most = int64_t(1) << 31;
  if (options.length < 0 || options.length > most || options.step < 1 || options.step > most ||
      options.every < 0 || options.every > most)
    return refuse("a clip of " + std::to_string(options.length) + " frames with a step of " +
                  std::to_string(options.step) + ", every " + std::to_string(options.every) +
                  " frames, cannot be");
  const int64_t every =
      options.every ? options.every : std::max<int64_t>(1, options.length * options.step);
  auto folder = FolderIndex::open(files, root, options.cacheFolder, FolderContents::Videos);
  if (!folder)
    return folder.error();
  auto videos = indexFolder(files, *folder, options.cacheFolder);
  if (!videos)
    return videos.error();
  std::vector<int64_t> ends;
  int64_t rows = 0, longest = 0;
  for (uint64_t i = 0; i < videos->size(); ++i) {
    const int64_t frames = videos->frames(i);
    longest = std::max(longest, frames);
    // An unreadable video has one row, so that it is reported as a bad sample.
    rows += videos->problem(i).empty() ? clipsOf(frames, options, every) : 1;
    ends.push_back(rows);
  }
  if (rows == 0)
    return refuse("no video of " + std::string(folder->root()) + " is as long as a clip: " +
                  std::to_string((options.length - 1) * options.step + 1) +
                  " frames, and the longest has " + std::to_string(longest));
  return std::unique_ptr<Source>(std::make_unique<VideoClips>(
      files, std::move(*folder), std::move(*videos), every, std::move(ends)));
}

} // namespace penstock::runtime
