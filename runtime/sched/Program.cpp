// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Program.h"

#include "runtime/abi/random.h"
#include "runtime/sched/RowChoice.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace penstock::runtime {

namespace {

using plan::DType;

Error wrongType(const plan::ParamT &param, const char *given) {
  return {Code::InvalidArgument, "parameter `" + param.name + "` is of type " + nameOf(param.type) +
                                     ", the value given is " + given};
}

Status assign(const plan::ParamT &param, const ParamValue &value, plan::ArgumentT &out) {
  if (auto *integer = std::get_if<int64_t>(&value.value)) {
    if (param.type != DType::i64 && param.type != DType::f64)
      return wrongType(param, "an integer");
    out.integer = *integer;
    out.number = double(*integer);
  } else if (auto *number = std::get_if<double>(&value.value)) {
    if (param.type != DType::f64)
      return wrongType(param, "a float");
    out.number = *number;
  } else if (auto *boolean = std::get_if<bool>(&value.value)) {
    if (param.type != DType::boolean)
      return wrongType(param, "a bool");
    out.integer = *boolean;
  } else {
    if (param.type != DType::text)
      return wrongType(param, "text");
    out.text = std::get<std::string>(value.value);
  }
  return {};
}

LastBatch lastOf(plan::Last last) {
  switch (last) {
  case plan::Last::keep:
    return LastBatch::Keep;
  case plan::Last::pad:
    return LastBatch::Pad;
  case plan::Last::drop:
    break;
  }
  return LastBatch::Drop;
}

/// The samples of a batch, where they depend on parameters.
int64_t batchSize(const Layout &layout, const std::vector<int64_t> &block) {
  const plan::BatchT &batch = *layout.tree().batch;
  if (batch.size_slot < 0)
    return batch.size;
  // The number may be computed from parameters: select computes it for every
  // sample alike.
  std::vector<int64_t> first = block;
  if (layout.select) {
    pst_kernel_args args{};
    args.stop = &neverStops;
    args.scalars = first.data();
    layout.select(&args);
  }
  return first[size_t(batch.size_slot)];
}

} // namespace

Result<std::vector<plan::ArgumentT>> bindParams(const plan::PlanT &tree,
                                                const SessionOptions &options) {
  std::vector<plan::ArgumentT> values;
  std::vector<bool> given(tree.params.size());
  for (const auto &param : tree.params) {
    plan::ArgumentT &value = values.emplace_back();
    value.name = param->name;
    value.type = param->type;
    value.integer = param->integer;
    value.number = param->number;
    value.text = param->text;
  }
  for (const ParamValue &value : options.params) {
    auto same = [&](const auto &param) { return param->name == value.name; };
    auto found = std::find_if(tree.params.begin(), tree.params.end(), same);
    if (found == tree.params.end())
      return Error{Code::InvalidArgument,
                   "pipeline `" + tree.name + "` has no run-time parameter `" + value.name + "`"};
    const size_t number = size_t(found - tree.params.begin());
    if (Status status = assign(**found, value, values[number]); !status)
      return status.error();
    given[number] = true;
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (tree.params[i]->required && !given[i])
      return Error{Code::InvalidArgument, "parameter `" + tree.params[i]->name + "` needs a value"};
  return values;
}

int64_t Program::rowFor(uint32_t epoch, int64_t position, size_t row, int attempt,
                        int64_t wanted) const {
  if (row == 0)
    return attempt == 0 ? order->row(seed, epoch, position % positions())
                        : order->substitute(seed, epoch, position, attempt);
  const int64_t length = tables->length(tree().rows[row]->source);
  if (attempt == 0)
    return std::clamp<int64_t>(wanted, 0, std::max<int64_t>(length - 1, 0));
  // Substitutes of picked rows have draws of their own, so that the sample's
  // other rows stay.
  const random::Key key{seed, uint64_t(position), epoch, uint16_t(row)};
  constexpr uint64_t id = random::drawId("<substitute of pick>");
  return random::integer(random::bits(key, id, uint64_t(attempt)), 0, length);
}

std::optional<int64_t> Program::batchesPerEpoch() const {
  if (callerOrders)
    return std::nullopt;
  return batchesFrom(0);
}

int64_t Program::positionsFrom(int64_t start) const {
  const int64_t left = positions() - start;
  if (last != LastBatch::Pad || left <= 0)
    return positions();
  return start + (left + world - 1) / world * int64_t(world);
}

int64_t Program::samplesPerEpoch() const {
  const int64_t wanted = positionsFrom(0), full = wanted / globalBatch;
  return full * perRank + (batchesFrom(0) > full ? ranks(0).samples(full, wanted) : 0);
}

int64_t Program::allowedBad() const {
  if (!(substitute > 0))
    return 0;
  // A share that is not zero allows one, however small the table is.
  return std::max<int64_t>(1, int64_t(std::floor(substitute * double(samplesPerEpoch()))));
}

Result<std::shared_ptr<const Program>> Program::make(std::shared_ptr<const Layout> layout,
                                                     std::shared_ptr<const Tables> tables,
                                                     const SessionOptions &options,
                                                     std::shared_ptr<DeviceProgram> device) {
  auto program = std::make_shared<Program>();
  program->device = std::move(device);
  program->layout = std::move(layout);
  program->tables = std::move(tables);
  const plan::PlanT &tree = program->tree();

  auto params = bindParams(tree, options);
  if (!params)
    return params.error();
  const int64_t length = program->tables->length(0);
  if (length <= 0)
    return Error{Code::InvalidArgument, "the table of `" + tree.name + "` has no row"};
  for (const auto &row : tree.rows)
    if (program->tables->length(row->source) <= 0)
      return Error{Code::InvalidArgument, "a row is picked from a table of `" + tree.name +
                                              "` that has none (" +
                                              tree.sources[size_t(row->source)]->kind + ")"};
  for (size_t i = 0; i < tree.rows.size(); ++i)
    program->hasExternal = program->hasExternal || program->external(i);
  program->seed = uint64_t(options.seed.value_or(tree.seed));
  program->rank = options.rank;
  program->world = options.world;
  program->last = options.last.value_or(lastOf(tree.batch->last));
  program->callerOrders = options.callerOrders || options.nextRows;
  program->substitute = options.substitute.value_or(tree.substitute);

  program->block.assign(size_t(tree.slots), 0);
  program->block[PST_ENTRY_SEED] = int64_t(program->seed);
  program->block[PST_ENTRY_TABLE_LENGTH] = length;
  for (const auto &entry : tree.lengths)
    program->block[size_t(entry->slot)] = program->tables->length(entry->source);
  for (size_t i = 0; i < params->size(); ++i)
    if (const int32_t slot = tree.params[i]->slot; slot >= 0)
      program->block[size_t(slot)] = tree.params[i]->type == DType::f64
                                         ? std::bit_cast<int64_t>((*params)[i].number)
                                         : (*params)[i].integer;

  auto order = makeOrder(*program->layout, *program->tables, program->block);
  if (!order)
    return order.error();
  program->order = std::move(*order);

  constexpr int64_t maxBatch = int64_t(1) << 32;
  const int64_t size = batchSize(*program->layout, program->block);
  if (size <= 0 || size > maxBatch)
    return Error{Code::InvalidArgument,
                 "the batch has " + std::to_string(size) + " samples; it needs at least 1"};
  program->globalBatch = tree.batch->global ? size : size * int64_t(options.world);
  auto ranks = RankLayout::make(program->globalBatch, options.rank, options.world);
  if (!ranks)
    return ranks.error();
  program->perRank = ranks->perRank();
  return std::shared_ptr<const Program>(std::move(program));
}

} // namespace penstock::runtime
