// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Setup.h"

#include <algorithm>

namespace penstock::runtime {

bool storeFields(Work &work, int64_t slot, int64_t *block, Failure &failure) {
  const plan::PlanT &tree = work.program->tree();
  const Tables &tables = *work.program->tables;
  for (size_t i = 0; work.program->hasExternal && i < tree.rows.size(); ++i)
    if (work.program->external(i) && !work.externalRow(slot, i).status) {
      failure = failureOf(i, work.externalRow(slot, i).status.error());
      return false;
    }
  for (const auto &field : tree.fields) {
    if (field->of_rows)
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
