//===- Map.cpp - `map` -----------------------------------------------------===//

#include "compiler/Import/Expressions/Expressions.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

mlir::Value Expressions::bodyScalar(const Val &value, dsl::SourceRange range, const char *what) {
  if (value.is(Kind::Poison))
    throw Abort{};
  if (value.is(Kind::Tensor))
    return elementHere(value.ir, range);
  if (!value.is(Kind::Number))
    fail(range,
         std::string("the body of ") + what + " must give one number, and this is " + show(value),
         value.is(Kind::Neighbours) ? "reduce it: `sum(v over [h, w])`" : "");
  return value.ir;
}

Val Expressions::evalMap(const dsl::MapExpr &map) {
  std::vector<Dim> domain;
  std::vector<Val> values;
  for (const dsl::Bind &bind : map.binds) {
    Val value = eval(*bind.domain);
    if (value.is(Kind::Poison))
      throw Abort{};
    if (value.is(Kind::Tensor)) {
      addDims(domain, dims(value.ir), bind.range);
    } else if (value.is(Kind::Range)) {
      mlir::Value low = demandIndex(value.parts[0], bind.domain->range, "the start");
      mlir::Value high = demandIndex(value.parts[1], bind.domain->range, "the end");
      addDims(domain,
              {dim(bind.name.text, difference(high, low, value.closed ? 1 : 0), "",
                   bind.domain->range)},
              bind.range);
    } else if (!value.is(Kind::Number)) {
      fail(bind.domain->range, "`map` runs over tensors and ranges, and this is " + show(value));
    }
    values.push_back(value);
  }
  PlaceGuard guard(*this, map.range);
  try {
    bool loose = false;
    BinderScope names(frames);
    Val result = tensor(buildMap(domain, {}, [&](ElementRegion &region) {
      for (size_t i = 0; i < values.size(); ++i) {
        const dsl::Bind &binder = map.binds[i];
        names.hide(binder.name.text);
        if (values[i].is(Kind::Tensor)) {
          bind(binder.name, number(elementHere(values[i].ir, binder.range)));
        } else if (values[i].is(Kind::Number)) {
          bind(binder.name, values[i]);
        } else {
          size_t k = 0;
          while (domain[k].axis.name != binder.name.text)
            ++k;
          bind(binder.name,
               number(binary(BinaryKind::add, region.coordinates[k],
                             demandIndex(values[i].parts[0], binder.range, "the start"))));
        }
      }
      Val body = evalBlock(map.body);
      loose = body.loose;
      return bodyScalar(body, map.body.result->range, "`map`");
    }));
    result.loose = loose;
    return result;
  } catch (const OuterElement &) {
    notYet(map.range, "a tensor made inside a `map` from the `map`'s element");
  }
}
