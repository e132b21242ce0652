// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Setup.h"

#include "runtime/core/DType.h"
#include "runtime/core/Memory.h"

#include <algorithm>
#include <cstring>

namespace penstock::runtime {

bool isFloatColumn(const plan::PlanT &tree, const plan::FieldSlotT &field) {
  const plan::SourceT &source = *tree.sources[size_t(tree.rows[size_t(field.row)]->source)];
  return field.axis < 0 && isFloat(source.columns[size_t(field.column)]->type);
}

/// Points at a field of a row of the caller's, which lives as long as the first stage; at
/// a copy in `storage` where it is read later. False without memory.
static bool bindGiven(const ExternalRow::Field &given, const BufferLayout &buffer, Buffer &storage,
                      pst_tensor &out) {
  int64_t stride = buffer.elementBytes;
  for (int axis = buffer.rank; axis-- > 0;) {
    out.extent[axis] = given.tensor.extents[size_t(axis)];
    out.stride[axis] = stride;
    stride *= out.extent[axis];
  }
  static_assert(Buffer::slack >= size_t(storageSlack));
  const uint8_t *data = given.bytes.data();
  if (buffer.kept >= 0) {
    if (!storage.resize(given.bytes.size()))
      return false;
    if (given.bytes.size())
      std::memcpy(storage.data(), data, given.bytes.size());
    data = storage.data();
  }
  if (!data && !storage.resize(1)) // no elements; its address must not be null all the same
    return false;
  out.data = const_cast<uint8_t *>(data ? data : storage.data());
  return true;
}

bool bindField(Work &work, int64_t slot, const BufferLayout &buffer, Buffer &storage,
               pst_tensor &out, Failure &failure) {
  const Program &program = *work.program;
  const size_t row = size_t(buffer.row);
  if (program.external(row)) {
    if (!bindGiven(work.externalRow(slot, row)[size_t(buffer.column)], buffer, storage, out)) {
      failure = failureOf(row, noMemory("for a field of the row"));
      return false;
    }
  } else if (Status status =
                 program.tables->tensor(program.tree().rows[row]->source, work.row(slot, row),
                                        buffer.column, storage, out);
             !status) {
    failure = failureOf(row, status.error());
    return false;
  }
  return true;
}

bool storeFields(Work &work, int64_t slot, int64_t *block, Failure &failure) {
  const plan::PlanT &tree = work.program->tree();
  const Tables &tables = *work.program->tables;
  for (size_t i = 0; work.program->hasExternal && i < tree.rows.size(); ++i)
    if (work.program->external(i) && !work.externalRow(slot, i).status) {
      failure = failureOf(i, work.externalRow(slot, i).status.error());
      return false;
    }
  for (const auto &field : tree.fields) {
    // What rows are chosen by has to be there, or be a float, which is no number then.
    if (field->of_rows && isFloatColumn(tree, *field))
      continue;
    if (work.program->external(size_t(field->row))) {
      const ExternalRow::Field &given =
          work.externalRow(slot, size_t(field->row))[size_t(field->column)];
      block[field->slot] =
          field->axis < 0 ? given.scalar : given.tensor.extents[size_t(field->axis)];
      continue;
    }
    const int source = tree.rows[size_t(field->row)]->source;
    const int64_t row = work.row(slot, size_t(field->row));
    auto value = field->axis < 0 ? tables.scalar(source, row, field->column)
                                 : tables.extent(source, row, field->column, field->axis);
    if (!value) {
      failure = failureOf(size_t(field->row), value.error());
      return false;
    }
    block[field->slot] = *value;
  }
  return true;
}

MediumInput inputOf(const Encoded &encoded) {
  return {encoded.bytes.span(), {},      encoded.file.get(),
          encoded.video.get(),  nullptr, encoded.sound.get()};
}

Status storeHeader(const plan::MediaT &media, MediumInput &input, const ImageLimits &limits,
                   int64_t *block) {
  const auto &entry = mediumEntry(size_t(media::find(media.media)));
  if (Status status = entry.probe(input, limits, input.numbers); !status)
    return status;
  for (size_t i = 0; i < media.numbers.size(); ++i)
    if (media.numbers[i] >= 0)
      block[media.numbers[i]] = input.numbers[i];
  return {};
}

AxisRange rangeOf(const plan::DecodeT &decode, int axis, int64_t extent, const int64_t *block) {
  for (const plan::AxisRange &range : decode.region)
    if (range.axis() == axis)
      return {block[range.low()], block[range.high()]};
  return {0, extent};
}

bool isWanted(const plan::DecodeT &decode, const int64_t *block) {
  return std::all_of(decode.region.begin(), decode.region.end(), [&](const plan::AxisRange &range) {
    return block[range.low()] < block[range.high()];
  });
}

int64_t scratchBytes(const KernelScratch &need, const int64_t *block) {
  int64_t total = need.fixed;
  for (const auto &term : need.terms) {
    int64_t bytes = term.bytes;
    for (const SlotExtent &extent : term.extents)
      if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent.of(block), 0), &bytes))
        return INT64_MAX;
    if (__builtin_add_overflow(total, bytes, &total))
      return INT64_MAX;
  }
  return total;
}

} // namespace penstock::runtime
