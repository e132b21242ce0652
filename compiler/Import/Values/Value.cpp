//===- Value.cpp - what an expression evaluates to -------------------------===//

#include "compiler/Import/Values/Scope.h"

using namespace penstock::importer;

mlir::Type penstock::importer::elementType(const Val &value) {
  if (value.is(Kind::Number))
    return value.ir.getType();
  if (value.is(Kind::Tensor))
    return value.tensorType().getElementType();
  if (value.is(Kind::Neighbours))
    return elementType(value.parts.front());
  return {};
}

Val penstock::importer::wordOf(std::string text) {
  Val word;
  word.kind = Kind::Word;
  word.word = std::move(text);
  return word;
}

void penstock::importer::flatten(Val &value, std::vector<Val *> &leaves) {
  if (value.is(Kind::Poison))
    throw Abort{};
  if (!value.is(Kind::Record) && !value.is(Kind::Range) && !value.is(Kind::List) &&
      !value.is(Kind::Grouped)) {
    leaves.push_back(&value);
    return;
  }
  for (Val &part : value.parts)
    flatten(part, leaves);
}
