// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/SampleMedia.h"

#include "runtime/sched/Setup.h"

#include <algorithm>
#include <array>

namespace penstock::runtime {

SampleMedia::SampleMedia(const Program &program, const ImageLimits &limits, SampleBuffers &buffers,
                         Scratch &scratch, const Clock &clock, Costs &costs)
    : program(program), layout(*program.layout), tree(program.tree()), buffers(buffers),
      scratch(scratch), clock(clock), costs(costs),
      host{limits,
           costs.decoded,
           videoCosts,
           [&scratch](int64_t bytes) { return scratch.allocate(bytes); },
           [&scratch](uint64_t bytes) {
             return bytes <= uint64_t(INT64_MAX) && scratch.count(int64_t(bytes));
           },
           [&scratch](std::string_view what, int64_t bytes) {
             return scratch.refusal(what, bytes);
           }},
      kinds(std::size(media::all)), inputs(tree.media.size()) {
  for (const auto &media : tree.media) {
    const auto kind = size_t(media::find(media->media));
    if (!kinds[kind])
      kinds[kind] = mediumEntry(kind).make(host);
    readers.push_back(kinds[kind].get());
  }
}

Failure SampleMedia::failureIn(Work &work, int64_t slot, size_t medium, const Error &error) const {
  const plan::MediaT &media = *tree.media[medium];
  Failure failure = failureOf(size_t(media.row), error);
  const int number = tree.rows[size_t(media.row)]->source;
  const plan::SourceT &source = *tree.sources[size_t(number)];
  for (const auto &other : tree.media)
    if (other->row == media.row && other->column != media.column) {
      std::string file;
      if (!program.external(size_t(media.row))) {
        const int64_t row = work.row(slot, size_t(media.row));
        file = program.tables->fileName(number, row, media.column);
        if (file == program.tables->name(number, row)) // is said of the row
          file.clear();
      }
      failure.reason = source.columns[size_t(media.column)]->name + ": " +
                       (file.empty() ? "" : file + ": ") + failure.reason;
      break;
    }
  return failure;
}

bool SampleMedia::probe(Work &work, int64_t slot, Failure &failure) {
  if (tree.media.empty())
    return true;
  const int64_t begin = clock.nowNs();
  for (size_t i = 0; i < tree.media.size(); ++i) {
    const plan::MediaT &media = *tree.media[i];
    const Encoded &encoded = work.media(slot, i);
    Status status = encoded.status;
    if (status) {
      inputs[i] = inputOf(encoded);
      inputs[i].checkpoints = program.tables->checkpoints(tree.rows[size_t(media.row)]->source,
                                                          work.row(slot, size_t(media.row)));
      status = storeHeader(media, inputs[i], host.limits, buffers.block);
    }
    if (!status) {
      failure = failureIn(work, slot, i, status.error());
      return false;
    }
  }
  costs.add(Stage::Probe, clock.nowNs() - begin, tree.media.size());
  return true;
}

bool SampleMedia::decode(Work &work, int64_t slot, Failure &failure) {
  if (tree.decodes.empty())
    return true;
  const int64_t begin = clock.nowNs();
  uint64_t count = 0;
  bool good = true;
  untouched.assign(tree.media.size(), false);
  for (const auto &decode : tree.decodes)
    untouched[size_t(decode->media)] = true;
  for (size_t i = 0; i < tree.decodes.size(); ++i) {
    count += isWanted(*tree.decodes[i], buffers.block);
    good = good && decodeOne(work, slot, i, failure);
  }
  // How much of a file is needed depends on passes; that it is cut off must not.
  for (size_t i = 0; good && i < untouched.size(); ++i)
    if (untouched[i])
      if (Status status = readers[i]->checkEnd(inputs[i]); !status) {
        failure = failureIn(work, slot, i, status.error());
        good = false;
      }
  costs.add(Stage::Decode, clock.nowNs() - begin, count);
  return good;
}

Status SampleMedia::readBox(Encoded &encoded, const plan::DecodeT &decode,
                            const MediumRequest &request, const MediumLayout &where, uint8_t *out) {
  const auto number = size_t(decode.media);
  videoCosts = {};
  const uint64_t before = encoded.bytesRead();
  const Scratch::Mark mark = scratch.mark();
  Status status = readers[number]->decode(inputs[number], request, where, out);
  scratch.rewind(mark);
  const uint64_t late = encoded.bytesRead() - before;
  costs.fetchedBytes += late;
  if (!encoded.video)
    return status;
  VideoCounts counts{videoCosts.packets, videoCosts.restarts, encoded.isIndexFound, late, {}, 0, 0};
  counts.readings[size_t(encoded.reading)] = 1;
  costs.videos.add(counts);
  return status;
}

bool SampleMedia::decodeOne(Work &work, int64_t slot, size_t number, Failure &failure) {
  const plan::DecodeT &decode = *tree.decodes[number];
  const size_t row = size_t(tree.media[size_t(decode.media)]->row);
  const BufferLayout &buffer = layout.buffers[size_t(decode.buffer)];
  if (!buffers.shape(decode.buffer, failure))
    return false;
  pst_tensor &tensor = buffers[decode.buffer];
  const auto rank = size_t(buffer.rank);
  std::array<AxisRange, PST_MAX_RANK> box;
  bool isEmpty = false;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = tensor.extent[axis];
    box[axis] = rangeOf(decode, int(axis), extent, buffers.block);
    if (box[axis].low < 0 || box[axis].high > extent || box[axis].low > box[axis].high) {
      failure = {row, "elements " + std::to_string(box[axis].low) + " to " +
                          std::to_string(box[axis].high) + " of axis " + std::to_string(axis) +
                          " are needed, and it has " + std::to_string(extent)};
      return false;
    }
    isEmpty |= box[axis].low == box[axis].high;
  }
  std::array<int64_t, media::mostArguments> arguments;
  for (size_t i = 0; i < decode.arguments.size(); ++i)
    arguments[i] = buffers.block[decode.arguments[i]];
  MediumRequest request{tree.buffers[size_t(decode.buffer)]->type,
                        decode.format,
                        decode.orient,
                        {tensor.extent, rank},
                        {box.data(), rank},
                        {arguments.data(), decode.arguments.size()}};
  Medium &reader = *readers[size_t(decode.media)];
  auto where = reader.layout(request);
  if (!where) {
    failure = {row, "decoding needs more bytes than there are numbers for"};
    return false;
  }
  Planes &planes = work.planesOf(slot, number);
  planes = Planes();
  if (const auto found = decode.planes && !isEmpty
                             ? reader.planesFor(inputs[size_t(decode.media)], request)
                             : std::nullopt) {
    planes = *found;
    request.planes = &planes;
    where->bytes = int64_t(planes.bytes());
    where->offset = 0;
  }
  uint8_t *storage = buffers.storageFor(work, slot, buffer, where->bytes);
  if (!storage) {
    failure = failureOf(row, buffers.refusal(buffer, "decoding", where->bytes));
    return false;
  }
  storage += where->offset;
  if (!isEmpty) {
    untouched[size_t(decode.media)] = false;
    Status status =
        readBox(work.media(slot, size_t(decode.media)), decode, request, *where, storage);
    if (!status) {
      failure = failureIn(work, slot, size_t(decode.media), status.error());
      return false;
    }
  }
  if (isEmpty)
    if (Status status = reader.accepts(inputs[size_t(decode.media)], request); !status) {
      failure = failureIn(work, slot, size_t(decode.media), status.error());
      return false;
    }
  std::copy_n(where->strides, PST_MAX_RANK, tensor.stride);
  tensor.data = storage;
  return true;
}

} // namespace penstock::runtime
