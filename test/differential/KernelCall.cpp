// SPDX-License-Identifier: Apache-2.0
//
// Calling, and what is sent.
#include "test/differential/KernelCall.h"
#include "runtime/core/KernelTable.h"
#include "test/WholeTransfers.h"
#include "test/differential/Guarded.h"
#include <cstring>

namespace penstock::differential {

static pst_tensor viewOf(const KernelTensor &tensor) {
  pst_tensor view = {};
  int64_t stride = tensor.elementBytes;
  for (size_t axis = tensor.extents.size(); axis-- > 0;) {
    view.extent[axis] = tensor.extents[axis];
    view.stride[axis] = stride;
    stride *= tensor.extents[axis];
  }
  return view;
}

/// Puts an input into memory. The outermost axis may have gaps, as in a decoded region: inputs
/// whose extents and place among the others add up to an odd number have, where the kernel lets
/// them.
static void place(const KernelTensor &tensor, size_t number, std::vector<Guarded> &buffers,
                  std::vector<pst_tensor> &views) {
  pst_tensor view = viewOf(tensor);
  const size_t size = tensor.bytes.size();
  int64_t sum = static_cast<int64_t>(number);
  for (int64_t extent : tensor.extents)
    sum += extent;
  const bool hasGaps = !tensor.isDense && sum % 2 && tensor.extents.size() > 1 && size > 0;
  const size_t row = hasGaps ? static_cast<size_t>(view.stride[0]) : size,
               gap = hasGaps ? static_cast<size_t>(tensor.elementBytes) : 0;
  const size_t rows = row ? size / row : 0;
  buffers.emplace_back(rows ? rows * (row + gap) - gap : 0, 64);
  std::memset(buffers.back().data(), 0xff, rows ? rows * (row + gap) - gap : 0);
  for (size_t i = 0; i < rows; ++i)
    std::memcpy(buffers.back().data() + i * (row + gap), tensor.bytes.data() + i * row, row);
  view.stride[0] += static_cast<int64_t>(gap);
  view.data = buffers.back().data();
  views.push_back(view);
}

KernelReply runKernel(const runtime::Image &image, const KernelCall &call) {
  KernelReply reply;
  reply.scalars = call.scalars;
  std::vector<Guarded> buffers;
  std::vector<pst_tensor> views;
  for (const KernelTensor &tensor : call.tensors) {
    if (!tensor.isOutput) {
      place(tensor, views.size(), buffers, views);
      continue;
    }
    buffers.emplace_back(tensor.bytes.size(), 64); // which may be read, and must not be written
    views.push_back(viewOf(tensor));
    views.back().data = buffers.back().data();
  }
  buffers.emplace_back(static_cast<size_t>(call.scratchBytes), 0);

  pst_kernel_args args = {};
  args.tensors = views.data();
  args.scalars = reply.scalars.data();
  args.scratch = buffers.back().data();
  args.stop = &runtime::neverStops;
  const pst_kernel entry = image.find(call.kernel);
  if (!entry) {
    reply.problem = "the image has no kernel `" + call.kernel + "`";
    return reply;
  }
  // Outputs with an odd number of rows are made in two bands, which together are the whole.
  const auto isOutput = [](const KernelTensor &tensor) { return tensor.isOutput; };
  const auto first = std::find_if(call.tensors.begin(), call.tensors.end(), isOutput);
  const bool isSplit =
      first != call.tensors.end() && !first->extents.empty() && first->extents[0] % 2;
  args.band[1] = isSplit ? first->extents[0] / 3 : INT64_MAX;
  reply.check = entry(&args);
  if (isSplit && !reply.check) {
    args.band[0] = args.band[1];
    args.band[1] = INT64_MAX;
    reply.check = entry(&args);
  }
  std::memcpy(reply.failure, args.failure, sizeof reply.failure);
  if (reply.check)
    return reply;
  for (size_t i = 0; i < call.tensors.size(); ++i)
    if (call.tensors[i].isOutput)
      reply.outputs.emplace_back(buffers[i].data(),
                                 buffers[i].data() + call.tensors[i].bytes.size());
  for (const Guarded &buffer : buffers)
    if (!buffer.intact())
      reply.problem = "kernel `" + call.kernel + "` writes outside its buffers";
  return reply;
}

//===--- over a pipe ----------------------------------------------------------===//

void MessageWriter::number(int64_t value) {
  const auto *from = reinterpret_cast<const uint8_t *>(&value);
  written.insert(written.end(), from, from + sizeof value);
}
void MessageWriter::bytes(const std::vector<uint8_t> &value) {
  number(static_cast<int64_t>(value.size()));
  written.insert(written.end(), value.begin(), value.end());
}
void MessageWriter::text(const std::string &value) { bytes({value.begin(), value.end()}); }
void MessageWriter::numbers(const std::vector<int64_t> &value) {
  number(static_cast<int64_t>(value.size()));
  for (int64_t one : value)
    number(one);
}

bool MessageWriter::send(int file) const {
  const uint64_t size = written.size();
  return test::writeAll(file, &size, sizeof size) &&
         test::writeAll(file, written.data(), written.size());
}

bool MessageReader::receive(int file) {
  uint64_t size;
  if (!test::readAll(file, &size, sizeof size))
    return false;
  message.resize(size);
  at = 0;
  return test::readAll(file, message.data(), size);
}

int64_t MessageReader::number() {
  int64_t value;
  std::memcpy(&value, message.data() + at, sizeof value);
  at += sizeof value;
  return value;
}
std::vector<uint8_t> MessageReader::bytes() {
  const auto size = static_cast<size_t>(number());
  const uint8_t *from = message.data() + at;
  at += size;
  return {from, from + size};
}
std::string MessageReader::text() {
  const std::vector<uint8_t> read = bytes();
  return {read.begin(), read.end()};
}
std::vector<int64_t> MessageReader::numbers() {
  std::vector<int64_t> all(static_cast<size_t>(number()));
  for (int64_t &one : all)
    one = number();
  return all;
}

void write(MessageWriter &to, const KernelCall &call) {
  to.text(call.kernel);
  to.number(static_cast<int64_t>(call.tensors.size()));
  for (const KernelTensor &tensor : call.tensors) {
    to.numbers(tensor.extents);
    to.number(tensor.elementBytes);
    to.bytes(tensor.bytes);
    to.number(tensor.isOutput);
    to.number(tensor.isDense);
  }
  to.numbers(call.scalars);
  to.number(call.scratchBytes);
}

KernelCall readCall(MessageReader &from) {
  KernelCall call;
  call.kernel = from.text();
  call.tensors.resize(static_cast<size_t>(from.number()));
  for (KernelTensor &tensor : call.tensors) {
    tensor.extents = from.numbers();
    tensor.elementBytes = from.number();
    tensor.bytes = from.bytes();
    tensor.isOutput = from.number() != 0;
    tensor.isDense = from.number() != 0;
  }
  call.scalars = from.numbers();
  call.scratchBytes = from.number();
  return call;
}

void write(MessageWriter &to, const KernelReply &reply) {
  to.text(reply.problem);
  to.number(reply.check);
  to.number(reply.failure[0]);
  to.number(reply.failure[1]);
  to.number(static_cast<int64_t>(reply.outputs.size()));
  for (const std::vector<uint8_t> &output : reply.outputs)
    to.bytes(output);
  to.numbers(reply.scalars);
}

KernelReply readReply(MessageReader &from) {
  KernelReply reply;
  reply.problem = from.text();
  reply.check = static_cast<int32_t>(from.number());
  reply.failure[0] = from.number();
  reply.failure[1] = from.number();
  reply.outputs.resize(static_cast<size_t>(from.number()));
  for (std::vector<uint8_t> &output : reply.outputs)
    output = from.bytes();
  reply.scalars = from.numbers();
  return reply;
}

} // namespace penstock::differential
