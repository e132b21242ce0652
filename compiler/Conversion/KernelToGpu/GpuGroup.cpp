// SPDX-License-Identifier: Apache-2.0
//
// Selection by mask, groups by key.
//
// Passes of one block. What threads do in any order, claiming places of a table
// and of lists, is put into the one order that counts before it is read: of a
// group's elements the least leads it, and lists of members are sorted.
#include "compiler/Conversion/KernelToGpu/GpuEmitter.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// What an op keeps in scratch memory besides its results.
FailureOr<SmallVector<GpuEmitter::Buffer>> GpuEmitter::workspace(Operation &op) {
  SmallVector<Buffer> arrays;
  Type i64 = b.getI64Type();
  bool fits = true;
  auto add = [&](Type element, ArrayRef<TensorAxis> axes, int64_t each = 1) {
    auto made = array(element, axes, each);
    fits &= succeeded(made);
    if (succeeded(made))
      arrays.push_back(*made);
  };
  auto axesOf = [&](Value tensor, StringRef without = "") {
    SmallVector<TensorAxis> axes;
    for (auto [number, axis] : llvm::enumerate(typeOf(tensor).getAxes()))
      if (axis.name != without)
        axes.push_back({tensor, static_cast<int64_t>(number)});
    return axes;
  };
  if (auto compacted = llvm::dyn_cast<CompactOp>(op)) {
    add(i64, {}, threads);
    add(i64, axesOf(compacted.getMask()));
  } else if (auto grouped = llvm::dyn_cast<GroupOp>(op)) {
    const TensorAxis along{grouped.getKey(), 0};
    add(i64, {}, threads);
    add(i64, axesOf(grouped.getKey()));
    add(i64, along, 2); // a search for a free place always ends
    add(i64, along);
    add(i64, along);
  } else if (auto reduced = llvm::dyn_cast<ReduceByOp>(op)) {
    const TensorAxis groups{reduced.getResult(),
                            typeOf(reduced.getValue()).axisIndex(reduced.getAxis())};
    add(i64, {}, threads);
    for (int list = 0; list < 3; ++list)
      add(i64, groups);
    add(i64, {{reduced.getGroup(), 0}});
  } else if (auto transform = llvm::dyn_cast<FftOp>(op)) {
    NamedTensorType type = typeOf(transform.getValue());
    const int64_t n = type.getAxes()[type.axisIndex(transform.getAxis())].extent;
    for (int part = 0; part < 4; ++part) // two arrays of complex numbers
      add(type.getElementType(), axesOf(transform.getValue(), transform.getAxis()),
          n % 2 ? n : n / 2);
  }
  if (!fits)
    return failure();
  return arrays;
}

/// Visits every place with the sum of the numbers before it and its own number,
/// then the sum of all.
/// Each thread takes a run: it is added up, the sums of runs are, and then the
/// run is gone through again.
void GpuEmitter::running(Value count, const Buffer &sums, llvm::function_ref<Value(Value)> number,
                         llvm::function_ref<void(Value, Value, Value)> visit,
                         llvm::function_ref<void(Value)> whole) {
  Value runs = x.constant(threads), first = x.constant(0);
  Value length = x.floorDiv(x.add(count, x.constant(threads - 1)), runs);
  auto runOf = [&](Value run) {
    Value low = x.mul(run, length);
    return std::pair(x.min(low, count), x.min(x.add(low, length), count));
  };
  auto sumOf = [&](Value low, Value high, llvm::function_ref<Value(Value)> at) {
    return loop(low, high, 1, i64(0), [&](Value i, ValueRange sofar) {
      return SmallVector<Value>{binary(BinaryKind::add, sofar[0], at(i))};
    })[0];
  };
  nest({"run"}, runs, "threads", [&](Indices run) {
    auto [low, high] = runOf(run[0]);
    save(sumOf(low, high, number), sums, run);
  });
  barrier();
  auto before = [&](Value end) {
    return sumOf(first, end, [&](Value run) { return load(sums, run); });
  };
  nest({"run"}, runs, "threads", [&](Indices run) {
    auto [low, high] = runOf(run[0]);
    loop(low, high, 1, before(run[0]), [&](Value i, ValueRange sofar) {
      Value mine = number(i);
      visit(i, sofar[0], mine);
      return SmallVector<Value>{binary(BinaryKind::add, sofar[0], mine)};
    });
  });
  if (whole)
    nest({}, {}, "threads", [&](Indices) { whole(before(runs)); });
  barrier();
}

/// First the places that the mask keeps, then what lies there.
void GpuEmitter::compact(CompactOp op, ArrayRef<Buffer> to, ArrayRef<Buffer> work) {
  NamedTensorType type = typeOf(op.getResult());
  const int64_t along = type.axisIndex(op.getAxis());
  const Buffer &kept = work[1], &count = to[1];
  running(
      extent(op.getMask(), 0), work[0],
      [&](Value i) { return cast(element(op.getMask(), i), b.getI64Type()); },
      [&](Value i, Value before, Value keeps) {
        when(isTrue(keeps), [&] { save(x.toI64(i), kept, x.toIndex(before)); });
      },
      [&](Value whole) { save(whole, count, {}); });
  over(op.getResult(), [&](Indices at) {
    Value exists = x.compare(CmpIPredicate::slt, at[along], x.toIndex(load(count, {})));
    Value value = branch(
        exists, type.getElementType(),
        [&] {
          SmallVector<Value> from(at);
          from[along] = x.toIndex(load(kept, at[along]));
          return element(op.getValue(), from);
        },
        [&] { return zeroOf(type.getElementType()); });
    save(value, to[0], at);
  });
}

/// Every element claims a place of a table for its key. The least element of a
/// place leads the group; leaders are numbered in their order.
void GpuEmitter::group(GroupOp op, ArrayRef<Buffer> to, ArrayRef<Buffer> work) {
  const Buffer &keys = work[1], &places = work[3], &numbers = work[4];
  const Buffer table{work[2].memory, {x.constant(1)}};
  const Buffer &slots = to[0], &firsts = to[1], &count = to[2];
  NamedTensorType type = typeOf(op.getKey());
  const std::string &name = type.getAxes()[0].name;
  Value size = extent(op.getKey(), 0), room = extent(op.getFirst(), 0);
  Value size2 = x.mul(size, x.constant(2)), width = x.constant(1);
  SmallVector<std::string> names;
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    names.push_back(type.getAxes()[axis].name);
    extents.push_back(extent(op.getKey(), axis));
    width = axis ? x.mul(width, extents.back()) : width;
  }
  nest(names, extents, "threads",
       [&](Indices at) { save(cast(element(op.getKey(), at), b.getI64Type()), keys, at); });
  nest({"place"}, size2, "threads", [&](Indices at) { save(i64(-1), table, at); });
  nest({"m"}, room, "threads", [&](Indices at) { save(i64(0), firsts, at); });
  barrier();
  nest({name}, size, "threads", [&](Indices at) {
    auto claim = [&] {
      return call("pst_claim", b.getI64Type(), {table.memory, size2, keys.memory, width, at[0]});
    };
    Value mine = op.getMask() ? branch(element(op.getMask(), at), b.getI64Type(), claim,
                                       [&] { return i64(-1); })
                              : claim();
    save(mine, places, at);
  });
  barrier();
  /// The number of the element that leads i's group, or -1.
  auto leader = [&](Value i) {
    Value place = x.toIndex(load(places, i));
    Value grouped = x.compare(CmpIPredicate::sge, place, x.constant(0));
    return branch(
        grouped, b.getI64Type(), [&] { return load(table, place); }, [&] { return i64(-1); });
  };
  Value limit = i64(static_cast<int64_t>(op.getLimit()));
  limit = binary(BinaryKind::min, limit, x.toI64(room));
  running(
      size, work[0],
      [&](Value i) {
        return cast(b.create<CompareOp>(loc, Predicate::eq, leader(i), x.toI64(i)), b.getI64Type());
      },
      [&](Value i, Value before, Value leads) {
        when(isTrue(leads), [&] {
          Value fits = b.create<CompareOp>(loc, Predicate::lt, before, limit);
          save(b.create<SelectOp>(loc, fits, before, i64(-1)), numbers, i);
          when(fits, [&] { save(x.toI64(i), firsts, x.toIndex(before)); });
        });
      },
      [&](Value whole) { save(binary(BinaryKind::min, whole, limit), count, {}); });
  nest({name}, size, "threads", [&](Indices at) {
    Value first = x.toIndex(leader(at[0]));
    Value number = branch(
        x.compare(CmpIPredicate::sge, first, x.constant(0)), b.getI64Type(),
        [&] { return load(numbers, first); }, [&] { return i64(-1); });
    save(number, slots, at);
  });
}

/// Members are listed group after group, each list in order; each is then one
/// reduction.
void GpuEmitter::reduceBy(ReduceByOp op, const Buffer &to, ArrayRef<Buffer> work) {
  const Buffer &counts = work[1], &taken = work[2], &starts = work[3], &members = work[4];
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  const int64_t along = in.axisIndex(op.getAxis());
  Value size = extent(op.getGroup(), 0), groups = extent(op.getResult(), along);
  const std::string name = op.getAxis().str(), into = out.getAxes()[along].name;
  auto eachMember = [&](llvm::function_ref<void(Value, Value)> visit) {
    nest({name}, size, "threads", [&](Indices at) {
      Value group = x.toIndex(element(op.getGroup(), at));
      when(x.inside(group, groups), [&] { visit(at[0], group); });
    });
    barrier();
  };
  auto next = [&](const Buffer &list, Value group) {
    return call("pst_next", b.getI64Type(), {list.memory, group});
  };
  nest({into}, groups, "threads", [&](Indices at) {
    save(i64(0), counts, at);
    save(i64(0), taken, at);
  });
  barrier();
  eachMember([&](Value, Value group) { next(counts, group); });
  running(
      groups, work[0], [&](Value group) { return load(counts, group); },
      [&](Value group, Value before, Value) { save(before, starts, group); }, nullptr);
  eachMember([&](Value i, Value group) {
    Value place = binary(BinaryKind::add, load(starts, group), next(taken, group));
    save(x.toI64(i), members, x.toIndex(place));
  });
  nest({into}, groups, "threads", [&](Indices at) {
    call("pst_sort", {}, {members.memory, load(starts, at), load(counts, at)});
  });
  barrier();

  const ReduceKind kind = op.getKind();
  Type computing =
      kind == ReduceKind::count ? Type(b.getI64Type()) : computeType(in.getElementType());
  over(op.getResult(), [&](Indices at) {
    Value first = x.toIndex(load(starts, at[along])), count = x.toIndex(load(counts, at[along]));
    auto member = [&](Value i) {
      SmallVector<Value> from(at);
      from[along] = x.toIndex(load(members, x.add(first, i)));
      return cast(element(op.getValue(), from), computing);
    };
    Value whole;
    if (kind == ReduceKind::argmin || kind == ReduceKind::argmax)
      whole = branch(
          x.compare(CmpIPredicate::sgt, count, x.constant(0)), b.getI64Type(),
          [&] {
            // Of a group without numbers, the first.
            Value best = bestOf(kind, computing, x.constant(0), count, 1, member).first;
            best = binary(BinaryKind::max, best, i64(0));
            return load(members, x.add(first, x.toIndex(best)));
          },
          [&] { return i64(0); });
    else if (kind == ReduceKind::sum && llvm::isa<FloatType>(computing))
      whole = laneSum(computing, count, member);
    else
      whole =
          loop(x.constant(0), count, 1, startOf(kind, computing), [&](Value i, ValueRange sofar) {
            return SmallVector<Value>{combined(kind, sofar[0], member(i))};
          })[0];
    save(cast(whole, out.getElementType()), to, at);
  });
}
