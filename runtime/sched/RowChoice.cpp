// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/RowChoice.h"

#include "runtime/abi/message.h"
#include "runtime/core/DType.h"
#include "runtime/sched/RowHeaders.h"
#include "runtime/sched/Setup.h"
#include "runtime/sched/Workers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

namespace penstock::runtime {

namespace {

/// Runs the plan's kernel for one row after the other.
class RowVisitor {
public:
  explicit RowVisitor(const Program &program)
      : layout(*program.layout), tables(*program.tables), headers(program.headers.get()),
        block(program.block), scratch(size_t(Layout::earlyScratch)),
        fields(layout.tree().rows_fields.size()), storage(fields.size()) {}

  /// Fills the block for `row`, which is the `entry`-th.
  Status visit(int64_t row, size_t entry) {
    lacksFloat = false;
    isBad = headers && !headers->store(entry, block.data());
    const plan::PlanT &tree = layout.tree();
    if (const int32_t slot = tree.rows[0]->slot; slot >= 0)
      block[size_t(slot)] = row;
    for (const auto &field : tree.fields) {
      if (!field->by_rows)
        continue;
      auto value = field->axis < 0 ? tables.scalar(0, row, field->column)
                                   : tables.extent(0, row, field->column, field->axis);
      if (!value && value.error().code != Code::Corrupt)
        return Error{value.error().code, tables.name(0, row) + ": " + value.error().message};
      // A float that is missing is no number, about which `where` may decide.
      const bool isFloat = isFloatColumn(tree, *field);
      isBad |= !value && !isFloat;
      lacksFloat |= !value && isFloat;
      block[size_t(field->slot)] = value     ? *value
                                   : isFloat ? std::bit_cast<int64_t>(std::nan(""))
                                             : 0;
    }
    for (size_t i = 0; i < tree.rows_fields.size(); ++i) {
      const int column = layout.buffers[size_t(tree.rows_fields[i])].column;
      Status status = tables.tensor(0, row, column, storage[i], fields[i]);
      if (!status && status.error().code != Code::Corrupt)
        return Error{status.error().code, tables.name(0, row) + ": " + status.error().message};
      if (!status) { // there is nothing to look at
        isBad = true;
        return {};
      }
    }
    pst_kernel_args args{};
    args.stop = &neverStops;
    args.scalars = block.data();
    args.tensors = fields.data();
    args.scratch = scratch.data();
    if (layout.rows)
      layout.rows(&args); // a rows kernel has no checks
    return {};
  }
  bool keeps() const {
    const int32_t slot = layout.tree().keep_slot;
    return slot < 0 || block[size_t(slot)] || isBad; // it is reported when a sample needs it
  }
  double weight() const {
    const int32_t slot = layout.tree().weight_slot;
    const double own = slot < 0 ? 1 : std::bit_cast<double>(block[size_t(slot)]);
    return isBad || (lacksFloat && std::isnan(own)) ? 0 : own;
  }
  double length() const {
    const auto slot = size_t(layout.tree().batch->by_length->length_slot);
    const double own = std::bit_cast<double>(block[slot]);
    return isBad || (lacksFloat && std::isnan(own)) ? 0 : own;
  }

private:
  const Layout &layout;
  const Tables &tables;
  const RowHeaders *headers; // null: none is asked for
  bool isBad = false, lacksFloat = false;
  std::vector<int64_t> block;
  std::vector<uint8_t> scratch;
  std::vector<pst_tensor> fields; // whose elements the kernel reads
  std::vector<Buffer> storage;
};

/// A row's length in whole elements.
Result<int64_t> lengthOf(const plan::PlanT &tree, double length, int64_t limit) {
  const int32_t id = tree.batch->by_length->too_long;
  const auto &check = **std::find_if(tree.checks.begin(), tree.checks.end(),
                                     [&](const auto &check) { return check->id == id; });
  auto refuse = [&](std::string text) {
    return Error{Code::InvalidArgument, text + " (" + check.file + ":" +
                                            std::to_string(check.line) + ":" +
                                            std::to_string(check.column) + ")"};
  };
  if (!(length >= 0) || !std::isfinite(length))
    return refuse("its length is " + shortestText(length) +
                  "; lengths are finite and not negative");
  const double whole = std::ceil(length);
  const int64_t values[2] = {int64_t(std::min(whole, double(LengthBatches::maxElements) + 2)),
                             limit};
  if (values[0] > limit)
    return refuse(fillMessage(check.message, values));
  return values[0];
}

Result<Order> orderOf(plan::Order kind, int64_t rows, const std::vector<double> &weights) {
  switch (kind) {
  case plan::Order::weighted:
    return Order::weighted(weights);
  case plan::Order::shuffled:
    return Order::shuffled(rows);
  case plan::Order::sequential:
  case plan::Order::listed:
    break;
  }
  return Order::sequential(rows);
}

} // namespace

Result<RowChoice> chooseRows(const Program &program,
                             const std::optional<LengthBatches::Rules> &rules) {
  const plan::PlanT &tree = program.tree();
  const Tables &tables = *program.tables;
  const int64_t length = tables.length(0);
  const bool isListed = tree.order == plan::Order::listed;
  if (tree.rows_kernel < 0 && tree.keep_slot < 0 && tree.weight_slot < 0 && !rules) {
    auto order =
        isListed ? Order::listed(tree.order_list, length) : orderOf(tree.order, length, {});
    if (!order)
      return order.error();
    return RowChoice{std::move(*order), std::nullopt};
  }
  if (isListed)
    if (auto checked = Order::listed(tree.order_list, length); !checked)
      return checked.error();
  if (length > maxChosenRows)
    return Error{Code::Limit, "`where`, `weighted` and lengths look at all " +
                                  std::to_string(length) + " rows of the table; the limit is 2^31"};
  const FloatMode mode;
  RowVisitor visitor(program);
  std::vector<int64_t> rows, lengths;
  std::vector<double> weights;
  const int64_t entries = isListed ? int64_t(tree.order_list.size()) : length;
  for (int64_t i = 0; i < entries; ++i) {
    const int64_t row = isListed ? tree.order_list[size_t(i)] : i;
    if (Status status = visitor.visit(row, size_t(i)); !status)
      return status.error();
    if (!visitor.keeps())
      continue;
    rows.push_back(row);
    if (rules) {
      auto own = lengthOf(tree, visitor.length(), rules->limit);
      if (!own)
        return Error{own.error().code, tables.name(0, row) + ": " + own.error().message};
      lengths.push_back(*own);
    }
    if (tree.order != plan::Order::weighted)
      continue;
    const double weight = visitor.weight();
    if (!(weight >= 0) || !std::isfinite(weight))
      return Error{Code::InvalidArgument, tables.name(0, row) + " has the weight " +
                                              std::to_string(weight) +
                                              "; weights are finite and not negative"};
    weights.push_back(weight);
  }
  if (rows.empty())
    return Error{Code::InvalidArgument,
                 "`where` leaves none of " + std::to_string(entries) + " rows"};
  std::optional<LengthBatches> byLength;
  if (rules) {
    auto made = LengthBatches::make(lengths, *rules);
    if (!made)
      return made.error();
    byLength = std::move(*made);
  }
  auto order = orderOf(rules ? plan::Order::sequential : tree.order, int64_t(rows.size()), weights);
  if (!order)
    return order.error();
  if (isListed || int64_t(rows.size()) < length)
    return RowChoice{std::move(*order).over(std::move(rows)), std::move(byLength)};
  return RowChoice{std::move(*order), std::move(byLength)};
}

} // namespace penstock::runtime
