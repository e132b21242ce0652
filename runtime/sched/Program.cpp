// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Program.h"

#include "runtime/abi/random.h"
#include "runtime/sched/RowChoice.h"
#include "runtime/sched/RowHeaders.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

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

/// A number of the batch, which may depend on parameters.
int64_t batchNumber(const Layout &layout, const std::vector<int64_t> &block, int64_t number,
                    int32_t slot) {
  if (slot < 0)
    return number;
  // The number may be computed from parameters: select computes it for every
  // sample alike.
  std::vector<int64_t> first = block;
  if (layout.select) {
    pst_kernel_args args{};
    args.stop = &neverStops;
    args.scalars = first.data();
    layout.select(&args);
  }
  return first[size_t(slot)];
}

/// Returns the rules of batches by length; none of a plan whose batches have one size.
Result<std::optional<LengthBatches::Rules>> lengthRules(const Program &program) {
  const auto &wanted = program.tree().batch->by_length;
  if (!wanted)
    return std::optional<LengthBatches::Rules>();
  auto refuse = [](std::string text) { return Error{Code::InvalidArgument, std::move(text)}; };
  LengthBatches::Rules rules;
  rules.limit = batchNumber(*program.layout, program.block, wanted->limit, wanted->limit_slot);
  rules.buckets =
      batchNumber(*program.layout, program.block, wanted->buckets, wanted->buckets_slot);
  rules.shuffles = program.tree().order == plan::Order::shuffled;
  rules.keepsLast = program.last == LastBatch::Keep;
  if (rules.limit < 1 || rules.limit > LengthBatches::maxElements)
    return refuse("a batch takes 1 to 2^53 elements, not " + std::to_string(rules.limit));
  if (rules.buckets < 1 || rules.buckets > LengthBatches::maxBuckets)
    return refuse("there are 1 to " + std::to_string(LengthBatches::maxBuckets) + " buckets, not " +
                  std::to_string(rules.buckets));
  if (program.last == LastBatch::Pad)
    return refuse("`last pad` gives all ranks as many samples, and batches by length differ in "
                  "theirs: with `last keep` all ranks have as many batches");
  if (program.callerOrders)
    return refuse("rows come from the caller, and batches by length come from the order of `" +
                  program.tree().name + "`");
  return std::optional(rules);
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

int64_t Program::rowFor(uint32_t epoch, int64_t position, int attempt) const {
  if (byLength) // the order has only the rows' numbers
    return order->row(seed, epoch,
                      attempt == 0 ? byLength->row(seed, epoch, position)
                                   : byLength->substitute(seed, epoch, position, attempt));
  return attempt == 0 ? order->row(seed, epoch, position % positions())
                      : order->substitute(seed, epoch, position, attempt);
}

int64_t Program::pickedRow(uint32_t epoch, int64_t position, size_t row, int attempt,
                           int64_t wanted) const {
  const plan::RowT &picked = *tree().rows[row];
  const int64_t length = tables->length(picked.source);
  wanted = std::clamp<int64_t>(wanted, 0, std::max<int64_t>(length - 1, 0));
  if (attempt == 0 || length < 2)
    return wanted;
  // All other rows are as likely, and none comes twice before all have been there.
  const random::Key key{seed, uint64_t(position), epoch, uint16_t(picked.group)};
  constexpr uint64_t id = random::drawId("<substitute of pick>");
  const auto others = uint64_t(length - 1);
  const uint64_t further =
      1 + random::permute(random::bits(key, id, 0), others, uint64_t(attempt - 1) % others);
  return int64_t((uint64_t(wanted) + further) % uint64_t(length));
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

int64_t Program::positionsPerEpoch() const {
  if (!byLength)
    return positionsFrom(0);
  const int64_t batches = std::max<int64_t>(byLength->batches(), 1), all = batchesFrom(0) * world;
  return positions() * std::max<int64_t>((all + batches - 1) / batches, 1);
}

BatchPlace Program::batchFrom(uint32_t epoch, int64_t start, int64_t number) const {
  BatchPlace place;
  if (byLength) {
    place.begin = start + number * world;
    place.end = place.begin + world;
    const LengthBatches::Batch batch = byLength->batch(seed, epoch, place.begin + rank);
    place.first = batch.first;
    place.count = batch.count;
    return place;
  }
  const RankLayout layout = ranks(start);
  place.begin = number ? layout.endOf(number - 1) : start;
  place.end = layout.endOf(number);
  place.first = layout.position(number, 0);
  place.step = world;
  place.count = layout.samples(number, positionsFrom(start));
  return place;
}

BatchPlace Program::batchAt(int64_t position) const {
  BatchPlace place;
  if (byLength) {
    const LengthBatches::Batch batch = byLength->batchAt(position);
    place.first = batch.first;
    place.count = batch.count;
    return place;
  }
  const int64_t number = position / globalBatch;
  const RankLayout layout = *RankLayout::make(globalBatch, uint32_t(position % world), world);
  place.first = layout.position(number, 0);
  place.step = world;
  place.count = layout.samples(number, positionsFrom(0));
  return place;
}

int64_t Program::samplesPerEpoch() const {
  return byLength ? byLength->samples() / world : samplesThrough(0);
}

int64_t Program::samplesThrough(int64_t start) const {
  // Of what came before, the positions of this rank's remainder count, whoever had them: so the
  // number stays as the epoch goes on.
  const int64_t before = (std::max<int64_t>(start - rank, 0) + world - 1) / world;
  const int64_t wanted = positionsFrom(start);
  const int64_t full = std::max<int64_t>(wanted - start, 0) / globalBatch;
  const bool hasRest = batchesFrom(start) > full;
  return before + full * perRank + (hasRest ? ranks(start).samples(full, wanted) : 0);
}

int64_t Program::allowedBad(uint32_t epoch, int64_t start) const {
  if (!(substitute > 0))
    return 0;
  // All: how many were bad under another number of ranks is an estimate, which may be higher.
  if (substitute >= 1)
    return std::numeric_limits<int64_t>::max();
  const int64_t samples = byLength       ? byLength->samplesOf(seed, epoch, start, rank, world)
                          : callerOrders ? samplesPerEpoch()
                                         : samplesThrough(start);
  // 29 % of 100 are 29: a share is the number next to what was written, and so is the product.
  const double most = substitute * double(samples), whole = std::round(most);
  const bool isWhole = std::fabs(most - whole) <= whole * 0x1p-50;
  // A share that is not zero allows one, however small the table is.
  return std::max<int64_t>(1, int64_t(isWhole ? whole : std::floor(most)));
}

Result<std::shared_ptr<const Program>> Program::make(std::shared_ptr<const Layout> layout,
                                                     std::shared_ptr<const Tables> tables,
                                                     const SessionOptions &options,
                                                     std::shared_ptr<DeviceProgram> device,
                                                     std::shared_ptr<const RowHeaders> headers) {
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

  auto rules = lengthRules(*program);
  if (!rules)
    return rules.error();
  program->headers = std::move(headers);
  if (!program->headers) {
    auto read = RowHeaders::read(program);
    if (!read)
      return read.error();
    program->headers = std::move(*read);
  }
  auto choice = chooseRows(*program, *rules);
  if (!choice)
    return choice.error();
  program->order = std::move(choice->order);
  program->byLength = std::move(choice->byLength);
  if (Status status = program->takeBatches(options); !status)
    return status.error();
  return std::shared_ptr<const Program>(std::move(program));
}

/// Sets the number of samples of a batch, and checks that ranks can share it.
Status Program::takeBatches(const SessionOptions &options) {
  constexpr int64_t maxBatch = int64_t(1) << 32;
  const plan::BatchT &batch = *tree().batch;
  const int64_t size = byLength ? std::max<int64_t>(byLength->largest(), 1)
                                : batchNumber(*layout, block, batch.size, batch.size_slot);
  if (size <= 0 || size > maxBatch)
    return Error{
        Code::InvalidArgument,
        "the batch has " + std::to_string(size) + " samples; it " +
            (size <= 0 ? "needs at least 1" : "may have at most " + std::to_string(maxBatch))};
  globalBatch = batch.global ? size : size * int64_t(options.world);
  auto ranks = RankLayout::make(globalBatch, options.rank, options.world);
  if (!ranks)
    return ranks.error();
  perRank = ranks->perRank();
  return {};
}

} // namespace penstock::runtime
