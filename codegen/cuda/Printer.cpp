// SPDX-License-Identifier: Apache-2.0
//
// Kernels as CUDA C++.
#include "codegen/cuda/Printer.h"
#include "codegen/cuda/Joined.h"
#include "codegen/cuda/KernelText.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;

std::string codegen::cudaKernelName(const CudaPrinterOptions &options, StringRef kernel) {
  return "pst_" + (options.prefix.empty() ? "" : options.prefix + "_") + kernel.str();
}

/// A table of constants, as it lies in memory.
static void printTable(llvm::raw_ostream &os, memref::GlobalOp table,
                       const CudaPrinterOptions &options) {
  auto type = llvm::cast<MemRefType>(table.getType());
  Type element = type.getElementType();
  const bool isStorage = element.isF16() || element.isBF16();
  os << "\nstatic __device__ const " << memoryType(element) << " "
     << cudaKernelName(options, table.getSymName()) << "[" << type.getDimSize(0) << "] = {";
  size_t column = 100;
  auto print = [&](std::string text) {
    if (StringRef(text).starts_with("(") &&
        !StringRef(text).contains(" ")) // the array has the type
      text = text.substr(text.find(')') + 1);
    column += text.size() + 2;
    os << (column > 100 ? "\n    " : " ") << text << ",";
    column = column > 100 ? text.size() + 5 : column;
  };
  const DenseElementsAttr elements = conversion::elementsOf(table);
  if (isStorage) // the bits
    for (const APFloat &value : elements.getValues<APFloat>())
      print(std::to_string(value.bitcastToAPInt().getZExtValue()));
  else if (llvm::isa<FloatType>(element)) // many: none becomes an attribute of its own
    for (const APFloat &value : elements.getValues<APFloat>())
      print(realLiteral(value, element).text);
  else
    for (Attribute value : elements.getValues<Attribute>())
      print(literal(value, element).text);
  os << "\n};\n";
}

std::optional<std::string> codegen::cudaText(ModuleOp module, const CudaPrinterOptions &options) {
  if (failed(conversion::verifyContracts(module)))
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "#include \"penstock.cuh\"\n";
  for (auto table : module.getOps<memref::GlobalOp>())
    printTable(os, table, options);
  const auto joined = joinedLaunches(module);
  if (failed(joined))
    return std::nullopt;
  llvm::DenseSet<Operation *> bodies;
  for (const auto &[group, launch] : *joined)
    bodies.insert(launch.bodies.begin(), launch.bodies.end());
  llvm::StringSet<> alone; // launched without others, too
  module.walk([&](pipe::LaunchOp launch) {
    if (!launch.getGroup())
      alone.insert(launch.getKernel());
  });
  for (auto function : module.getOps<func::FuncOp>()) {
    const bool isBody = bodies.contains(function);
    if (conversion::launchOf(function) &&
        failed(KernelText(os, options)
                   .print(function, !isBody || alone.contains(function.getSymName()), isBody)))
      return std::nullopt;
  }
  for (const auto &[group, launch] : *joined)
    printJoined(os, launch, options);
  return text;
}
