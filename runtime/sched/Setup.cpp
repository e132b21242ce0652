#include "runtime/sched/Setup.h"

#include <algorithm>

namespace penstock::runtime {

bool storeFields(Work &work, int64_t slot, int64_t *block, Failure &failure) {
  const plan::PlanT &tree = work.program->tree();
  const Tables &tables = *work.program->tables;
  for (size_t i = 0; work.program->hasExternal && i < tree.rows.size(); ++i)
    if (work.program->external(i) && !work.externalRow(slot, i).status) {
      failure = {i, work.externalRow(slot, i).status.error().message};
      return false;
    }
  for (const auto &field : tree.fields) {
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
      failure = {size_t(field->row), value.error().message};
      return false;
    }
    block[field->slot] = *value;
  }
  return true;
}

Result<ImageInfo> headerOf(const plan::MediaT &media, const Encoded &encoded,
                           const ImageLimits &limits) {
  if (media.media != "video")
    return probeImage(encoded.bytes.span(), limits);
  const VideoInfo &known = encoded.video->info();
  ImageInfo info;
  info.width = known.width;
  info.height = known.height;
  info.orientation = known.orientation;
  return info;
}

void storeHeader(const plan::MediaT &media, const ImageInfo &info, int64_t *block) {
  if (media.height_slot >= 0)
    block[media.height_slot] = info.height;
  if (media.width_slot >= 0)
    block[media.width_slot] = info.width;
  if (media.orientation_slot >= 0)
    block[media.orientation_slot] = info.orientation;
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
