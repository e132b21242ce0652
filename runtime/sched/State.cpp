// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/State.h"

#include "runtime/core/Order.h"

#include <charconv>
#include <cinttypes>
#include <cstdio>

namespace penstock::runtime {

namespace {

/// Takes " name=" and a number off the front of `text`.
template <typename T> bool take(std::string_view &text, std::string_view name, T &value, int base) {
  if (!text.starts_with(name))
    return false;
  text.remove_prefix(name.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end == text.data())
    return false;
  text.remove_prefix(size_t(end - text.data()));
  return true;
}

std::string hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%016" PRIx64, value);
  return text;
}

} // namespace

std::string SessionState::text(bool withAsked) const {
  std::string text = "penstock-state 1 pipeline=" + hex(pipeline) +
                     " seed=" + std::to_string(seed) + " epoch=" + std::to_string(epoch) +
                     " position=" + std::to_string(position) + " bad=" + std::to_string(bad);
  // Without bad samples it does not matter, and older versions read the text.
  if (bad && world)
    text += " world=" + std::to_string(world);
  if (lengths)
    text += " lengths=" + hex(lengths);
  if (table && !callerOrders)
    text += " table=" + std::to_string(table);
  if (taken != table && !callerOrders)
    text += " taken=" + std::to_string(taken);
  if (!callerOrders)
    return text;
  text += " rows=";
  if (withAsked)
    for (const std::vector<int64_t> &rows : asked) {
      for (size_t i = 0; i < rows.size(); ++i)
        text += (i ? "," : "") + std::to_string(rows[i]);
      text += ';'; // alone: the end of an epoch
    }
  return text;
}

Result<SessionState> SessionState::parse(std::string_view text) {
  SessionState state;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.remove_suffix(1);
  const Error wrong{Code::InvalidArgument, "this is not the state of a session"};
  if (!take(text, "penstock-state 1 pipeline=", state.pipeline, 16) ||
      !take(text, " seed=", state.seed, 10) || !take(text, " epoch=", state.epoch, 10) ||
      !take(text, " position=", state.position, 10) || !take(text, " bad=", state.bad, 10) ||
      state.position < 0 || state.position > Order::maxPositions || state.bad < 0)
    return wrong;
  if (constexpr std::string_view worldFrom = " world="; text.starts_with(worldFrom))
    if (!take(text, worldFrom, state.world, 10) || state.world == 0 ||
        state.bad > Order::maxPositions / state.world)
      return wrong;
  if (constexpr std::string_view lengthsFrom = " lengths="; text.starts_with(lengthsFrom))
    if (!take(text, lengthsFrom, state.lengths, 16))
      return wrong;
  if (constexpr std::string_view tableFrom = " table="; text.starts_with(tableFrom))
    if (!take(text, tableFrom, state.table, 10) || state.table < 0)
      return wrong;
  state.taken = state.table;
  if (constexpr std::string_view takenFrom = " taken="; text.starts_with(takenFrom))
    if (!take(text, takenFrom, state.taken, 10) || state.taken < 0)
      return wrong;
  constexpr std::string_view rowsFrom = " rows=";
  state.callerOrders = text.starts_with(rowsFrom);
  if (state.callerOrders)
    text.remove_prefix(rowsFrom.size());
  while (state.callerOrders && !text.empty()) {
    std::vector<int64_t> &rows = state.asked.emplace_back();
    for (int64_t row; text.front() != ';';) {
      if (!take(text, rows.empty() ? "" : ",", row, 10) || row < 0 || text.empty())
        return wrong;
      rows.push_back(row);
    }
    text.remove_prefix(1);
  }
  if (!text.empty())
    return wrong;
  return state;
}

Status SessionState::checkAgainst(const SessionState &own, const std::string &pipelineName) const {
  if (pipeline != own.pipeline)
    return Error{Code::InvalidArgument, "the state is of another pipeline (" + hex(pipeline) +
                                            ") than `" + pipelineName + "` (" + hex(own.pipeline) +
                                            ")"};
  if (callerOrders != own.callerOrders)
    return Error{Code::InvalidArgument,
                 callerOrders
                     ? "the state is of a session whose rows came from the caller"
                     : "the state is of a session whose rows came from the pipeline's order"};
  if (seed != own.seed)
    return Error{Code::InvalidArgument, "the state is of a session with seed " +
                                            std::to_string(int64_t(seed)) + ", this one has seed " +
                                            std::to_string(int64_t(own.seed))};
  if (position > 0 && lengths != own.lengths)
    return Error{Code::InvalidArgument,
                 "the state is of the midst of an epoch that has other batches: the lengths of the "
                 "rows, the limit, the number of buckets or `last` have changed since"};
  if (position > 0 && !callerOrders && table && table != own.table)
    return Error{Code::InvalidArgument, "the state is of the midst of an epoch of a table of " +
                                            std::to_string(table) + " rows, and this one has " +
                                            std::to_string(own.table) +
                                            ": its order is another one. Begin an epoch anew"};
  if (position > 0 && !callerOrders && table && taken != own.taken)
    return Error{Code::InvalidArgument,
                 "the state is of the midst of an epoch that goes over " + std::to_string(taken) +
                     " of " + std::to_string(table) + " rows, and this one over " +
                     std::to_string(own.taken) +
                     ": `where` or its parameters have changed. Begin an epoch anew"};
  return {};
}

void SessionState::adopt(const SessionState &own) {
  // Of all ranks there are about as many times `bad`; the ranks take them in turn, so that
  // those of a world of one are counted once each.
  if (world && world != own.world)
    bad = (bad * world + own.world - 1 - own.rank) / own.world;
  rank = own.rank;
  world = own.world;
  lengths = own.lengths;
  table = own.table;
  taken = own.taken;
}

} // namespace penstock::runtime
