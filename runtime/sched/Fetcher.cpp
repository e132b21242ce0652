// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Fetcher.h"

#include "runtime/core/Memory.h"
#include "runtime/media/wave/Wave.h"
#include "runtime/sched/Setup.h"

#include <algorithm>
#include <array>
#include <new>

namespace penstock::runtime {

namespace {

constexpr uint64_t mostFetched = uint64_t(1) << 30;
/// Files read in parts: smaller ones than `smallFile` are read at once; of others `headBytes` for
/// the header, and the rest in pieces.
constexpr uint64_t smallFile = 64 << 10, headBytes = 4 << 10, pieceBytes = 32 << 10;

bool isVideo(const plan::MediaT &media) { return media.media == "video"; }

const char *reasonOf(VideoReading reading) {
  return reading == VideoReading::NoTimes
             ? "its frames have no times of their own, so that it is decoded from its start"
             : "its packets do not lie in it in one piece each";
}

} // namespace

Fetcher::Fetcher(std::shared_ptr<const Program> shared, const ImageLimits &limits,
                 const Clock &clock)
    : program(std::move(shared)), limits(limits), clock(clock) {
  for (const auto &media : program->tree().media)
    entries.push_back(&mediumEntry(size_t(media::find(media->media))));
}

int64_t Fetcher::fetch(Work &work, int64_t slot) {
  const auto &media = program->tree().media;
  const int64_t begin = clock.nowNs();
  uint64_t held = 0, read = 0;
  try {
    readAll(work, slot);
  } catch (const std::bad_alloc &) {
    const Error error = noMemory("to read a sample's data");
    if (!media.empty())
      work.media(slot, 0).status = error;
    for (size_t i = 0; i < program->rowCount(); ++i)
      if (program->external(i))
        work.externalRow(slot, i).status = error;
  }
  for (size_t i = 0; i < media.size(); ++i) {
    Encoded &encoded = work.media(slot, i);
    if (!encoded.status)
      encoded.bytes.clear();
    held += encoded.bytesHeld();
    read += encoded.bytesRead();
  }
  for (size_t i = 0; program->hasExternal && i < program->rowCount(); ++i)
    if (program->external(i)) {
      held += uint64_t(work.externalRow(slot, i).bytes());
      read += uint64_t(work.externalRow(slot, i).bytes());
    }
  std::lock_guard guard(work.lock);
  work.costs.add(Stage::Fetch, clock.nowNs() - begin, std::max<size_t>(1, media.size()));
  work.costs.fetchedBytes += read;
  return int64_t(held);
}

void Fetcher::readAll(Work &work, int64_t slot) {
  const auto &media = program->tree().media;
  bool good = true, isPartial = false;
  for (size_t i = 0; program->hasExternal && i < program->rowCount(); ++i)
    if (const ExternalSource *table = program->external(i)) {
      ExternalRow &row = work.externalRow(slot, i);
      row.status = table->read(work.row(slot, i), row, work.stop);
      good = good && row.status;
    }
  for (size_t i = 0; i < media.size(); ++i) {
    Encoded &encoded = work.media(slot, i);
    encoded.file.reset(); // of a row that was tried before
    encoded.sound.reset();
    encoded.status = open(work, slot, i);
    good = good && encoded.status;
    isPartial |= encoded.status && encoded.parts() && encoded.bytesHeld() < encoded.file->size();
  }
  if (good && isPartial && plan(work, slot))
    for (size_t i = 0; i < media.size(); ++i)
      if (work.media(slot, i).parts())
        work.media(slot, i).status = fetchParts(work, slot, i);
}

Status Fetcher::open(Work &work, int64_t slot, size_t media) {
  return isVideo(*program->tree().media[media]) ? openVideo(work, slot, media)
         : entries[media]->parts                ? openFile(work, slot, media)
                                                : fetchWhole(work, slot, media);
}

Status Fetcher::readHeader(Work &work, size_t media, int64_t *into) {
  if (Status status = open(work, 0, media); !status)
    return status;
  MediumInput input = inputOf(work.media(0, media));
  return storeHeader(*program->tree().media[media], input, limits, into);
}

Status Fetcher::fetchWhole(Work &work, int64_t slot, size_t number) {
  const plan::MediaT &media = *program->tree().media[number];
  const size_t row = size_t(media.row);
  Buffer &bytes = work.media(slot, number).bytes;
  if (const ExternalSource *table = program->external(row)) {
    ExternalRow &given = work.externalRow(slot, row);
    const auto &all = program->tree().media;
    const bool isLast =
        std::none_of(all.begin() + std::ptrdiff_t(number) + 1, all.end(), [&](const auto &other) {
          return other->row == media.row && other->column == media.column;
        });
    return given.status ? table->take(given, size_t(media.column), isLast, bytes) : given.status;
  }
  return program->tables->fetch(program->tree().rows[row]->source, work.row(slot, row),
                                media.column, bytes);
}

Result<MediaPlace> Fetcher::placeOf(Work &work, int64_t slot, size_t number) const {
  const plan::MediaT &media = *program->tree().media[number];
  const size_t row = size_t(media.row);
  if (const ExternalSource *table = program->external(row)) {
    const ExternalRow &given = work.externalRow(slot, row);
    if (!given.status)
      return given.status.error();
    return table->placeOf(given, size_t(media.column));
  }
  return program->tables->place(program->tree().rows[row]->source, work.row(slot, row),
                                media.column);
}

Status Fetcher::openFile(Work &work, int64_t slot, size_t number) {
  Encoded &encoded = work.media(slot, number);
  auto place = placeOf(work, slot, number);
  if (!place && place.error().code == Code::Unsupported) {
    if (Status status = fetchWhole(work, slot, number); !status)
      return status;
    encoded.file = std::make_unique<MediaSpan>(encoded.bytes.span());
    encoded.reading = VideoReading::NoPlace;
    return openSound(work, slot, number, nullptr);
  }
  if (!place)
    return place.error();
  encoded.reading = VideoReading::Packets;
  auto file = std::make_unique<MediaFile>(place->file, place->offset, place->size, pieceBytes);
  const ByteRange head{0, place->size <= smallFile ? place->size : headBytes};
  Status status = head.size ? file->fetch({&head, 1}) : Status();
  encoded.file = std::move(file);
  return status ? openSound(work, slot, number, &*place) : status;
}

Status Fetcher::openSound(Work &work, int64_t slot, size_t number, const MediaPlace *place) {
  const plan::MediaT &media = *program->tree().media[number];
  Encoded &encoded = work.media(slot, number);
  if (media.media != "wave")
    return {};
  auto hasPackets = Wave::hasPackets(*encoded.file);
  if (!hasPackets)
    return hasPackets.error();
  if (!*hasPackets)
    return {};
  if (!place) {
    auto index = SoundTrack::index(*encoded.file, limits);
    if (!index)
      return index.error();
    auto sound = SoundTrack::open(*index);
    if (!sound)
      return sound.error();
    encoded.sound = std::move(*sound);
    return {};
  }
  auto found = program->tables->sound(program->tree().rows[size_t(media.row)]->source, *place);
  if (!found)
    return found.error();
  encoded.sound = std::move(found->track);
  if (encoded.sound->isDirect())
    return {};
  encoded.reading = VideoReading::Scattered;
  return readWhole(*place, encoded);
}

Status Fetcher::openVideo(Work &work, int64_t slot, size_t number) {
  const plan::MediaT &media = *program->tree().media[number];
  const size_t row = size_t(media.row);
  const int source = program->tree().rows[row]->source;
  const Tables &tables = *program->tables;
  Encoded &encoded = work.media(slot, number);
  auto place = placeOf(work, slot, number);
  if (!place && place.error().code == Code::Unsupported) {
    if (Status status = fetchWhole(work, slot, number); !status)
      return status;
    encoded.file = std::make_unique<MediaSpan>(encoded.bytes.span());
    auto index = indexVideo(*encoded.file, limits);
    if (!index)
      return index.error();
    auto video = Video::open(*index);
    if (!video)
      return video.error();
    encoded.video = std::move(*video);
    encoded.reading = VideoReading::NoPlace;
    encoded.isIndexFound = false;
    return {};
  }
  if (!place)
    return place.error();
  auto found = tables.video(source, work.row(slot, row), media.column, *place);
  if (!found)
    return found.error();
  encoded.video = std::move(found->track);
  encoded.isIndexFound = !found->isMade;
  encoded.reading = encoded.video->reading();
  if (encoded.reading != VideoReading::Packets)
    return readWhole(*place, encoded);
  encoded.file = std::make_unique<MediaFile>(std::move(place->file), place->offset, place->size);
  return {};
}

Status Fetcher::readWhole(const MediaPlace &place, Encoded &encoded) const {
  if (place.size > mostFetched)
    return Error{Code::Limit, "the file has " + std::to_string(place.size) +
                                  " bytes, and is read as a whole, as " +
                                  reasonOf(encoded.reading) + "; the limit is " +
                                  std::to_string(mostFetched) +
                                  ": put it into an MP4 or Matroska file"};
  if (Status status = place.file->read(place.offset, size_t(place.size), encoded.bytes); !status)
    return status;
  if (encoded.bytes.size() < place.size)
    return shrunk(place.size);
  if (Status status = place.file->checkUnchanged(); !status)
    return status;
  encoded.file = std::make_unique<MediaSpan>(encoded.bytes.span());
  return {};
}

bool Fetcher::plan(Work &work, int64_t slot) {
  const int64_t *own = work.block(slot);
  block.assign(own, own + program->slots());
  Failure ignored;
  if (!storeFields(work, slot, block.data(), ignored))
    return false;
  const auto &media = program->tree().media;
  for (size_t i = 0; i < media.size(); ++i) {
    MediumInput input = inputOf(work.media(slot, i));
    if (!storeHeader(*media[i], input, limits, block.data()))
      return false;
  }
  const Layout &layout = *program->layout;
  if (!layout.setup)
    return true;
  const int64_t bytes = scratchBytes(layout.scratch[size_t(program->tree().setup)], block.data());
  if (bytes > int64_t(limits.maxWorkBytes))
    return false;
  constexpr size_t line = 64;
  scratch.resize(size_t(bytes) + 2 * line);
  const std::vector<int32_t> &loaded = program->tree().setup_fields;
  fields.resize(loaded.size());
  fieldStorage.resize(loaded.size());
  for (size_t i = 0; i < loaded.size(); ++i)
    if (!bindField(work, slot, layout.buffers[size_t(loaded[i])], fieldStorage[i], fields[i],
                   ignored))
      return false;
  pst_kernel_args args{};
  args.scalars = block.data();
  args.tensors = fields.data();
  args.stop = work.stop;
  args.scratch = scratch.data() + (line - reinterpret_cast<uintptr_t>(scratch.data()) % line);
  return layout.setup(&args) == 0;
}

Status Fetcher::fetchParts(Work &work, int64_t slot, size_t number) {
  Encoded &encoded = work.media(slot, number);
  const MediumInput input = inputOf(encoded);
  const plan::PlanT &tree = program->tree();
  std::vector<ByteRange> parts;
  for (const auto &decode : tree.decodes) {
    if (size_t(decode->media) != number)
      continue;
    const BufferLayout &buffer = program->layout->buffers[size_t(decode->buffer)];
    const auto rank = size_t(buffer.rank);
    std::array<int64_t, PST_MAX_RANK> extents;
    std::array<AxisRange, PST_MAX_RANK> box;
    bool isWhole = true;
    for (size_t axis = 0; axis < rank; ++axis) {
      extents[axis] =
          buffer.isStatic ? buffer.shape.extent[axis] : buffer.extents[axis].of(block.data());
      box[axis] = rangeOf(*decode, int(axis), extents[axis], block.data());
      isWhole &=
          box[axis].low >= 0 && box[axis].low < box[axis].high && box[axis].high <= extents[axis];
    }
    if (!isWhole)
      continue; // nothing is wanted, or decoding will say what is wrong
    std::array<int64_t, media::mostArguments> arguments;
    for (size_t i = 0; i < decode->arguments.size(); ++i)
      arguments[i] = block[size_t(decode->arguments[i])];
    const MediumRequest request{tree.buffers[size_t(decode->buffer)]->type,
                                decode->format,
                                decode->orient,
                                {extents.data(), rank},
                                {box.data(), rank},
                                {arguments.data(), decode->arguments.size()}};
    if (!entries[number]->parts(input, request, parts))
      return {}; // decoding will say the same
  }
  uint64_t bytes = 0;
  for (const ByteRange &part : parts)
    bytes += part.size;
  if (bytes > mostFetched)
    return Error{Code::Limit, "what is wanted of the file has " + std::to_string(bytes) +
                                  " bytes, the limit is " + std::to_string(mostFetched)};
  std::sort(parts.begin(), parts.end(),
            [](const ByteRange &a, const ByteRange &b) { return a.offset < b.offset; });
  return static_cast<MediaFile &>(*encoded.file).fetch(parts);
}

} // namespace penstock::runtime
