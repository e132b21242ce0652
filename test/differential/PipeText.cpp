// SPDX-License-Identifier: Apache-2.0
//
// A generated pipeline in the language.
//
// Values of the pipeline become `let`s; what stands in an arm, a view or the
// body of a map is written where it is used, as often as it is used.
#include "test/differential/PipeText.h"
#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

namespace {

std::string number(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "(-inf)" : "inf";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.17g", std::fabs(value));
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  if (const size_t plus = text.find('+'); plus != std::string::npos)
    text.erase(plus, 1);
  return std::signbit(value) ? "(-" + text + ")" : text;
}

class Text {
public:
  /// False in `good` afterwards where something has no spelling.
  bool good = true;

  std::string pipeline(PipelineOp op);

private:
  std::string refuse() {
    good = false;
    return "?";
  }
  std::string typeText(NamedTensorType type, bool batch = false, ArrayAttr axes = {});
  std::string literal(TypedAttr value);
  std::string element(Attribute value, Type type);
  std::string list(NamedTensorType type, ArrayRef<Attribute> values);

  /// The value where it is used: its name, or what it is.
  std::string use(Value value);
  std::string expression(Value value);
  std::string scalarOp(Operation *op);
  std::string call(StringRef name, ArrayRef<std::string> arguments) {
    return name.str() + "(" + llvm::join(arguments, ", ") + ")";
  }
  std::string view(ViewOp op);
  std::string pad(PadOp op);
  std::string map(MapOp op);
  std::string window(WindowOp op);
  std::string gather(GatherOp op);
  std::string resample(ResampleOp op);
  std::string reduce(ReduceOp op);
  std::string scan(ScanOp op);
  std::string choose(ChooseOp op, unsigned result);
  std::string each(EachOp op, unsigned result);
  std::string affine(AffineExpr expr, ValueRange symbols);
  /// The value that a block yields, in braces.
  std::string size(NamedTensorType type, int64_t axis, ValueRange sizes);

  llvm::DenseMap<Value, std::string> names;
  int64_t next = 0;
  bool sawPillow = false, sawExact = false;
};

} // namespace

//===--- types and constants -----------------------------------------------===//

std::string Text::typeText(NamedTensorType type, bool batch, ArrayAttr names) {
  std::string text = scalarName(type.getElementType()).str() + "[";
  SmallVector<std::string> axes;
  if (names) {
    for (auto name : names.getAsRange<StringAttr>())
      axes.push_back(name.str());
  } else {
    for (const Axis &axis : type.getAxes())
      axes.push_back(axis.name + " = " + std::to_string(axis.extent));
  }
  return text + llvm::join(axes, ", ") + "]";
}

std::string Text::element(Attribute value, Type type) {
  if (auto real = llvm::dyn_cast<FloatAttr>(value)) {
    const std::string text = number(real.getValueAsDouble());
    return type.isF64() ? text : call(scalarName(type), text);
  }
  const APInt bits = llvm::cast<IntegerAttr>(value).getValue();
  if (type.isInteger(1))
    return bits.isZero() ? "false" : "true";
  const int64_t whole = llvm::cast<IntegerType>(type).isUnsigned()
                            ? static_cast<int64_t>(bits.getZExtValue())
                            : bits.getSExtValue();
  if (whole == INT64_MIN)
    return "i64.min";
  const std::string text = whole < 0 ? "(" + std::to_string(whole) + ")" : std::to_string(whole);
  return type.isInteger(64) ? text : call(scalarName(type), text);
}

std::string Text::list(NamedTensorType type, ArrayRef<Attribute> values) {
  if (type.getRank() == 0)
    return element(values.front(), type.getElementType());
  const auto extent = static_cast<size_t>(type.getAxes().front().extent);
  const NamedTensorType inner = type.withAxes(type.getAxes().drop_front());
  SmallVector<std::string> parts;
  for (size_t i = 0; i < extent; ++i)
    parts.push_back(
        list(inner, values.slice(i * (values.size() / extent), values.size() / extent)));
  return "[" + llvm::join(parts, ", ") + "]";
}

std::string Text::literal(TypedAttr value) {
  auto dense = llvm::dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return element(value, value.getType());
  return refuse(); // a tensor is named, see pipeline()
}

//===--- scalars -----------------------------------------------------------===//

std::string Text::scalarOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](ConstantOp c) { return literal(llvm::cast<TypedAttr>(c.getValue())); })
      .Case([&](UnaryOp u) {
        const std::string x = use(u.getValue());
        if (u.getType().isInteger(1))
          return "(not " + x + ")";
        if (u.getKind() == UnaryKind::neg)
          return "(-" + x + ")";
        return call(stringifyUnaryKind(u.getKind()), x);
      })
      .Case([&](BinaryOp b) {
        const std::string x = use(b.getLhs()), y = use(b.getRhs());
        static constexpr const char *signs[] = {"+", "-", "*", "/", "%"};
        if (b.getKind() <= BinaryKind::rem)
          return "(" + x + " " + signs[static_cast<int>(b.getKind())] + " " + y + ")";
        if (b.getType().isInteger(1) && b.getKind() == BinaryKind::bit_and)
          return "(" + x + " and " + y + ")";
        if (b.getType().isInteger(1) && b.getKind() == BinaryKind::bit_or)
          return "(" + x + " or " + y + ")";
        return call(stringifyBinaryKind(b.getKind()), {x, y});
      })
      .Case([&](CompareOp c) {
        static constexpr const char *signs[] = {"==", "!=", "<", "<=", ">", ">="};
        return "(" + use(c.getLhs()) + " " + signs[static_cast<int>(c.getPredicate())] + " " +
               use(c.getRhs()) + ")";
      })
      .Case([&](SelectOp s) {
        return "(if " + use(s.getCondition()) + " then " + use(s.getOnTrue()) + " else " +
               use(s.getOnFalse()) + ")";
      })
      .Case([&](DrawOp d) {
        if (d.getElement())
          return refuse();
        if (d.getKind() != DrawKind::uniform && d.getKind() != DrawKind::integer)
          return refuse();
        return std::string("(draw ") + (d.getKind() == DrawKind::uniform ? "uniform" : "int") +
               "(" + use(d.getArgs()[0]) + " .. " + use(d.getArgs()[1]) + "))";
      })
      .Case([&](ExtentOp e) { return call("extent", {use(e.getTensor()), e.getAxis().str()}); })
      .Case([&](LoadOp load) {
        SmallVector<std::string> at;
        for (auto [axis, index] :
             llvm::zip(tensorOf(load.getTensor()).getAxes(), load.getIndices()))
          at.push_back(axis.name + " = " + use(index));
        return use(load.getTensor()) + "[" + llvm::join(at, ", ") + "]";
      })
      .Default([&](Operation *) { return refuse(); });
}

//===--- tensors -----------------------------------------------------------===//

std::string Text::affine(AffineExpr expr, ValueRange symbols) {
  if (auto known = llvm::dyn_cast<AffineConstantExpr>(expr))
    return "(" + std::to_string(known.getValue()) + ")";
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr))
    return use(symbols[symbol.getPosition()]);
  auto both = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  if (!both || (expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul))
    return refuse();
  return "(" + affine(both.getLHS(), symbols) +
         (expr.getKind() == AffineExprKind::Add ? " + " : " * ") + affine(both.getRHS(), symbols) +
         ")";
}

std::string Text::size(NamedTensorType type, int64_t axis, ValueRange sizes) {
  if (type.getAxes()[axis].isStatic())
    return std::to_string(type.getAxes()[axis].extent);
  const SmallVector<int64_t> dynamic = type.dynamicAxes();
  return use(sizes[llvm::find(dynamic, axis) - dynamic.begin()]);
}

/// A step along each axis. The order of the axes of a view is not written down:
/// they have names.
std::string Text::view(ViewOp op) {
  std::string text = use(op.getInput());
  NamedTensorType in = tensorOf(op.getInput()), out = tensorOf(op.getResult());
  MLIRContext *context = op.getContext();
  SmallVector<int> used(out.getRank(), 0);
  for (auto [i, expr] : llvm::enumerate(op.getMap().getResults())) {
    const std::string axis = in.getAxes()[i].name;
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < op.getMap().getNumDims(); ++dim)
      if (expr.isFunctionOfDim(dim))
        dims.push_back(dim);
    for (unsigned dim : dims)
      if (++used[dim] > 1)
        return refuse();
    if (dims.empty()) {
      text += "[" + axis + " = " + affine(expr, op.getSymbols()) + "]";
      continue;
    }
    if (dims.size() > 2)
      return refuse();
    auto at = [&](ArrayRef<unsigned> ones) { // the expression where these dimensions are 1
      SmallVector<AffineExpr> values(op.getMap().getNumDims(), getAffineConstantExpr(0, context));
      for (unsigned dim : ones)
        values[dim] = getAffineConstantExpr(1, context);
      SmallVector<AffineExpr> symbols;
      for (unsigned s = 0; s < op.getMap().getNumSymbols(); ++s)
        symbols.push_back(getAffineSymbolExpr(s, context));
      return simplifyAffineExpr(expr.replaceDimsAndSymbols(values, symbols), 0, symbols.size());
    };
    const AffineExpr start = at({});
    auto stepOf = [&](unsigned dim) {
      return simplifyAffineExpr(at({dim}) - start, 0, op.getMap().getNumSymbols());
    };
    const std::string extent = size(out, dims[0], op.getSizes());
    auto known = llvm::dyn_cast<AffineConstantExpr>(stepOf(dims[0]));
    if (dims.size() == 2) {
      auto inner = llvm::dyn_cast<AffineConstantExpr>(stepOf(dims[1]));
      const auto zero = llvm::dyn_cast<AffineConstantExpr>(start);
      if (!known || !inner || inner.getValue() != 1 || !zero || zero.getValue() != 0)
        return refuse();
      text = call("frames", {text, axis, out.getAxes()[dims[1]].name,
                             std::to_string(out.getAxes()[dims[1]].extent),
                             std::to_string(known.getValue())});
      continue;
    }
    if (out.getAxes()[dims[0]].name != axis)
      return refuse();
    const std::string from = affine(start, op.getSymbols());
    if (!known) { // forwards or backwards, as a scalar says
      text = "(if " + affine(stepOf(dims[0]), op.getSymbols()) + " < 0 then " +
             call("reverse", {text, axis}) + " else " + text + ")";
    } else if (known.getValue() == 1) {
      if (!(extent == std::to_string(in.getAxes()[i].extent) && from == "(0)"))
        text += "[" + axis + " = " + from + " .. " + from + " + " + extent + "]";
    } else if (known.getValue() == -1) {
      text = call("reverse", {text, axis});
      if (extent != std::to_string(in.getAxes()[i].extent))
        text += "[" + axis + " = extent(" + use(op.getInput()) + ", " + axis + ") - 1 - " + from +
                " .. extent(" + use(op.getInput()) + ", " + axis + ") - 1 - " + from + " + " +
                extent + "]";
    } else if (known.getValue() > 1 && from == "(0)") {
      text = call("frames", {text, axis, "piece", "1", std::to_string(known.getValue())}) +
             "[piece = 0]";
    } else {
      return refuse();
    }
  }
  for (auto [dim, count] : llvm::enumerate(used))
    if (count == 0) { // elements repeated along a new axis
      if (!out.getAxes()[dim].isStatic() || dim != 0)
        return refuse();
      text = call(
          "stack",
          {"[" + llvm::join(SmallVector<std::string>(out.getAxes()[dim].extent, text), ", ") + "]",
           out.getAxes()[dim].name});
    }
  return text;
}

std::string Text::pad(PadOp op) {
  std::string text = use(op.getInput());
  NamedTensorType in = tensorOf(op.getInput()), out = tensorOf(op.getResult());
  for (auto [name, low] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getLow())) {
    const int64_t axis = in.axisIndex(name);
    const std::string before = use(low);
    const std::string old = in.getAxes()[axis].isStatic()
                                ? std::to_string(in.getAxes()[axis].extent)
                                : "extent(" + use(op.getInput()) + ", " + name.str() + ")";
    SmallVector<std::string> arguments{
        text, name.str(), before, size(out, axis, op.getSizes()) + " - " + old + " - " + before,
        "border = " + stringifyBorder(op.getBorder()).str()};
    if (op.getFill())
      arguments.push_back("fill = " + use(op.getFill()));
    text = call("extend", arguments);
  }
  return text;
}

std::string Text::map(MapOp op) {
  Block &body = op.getBody().front();
  NamedTensorType type = tensorOf(op);
  const size_t inputs = op.getInputs().size();
  SmallVector<std::string> binders;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    const std::string name = "p" + std::to_string(next++);
    binders.push_back(name + " in " + use(input));
    names[body.getArgument(i)] = name;
  }
  if (inputs == 0)
    return refuse();
  for (auto [axis, argument] : llvm::enumerate(body.getArguments().drop_front(inputs))) {
    if (argument.use_empty())
      continue;
    const std::string name = "i" + std::to_string(next++);
    Value along;
    for (Value input : op.getInputs())
      if (tensorOf(input).axisIndex(type.getAxes()[axis].name) >= 0)
        along = input;
    if (!along)
      return refuse();
    binders.push_back(name + " in index(" + use(along) + ", " + type.getAxes()[axis].name + ")");
    names[argument] = name;
  }
  return "map (" + llvm::join(binders, ", ") + ") { " + use(body.getTerminator()->getOperand(0)) +
         " }";
}

std::string Text::window(WindowOp op) {
  Block &body = op.getBody().front();
  const std::string name = "v" + std::to_string(next++);
  std::string text = "window (" + name + " in " + use(op.getInput());
  SmallVector<StringRef> axes;
  size_t neighbours = 1;
  for (auto [k, axis] : llvm::enumerate(op.getOver().getAsRange<StringAttr>())) {
    axes.push_back(axis);
    text += ", " + axis.str() + " = " + std::to_string(op.getLow()[k]) +
            " ..= " + std::to_string(op.getHigh()[k]);
    neighbours *= static_cast<size_t>(op.getHigh()[k] - op.getLow()[k] + 1);
  }
  text += op.getFill() ? ", fill = " + use(op.getFill())
                       : ", border = " + stringifyBorder(op.getBorder()).str();
  for (size_t number = 0; number < neighbours; ++number) {
    SmallVector<std::string> at(axes.size());
    auto rest = static_cast<int64_t>(number);
    for (size_t k = axes.size(); k-- > 0;) {
      const int64_t span = op.getHigh()[k] - op.getLow()[k] + 1;
      at[k] = axes[k].str() + " = " + std::to_string(op.getLow()[k] + rest % span);
      rest /= span;
    }
    names[body.getArgument(static_cast<unsigned>(number))] =
        name + "[" + llvm::join(at, ", ") + "]";
  }
  for (Value coordinate : body.getArguments().drop_front(neighbours))
    if (!coordinate.use_empty())
      return refuse();
  return text + ") { " + use(body.getTerminator()->getOperand(0)) + " }";
}

std::string Text::gather(GatherOp op) {
  Block &body = op.getBody().front();
  NamedTensorType type = tensorOf(op.getResult());
  SmallVector<std::string> arguments{use(op.getInput())};
  const SmallVector<int64_t> readAt = op.readAt();
  for (auto [axis, yielded] :
       llvm::zip(op.getOver().getAsRange<StringAttr>(), body.getTerminator()->getOperands())) {
    SmallVector<std::string> binders;
    for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
      const Axis &own = type.getAxes()[i];
      if (argument.use_empty() && llvm::is_contained(readAt, static_cast<int64_t>(i)))
        continue;
      if (!own.isStatic())
        return refuse();
      binders.push_back(own.name + " in 0 .. " + std::to_string(own.extent));
      names[argument] = own.name;
    }
    if (binders.empty()) // a number, and a coordinate is a tensor
      return refuse();
    arguments.push_back(axis.str() + " = map (" + llvm::join(binders, ", ") + ") { " +
                        use(yielded) + " }");
  }
  arguments.push_back("interpolation = " + stringifyInterpolation(op.getInterpolation()).str());
  arguments.push_back(op.getFill() ? "fill = " + use(op.getFill())
                                   : "border = " + stringifyBorder(op.getBorder()).str());
  return call("gather", arguments);
}

std::string Text::resample(ResampleOp op) {
  auto weights = op.getWeights().getDefiningOp<WeightsOp>();
  if (!weights)
    return refuse();
  if (tensorOf(op.getInput()).getElementType().isUnsignedInteger(8))
    (op.getNumerics() == Numerics::pillow ? sawPillow : sawExact) = true;
  return call("resample", {use(op.getInput()), op.getAxis().str(), use(weights.getOut()),
                           "filter = " + stringifyFilter(weights.getFilter()).str(),
                           weights.getAntialias() ? "antialias = true" : "antialias = false"});
}

std::string Text::reduce(ReduceOp op) {
  SmallVector<std::string> over;
  for (auto axis : op.getOver().getAsRange<StringAttr>())
    over.push_back(axis.str());
  return stringifyReduceKind(op.getKind()).str() + "(" + use(op.getValue()) + " over [" +
         llvm::join(over, ", ") + "])";
}

std::string Text::scan(ScanOp op) {
  static constexpr const char *kinds[] = {"scan_sum", "scan_max", "scan_linear"};
  SmallVector<std::string> arguments{use(op.getValue()), op.getAxis().str()};
  if (op.getFactor())
    arguments.push_back(use(op.getFactor()));
  if (op.getFactors())
    arguments.push_back(use(op.getFactors()));
  return call(kinds[static_cast<int>(op.getKind())], arguments);
}

/// An index is clamped, so that the last arm needs no condition.
std::string Text::choose(ChooseOp op, unsigned result) {
  std::string text;
  const std::string index = use(op.getIndex());
  for (auto [number, arm] : llvm::enumerate(op.getArms())) {
    const std::string value = use(arm.front().getTerminator()->getOperand(result));
    text += number + 1 == op.getArms().size()
                ? value
                : "if " + index + " <= " + std::to_string(number) + " then " + value + " else ";
  }
  return "(" + text + ")";
}

std::string Text::each(EachOp op, unsigned result) {
  Block &body = op.getBody().front();
  names[body.getArgument(0)] = op.getAxis().str();
  return "each (" + op.getAxis().str() + " in 0 .. " + std::to_string(op.getViews()) + ") { " +
         use(body.getTerminator()->getOperand(result)) + " }";
}

//===--- values ------------------------------------------------------------===//

std::string Text::use(Value value) {
  if (!good)
    return "?";
  // What is used twice is written twice, so that a chain of such doubles with each link.
  constexpr size_t longest = 1 << 16;
  auto name = names.find(value);
  std::string text = name != names.end() ? name->second : expression(value);
  return text.size() <= longest ? text : refuse();
}

std::string Text::expression(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return refuse();
  const unsigned result = llvm::cast<OpResult>(value).getResultNumber();
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](FieldOp field) { return "row." + field.getName().str(); })
      .Case([&](CastOp cast) {
        static constexpr const char *modes[] = {"", ".clamp", ".bits"};
        Type type = cast.getType();
        if (auto tensor = llvm::dyn_cast<NamedTensorType>(type))
          type = tensor.getElementType();
        return call(scalarName(type).str() + modes[static_cast<int>(cast.getMode())],
                    use(cast.getValue()));
      })
      .Case([&](ViewOp o) { return view(o); })
      .Case([&](PadOp o) { return pad(o); })
      .Case([&](ConcatOp o) {
        SmallVector<std::string> parts;
        for (Value input : o.getInputs())
          parts.push_back(use(input));
        return call("concat", {"[" + llvm::join(parts, ", ") + "]", o.getAxis().str()});
      })
      .Case([&](StackOp o) {
        SmallVector<std::string> parts;
        for (Value input : o.getInputs())
          parts.push_back(use(input));
        return call("stack", {"[" + llvm::join(parts, ", ") + "]", o.getAxis().str()});
      })
      .Case([&](PlaceOp o) {
        SmallVector<std::string> arguments{use(o.getBase()), use(o.getPatch())};
        for (auto [axis, at] : llvm::zip(o.getOver().getAsRange<StringAttr>(), o.getAt()))
          arguments.push_back(axis.str() + " = " + use(at));
        return call("place", arguments);
      })
      .Case([&](MapOp o) { return map(o); })
      .Case([&](WindowOp o) { return window(o); })
      .Case([&](GatherOp o) { return gather(o); })
      .Case([&](ResampleOp o) { return resample(o); })
      .Case([&](ReduceOp o) { return reduce(o); })
      .Case([&](ScanOp o) { return scan(o); })
      .Case([&](ContractOp o) { return call("contract", {use(o.getValue()), use(o.getMatrix())}); })
      .Case([&](SortOp o) { return call("sort", {use(o.getValue()), o.getAxis().str()}); })
      .Case([&](ScatterOp o) {
        SmallVector<std::string> arguments{use(o.getBase()), use(o.getValues())};
        for (auto [axis, at] : llvm::zip(o.getOver().getAsRange<StringAttr>(), o.getAt()))
          arguments.push_back(axis.str() + " = " + use(at));
        arguments.push_back("combine = " + stringifyScatterKind(o.getKind()).str());
        return call("scatter", arguments);
      })
      .Case([&](FilterOp o) {
        return call("filter", {use(o.getValue()), o.getAxis().str(), use(o.getNumerator()),
                               use(o.getDenominator())});
      })
      .Case([&](FftOp o) { return call("fft", {use(o.getValue()), o.getAxis().str()}); })
      .Case([&](ChooseOp o) { return choose(o, result); })
      .Case([&](EachOp o) { return each(o, result); })
      .Default([&](Operation *) { return scalarOp(op); });
}

//===--- the file ----------------------------------------------------------===//

std::string Text::pipeline(PipelineOp op) {
  std::string table, lets, params, outputs;
  for (Operation &each : op.getBody().front()) {
    if (auto source = llvm::dyn_cast<SourceOp>(each)) {
      SmallVector<std::string> columns, paths;
      for (NamedAttribute column : source.getColumns()) {
        const std::string name = column.getName().str();
        const Type type = llvm::cast<TypeAttr>(column.getValue()).getValue();
        auto tensor = llvm::dyn_cast<NamedTensorType>(type);
        if (tensor && !tensor.isStatic())
          return refuse();
        columns.push_back(name + " = column(" + name + ", " +
                          (tensor ? typeText(tensor) : scalarName(type).str()) + ")");
        paths.push_back(name + ": path");
      }
      table = call("raw", columns);
      params = llvm::join(paths, ", ");
      continue;
    }
    if (llvm::isa<RowOp, KeyOp, KeyMixOp, BatchOp, TapsOp, WeightsOp>(each))
      continue;
    auto constant = llvm::dyn_cast<ConstantOp>(each);
    if (constant && isScalarType(constant.getType()))
      continue;
    for (Value result : each.getResults()) {
      if (result.use_empty() || llvm::isa<FieldOp>(each))
        continue;
      const std::string name = "x" + std::to_string(next++);
      if (constant) {
        auto type = llvm::cast<NamedTensorType>(constant.getType());
        SmallVector<Attribute> values(
            llvm::cast<DenseElementsAttr>(constant.getValue()).getValues<Attribute>());
        lets += "  let " + name + ": " + typeText(type) + " = " + list(type, values) + "\n";
      } else {
        const std::string text = expression(result);
        lets += "  let " + name + " = " + text + "\n";
      }
      names[result] = name;
    }
  }
  int64_t batch = 1;
  op.walk([&](BatchOp scope) {
    if (auto size = scope.getSize().getDefiningOp<ConstantOp>())
      batch = llvm::cast<IntegerAttr>(size.getValue()).getInt();
    for (Operation &each : scope.getBody().front()) {
      auto output = llvm::dyn_cast<OutputOp>(each);
      if (!output)
        continue;
      auto type = llvm::dyn_cast<NamedTensorType>(output.getValue().getType());
      if (output.getRagged())
        refuse();
      outputs += "    output " + output.getName().str() + ": " +
                 (type ? typeText(type, true, output.getAxes())
                       : scalarName(output.getValue().getType()).str() + "[n]");
      if (output.getStored() != output.getAxes()) {
        SmallVector<std::string> stored;
        for (auto axis : output.getStored().getAsRange<StringAttr>())
          stored.push_back(axis.str());
        outputs += " stored [" + llvm::join(stored, ", ") + "]";
      }
      outputs += " = " + use(output.getValue()) + "\n";
    }
  });
  if (sawPillow && sawExact)
    refuse();
  return "pipe 1\npipeline found(" + params + ") with seed = 7" +
         (sawExact ? ", numerics = exact" : "") + " {\n  for row in " + table + "\n" + lets +
         "  batch " + std::to_string(batch) + " {\n" + outputs + "  }\n}\n";
}

std::optional<std::string> pipeText(ModuleOp module) {
  Text text;
  std::string result;
  module.walk([&](PipelineOp op) { result = text.pipeline(op); });
  if (!text.good)
    return std::nullopt;
  return result;
}

} // namespace penstock::differential
