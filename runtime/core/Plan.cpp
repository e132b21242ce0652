// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Plan.h"

#include "runtime/abi/kernel.h"
#include "runtime/core/Buffer.h"
#include "runtime/core/PlanCheck.h"

#include <cstring>

namespace penstock::runtime {

namespace {

/// Bytes of strings and vectors, counted once per use. FlatBuffers lets tables
/// share them, so that a small hostile plan could unpack to any size.
class Weight {
public:
  explicit Weight(uint64_t limit) : limit(limit) {}

  void add(const flatbuffers::String *text) { used += text ? text->size() : 0; }
  template <typename T> void add(const flatbuffers::Vector<T> *values) {
    if (!values)
      return;
    used += values->size() * sizeof(T);
    if constexpr (std::is_same_v<T, flatbuffers::Offset<flatbuffers::String>>)
      for (const auto *text : *values)
        add(text);
  }
  bool tooMuch() const { return used > limit; }

private:
  uint64_t limit;
  uint64_t used = 0;
};

template <typename Vector, typename Visit> void each(const Vector *items, Visit visit) {
  if (items)
    for (const auto *item : *items)
      visit(*item);
}

bool unpacksTooLarge(const plan::Plan &root, uint64_t limit) {
  Weight weight(limit);
  weight.add(root.compiler());
  weight.add(root.name());
  weight.add(root.order_list());
  each(root.params(), [&](const plan::Param &p) {
    weight.add(p.name());
    weight.add(p.text());
    weight.add(p.doc());
  });
  each(root.sources(), [&](const plan::Source &s) {
    weight.add(s.kind());
    each(s.arguments(), [&](const plan::Argument &a) {
      weight.add(a.name());
      weight.add(a.text());
    });
    each(s.columns(), [&](const plan::Column &c) {
      weight.add(c.name());
      weight.add(c.axes());
    });
    weight.add(s.parts());
  });
  each(root.media(), [&](const plan::Media &m) {
    weight.add(m.media());
    weight.add(m.numbers());
  });
  each(root.decodes(), [&](const plan::Decode &d) {
    weight.add(d.format());
    weight.add(d.region());
    weight.add(d.arguments());
  });
  each(root.buffers(), [&](const plan::Buffer &b) {
    weight.add(b.axes());
    weight.add(b.data());
    weight.add(b.choices());
  });
  each(root.kernels(), [&](const plan::Kernel &k) { weight.add(k.name()); });
  each(root.steps(), [&](const plan::Step &s) {
    weight.add(s.outputs());
    weight.add(s.scalars());
  });
  each(root.outputs(), [&](const plan::Output &o) {
    weight.add(o.name());
    weight.add(o.axes());
    weight.add(o.stored());
  });
  each(root.checks(), [&](const plan::Check &c) {
    weight.add(c.message());
    weight.add(c.file());
  });
  each(root.draws(), [&](const plan::Draw &d) { weight.add(d.path()); });
  return weight.tooMuch();
}

Error corrupt(std::string message) { return {Code::Corrupt, "not a plan: " + std::move(message)}; }

} // namespace

Result<std::shared_ptr<const Plan>> Plan::load(std::span<const uint8_t> bytes) {
  // The verifier checks alignment relative to the buffer, readers need it absolute.
  Buffer aligned;
  if (!aligned.resize(bytes.size()))
    return Error{Code::Limit, "no memory for a plan of " + std::to_string(bytes.size()) + " bytes"};
  if (bytes.size() < 16)
    return corrupt(std::to_string(bytes.size()) + " bytes are too few");
  std::memcpy(aligned.data(), bytes.data(), bytes.size());

  constexpr flatbuffers::uoffset_t maxDepth = 16, maxTables = 1'000'000;
  flatbuffers::Verifier verifier(aligned.data(), aligned.size(), maxDepth, maxTables);
  if (!plan::PlanBufferHasIdentifier(aligned.data()))
    return corrupt("it does not begin like one");
  if (!plan::VerifyPlanBuffer(verifier))
    return corrupt("its tables are damaged");
  const plan::Plan &root = *plan::GetPlan(aligned.data());
  if (root.abi() != PST_KERNEL_ABI_VERSION)
    return Error{Code::Unsupported, "the plan is for version " + std::to_string(root.abi()) +
                                        " of the kernel interface, this program has " +
                                        std::to_string(PST_KERNEL_ABI_VERSION)};
  // The verifier aligns vectors by their length, which is narrower than these.
  if (root.order_list() && reinterpret_cast<uintptr_t>(root.order_list()->Data()) % 8)
    return corrupt("its tables are damaged");
  // Sharing is legal but saves little in honest plans.
  if (unpacksTooLarge(root, 16 * uint64_t(bytes.size()) + (1 << 20)))
    return corrupt("it would unpack to many times its size");

  std::shared_ptr<Plan> result(new Plan());
  root.UnPackTo(&result->tree);
  if (Status status = checkPlan(result->tree); !status)
    return status.error();
  return std::shared_ptr<const Plan>(std::move(result));
}

std::vector<uint8_t> Plan::serialize(const plan::PlanT &contents) {
  flatbuffers::FlatBufferBuilder builder;
  plan::FinishPlanBuffer(builder, plan::Plan::Pack(builder, &contents));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

Result<std::shared_ptr<const Plan>> Plan::make(const plan::PlanT &contents) {
  return load(serialize(contents));
}

int Plan::kernelNumber(const std::string &name) const {
  for (size_t i = 0; i < tree.kernels.size(); ++i)
    if (tree.kernels[i]->name == name)
      return int(i);
  return -1;
}

int Plan::paramNumber(const std::string &name) const {
  for (size_t i = 0; i < tree.params.size(); ++i)
    if (tree.params[i]->name == name)
      return int(i);
  return -1;
}

} // namespace penstock::runtime
