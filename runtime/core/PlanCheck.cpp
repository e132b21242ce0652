// SPDX-License-Identifier: Apache-2.0
//
// One function per table of the schema. Every check reports through `require`,
// which keeps the first finding.
#include "runtime/core/PlanCheck.h"

#include "runtime/abi/kernel.h"
#include "runtime/abi/media.h"
#include "runtime/core/Plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

namespace penstock::runtime {

namespace {

constexpr int32_t maxSlots = 1 << 20;

using plan::BufferKind;
using plan::DType;

bool isScalar(DType type) { return sizeOf(type) > 0; }

class Checker {
public:
  explicit Checker(const plan::PlanT &tree) : tree(tree) {}

  Status run() {
    require(tree.slots >= PST_FIRST_FREE_ENTRY && tree.slots <= maxSlots, "plan", 0, "has ",
            tree.slots, " slots");
    require(!std::isnan(tree.substitute) && tree.substitute <= 1, "plan", 0, "allows a share of ",
            tree.substitute, " bad samples");
    require(tree.order >= plan::Order::MIN && tree.order <= plan::Order::MAX, "plan", 0,
            "has an unknown order");
    kernelIndex(tree.select, "select kernel", 0, true);
    kernelIndex(tree.rows_kernel, "rows kernel", 0, true);
    slot(tree.keep_slot, "rows kernel", 0, true);
    slot(tree.weight_slot, "rows kernel", 0, true);
    require((tree.order == plan::Order::weighted) == (tree.weight_slot >= 0), "plan", 0,
            "has weights without an order that uses them, or the reverse");
    kernelIndex(tree.setup, "setup kernel", 0, true);
    eachOf(tree.params, &Checker::param);
    require(!tree.sources.empty(), "plan", 0, "has no source");
    eachOf(tree.sources, &Checker::source);
    require(!tree.rows.empty() && tree.rows[0]->source == 0, "plan", 0,
            "has no row of its first source");
    eachOf(tree.rows, &Checker::row);
    eachOf(tree.fields, &Checker::field);
    eachOf(tree.lengths, &Checker::length);
    eachOf(tree.media, &Checker::media);
    eachOf(tree.kernels, &Checker::kernel);
    eachOf(tree.outputs, &Checker::output);
    require(!tree.outputs.empty(), "plan", 0, "has no output");
    eachOf(tree.buffers, &Checker::buffer);
    fieldBuffers(tree.setup_fields, "setup kernel", int(tree.rows.size()));
    fieldBuffers(tree.rows_fields, "rows kernel", 1);
    eachOf(tree.decodes, &Checker::decode);
    eachOf(tree.joins, &Checker::join);
    eachOf(tree.steps, &Checker::step);
    eachOf(tree.checks, &Checker::check);
    eachOf(tree.draws, &Checker::draw);
    if (require(tree.batch != nullptr, "plan", 0, "has no batch"))
      batch(*tree.batch);
    for (int32_t number : {tree.select, tree.setup, tree.rows_kernel})
      if (number >= 0 && finding.empty())
        require(!tree.kernels[size_t(number)]->device, "kernel", size_t(number),
                "runs before there are pixels");
    if (finding.empty())
      deviceStage();
    if (finding.empty())
      planes();
    if (finding.empty())
      joins();
    if (finding.empty())
      writers();
    return finding.empty() ? Status() : Status(Error{Code::Corrupt, finding});
  }

private:
  template <typename... Parts>
  bool require(bool holds, const char *table, size_t index, Parts... parts) {
    if (holds || !finding.empty())
      return holds;
    std::ostringstream text;
    text << "damaged plan: " << table << " " << index << " ";
    (text << ... << parts);
    finding = text.str();
    return false;
  }

  template <typename T>
  void eachOf(const std::vector<std::unique_ptr<T>> &items,
              void (Checker::*visit)(const T &, size_t)) {
    for (size_t i = 0; i < items.size() && finding.empty(); ++i)
      (this->*visit)(*items[i], i);
  }

  bool slot(int32_t number, const char *table, size_t index, bool optional = false) {
    return require((optional && number == -1) || (number >= 0 && number < tree.slots), table, index,
                   "names slot ", number, " of ", tree.slots);
  }
  /// A slot that the runtime writes must not be one of its own.
  void target(int32_t number, const char *table, size_t index, bool optional = false) {
    if (slot(number, table, index, optional) && number >= 0)
      require(number >= PST_FIRST_FREE_ENTRY, table, index, "writes slot ", number);
  }
  void kernelIndex(int32_t number, const char *table, size_t index, bool optional = false) {
    require((optional && number == -1) || inside(number, tree.kernels.size()), table, index,
            "names kernel ", number, " of ", tree.kernels.size());
  }
  static bool inside(int64_t number, size_t count) {
    return number >= 0 && number < int64_t(count);
  }

  /// Of the first `rows` rows.
  void fieldBuffers(const std::vector<int32_t> &numbers, const char *table, int rows) {
    for (const int32_t number : numbers)
      if (require(inside(number, tree.buffers.size()), table, 0, "has buffer ", number, " of ",
                  tree.buffers.size()))
        require(tree.buffers[size_t(number)]->kind == BufferKind::field &&
                    tree.buffers[size_t(number)]->row < rows,
                table, 0, "has buffer ", number, ", which is no field of its row");
  }

  /// Ranks, extents and slots; the bytes of the largest tensor.
  void dims(const std::vector<std::unique_ptr<plan::DimT>> &dims, int64_t elementBytes,
            const char *table, size_t index) {
    require(dims.size() <= PST_MAX_RANK, table, index, "has ", dims.size(), " axes");
    int64_t bytes = std::max<int64_t>(elementBytes, 1);
    for (const auto &dim : dims) {
      slot(dim->slot, table, index, true);
      require(dim->extent >= -1 && dim->bound >= -1, table, index, "has a negative extent");
      const int64_t largest = dim->extent >= 0 ? dim->extent : dim->bound;
      if (largest > 0 && require(largest <= PST_MAX_TENSOR_BYTES / bytes, table, index,
                                 "is larger than ", PST_MAX_TENSOR_BYTES, " bytes"))
        bytes *= largest;
    }
  }

  void param(const plan::ParamT &p, size_t i) {
    const bool text = p.type == DType::text;
    require(text || p.type == DType::i64 || p.type == DType::f64 || p.type == DType::boolean,
            "parameter", i, "has the type ", nameOf(p.type));
    target(p.slot, "parameter", i, true);
    require(!text || p.slot == -1, "parameter", i, "is text in a slot");
    require(!p.name.empty() && names.insert("param " + p.name).second, "parameter", i,
            "has no name of its own");
  }

  void source(const plan::SourceT &s, size_t i) {
    for (const auto &argument : s.arguments)
      require(argument->param == -1 || inside(argument->param, tree.params.size()), "source", i,
              "has the parameter ", argument->param, " of ", tree.params.size());
    for (const auto &column : s.columns) {
      require(column->type > DType::none && column->type <= DType::MAX, "source", i,
              "has a column without a type");
      require(isScalar(column->type) || column->dims.empty(), "source", i, "has a tensor of ",
              nameOf(column->type));
      dims(column->dims, sizeOf(column->type), "source", i);
    }
    require((s.kind == "concat") == !s.parts.empty(), "source", i, "is made of ", s.parts.size(),
            " parts");
    for (const int32_t number : s.parts)
      part(s, number, i);
  }

  /// Whether a source's rows may stand in another one, which is joined.
  void part(const plan::SourceT &whole, int32_t number, size_t i) {
    if (!require(inside(number, tree.sources.size()), "source", i, "has part ", number))
      return;
    const plan::SourceT &source = *tree.sources[size_t(number)];
    require(source.kind != "concat" && source.kind != "external_source", "source", i, "has a part ",
            source.kind);
    for (const auto &column : whole.columns) {
      const auto found =
          std::find_if(source.columns.begin(), source.columns.end(),
                       [&](const auto &other) { return other->name == column->name; });
      if (column->name == "part" && column->type == DType::i64 && column->dims.empty())
        continue; // the part's number where one lacks it
      if (!require(found != source.columns.end(), "source", i, "has a column ", column->name,
                   " that its part ", number, " lacks"))
        continue;
      bool fits = (*found)->type == column->type && (*found)->dims.size() == column->dims.size();
      for (size_t axis = 0; fits && axis < column->dims.size(); ++axis) {
        const plan::DimT &most = *column->dims[axis], &has = *(*found)->dims[axis];
        fits = has.extent == most.extent && has.bound <= most.bound;
      }
      require(fits, "source", i, "has a column ", column->name, " that is another one in its part ",
              number);
    }
  }

  void row(const plan::RowT &r, size_t i) {
    require(inside(r.source, tree.sources.size()), "row", i, "has the source ", r.source);
    if (i == 0)
      target(r.slot, "row", i, /*optional=*/true);
    else // reads it
      slot(r.slot, "row", i);
    require(i > 0 || !r.of_row, "row", i, "depends on itself");
    target(r.place, "row", i, /*optional=*/true);
    require(r.group <= int32_t(i) && (i == 0 || r.group > 0), "row", i, "is of group ", r.group);
  }

  const plan::ColumnT *columnOf(int32_t row, int32_t column, const char *table, size_t index) {
    if (!require(inside(row, tree.rows.size()), table, index, "names row ", row))
      return nullptr;
    const auto &columns = tree.sources[tree.rows[row]->source]->columns;
    if (!require(inside(column, columns.size()), table, index, "names column ", column))
      return nullptr;
    return columns[column].get();
  }

  void field(const plan::FieldSlotT &f, size_t i) {
    target(f.slot, "field", i);
    require(!f.of_rows || f.row == 0, "field", i, "is of a row that is not the table's own");
    const plan::ColumnT *column = columnOf(f.row, f.column, "field", i);
    if (!column)
      return;
    if (f.axis == -1)
      require(isScalar(column->type) && column->dims.empty(), "field", i, "is no scalar");
    else
      require(inside(f.axis, column->dims.size()), "field", i, "has no axis ", f.axis);
  }

  void length(const plan::LengthSlotT &l, size_t i) {
    require(inside(l.source, tree.sources.size()), "length", i, "has the source ", l.source);
    target(l.slot, "length", i);
  }

  void media(const plan::MediaT &m, size_t i) {
    const plan::ColumnT *column = columnOf(m.row, m.column, "media", i);
    require(!column || column->type == DType::bytes, "media", i, "is no column of bytes");
    const int kind = media::find(m.media);
    if (!require(kind >= 0, "media", i, "is of an unknown kind"))
      return;
    require(!m.of_rows || m.row == 0, "media", i, "is of a row that is not the table's own");
    require(m.numbers.size() <= media::all[kind].numbers.size(), "media", i, "has ",
            m.numbers.size(), " numbers");
    for (int32_t number : m.numbers)
      target(number, "media", i, true);
  }

  void decode(const plan::DecodeT &d, size_t i) {
    if (!require(inside(d.media, tree.media.size()), "decode", i, "names media ", d.media))
      return;
    const std::string &kind = tree.media[d.media]->media;
    const media::Medium &medium = media::all[media::find(kind)];
    require(d.arguments.size() == medium.arguments.size(), "decode", i, "has ", d.arguments.size(),
            " arguments");
    for (int32_t argument : d.arguments)
      slot(argument, "decode", i);
    require(media::knowsFormat(medium, d.format), "decode", i, "has an unknown format");
    if (!require(inside(d.buffer, tree.buffers.size()), "decode", i, "names buffer ", d.buffer))
      return;
    const plan::BufferT &b = *tree.buffers[d.buffer];
    require(b.kind == BufferKind::media && fits(kind, d, b), "decode", i,
            "does not fit its buffer");
    for (size_t at = 0; at < d.region.size(); ++at) {
      const plan::AxisRange &range = d.region[at];
      require(inside(range.axis(), b.dims.size()) &&
                  (at == 0 || range.axis() > d.region[at - 1].axis()),
              "decode", i, "has a region of axis ", range.axis());
      slot(range.low(), "decode", i);
      slot(range.high(), "decode", i);
    }
    require(written.insert(d.buffer).second, "decode", i, "writes buffer ", d.buffer, " again");
  }

  /// Returns whether the medium makes such tensors.
  static bool fits(const std::string &kind, const plan::DecodeT &d, const plan::BufferT &b) {
    if (kind == "wave")
      return b.type == DType::f32 && b.dims.size() == (d.format == "mono" ? 1u : 2u);
    const bool isPoints = kind == "ply" || kind == "pcd";
    if (isPoints && b.dims.size() != 1 && b.dims.size() != 2)
      return false;
    if (kind == "nifti" || isPoints)
      return b.type != DType::f16 && b.type != DType::bf16 && b.type != DType::boolean;
    if (!media::isPicture(kind))
      return true;
    const size_t rank = kind == "video" ? 4 : 3;
    const int64_t channels = d.format == "rgb" ? 3 : 1;
    const bool hasChannels = b.dims.size() == rank && b.dims[rank - 1]->extent == channels;
    const bool hasType =
        b.type == DType::u8 || ((b.type == DType::u16 || b.type == DType::f32) && kind == "image");
    return hasType && (hasChannels || (channels == 1 && b.dims.size() == rank - 1));
  }

  void buffer(const plan::BufferT &b, size_t i) {
    require(b.kind >= BufferKind::MIN && b.kind <= BufferKind::MAX, "buffer", i,
            "has an unknown kind");
    const bool mayShare = b.kind == BufferKind::media || b.kind == BufferKind::temporary;
    require(b.place == -1 || (mayShare && inside(b.place, tree.buffers.size())), "buffer", i,
            "cannot lie at place ", b.place);
    require(b.type > DType::none && b.type <= DType::MAX && isScalar(b.type), "buffer", i,
            "has no element type");
    if (!finding.empty())
      return;
    dims(b.dims, sizeOf(b.type), "buffer", i);
    for (const auto &dim : b.dims)
      require(dim->extent >= 0 || dim->slot >= 0, "buffer", i, "has an axis without extent");
    if (!finding.empty())
      return; // the bytes below would not fit 64 bits
    switch (b.kind) {
    case BufferKind::field:
      if (const plan::ColumnT *column = columnOf(b.row, b.column, "buffer", i))
        require(column->type == b.type && column->dims.size() == b.dims.size(), "buffer", i,
                "differs from its column");
      break;
    case BufferKind::output:
      outputBuffer(b, i);
      break;
    case BufferKind::constant:
      constant(b, i);
      break;
    case BufferKind::alias:
      slot(b.index_slot, "buffer", i);
      require(!b.choices.empty(), "buffer", i, "stands for nothing");
      for (int32_t choice : b.choices)
        require(inside(choice, i) && tree.buffers[choice]->type == b.type &&
                    tree.buffers[choice]->dims.size() == b.dims.size(),
                "buffer", i, "cannot stand for buffer ", choice);
      break;
    case BufferKind::media:
    case BufferKind::temporary:
      break;
    }
  }

  void outputBuffer(const plan::BufferT &b, size_t i) {
    if (!require(inside(b.output, tree.outputs.size()), "buffer", i, "names output ", b.output))
      return;
    const plan::OutputT &output = *tree.outputs[b.output];
    std::vector<std::string> axes = output.stored; // memory order
    std::erase(axes, "n");
    require(output.buffer == int32_t(i) && output.type == b.type && b.dims.size() == axes.size() &&
                (b.axes.empty() || b.axes == axes),
            "buffer", i, "differs from its output");
    for (size_t a = 0; a < b.dims.size() && finding.empty(); ++a) {
      const auto at = std::find(output.axes.begin(), output.axes.end(), axes[a]);
      if (!require(at != output.axes.end(), "buffer", i, "differs from its output"))
        return;
      const auto &inner = *b.dims[a], &outer = *output.dims[size_t(at - output.axes.begin())];
      require(inner.extent < 0 || inner.extent == outer.extent, "buffer", i, "has ", inner.extent,
              " elements where its output has ", outer.extent);
    }
  }

  void constant(const plan::BufferT &b, size_t i) {
    int64_t bytes = sizeOf(b.type);
    for (const auto &dim : b.dims) {
      require(dim->extent >= 0, "buffer", i, "is a constant of unknown extent");
      bytes *= std::max<int64_t>(dim->extent, 0);
    }
    require(bytes == int64_t(b.data.size()), "buffer", i, "has ", b.data.size(),
            " bytes instead of ", bytes);
  }

  void kernel(const plan::KernelT &k, size_t i) {
    require(k.scratch_fixed >= 0 && k.scratch_fixed <= PST_MAX_TENSOR_BYTES, "kernel", i,
            "asks for scratch of ", k.scratch_fixed, " bytes");
    for (const auto &term : k.scratch) {
      require(term->bytes >= 0 && term->bytes <= PST_MAX_TENSOR_BYTES, "kernel", i,
              "has scratch of ", term->bytes, " bytes");
      dims(term->dims, term->bytes, "kernel", i);
    }
    if (k.device)
      deviceKernel(*k.device, i);
  }

  static constexpr uint32_t mostShared = 1 << 20;
  static bool isOfBlock(uint32_t threads) {
    return threads >= 32 && threads <= 1024 && threads % 32 == 0;
  }
  void deviceKernel(const plan::DeviceKernelT &k, size_t i) {
    require(!k.name.empty(), "kernel", i, "has no name on the device");
    require(isOfBlock(k.threads), "kernel", i, "has blocks of ", k.threads, " threads");
    require(k.shared <= mostShared, "kernel", i, "asks for ", k.shared, " bytes of shared memory");
    for (const plan::RecordField &field : k.record) {
      require(field.value() <= plan::RecordValue::MAX, "kernel", i, "has an unknown record");
      require(field.value() != plan::RecordValue::stride || field.bytes() > 0, "kernel", i,
              "has a stride of elements without bytes");
    }
  }
  /// Checks that the step has what the record names.
  void deviceStep(const plan::StepT &s, size_t i) {
    using plan::RecordValue;
    for (const plan::RecordField &field : tree.kernels[size_t(s.kernel)]->device->record) {
      const size_t number = field.number(), inputs = s.inputs.size();
      if (field.value() == RecordValue::scalar) {
        require(number < s.scalars.size(), "step", i, "has no scalar ", number);
      } else if (field.value() != RecordValue::entry && field.value() != RecordValue::scratch &&
                 field.value() != RecordValue::part &&
                 require(number < inputs + s.outputs.size(), "step", i, "has no tensor ", number)) {
        const int buffer = number < inputs ? s.inputs[number]->buffer : s.outputs[number - inputs];
        const size_t rank =
            tree.buffers[size_t(buffer)]->dims.size() + (number < inputs && s.inputs[number]->all);
        require(field.value() == RecordValue::data || field.axis() < rank, "step", i,
                "has no axis ", int(field.axis()), " in tensor ", number);
      }
    }
  }
  void join(const plan::JoinT &j, size_t i) {
    require(!j.name.empty(), "join", i, "has no name on the device");
    require(isOfBlock(j.threads), "join", i, "has blocks of ", j.threads, " threads");
    require(j.shared <= mostShared, "join", i, "asks for ", j.shared, " bytes of shared memory");
    require(j.chains <= mostChains && (j.chains > 0) == (j.room > 0), "join", i, "has ", j.chains,
            " chains of ", j.room, " steps");
  }
  /// Steps of a join follow each other, and each fits its launch.
  void joins() {
    int before = -1;
    std::set<int> ended;
    for (size_t i : stepsByStage(tree)) {
      const plan::StepT &s = *tree.steps[i];
      if (s.join != before)
        ended.insert(before);
      before = s.join;
      if (s.join < 0)
        continue;
      if (!require(inside(s.join, tree.joins.size()), "step", i, "names join ", s.join, " of ",
                   tree.joins.size()) ||
          !require(s.device && !s.once && !ended.contains(s.join), "step", i,
                   "cannot be launched with others"))
        return;
      const plan::JoinT &all = *tree.joins[size_t(s.join)];
      const plan::DeviceKernelT &kernel = *tree.kernels[size_t(s.kernel)]->device;
      require(kernel.threads == all.threads && kernel.shared <= all.shared, "step", i,
              "has other blocks than what it is launched with");
      for (const auto &access : s.inputs)
        require(access->peer_slot == -1 && !access->all, "step", i,
                "reads other samples, and is launched with others");
      chain(s, all, i);
    }
    for (size_t i = 0; i < tree.joins.size() && finding.empty(); ++i) // chains are what they say
      chainRoom(int(i));
  }
  static constexpr uint32_t mostChains = 1 << 10;
  /// What a step's kernel holds in shared memory is a temporary, or a row's tensor, of words.
  void chain(const plan::StepT &s, const plan::JoinT &join, size_t i) {
    require(join.chains ? (s.chain >= 0) != (s.parts > 0) : s.chain == -1 && s.parts == 0, "step",
            i, "is of no chain, or of several");
    require(s.chain < int64_t(join.chains) && s.parts <= join.chains, "step", i, "is of chain ",
            s.chain, " and has ", s.parts, " parts, of ", join.chains, " chains");
    const auto &held = tree.kernels[size_t(s.kernel)]->device->held;
    const size_t inputs = s.inputs.size();
    require(held.empty() || join.chains, "step", i, "holds tensors, and is of no chain");
    require(std::is_sorted(held.begin(), held.end()) &&
                std::adjacent_find(held.begin(), held.end()) == held.end(),
            "step", i, "holds tensors in no order");
    const bool stores = !held.empty() && held.back() >= inputs;
    require(!stores || (held.back() == inputs && s.outputs.size() == 1 && s.parts == 0), "step", i,
            "holds what is not its only output");
    require(held.empty() || held.size() - stores == std::max<size_t>(s.parts, 1) ||
                (stores && held.size() == 1),
            "step", i, "holds ", held.size(), " tensors");
    for (uint16_t number : held)
      if (number <= inputs && finding.empty())
        picture(number < inputs ? s.inputs[number]->buffer : s.outputs[0], i);
  }
  /// Of all that a choice may stand for.
  void picture(int buffer, size_t i) {
    std::set<int> seen;
    for (std::vector<int> open{buffer}; !open.empty() && finding.empty();) {
      const int next = open.back();
      open.pop_back();
      if (!seen.insert(next).second)
        continue;
      const plan::BufferT &b = *tree.buffers[size_t(next)];
      open.insert(open.end(), b.choices.begin(), b.choices.end());
      int64_t bytes = sizeOf(b.type);
      for (const auto &dim : b.dims)
        bytes = dim->extent < 0 || bytes > mostShared ? -1 : bytes * dim->extent;
      const bool isDense = b.kind == plan::BufferKind::temporary ||
                           b.kind == plan::BufferKind::field || b.kind == plan::BufferKind::alias;
      require(isDense && bytes > 0 && bytes % 16 == 0 && bytes <= mostShared, "step", i,
              "holds buffer ", next, ", which is no picture of known size");
    }
  }
  /// Each step of a chain may be behind a copy away and one there.
  void chainRoom(int join) {
    std::vector<int64_t> steps(tree.joins[size_t(join)]->chains);
    for (const auto &s : tree.steps)
      if (s->join == join && !steps.empty()) {
        if (s->chain >= 0)
          ++steps[size_t(s->chain)];
        for (uint32_t part = 0; part < s->parts; ++part)
          ++steps[part];
      }
    for (int64_t some : steps)
      require(3 * some <= tree.joins[size_t(join)]->room, "join", size_t(join), "has room for ",
              tree.joins[size_t(join)]->room, " steps of a chain that has ", some);
  }
  /// A device comes last, in a stage of its own.
  void deviceStage() {
    int host = 0, device = -1;
    for (const auto &step : tree.steps)
      if (!step->device)
        host = std::max(host, step->stage);
    for (size_t i = 0; i < tree.steps.size(); ++i)
      if (const auto &step = *tree.steps[i]; step.device) {
        device = device < 0 ? step.stage : device;
        require(step.stage > host && step.stage == device, "step", i, "runs on a device in stage ",
                step.stage);
      }
  }

  /// The kernel for planes fits what it is handed (DeviceStage::packPlanes), and nothing else reads
  /// them.
  void planes() {
    using plan::RecordValue;
    kernelIndex(tree.planes, "kernel of planes", 0, true);
    if (!finding.empty())
      return;
    const plan::KernelT *kernel =
        tree.planes < 0 ? nullptr : tree.kernels[size_t(tree.planes)].get();
    if (kernel && !require(kernel->device && kernel->scratch_fixed == 0 && kernel->scratch.empty(),
                           "kernel of planes", 0, "is no kernel of a device without scratch"))
      return;
    for (size_t i = 0; kernel && i < kernel->device->record.size(); ++i) {
      const plan::RecordField &field = kernel->device->record[i];
      const bool isTensor = field.value() == RecordValue::data ||
                            field.value() == RecordValue::extent ||
                            field.value() == RecordValue::stride;
      require(field.value() == RecordValue::entry || field.number() < 4, "kernel of planes", 0,
              "is told of argument ", field.number());
      require(!isTensor || field.axis() < (field.number() < 3 ? 2 : 3), "kernel of planes", 0,
              "is told of axis ", int(field.axis()));
    }
    std::vector<bool> has(tree.buffers.size());
    for (size_t i = 0; i < tree.decodes.size(); ++i) {
      const plan::DecodeT &d = *tree.decodes[i];
      if (!d.planes)
        continue;
      const plan::BufferT &b = *tree.buffers[size_t(d.buffer)];
      require(kernel && tree.media[size_t(d.media)]->media == "image" && d.format == "rgb" &&
                  b.type == DType::u8,
              "decode", i, "has no planes");
      has[size_t(d.buffer)] = true;
    }
    for (size_t i = 0; i < has.size(); ++i) // choices come before their alias
      for (int32_t choice : tree.buffers[i]->choices)
        has[i] = has[i] || has[size_t(choice)];
    for (size_t i = 0; i < tree.steps.size(); ++i)
      for (const auto &access : tree.steps[i]->inputs)
        require(tree.steps[i]->device || !has[size_t(access->buffer)], "step", i,
                "reads planes on the host");
  }

  void step(const plan::StepT &s, size_t i) {
    if (s.codec == plan::Codec::none)
      kernelIndex(s.kernel, "step", i);
    require(s.stage >= 0 && s.stage <= Plan::maxStages, "step", i, "has stage ", s.stage);
    slot(s.guard, "step", i, true);
    for (int32_t number : s.scalars)
      slot(number, "step", i);
    for (const auto &access : s.inputs) {
      require(inside(access->buffer, tree.buffers.size()), "step", i, "reads buffer ",
              access->buffer);
      slot(access->peer_slot, "step", i, true);
      require((access->peer_slot == -1 && !access->all) || s.stage > 0, "step", i,
              "reads other samples in stage 0");
      if (access->all && finding.empty())
        readByAll(*access, i);
    }
    require(!s.once || s.stage > 0, "step", i, "runs once for the batch in stage 0");
    for (int32_t number : s.outputs) {
      if (!require(inside(number, tree.buffers.size()), "step", i, "writes buffer ", number))
        return;
      const BufferKind kind = tree.buffers[number]->kind;
      require(kind == BufferKind::temporary || kind == BufferKind::output, "step", i,
              "writes buffer ", number, ", which is read-only");
      const auto [entry, isNew] = stageOf.emplace(number, s.stage);
      require(isNew || entry->second == s.stage, "step", i, "writes buffer ", number,
              " in a second stage");
      require(tree.buffers[number]->once == s.once && (!s.once || kind == BufferKind::temporary),
              "step", i, "writes buffer ", number, " not as often as there are such");
    }
    if (s.codec != plan::Codec::none)
      codec(s, i);
    else if (finding.empty() &&
             require(s.device == (tree.kernels[size_t(s.kernel)]->device != nullptr), "step", i,
                     "and its kernel run in different places") &&
             s.device)
      deviceStep(s, i);
    require(!s.device || s.codec == plan::Codec::none, "step", i, "is a codec on a device");
  }

  /// The runtime has the values of all samples in one piece.
  void readByAll(const plan::AccessT &access, size_t i) {
    const plan::BufferT &b = *tree.buffers[access.buffer];
    const bool isStatic =
        std::all_of(b.dims.begin(), b.dims.end(), [](const auto &dim) { return dim->extent >= 0; });
    require(b.kind == BufferKind::temporary && !b.once && isStatic && b.place == -1 &&
                b.dims.size() < PST_MAX_RANK && access.peer_slot == -1 && access.count >= -1,
            "step", i, "cannot read buffer ", access.buffer, " of all samples");
  }

  /// Checks the types and numbers of a codec's inputs and outputs against plan.fbs. The runtime
  /// checks extents, which are the sample's.
  void codec(const plan::StepT &s, size_t i) {
    const bool isFile = s.codec == plan::Codec::jpeg || s.codec == plan::Codec::png;
    if (!require(isFile || s.codec == plan::Codec::recompress, "step", i, "has an unknown codec") ||
        !require(s.inputs.size() == 1 && s.outputs.size() == (isFile ? 2u : 1u) &&
                     s.scalars.size() == (s.codec == plan::Codec::png ? 0u : 1u),
                 "step", i, "has not the inputs, outputs and scalars of its codec"))
      return;
    auto isImage = [&](int32_t number) {
      const plan::BufferT &b = *tree.buffers[number];
      return b.type == DType::u8 && (b.dims.size() == 2 || b.dims.size() == 3);
    };
    auto has = [&](int32_t number, DType type, size_t rank) {
      const plan::BufferT &b = *tree.buffers[number];
      return b.kind == BufferKind::temporary && b.type == type && b.dims.size() == rank;
    };
    require(isImage(s.inputs[0]->buffer) &&
                (isFile ? has(s.outputs[0], DType::u8, 1) && has(s.outputs[1], DType::i64, 0)
                        : isImage(s.outputs[0]) &&
                              tree.buffers[s.outputs[0]]->dims.size() ==
                                  tree.buffers[s.inputs[0]->buffer]->dims.size() &&
                              tree.buffers[s.outputs[0]]->kind == BufferKind::temporary),
            "step", i, "does not fit its codec");
  }

  void output(const plan::OutputT &o, size_t i) {
    require(isScalar(o.type), "output", i, "has no element type");
    require(!o.name.empty() && names.insert("output " + o.name).second, "output", i,
            "has no name of its own");
    auto sorted = [](std::vector<std::string> axes) {
      std::sort(axes.begin(), axes.end());
      return axes;
    };
    const std::vector<std::string> axes = sorted(o.axes);
    require(std::adjacent_find(axes.begin(), axes.end()) == axes.end() &&
                std::count(axes.begin(), axes.end(), "n") == 1,
            "output", i, "repeats an axis or has no axis n");
    require(sorted(o.stored) == axes, "output", i, "stores other axes than it has");
    if (!require(o.dims.size() == o.axes.size(), "output", i, "has ", o.dims.size(),
                 " extents for ", o.axes.size(), " axes"))
      return;
    dims(o.dims, sizeOf(o.type), "output", i);
    require(o.dims.size() <= PST_MAX_RANK, "output", i, "has too many axes");
    for (size_t a = 0; a < o.axes.size(); ++a)
      require(o.axes[a] == "n" || o.dims[a]->extent >= 0 || o.dims[a]->bound >= 0, "output", i,
              "has no bound for axis ", o.axes[a]);
    if (o.ragged_axis != -1) {
      slot(o.length_slot, "output", i);
      require(inside(o.ragged_axis, o.axes.size()) && o.stored.size() >= 2 && o.stored[0] == "n" &&
                  o.stored[1] == o.axes[o.ragged_axis],
              "output", i, "is ragged along an axis that is not its first");
    }
    require(o.fill.empty() || (int64_t(o.fill.size()) == sizeOf(o.type) && o.ragged_axis != -1),
            "output", i, "is filled up with an element of ", o.fill.size(), " bytes");
    for (const auto &count : o.counts) {
      if (!require(inside(count->buffer, tree.buffers.size()), "output", i, "is counted by buffer ",
                   count->buffer))
        return;
      const plan::BufferT &b = *tree.buffers[count->buffer];
      require(b.dims.empty() && b.type == plan::DType::i64 && b.kind != BufferKind::media &&
                  b.kind != BufferKind::field && b.kind != BufferKind::constant,
              "output", i, "is counted by buffer ", count->buffer, ", which is no computed number");
      require(count->limit >= 0 && (!count->is_length || o.ragged_axis != -1), "output", i,
              "counts what it does not have");
      require(!count->is_length || count->limit <= o.dims[o.ragged_axis]->bound, "output", i,
              "may have more elements than its bound");
    }
    slot(o.scalar_slot, "output", i, true);
    require((o.buffer == -1) != (o.scalar_slot == -1), "output", i,
            "has not exactly one of buffer and scalar");
    require(o.buffer == -1 || (inside(o.buffer, tree.buffers.size()) &&
                               tree.buffers[o.buffer]->kind == BufferKind::output &&
                               tree.buffers[o.buffer]->output == int32_t(i)),
            "output", i, "is not the output of buffer ", o.buffer);
    require(o.scalar_slot == -1 || o.axes.size() == 1, "output", i, "is a scalar with axes");
  }

  void check(const plan::CheckT &c, size_t i) {
    require(c.id > 0 && checkIds.insert(c.id).second, "check", i, "has the id ", c.id);
  }

  void batch(const plan::BatchT &b) {
    require(b.last >= plan::Last::MIN && b.last <= plan::Last::MAX, "batch", 0,
            "has an unknown end");
    slot(b.size_slot, "batch", 0, true);
    if (!b.by_length) {
      require(b.size_slot >= 0 || b.size > 0, "batch", 0, "has ", b.size, " samples");
      return;
    }
    const plan::ByLengthT &lengths = *b.by_length;
    require(b.size_slot == -1 && b.size == -1 && !b.global, "batch", 0,
            "has a number of samples, and goes by their length");
    require(tree.order != plan::Order::weighted && b.last != plan::Last::pad, "batch", 0,
            "goes by length in an order that has none");
    slot(lengths.length_slot, "batch", 0);
    slot(lengths.limit_slot, "batch", 0, true);
    slot(lengths.buckets_slot, "batch", 0, true);
    require((lengths.limit_slot >= 0 || lengths.limit > 0) &&
                (lengths.buckets_slot >= 0 || lengths.buckets > 0),
            "batch", 0, "has ", lengths.limit, " elements and ", lengths.buckets, " buckets");
    require(checkIds.contains(lengths.too_long), "batch", 0, "names check ", lengths.too_long);
  }

  void draw(const plan::DrawT &d, size_t i) {
    slot(d.slot, "draw", i);
    require(isScalar(d.type), "draw", i, "has no type");
  }

  /// Checks that everything is written before it is read, in the order of stages.
  void writers() {
    for (size_t i : stepsByStage(tree)) {
      const plan::StepT &s = *tree.steps[i];
      for (const auto &access : s.inputs) {
        require(isWritten(access->buffer), "step", i, "reads buffer ", access->buffer,
                ", which nothing has written");
        const auto made = stageOf.find(access->buffer);
        const bool others = access->all || (tree.buffers[access->buffer]->once && !s.once);
        // A device runs a step for all samples before the next one.
        require(!others || (made != stageOf.end() && (made->second < s.stage || s.device)), "step",
                i, "reads buffer ", access->buffer, " before all samples have it");
      }
      written.insert(tree.steps[i]->outputs.begin(), tree.steps[i]->outputs.end());
    }
    for (size_t i = 0; i < tree.outputs.size() && finding.empty(); ++i) {
      require(tree.outputs[i]->buffer == -1 || isWritten(tree.outputs[i]->buffer), "output", i,
              "is written by nothing");
      for (const auto &count : tree.outputs[i]->counts)
        require(isWritten(count->buffer), "output", i, "is counted by nothing");
    }
  }

  bool isWritten(int32_t number) {
    const plan::BufferT &b = *tree.buffers[number];
    if (b.kind == BufferKind::field || b.kind == BufferKind::constant)
      return true;
    if (written.count(number))
      return true;
    // Noted once known, as nested choices would be visited again and again: a written buffer stays
    // so.
    if (b.kind != BufferKind::alias ||
        !std::all_of(b.choices.begin(), b.choices.end(),
                     [&](int32_t choice) { return isWritten(choice); }))
      return false;
    written.insert(number);
    return true;
  }

  const plan::PlanT &tree;
  std::string finding;
  std::set<std::string> names;
  std::set<int32_t> checkIds;
  std::set<int32_t> written;
  std::map<int32_t, int32_t> stageOf;
};

} // namespace

std::vector<size_t> stepsByStage(const plan::PlanT &tree) {
  std::vector<size_t> order(tree.steps.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(tree.steps[a]->stage, a) < std::pair(tree.steps[b]->stage, b);
  });
  return order;
}

Status checkPlan(const plan::PlanT &tree) { return Checker(tree).run(); }

} // namespace penstock::runtime
