//===- Order.cpp - intrinsics along one axis: sort, scans -----------------===//

#include "compiler/Import/Places.h"

using namespace penstock::importer;
using penstock::pipe::ScanKind;

Val Importer::sort(Args args) {
  const Val &x = demandTensor(args[0], "sort");
  const std::string axis = demandAxis(args[1], &x, "sort");
  std::vector<Dim> all = dims(x.ir);
  return tensor(
      base.create<pipe::SortOp>(here, tensorOf(base.getI64Type(), all), x.ir, axis, sizesOf(all)));
}

Val Importer::scan(const std::string &name, Args args) {
  const Val &x = demandTensor(args[0], name);
  const std::string axis = demandAxis(args[1], &x, name);
  if (elementType(x).isSignlessInteger(1))
    fail(args[0].range, quote(name) + " takes numbers, and this is " + show(x),
         "`i32(...)` makes 0 and 1 of truth values");
  ScanKind kind = name == "scan_sum" ? ScanKind::sum : ScanKind::max;
  mlir::FloatAttr factor;
  if (name == "scan_linear") {
    kind = ScanKind::recurrence;
    if (!llvm::isa<mlir::FloatType>(elementType(x)))
      fail(args[0].range, "`scan_linear` takes floats, and this is " + show(x),
           "`f32(...)` converts");
    factor = base.getF64FloatAttr(
        demandReal(args[2].value, args[2].range, "the factor of a recurrence"));
  }
  return tensor(base.create<pipe::ScanOp>(here, x.ir.getType(), kind, x.ir, axis, factor,
                                          sizesOf(dims(x.ir))));
}
