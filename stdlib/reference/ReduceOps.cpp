// SPDX-License-Identifier: Apache-2.0
//
// Class R: reduce, scan, histogram, contract.
#include "runtime/abi/scalar.h"
#include "stdlib/reference/Arithmetic.h"
#include "stdlib/reference/Machine.h"

namespace penstock::reference {

//===--- combining one run of elements -------------------------------------===//

static Scalar zeroOf(DType type) { return {type, 0, 0}; }
static Scalar plus(const Scalar &a, const Scalar &b) { return binary(pipe::BinaryKind::add, a, b); }

/// 32 interleaved partial sums, then a pairwise tree.
static Scalar laneSum(const std::vector<Scalar> &run, DType type) {
  std::vector<Scalar> lanes(scalar::reductionLanes, zeroOf(type));
  for (size_t i = 0; i < run.size(); ++i)
    lanes[i % lanes.size()] = plus(lanes[i % lanes.size()], run[i]);
  for (size_t half = lanes.size() / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane)
      lanes[lane] = plus(lanes[lane], lanes[lane + half]);
  return lanes[0];
}

/// -0 lies below +0; NaN is below and above nothing.
static bool less(const Scalar &a, const Scalar &b) {
  if (!isFloat(a.type))
    return a.integer < b.integer;
  return a.real < b.real ||
         (a.real == 0 && b.real == 0 && std::signbit(a.real) && !std::signbit(b.real));
}

static int64_t argOf(const std::vector<Scalar> &run, bool smallest) {
  int64_t best = -1;
  for (size_t i = 0; i < run.size(); ++i) {
    if (isFloat(run[i].type) && run[i].real != run[i].real)
      continue;
    const Scalar &leader = run[static_cast<size_t>(std::max<int64_t>(best, 0))];
    if (best < 0 || (smallest ? less(run[i], leader) : less(leader, run[i])))
      best = static_cast<int64_t>(i);
  }
  return std::max<int64_t>(best, 0);
}

static Scalar combine(pipe::ReduceKind kind, const std::vector<Scalar> &run, DType type) {
  Scalar result;
  switch (kind) {
  case pipe::ReduceKind::sum:
    return laneSum(run, type);
  case pipe::ReduceKind::min:
    result = run.empty() ? identityOfMin(type) : run[0];
    for (const Scalar &value : run)
      result = binary(pipe::BinaryKind::min, result, value);
    return result;
  case pipe::ReduceKind::max:
    result = run.empty() ? identityOfMax(type) : run[0];
    for (const Scalar &value : run)
      result = binary(pipe::BinaryKind::max, result, value);
    return result;
  case pipe::ReduceKind::any:
    return boolScalar(llvm::any_of(run, [](const Scalar &v) { return v.integer != 0; }));
  case pipe::ReduceKind::all:
    return boolScalar(llvm::all_of(run, [](const Scalar &v) { return v.integer != 0; }));
  case pipe::ReduceKind::count:
    return intScalar(llvm::count_if(run, [](const Scalar &v) { return v.integer != 0; }));
  case pipe::ReduceKind::argmin:
    return intScalar(argOf(run, true));
  case pipe::ReduceKind::argmax:
    return intScalar(argOf(run, false));
  }
  return result;
}

namespace {
/// The runs of elements along some axes: `visit(run, elements)` for every index
/// of the axes that stay, in row-major order.
struct Runs {
  const Tensor &tensor;
  std::vector<bool> over;

  Runs(const Tensor &tensor, const std::vector<int64_t> &axes)
      : tensor(tensor), over(tensor.extents.size(), false) {
    for (int64_t axis : axes)
      over[static_cast<size_t>(axis)] = true;
  }

  std::vector<int64_t> domain(bool reduced) const {
    std::vector<int64_t> result;
    for (size_t i = 0; i < over.size(); ++i)
      if (over[i] == reduced)
        result.push_back(tensor.extents[i]);
    return result;
  }

  template <typename Visit> void each(Visit visit) const {
    const std::vector<int64_t> reduced = domain(true);
    std::vector<int64_t> index(over.size());
    int64_t number = 0;
    forEachIndex(domain(false), [&](const std::vector<int64_t> &outer) {
      std::vector<int64_t> elements;
      forEachIndex(reduced, [&](const std::vector<int64_t> &inner) {
        size_t o = 0, i = 0;
        for (size_t axis = 0; axis < over.size(); ++axis)
          index[axis] = over[axis] ? inner[i++] : outer[o++];
        elements.push_back(tensor.offset(index));
      });
      visit(number++, elements);
    });
  }
};
} // namespace

static std::vector<Scalar> loadAll(const Tensor &tensor, const std::vector<int64_t> &elements) {
  std::vector<Scalar> result;
  for (int64_t element : elements)
    result.push_back(tensor.load(element));
  return result;
}

//===--- ops ---------------------------------------------------------------===//

void runReduce(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ReduceOp>(self.op);
  const Tensor &value = machine.tensor(slot, op.getValue());
  Tensor result = machine.blank(slot, op.getResult());
  if (op.getOver().empty() && result.type == value.type) {
    machine.set(slot, op.getResult(), value); // C1: with none the result is the value
    return;
  }
  const Runs runs(value, axesOf(value, op.getOver()));
  if (runs.domain(false) != result.extents)
    fault(op, "the sizes differ from the input's extents");
  runs.each([&](int64_t number, const std::vector<int64_t> &elements) {
    result.store(number, combine(op.getKind(), loadAll(value, elements), value.type));
  });
  machine.set(slot, op.getResult(), std::move(result));
}

/// f16 and bf16 accumulate in f32; each stored element is rounded once.
void runScan(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ScanOp>(self.op);
  const Tensor &value = machine.tensor(slot, op.getValue());
  Tensor result = machine.blank(slot, op.getResult());
  if (result.extents != value.extents)
    fault(op, "the sizes differ from the input's extents");
  const bool recurrence = op.getKind() == pipe::ScanKind::recurrence;
  const Tensor *factors = op.getFactors() ? &machine.tensor(slot, op.getFactors()) : nullptr;
  const Scalar ofAll =
      op.getFactor()
          ? cast(pipe::CastMode::value, machine.scalar(slot, op.getFactor()),
                 isFloat(value.type) && value.type != DType::f64 ? DType::f32 : value.type)
          : Scalar();
  Runs(value, {value.axis(op.getAxis().str())})
      .each([&](int64_t, const std::vector<int64_t> &elements) {
        Scalar sum = zeroOf(value.type);
        if (op.getKind() == pipe::ScanKind::max && !elements.empty())
          sum = value.load(elements[0]);
        for (int64_t element : elements) {
          const Scalar next = value.load(element);
          const Scalar factor = factors ? factors->load(element) : ofAll;
          if (recurrence)
            sum = plus(next, binary(pipe::BinaryKind::mul,
                                    {value.type, factor.integer, factor.real}, sum));
          else
            sum = binary(op.getKind() == pipe::ScanKind::sum ? pipe::BinaryKind::add
                                                             : pipe::BinaryKind::max,
                         sum, next);
          result.store(element, sum);
        }
      });
  machine.set(slot, op.getResult(), std::move(result));
}

void runHistogram(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::HistogramOp>(self.op);
  const Tensor &value = machine.tensor(slot, op.getValue());
  Tensor result = machine.blank(slot, op.getResult());
  const int64_t bins = result.extents.back();
  const Runs runs(value, axesOf(value, op.getOver()));
  std::vector<int64_t> wanted = runs.domain(false);
  wanted.push_back(bins);
  if (wanted != result.extents)
    fault(op, "the sizes differ from the input's extents");
  runs.each([&](int64_t number, const std::vector<int64_t> &elements) {
    for (int64_t element : elements) {
      const int64_t key = value.load(element).integer;
      if (key >= 0 && key < bins)
        result.store(number * bins + key,
                     plus(result.load(number * bins + key), intScalar(1, DType::i32)));
    }
  });
  machine.set(slot, op.getResult(), std::move(result));
}

void runReduceBy(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ReduceByOp>(self.op);
  const Tensor &value = machine.tensor(slot, op.getValue());
  const Tensor &group = machine.tensor(slot, op.getGroup());
  Tensor result = machine.blank(slot, op.getResult());
  const auto axis = static_cast<size_t>(value.axis(op.getAxis().str()));
  if (group.extents[0] != value.extents[axis])
    fault(op, "the groups have another extent than the value");
  for (size_t i = 0; i < value.extents.size(); ++i)
    if (i != axis && result.extents[i] != value.extents[i])
      fault(op, "the result has another extent along `" + value.axes[i] + "`");
  std::vector<std::vector<int64_t>> members(static_cast<size_t>(result.extents[axis]));
  for (int64_t i = 0; i < group.extents[0]; ++i)
    if (const int64_t number = group.load(i).integer; number >= 0 && number < result.extents[axis])
      members[static_cast<size_t>(number)].push_back(i);
  const bool isPlace =
      op.getKind() == pipe::ReduceKind::argmin || op.getKind() == pipe::ReduceKind::argmax;
  int64_t element = 0;
  forEachIndex(result.extents, [&](const std::vector<int64_t> &index) {
    std::vector<Scalar> run;
    std::vector<int64_t> from = index;
    for (int64_t member : members[static_cast<size_t>(index[axis])]) {
      from[axis] = member;
      run.push_back(value.load(value.offset(from)));
    }
    Scalar whole = combine(op.getKind(), run, value.type);
    if (isPlace && !run.empty()) // among the members so far
      whole =
          intScalar(members[static_cast<size_t>(index[axis])][static_cast<size_t>(whole.integer)]);
    result.store(element++, whole);
  });
  machine.set(slot, op.getResult(), std::move(result));
}

void runContract(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ContractOp>(self.op);
  const Tensor &value = machine.tensor(slot, op.getValue());
  const Tensor &matrix = machine.tensor(slot, op.getMatrix());
  Tensor result = machine.blank(slot, op.getResult());
  const auto axis = static_cast<size_t>(value.axis(matrix.axes[0]));
  for (size_t i = 0; i < value.extents.size(); ++i)
    if (result.extents[i] != (i == axis ? matrix.extents[1] : value.extents[i]))
      fault(op, "the result has another extent along `" + result.axes[i] + "`");
  if (matrix.extents[0] != value.extents[axis])
    fault(op, "the matrix has another extent along `" + matrix.axes[0] + "`");
  int64_t element = 0;
  forEachIndex(result.extents, [&](const std::vector<int64_t> &index) {
    std::vector<Scalar> products;
    std::vector<int64_t> from = index;
    for (int64_t i = 0; i < matrix.extents[0]; ++i) {
      from[axis] = i;
      products.push_back(binary(pipe::BinaryKind::mul, value.load(value.offset(from)),
                                matrix.load(i * matrix.extents[1] + index[axis])));
    }
    result.store(element++, laneSum(products, value.type));
  });
  machine.set(slot, op.getResult(), std::move(result));
}

} // namespace penstock::reference
