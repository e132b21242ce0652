// SPDX-License-Identifier: Apache-2.0
//
// Outputs of a batch or sample, in C.
#include "api/c/Outputs.h"
#include "api/c/Arguments.h"
#include <algorithm>

using namespace penstock;
using namespace penstock::api;

pst_dtype api::dtypeOf(plan::DType type) {
  switch (type) {
  case plan::DType::u8:
    return PST_U8;
  case plan::DType::i8:
    return PST_I8;
  case plan::DType::u16:
    return PST_U16;
  case plan::DType::i16:
    return PST_I16;
  case plan::DType::i32:
    return PST_I32;
  case plan::DType::i64:
    return PST_I64;
  case plan::DType::f16:
    return PST_F16;
  case plan::DType::bf16:
    return PST_BF16;
  case plan::DType::f32:
    return PST_F32;
  case plan::DType::f64:
    return PST_F64;
  default:
    return PST_BOOL;
  }
}

plan::DType api::dtypeFrom(const pst_dtype &type) {
  constexpr plan::DType types[] = {plan::DType::none, plan::DType::u8,  plan::DType::i8,
                                   plan::DType::u16,  plan::DType::i16, plan::DType::i32,
                                   plan::DType::i64,  plan::DType::f16, plan::DType::bf16,
                                   plan::DType::f32,  plan::DType::f64, plan::DType::boolean};
  const auto index = static_cast<size_t>(numberOf(type));
  return index < std::size(types) ? types[index] : plan::DType::none;
}

Outputs::Outputs(const std::vector<runtime::OutputView> &views) {
  axes.reserve(views.size());
  for (const runtime::OutputView &view : views) {
    std::vector<const char *> &names = axes.emplace_back();
    for (const std::string &axis : view.axes)
      names.push_back(axis.c_str());
    outputs.push_back(
        {view.name.c_str(), dtypeOf(view.type), static_cast<int32_t>(view.shape.size()),
         names.data(), view.shape.data(), view.strides.data(), view.data, view.offsets,
         view.device < 0 ? PST_DEVICE_CPU : PST_DEVICE_CUDA, std::max(view.device, 0)});
  }
}
