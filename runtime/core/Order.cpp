// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Order.h"

#include "runtime/abi/random.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace penstock::runtime {

namespace {

// Paths no user can write, so that these draws share nothing with pipelines'.
constexpr uint64_t shuffleId = random::drawId("<order shuffled>");
constexpr uint64_t weightedId = random::drawId("<order weighted>");
constexpr uint64_t substituteId = random::drawId("<substitute>");

Status checkRows(int64_t rows) {
  if (rows < 0 || rows > Order::maxPositions)
    return Error{Code::Limit, "a table of " + std::to_string(rows) + " rows, the limit is 2^48"};
  return {};
}

} // namespace

Result<Order> Order::sequential(int64_t rows) {
  if (Status status = checkRows(rows); !status)
    return status.error();
  return Order(Kind::Sequential, rows);
}

Result<Order> Order::shuffled(int64_t rows) {
  if (Status status = checkRows(rows); !status)
    return status.error();
  return Order(Kind::Shuffled, rows);
}

Result<Order> Order::weighted(std::span<const double> weights) {
  Order order(Kind::Weighted, int64_t(weights.size()));
  order.cumulative.reserve(weights.size());
  double sum = 0;
  for (size_t row = 0; row < weights.size(); ++row) {
    if (!(weights[row] >= 0) || !std::isfinite(weights[row]))
      return Error{Code::InvalidArgument, "row " + std::to_string(row) + " has the weight " +
                                              std::to_string(weights[row]) +
                                              "; weights are finite and not negative"};
    order.cumulative.push_back(sum += weights[row]);
  }
  if (!weights.empty() && !(sum > 0 && std::isfinite(sum)))
    return Error{Code::InvalidArgument, "the weights of all " + std::to_string(weights.size()) +
                                            " rows add up to " + std::to_string(sum)};
  return order;
}

Result<Order> Order::listed(std::vector<int64_t> list, int64_t rows) {
  if (Status status = checkRows(rows); !status)
    return status.error();
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] < 0 || list[i] >= rows)
      return Error{Code::InvalidArgument, "entry " + std::to_string(i) + " of the order is row " +
                                              std::to_string(list[i]) + ", but the table has " +
                                              std::to_string(rows) + " rows"};
  return Order(Kind::Sequential, int64_t(list.size())).over(std::move(list));
}

Order Order::over(std::vector<int64_t> rows) && {
  part = std::move(rows);
  return std::move(*this);
}

int64_t Order::draw(uint64_t seed, uint32_t epoch, int64_t position, uint64_t id,
                    uint64_t element) const {
  random::Key key{seed, uint64_t(position), epoch, 0};
  uint64_t bits = random::bits(key, id, element);
  if (kind != Kind::Weighted)
    return tableRow(random::integer(bits, 0, count));
  double at = random::uniform(bits, 0, cumulative.back());
  // The first row whose sum exceeds `at`: never one of weight 0.
  auto found = std::upper_bound(cumulative.begin(), cumulative.end(), at);
  return tableRow(int64_t(found - cumulative.begin()));
}

int64_t Order::row(uint64_t seed, uint32_t epoch, int64_t position) const {
  switch (kind) {
  case Kind::Sequential:
    return tableRow(position);
  case Kind::Weighted:
    return draw(seed, epoch, position, weightedId, 0);
  case Kind::Shuffled:
    break;
  }
  uint64_t key = random::mix(random::mix(seed, shuffleId), epoch);
  return tableRow(int64_t(random::permute(key, uint64_t(count), uint64_t(position))));
}

int64_t Order::substitute(uint64_t seed, uint32_t epoch, int64_t position, int attempt) const {
  return draw(seed, epoch, position, substituteId, uint64_t(attempt));
}

Result<RankLayout> RankLayout::make(int64_t globalBatch, uint32_t rank, uint32_t world,
                                    int64_t start) {
  if (world == 0 || rank >= world)
    return Error{Code::InvalidArgument, "rank " + std::to_string(rank) + " of " +
                                            std::to_string(world) + "; ranks count from 0"};
  if (globalBatch <= 0 || globalBatch > Order::maxPositions)
    return Error{Code::InvalidArgument, "a batch of " + std::to_string(globalBatch) + " samples"};
  if (globalBatch % world)
    return Error{Code::InvalidArgument, "a batch of " + std::to_string(globalBatch) +
                                            " samples cannot be shared evenly among " +
                                            std::to_string(world) + " ranks"};
  if (start < 0)
    return Error{Code::InvalidArgument,
                 "an epoch cannot start at position " + std::to_string(start)};
  RankLayout layout;
  layout.global = globalBatch;
  layout.world = world;
  layout.start = start;
  layout.offset = (int64_t(rank) - start % int64_t(world) + world) % int64_t(world);
  return layout;
}

int64_t RankLayout::batches(int64_t positions, bool keepLast) const {
  int64_t left = std::max<int64_t>(positions - start, 0);
  return left / global + (keepLast && left % global ? 1 : 0);
}

int64_t RankLayout::samples(int64_t batch, int64_t positions) const {
  int64_t left = positions - position(batch, 0);
  return std::clamp<int64_t>((left + world - 1) / world, 0, perRank());
}

} // namespace penstock::runtime
