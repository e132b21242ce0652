// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Layout.h"

#include "runtime/core/PlanCheck.h"

#include <algorithm>
#include <cstring>

namespace penstock::runtime {

namespace {

SlotExtent extentOf(const plan::DimT &dim) {
  if (dim.extent >= 0)
    return {dim.extent, -1, dim.extent};
  return {0, dim.slot, dim.bound};
}

BufferLayout layoutBuffer(const plan::BufferT &b) {
  BufferLayout layout;
  layout.kind = b.kind;
  layout.elementBytes = sizeOf(b.type);
  layout.rank = int(b.dims.size());
  layout.row = b.row;
  layout.column = b.column;
  layout.output = b.output;
  layout.place = b.place;
  layout.choices = b.choices;
  layout.indexSlot = b.index_slot;
  layout.once = b.once;
  layout.bytes = layout.elementBytes;
  int64_t stride = layout.elementBytes;
  for (int axis = layout.rank; axis-- > 0;) {
    const SlotExtent extent = extentOf(*b.dims[axis]);
    layout.extents[axis] = extent;
    layout.isStatic &= extent.slot < 0;
    layout.shape.extent[axis] = extent.value;
    layout.shape.stride[axis] = stride;
    stride *= extent.value;
    layout.bytes = layout.bytes < 0 || extent.largest() < 0 ? -1 : layout.bytes * extent.largest();
  }
  return layout;
}

OutputLayout layoutOutput(const plan::OutputT &o) {
  OutputLayout layout;
  layout.name = o.name;
  layout.type = o.type;
  layout.axes = o.axes;
  layout.raggedAxis = o.ragged_axis;
  layout.lengthSlot = o.length_slot;
  layout.fill = o.fill;
  layout.scalarSlot = o.scalar_slot;
  for (const auto &count : o.counts)
    layout.counts.push_back({count->buffer, count->limit, count->check, count->is_length});
  layout.elementBytes = sizeOf(o.type);
  layout.sampleBytes = layout.elementBytes;
  for (size_t axis = 0; axis < o.axes.size(); ++axis) {
    const bool isN = o.axes[axis] == "n";
    const int64_t largest =
        isN ? 0
            : std::max(o.dims[axis]->extent, o.dims[axis]->extent < 0 ? o.dims[axis]->bound : 0);
    layout.extents.push_back(largest);
    if (isN)
      layout.nAxis = int(axis);
    else
      layout.sampleBytes *= largest;
  }
  for (const std::string &name : o.stored)
    layout.stored.push_back(int(std::find(o.axes.begin(), o.axes.end(), name) - o.axes.begin()));
  return layout;
}

/// Marks what must outlive its stage, or be visible to other samples: those
/// buffers get a place per slot.
class KeptBuffers {
public:
  explicit KeptBuffers(Layout &layout) : layout(layout), visited(layout.buffers.size()) {}

  void find() {
    for (const StepLayout &step : layout.steps)
      for (int output : step.outputs)
        layout.buffers[output].stage = step.stage;
    for (BufferLayout &buffer : layout.buffers) // choices come before their alias
      for (int choice : buffer.choices)
        buffer.stage =
            std::max(buffer.stage, layout.buffers[choice].stage + int(layout.buffers[choice].once));
    for (const StepLayout &step : layout.steps)
      for (const auto &input : step.inputs) {
        ++walk;
        read(input.buffer, step.stage, input.peerSlot >= 0 || input.all);
        layout.buffers[input.buffer].readByAll |= input.all;
      }
    // Numbers of elements that a device finds are read when its stage is done, and so is what the
    // host has found where a choice lies between the two.
    for (const OutputLayout &output : layout.outputs)
      for (const OutputLayout::Count &count : output.counts)
        if (const int stage = layout.buffers[size_t(count.buffer)].stage;
            stage == layout.deviceStage()) {
          ++walk;
          read(count.buffer, stage, false);
        }
  }

private:
  void read(int number, int stage, bool byPeer) {
    // Choices of choices share most of what they stand for.
    if (std::exchange(visited[size_t(number)], walk) == walk)
      return;
    BufferLayout &buffer = layout.buffers[number];
    for (int choice : buffer.choices)
      read(choice, stage, byPeer);
    // Constants are everywhere the same. Outputs lie in the batch's block, and
    // fields in the source, but their place must be known to others.
    // The host keeps no buffers that a device makes and reads.
    if (buffer.kind == plan::BufferKind::constant || buffer.kept >= 0 ||
        (buffer.stage == layout.deviceStage() && buffer.stage > 0))
      return;
    if (byPeer || stage > buffer.stage) {
      buffer.kept = int(layout.kept.size());
      layout.kept.push_back(number);
    }
  }

  Layout &layout;
  std::vector<int64_t> visited; ///< by buffer: the last input that led here
  int64_t walk = 0;
};

} // namespace

pst_tensor BufferLayout::ofAll(const pst_tensor &first, int64_t count) const {
  pst_tensor all{first.data, {count}, {bytes}};
  for (int axis = 0; axis < rank; ++axis) {
    all.extent[axis + 1] = first.extent[axis];
    all.stride[axis + 1] = first.stride[axis];
  }
  return all;
}

std::vector<int64_t> OutputLayout::strides(int64_t count) const {
  std::vector<int64_t> result(axes.size());
  int64_t stride = elementBytes;
  for (size_t i = stored.size(); i-- > 0;) {
    const int axis = stored[i];
    result[axis] = stride;
    stride *= axis == nAxis ? count : extents[axis];
  }
  return result;
}

int64_t Layout::exactCount() const {
  for (const StepLayout &step : steps)
    for (const StepLayout::Input &input : step.inputs)
      if (input.all && input.count >= 0)
        return input.count;
  return -1;
}

bool Layout::joinsSamples() const {
  return std::any_of(steps.begin(), steps.end(), [](const StepLayout &step) {
    return step.once ||
           std::any_of(step.inputs.begin(), step.inputs.end(), [](const StepLayout::Input &input) {
             return input.all || input.peerSlot >= 0;
           });
  });
}

/// Most bytes of constant steps' results that a thread keeps.
static constexpr int64_t mostConstantBytes = int64_t(1) << 20;

static void findConstantSteps(Layout &layout) {
  std::vector<int> maker(layout.buffers.size(), -1);
  int64_t room = mostConstantBytes;
  for (size_t i = 0; i < layout.steps.size(); ++i) {
    StepLayout &step = layout.steps[i];
    int64_t bytes = 0;
    bool isConstant = step.codec == plan::Codec::none && !step.device && !step.once;
    for (const StepLayout::Input &input : step.inputs) {
      if (layout.buffers[size_t(input.buffer)].kind == plan::BufferKind::constant)
        continue;
      const int from = maker[size_t(input.buffer)];
      isConstant = isConstant && input.peerSlot < 0 && !input.all && from >= 0;
      step.sources.push_back(from);
    }
    for (int32_t number : step.outputs) {
      const BufferLayout &buffer = layout.buffers[size_t(number)];
      isConstant = isConstant && buffer.kind == plan::BufferKind::temporary && buffer.isStatic &&
                   buffer.kept < 0 && buffer.bytes >= 0;
      bytes += buffer.bytes;
    }
    step.isConstant = isConstant && bytes <= room;
    if (!step.isConstant)
      continue;
    room -= bytes;
    for (int32_t number : step.outputs)
      maker[size_t(number)] = int(i);
  }
}

Result<std::shared_ptr<const Layout>> Layout::make(std::shared_ptr<const Plan> plan,
                                                   std::shared_ptr<const KernelTable> kernels,
                                                   bool onHost) {
  auto layout = std::make_shared<Layout>();
  layout->plan = std::move(plan);
  layout->kernels = std::move(kernels);
  const plan::PlanT &tree = layout->tree();
  const size_t count = layout->kernels ? layout->kernels->size() : 0;
  if (count < tree.kernels.size())
    return Error{Code::InvalidArgument, "the plan has " + std::to_string(tree.kernels.size()) +
                                            " kernels, its code has " + std::to_string(count)};
  auto code = [&](int number) {
    return number < 0 ? nullptr : layout->kernels->kernel(size_t(number));
  };
  layout->rows = code(tree.rows_kernel);
  layout->select = code(tree.select);
  layout->setup = code(tree.setup);

  for (const auto &kernel : tree.kernels) {
    KernelScratch &scratch = layout->scratch.emplace_back();
    scratch.fixed = kernel->scratch_fixed;
    for (const auto &term : kernel->scratch) {
      scratch.terms.push_back({term->bytes, {}});
      for (const auto &dim : term->dims)
        scratch.terms.back().extents.push_back(extentOf(*dim));
    }
  }
  for (auto [number, name] :
       {std::pair(tree.select, "select"), std::pair(tree.rows_kernel, "rows")})
    if (number >= 0)
      if (const KernelScratch &need = layout->scratch[size_t(number)];
          !need.terms.empty() || need.fixed > Layout::earlyScratch)
        return Error{Code::InvalidArgument,
                     std::string("the ") + name + " kernel needs too much scratch memory"};
  int64_t constantBytes = 0;
  std::vector<int64_t> largest; // by place, where the plan bounds it
  for (const auto &buffer : tree.buffers) {
    BufferLayout &b = layout->buffers.emplace_back(layoutBuffer(*buffer));
    if (b.kind == plan::BufferKind::constant) {
      b.constantOffset = constantBytes;
      constantBytes += alignStorage(int64_t(buffer->data.size()) + storageSlack);
    }
    if (b.place >= 0) {
      const size_t places = std::max(layout->places.size(), size_t(b.place) + 1);
      layout->places.resize(places);
      largest.resize(places);
      if (b.isStatic)
        layout->places[size_t(b.place)] = std::max(layout->places[size_t(b.place)], b.bytes);
      largest[size_t(b.place)] = std::max(largest[size_t(b.place)], b.bytes);
    } else if (b.kind == plan::BufferKind::temporary && b.bytes > 0) {
      layout->staticScratch += alignStorage(b.bytes + storageSlack);
    }
  }
  for (int64_t bytes : largest)
    if (bytes > 0)
      layout->staticScratch += alignStorage(bytes + storageSlack);
  layout->constantBytes.resize(size_t(constantBytes) + 64);
  const auto base = reinterpret_cast<uintptr_t>(layout->constantBytes.data());
  uint8_t *aligned = layout->constantBytes.data() + (64 - base % 64) % 64;
  for (size_t i = 0; i < layout->buffers.size(); ++i)
    if (const auto &data = tree.buffers[i]->data;
        layout->buffers[i].constantOffset >= 0 && !data.empty())
      std::memcpy(aligned + layout->buffers[i].constantOffset, data.data(), data.size());
  layout->constants = aligned;

  if (tree.planes >= 0)
    layout->planes = tree.kernels[size_t(tree.planes)]->device.get();
  for (const auto &join : tree.joins)
    layout->joins.push_back({join.get()});
  int lastStage = 0, codecs = 0;
  for (size_t number : stepsByStage(tree)) {
    const plan::StepT &step = *tree.steps[number];
    StepLayout &s = layout->steps.emplace_back();
    s.codec = step.codec;
    if (s.codec == plan::Codec::none) {
      s.name = tree.kernels[size_t(step.kernel)]->name;
      s.code = code(step.kernel);
      s.kernel = step.kernel;
      s.device = tree.kernels[size_t(step.kernel)]->device.get();
      if (!s.device)
        layout->staticScratch = std::max(layout->staticScratch, layout->scratch[s.kernel].fixed);
    }
    if (s.codec != plan::Codec::none)
      s.name = "codec" + std::to_string(codecs++);
    s.stage = step.stage;
    for (const auto &access : step.inputs)
      s.inputs.push_back({access->buffer, access->peer_slot, access->all, access->count});
    s.outputs = step.outputs;
    s.scalars = step.scalars;
    s.guard = step.guard;
    s.once = step.once;
    s.join = step.join;
    s.body = step.body;
    s.chain = step.chain;
    s.parts = int(step.parts);
    if (s.join >= 0)
      ++layout->joins[size_t(s.join)].steps;
    lastStage = std::max(lastStage, s.stage);
  }
  for (const auto &output : tree.outputs) {
    layout->outputs.push_back(layoutOutput(*output));
    layout->outputs.back().onDevice = output->on_device && !onHost;
    layout->hasDeviceStage |= layout->outputs.back().onDevice;
  }
  const bool hasDeviceSteps = !layout->steps.empty() && layout->steps.back().device;
  lastStage += layout->hasDeviceStage && !hasDeviceSteps;
  layout->hasDeviceStage |= hasDeviceSteps;
  for (int stage = 0; stage <= lastStage + 1; ++stage)
    layout->stageBegin.push_back(
        size_t(std::find_if(layout->steps.begin(), layout->steps.end(),
                            [&](const StepLayout &s) { return s.stage >= stage; }) -
               layout->steps.begin()));

  KeptBuffers(*layout).find();
  findConstantSteps(*layout);
  for (const BufferLayout &buffer : layout->buffers)
    if (buffer.kind == plan::BufferKind::output)
      layout->outputs[size_t(buffer.output)].madeOnDevice = buffer.stage == layout->deviceStage();
  return std::shared_ptr<const Layout>(std::move(layout));
}

} // namespace penstock::runtime
