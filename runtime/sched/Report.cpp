// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Report.h"

#include "runtime/sched/State.h"
#include "runtime/sched/Work.h"

#include <algorithm>
#include <bit>

namespace penstock::runtime {

const char *nameOf(Stage stage) {
  static constexpr const char *names[stageCount] = {"select", "fetch",   "probe", "setup",
                                                    "decode", "kernels", "wait"};
  return names[static_cast<size_t>(stage)];
}

void VideoCounts::add(const VideoCounts &other) {
  packets += other.packets;
  restarts += other.restarts;
  indexUses += other.indexUses;
  lateBytes += other.lateBytes;
  for (size_t i = 0; i < videoReadingCount; ++i)
    readings[i] += other.readings[i];
  indexesMade += other.indexesMade;
  indexBytes += other.indexBytes;
}

double SampleReport::Draw::number() const {
  const bool isFloat = type == plan::DType::f64 || type == plan::DType::f32 ||
                       type == plan::DType::f16 || type == plan::DType::bf16;
  return isFloat ? std::bit_cast<double>(bits) : double(bits);
}

const char *Statistics::limit() const {
  if (elapsedNs <= 0)
    return "nothing";
  // Where batches are there when they are asked for, the asking is what limits.
  if ((*this)[Stage::Wait].busyNs * 20 < elapsedNs)
    return "consumer";
  Stage longest = Stage::Select;
  int64_t computing = 0;
  for (Stage stage : {Stage::Select, Stage::Probe, Stage::Setup, Stage::Decode, Stage::Kernels}) {
    computing += (*this)[stage].busyNs;
    if ((*this)[stage].busyNs > (*this)[longest].busyNs)
      longest = stage;
  }
  // Computing threads that are idle half of the time wait for files.
  const bool idle = computing * 2 < elapsedNs * std::max(threads, 1);
  if (idle && (*this)[Stage::Fetch].busyNs > computing)
    return nameOf(Stage::Fetch);
  return nameOf(longest);
}

Result<SampleReport> makeSampleReport(Work &work, int64_t slot) {
  const Program &program = *work.program;
  SampleReport report;
  report.row = work.row(slot, 0);
  report.name = work.name(slot, 0);
  for (const auto &draw : program.tree().draws)
    report.draws.push_back({draw->path, draw->type, work.block(slot)[draw->slot]});
  report.contentHash = work.memory->contentHash(slot, work.count);
  for (const BadSample &bad : work.bad)
    if (bad.position == work.positions[size_t(slot)])
      report.bad.push_back(bad);

  const std::shared_ptr<BatchBlock> block(std::move(work.memory));
  std::vector<OutputView> views = block->views(work.count);
  for (size_t i = 0; i < views.size(); ++i) {
    OutputView &view = views[i];
    view.device = -1;
    view.deviceOffsets = nullptr;
    auto *data = block->onHost(i, work.count);
    if (!data)
      return Error{Code::Io, "output `" + view.name + "` cannot be copied from the GPU"};
    const size_t n = size_t(std::find(view.axes.begin(), view.axes.end(), "n") - view.axes.begin());
    if (view.offsets) {
      // The sample's own values, along the ragged axis.
      const OutputLayout &layout = program.layout->outputs[i];
      view.axes[n] = layout.axes[size_t(layout.raggedAxis)];
      view.shape[n] = view.offsets[slot + 1] - view.offsets[slot];
      view.data = data + view.offsets[slot] * view.strides[n];
      view.offsets = nullptr;
      continue;
    }
    view.data = data + slot * view.strides[n];
    if (const OutputLayout &layout = program.layout->outputs[i]; !layout.fill.empty())
      view.shape[size_t(layout.raggedAxis)] = block->lengths(i)[slot]; // without what fills it up
    view.axes.erase(view.axes.begin() + std::ptrdiff_t(n));
    view.shape.erase(view.shape.begin() + std::ptrdiff_t(n));
    view.strides.erase(view.strides.begin() + std::ptrdiff_t(n));
  }
  report.outputs = std::move(views);
  report.block = block;
  return report;
}

} // namespace penstock::runtime
