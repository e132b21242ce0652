// SPDX-License-Identifier: Apache-2.0
//
// Maps of one byte as tables made by the kernel.
//
// The schedule says of which results (`table`). Where their byte is one for all lanes, or something
// that they are made of is not there before the loops, they are computed.
//
// With factors that are known when running only, 256 trials are made then: the
// chain itself on all bytes, once per kernel call, into four registers. Two byte
// permutations look 64 bytes up, for which arithmetic would need four registers
// per step. The bits are the same: they are the chain's own.
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Vector/LanePixels.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static ByteTable tableOf(const Site &site, MapOp op, ArrayRef<LaneValue> inputs, Value byte,
                         Value result, Operation *place);

namespace {
/// Inputs of a value that differ between lanes: none, one byte, or more.
struct Reads {
  Value byte;
  bool more = false;
  void add(const Reads &other) {
    more |= other.more || (byte && other.byte && byte != other.byte);
    byte = byte ? byte : other.byte;
  }
};
} // namespace

/// The outermost loop between `block` and `top`, if only loops and conditions are.
static Operation *outermostLoop(Block *block, Block *top) {
  Operation *outermost = nullptr;
  while (block != top) {
    Operation *op = block->getParentOp();
    if (!llvm::isa_and_nonnull<scf::ForOp, scf::IfOp>(op))
      return nullptr;
    block = op->getBlock();
    if (llvm::isa<scf::ForOp>(op))
      outermost = op;
  }
  return outermost;
}

static bool isTabled(Operation &op) {
  auto stated = op.getAttrOfType<BoolAttr>("table");
  return stated && stated.getValue();
}

/// The operations of `result`'s block that it is made of, in order.
static SmallVector<Operation *> sliceOf(Value result) {
  llvm::DenseSet<Value> needed{result};
  SmallVector<Operation *> slice;
  for (Operation *op = result.getDefiningOp(); op; op = op->getPrevNode())
    if (needed.contains(op->getResult(0))) {
      slice.push_back(op);
      needed.insert(op->operand_begin(), op->operand_end());
    }
  std::reverse(slice.begin(), slice.end());
  return slice;
}

/// Returns whether lanes at hand can look bytes up.
static bool hasTables(const Lanes &l) {
  return l.has.hasByteTables() && l.lanes > 1 && l.lanes <= 64;
}

LogicalResult penstock::conversion::checkTables(KernelOp kernel, const lane::Features &has) {
  const auto found = kernel.getBody().walk([&](Operation *op) {
    if (!isTabled(*op) || has.hasByteTables())
      return WalkResult::advance();
    (void)(op->emitError() << "is scheduled with a table of bytes, which needs permutations of "
                           << "registers of 64 bytes");
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

/// Emits what `wanted` needs of the map's body, with tables for its bytes; false where there are
/// none.
bool penstock::conversion::emitByTables(const Site &site, MapOp op, ArrayRef<LaneValue> inputs,
                                        Value wanted) {
  auto [ctx, b, l, m] = site.parts();
  Block &body = op.getBody().front();
  if (!hasTables(l) || llvm::none_of(body, isTabled))
    return false;
  Operation *place = outermostLoop(b.getInsertionBlock(), site.top);
  if (!place)
    return false;
  llvm::DenseMap<Value, Reads> reads;
  for (BlockArgument argument : body.getArguments()) {
    const unsigned number = argument.getArgNumber();
    Reads &own = reads[argument];
    if (number >= inputs.size())
      own.more = true;
    else if (typeOf(op.getInputs()[number]).getRank() == 0 ||
             inputs[number].value.getDefiningOp<arith::ConstantOp>())
      own = {};
    else if (argument.getType().isUnsignedInteger(8) && inputs[number].isVector())
      own.byte = argument;
    else
      own.more = true;
  }
  auto readsOf = [&](Value value) -> Reads {
    if (auto known = reads.find(value); known != reads.end())
      return known->second;
    // A scalar of the kernel, which is there before the loops.
    auto number = boundScalar(site, value);
    const bool outside = number && !number->isVector() &&
                         number->value.getParentRegion()->isAncestor(place->getParentRegion());
    return {{}, !outside};
  };
  for (Operation &inner : body.without_terminator()) {
    if (inner.getNumResults() != 1 || inner.getNumRegions())
      return false;
    Reads own;
    for (Value operand : inner.getOperands())
      own.add(readsOf(operand));
    own.more |= !llvm::isa<ConstantOp, UnaryOp, BinaryOp, CompareOp, SelectOp, CastOp>(inner);
    reads[inner.getResult(0)] = own;
  }
  // From the end: what a table gives needs no operations before it.
  llvm::DenseSet<Value> needed{wanted}, tabled;
  for (Operation &inner : llvm::reverse(body.without_terminator())) {
    Value result = inner.getResult(0);
    const Reads own = reads.lookup(result);
    if (!needed.contains(result))
      continue;
    if (own.byte && !own.more && isTabled(inner)) {
      tabled.insert(result);
      continue;
    }
    needed.insert(inner.operand_begin(), inner.operand_end());
  }
  if (tabled.empty())
    return false;
  for (Operation &inner : body.without_terminator()) {
    Value result = inner.getResult(0);
    if (tabled.contains(result)) {
      Value byte = reads.lookup(result).byte;
      ctx.scalars[result] =
          lookUp(l, tableOf(site, op, inputs, byte, result, place), scalarOf(site, byte));
    } else if (needed.contains(result)) {
      (void)emitScalarOp(site, inner);
    }
  }
  return true;
}

/// What a table of `result` holds, and where: the same chain of another channel holds the same, and
/// of a branch that is taken only its own values count. `uniform` gets the inputs that it reads.
static std::string keyOf(const Site &site, MapOp op, ArrayRef<LaneValue> inputs, Value byte,
                         ArrayRef<Operation *> slice, Operation *place,
                         llvm::SetVector<unsigned> &uniform) {
  auto inputOf = [&](Value value) {
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &op.getBody().front() && value != byte
               ? std::optional<unsigned>(argument.getArgNumber())
               : std::nullopt;
  };
  std::string text;
  llvm::raw_string_ostream key(text);
  key << place;
  for (const Arm &arm : site.arms)
    key << ", arm " << arm.number << " by " << arm.index.getAsOpaquePointer();
  llvm::DenseMap<Value, size_t> numbers;
  for (auto [number, inner] : llvm::enumerate(slice)) {
    key << ';' << inner->getName() << inner->getAttrDictionary() << inner->getResult(0).getType();
    numbers[inner->getResult(0)] = number;
    for (Value operand : inner->getOperands()) {
      if (operand == byte) {
        key << " byte";
      } else if (auto known = numbers.find(operand); known != numbers.end()) {
        key << ' ' << known->second;
      } else if (auto input = inputOf(operand)) {
        uniform.insert(*input);
        if (auto constant = inputs[*input].value.getDefiningOp<arith::ConstantOp>())
          key << ' ' << constant.getValue();
        else
          key << " of " << op.getInputs()[*input].getAsOpaquePointer();
      } else {
        key << " at "
            << boundScalar(site, operand).value_or(LaneValue()).value.getAsOpaquePointer();
      }
    }
  }
  return text;
}

/// The table of `result` as a function of `byte`, made before the loop `place`.
static ByteTable tableOf(const Site &site, MapOp op, ArrayRef<LaneValue> inputs, Value byte,
                         Value result, Operation *place) {
  auto [ctx, b, l, m] = site.parts();
  const SmallVector<Operation *> slice = sliceOf(result);
  llvm::SetVector<unsigned> uniform;
  const std::string text = keyOf(site, op, inputs, byte, slice, place, uniform);
  if (auto known = ctx.byteTables.find(text); known != ctx.byteTables.end())
    return known->second;

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(place);
  const Site alone = site.withLive(std::nullopt).withLanes(1), trying = alone.withLanes(64);
  Block &body = op.getBody().front();
  for (unsigned number : uniform) {
    if (auto constant = inputs[number].value.getDefiningOp<arith::ConstantOp>()) {
      LaneValue value = inputs[number];
      value.value = b.create<arith::ConstantOp>(l.loc, constant.getValue());
      ctx.scalars[body.getArgument(number)] = {value.value, value.type, value.range};
    } else {
      ctx.scalars[body.getArgument(number)] = emit(alone, op.getInputs()[number], {});
    }
  }
  // What was known of these before is that of the lanes at hand.
  SmallVector<std::pair<Value, LaneValue>> before;
  for (Operation *inner : slice)
    if (auto known = ctx.scalars.find(inner->getResult(0)); known != ctx.scalars.end())
      before.push_back(*known);
  ByteTable table;
  const int64_t lanes = trying.lanes();
  for (int64_t part = 0; part < 4; ++part) {
    SmallVector<int8_t> bytes;
    for (int64_t i = 0; i < lanes; ++i)
      bytes.push_back(static_cast<int8_t>(part * lanes + i));
    auto type = VectorType::get({lanes}, b.getI8Type());
    Value trials =
        b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)));
    ctx.scalars[byte] = l.wrap(trials, byte.getType());
    for (Operation *inner : slice)
      (void)emitScalarOp(trying, *inner);
    table[part] = trying.m.l.splat(scalarOf(trying, result).value);
  }
  for (Operation *inner : slice)
    ctx.scalars.erase(inner->getResult(0));
  for (const auto &[value, known] : before)
    ctx.scalars[value] = known;
  for (auto [number, value] : llvm::enumerate(inputs))
    ctx.scalars[body.getArgument(number)] = value;
  return ctx.byteTables[text] = table;
}

/// A load of bytes from a table of 256 that is complete before the loops, by bytes:
/// the table stands in registers. Null where that cannot be said.
std::optional<LaneValue> penstock::conversion::loadByTable(const Site &site, LoadOp op,
                                                           ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getTensor());
  if (!hasTables(l) || !isTabled(*op) || !site.buffer(op.getTensor()))
    return std::nullopt;
  Operation *place = outermostLoop(b.getInsertionBlock(), site.top);
  if (!place)
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream key(text);
  key << place << ", loaded " << op.getTensor().getAsOpaquePointer();
  LaneValue byte;
  SmallVector<Index> there(at);
  int64_t along = -1;
  for (auto [axis, index] : llvm::enumerate(op.getIndices())) {
    auto number = at[axis].uniform() ? Lanes::constantOf(at[axis].base) : std::nullopt;
    auto cast = index.getDefiningOp<CastOp>();
    if (number) {
      key << ' ' << *number;
    } else if (at[axis].uniform()) {
      if (Value base = at[axis].base; !base.getParentRegion()->isAncestor(place->getParentRegion()))
        return std::nullopt;
      key << " at " << at[axis].base.getAsOpaquePointer();
    } else if (along < 0 && cast && cast.getMode() == CastMode::value &&
               type.getAxes()[axis].extent >= 256 &&
               cast.getValue().getType().isUnsignedInteger(8) &&
               scalarOf(site, cast.getValue()).isVector()) {
      along = static_cast<int64_t>(axis);
      byte = scalarOf(site, cast.getValue());
    } else {
      return std::nullopt;
    }
  }
  if (along < 0)
    return std::nullopt;
  auto known = ctx.byteTables.find(text);
  if (known == ctx.byteTables.end()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(place);
    for (Index &index : there)
      if (auto number = index.uniform() ? Lanes::constantOf(index.base) : std::nullopt)
        index = m.constant(*number);
    const Site whole = site.withLive(std::nullopt).withLanes(64);
    ByteTable table;
    for (int64_t part = 0; part < 4; ++part) {
      there[along] = {l.i64(part * whole.lanes()), 1, {}, {}};
      table[part] = whole.m.load(*site.buffer(op.getTensor()), there).value;
    }
    known = ctx.byteTables.emplace(text, table).first;
  }
  return lookUp(l, known->second, byte);
}
