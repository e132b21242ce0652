// SPDX-License-Identifier: Apache-2.0
//
// Generated pixel code alone: one epoch runs through a session, the calls of its kernels
// are kept, and can be made again.
#pragma once

#include "api/c/Compilation.h"
#include "runtime/core/Image.h"
#include "runtime/core/Plan.h"
#include "runtime/core/RealFileSystem.h"
#include "runtime/sched/Layout.h"
#include "runtime/sched/Session.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

namespace bench {
using namespace penstock;
using namespace penstock::runtime;

[[noreturn]] inline void fail(const std::string &why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

template <typename T> T valueOf(Result<T> result) {
  if (!result)
    fail(result.error().message);
  return std::move(*result);
}

inline double cpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

struct Call {
  std::vector<pst_tensor> tensors;
  std::vector<int64_t> scalars;
  pst_kernel_args args;
};

/// The steps of a sample, and the calls that were made of them.
struct Recorded {
  struct Step {
    pst_kernel kernel = nullptr;
    size_t inputs = 0, outputs = 0, scalars = 0;
    std::vector<bool> temporary; ///< of each output: whether no batch has it
  };
  /// Without those that no sample has a part in: a session keeps their results.
  std::vector<Step> steps;
  std::vector<int> numbers; ///< of each step of the plan, among `steps`; -1: it is none of them
  std::mutex lock;
  std::vector<Call> calls; ///< step by step, sample by sample: there is one thread
};
inline Recorded recorded;

template <size_t number> int32_t record(pst_kernel_args *args) {
  const Recorded::Step &step = recorded.steps[number];
  {
    const std::lock_guard guard(recorded.lock);
    recorded.calls.push_back({{args->tensors, args->tensors + step.inputs + step.outputs},
                              {args->scalars, args->scalars + step.scalars},
                              *args});
  }
  return step.kernel(args);
}
constexpr size_t mostSteps = 8;
constexpr pst_kernel recorders[mostSteps] = {record<0>, record<1>, record<2>, record<3>,
                                             record<4>, record<5>, record<6>, record<7>};

class Recorder final : public KernelTable {
public:
  Recorder(std::shared_ptr<const KernelTable> code, const plan::PlanT &plan)
      : code(std::move(code)), plan(plan) {}
  size_t size() const override { return code->size(); }
  pst_kernel kernel(size_t number) const override {
    for (size_t i = 0; i < plan.steps.size(); ++i)
      if (plan.steps[i]->kernel == int32_t(number) && recorded.numbers[i] >= 0)
        return recorders[recorded.numbers[i]];
    return code->kernel(number);
  }

private:
  std::shared_ptr<const KernelTable> code;
  const plan::PlanT &plan;
};

inline api::Compiled compile(const char *library, const char *file, const char *pipeline) {
  void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  auto start = handle ? reinterpret_cast<decltype(&penstock_start_compilation)>(
                            dlsym(handle, "penstock_start_compilation"))
                      : nullptr;
  if (!start)
    fail(dlerror());
  std::ifstream in(file);
  api::CompileRequest request;
  request.text = {std::istreambuf_iterator<char>(in), {}};
  request.fileName = file;
  request.pipeline = pipeline;
  if (const char *target = std::getenv("PENSTOCK_TARGET"))
    request.target = target;
  const std::unique_ptr<api::Compilation> compilation(start(request));
  std::optional<api::Compiled> compiled;
  if (compilation->load() && compilation->advance(api::Stage::llvm))
    compiled = compilation->finish();
  if (!compiled)
    fail(compilation->messages().text);
  return *compiled;
}

/// The calls of some batches of a pipeline, whose parameters are all files.
class KernelCalls {
public:
  KernelCalls(const char *library, const char *file, const char *pipeline, size_t wantedBatches,
              const std::vector<std::string> &values)
      : compiled(compile(library, file, pipeline)), plan(valueOf(Plan::load(compiled.plan))),
        code(valueOf(tableFor(*plan, valueOf(Image::load(compiled.image))))) {
    describeSteps();
    open(values, wantedBatches);
    BatchPtr first; // held: results that are kept from its samples are in no other
    while (!first)
      first = valueOf(session->next());
    while (batches.size() < wantedBatches)
      if (BatchPtr batch = valueOf(session->next()))
        batches.push_back(std::move(batch));
    session->cancel(); // nobody else writes from here on
    for (const BatchPtr &batch : batches)
      keepCalls(*batch);
    uint8_t *scratch = spareMemory(), *temporaries = spareMemory();
    for (size_t first = 0; first < calls.size(); first += recorded.steps.size())
      moveTemporaries(&calls[first], temporaries);
    for (Call &call : calls) {
      call.args.tensors = call.tensors.data();
      call.args.scalars = call.scalars.data();
      call.args.scratch = scratch;
      call.args.stop = &neverStops; // the session's says that it was cancelled
    }
    makeAgain();
    for (size_t i = 0; i < expected.size(); ++i)
      if (std::memcmp(expected[i].data(), last().outputs()[i].data, expected[i].size()) != 0)
        fail("the same calls gave other bytes");
  }

  /// All calls once more, on this thread.
  void makeAgain() {
    for (size_t i = 0; i < calls.size(); ++i)
      if (recorded.steps[i % recorded.steps.size()].kernel(&calls[i].args) != 0)
        fail("a kernel's check failed");
  }

  size_t samples() const { return calls.size() / recorded.steps.size(); }
  const Batch &last() const { return *batches.back(); }

private:
  static constexpr uint8_t neverStops = 0;

  void describeSteps() {
    const plan::PlanT &contents = plan->contents();
    if (contents.steps.empty() || contents.steps.size() > mostSteps)
      fail(std::to_string(contents.steps.size()) + " steps");
    const std::shared_ptr<const Layout> layout = valueOf(Layout::make(plan, code));
    const auto isConstant = [&](size_t number) {
      const StepLayout &step = layout->steps[number];
      return step.isConstant && contents.steps[number]->scalars.empty() &&
             std::ranges::all_of(step.sources,
                                 [&](int from) { return recorded.numbers[from] < 0; });
    };
    for (const auto &step : contents.steps) {
      if (isConstant(recorded.numbers.size())) {
        recorded.numbers.push_back(-1);
        continue;
      }
      recorded.numbers.push_back(int(recorded.steps.size()));
      if (step->kernel < 0 || step->guard >= 0 || step->stage != 0)
        fail("a step that not every sample takes");
      Recorded::Step &one =
          recorded.steps.emplace_back(Recorded::Step{code->kernel(size_t(step->kernel)),
                                                     step->inputs.size(),
                                                     step->outputs.size(),
                                                     step->scalars.size(),
                                                     {}});
      for (int32_t buffer : step->outputs)
        one.temporary.push_back(contents.buffers[size_t(buffer)]->kind ==
                                plan::BufferKind::temporary);
    }
  }

  void open(const std::vector<std::string> &values, size_t wantedBatches) {
    SessionOptions options;
    options.prefetch =
        std::max(options.prefetch, int(wantedBatches)); // all are held, and the first
    std::vector<RealFileSystem::Root> roots;
    for (const std::string &argument : values) {
      const size_t at = argument.find('=');
      options.params.push_back({argument.substr(0, at), argument.substr(at + 1)});
      roots.push_back({std::filesystem::path(argument.substr(at + 1)).parent_path().string()});
    }
    files = valueOf(RealFileSystem::create(std::move(roots)));
    options.files = files.get();
    options.threads = 1;
    session = valueOf(Session::open(plan, std::make_shared<Recorder>(code, plan->contents()),
                                    std::move(options)));
  }

  static bool writes(const Call *sample, const Batch &batch) {
    for (const Recorded::Step &step : recorded.steps) {
      for (size_t i = 0; i < step.outputs; ++i)
        for (const OutputView &output : batch.outputs()) {
          const auto *to = static_cast<const uint8_t *>(sample->tensors[step.inputs + i].data);
          const auto *begin = static_cast<const uint8_t *>(output.data);
          if (!step.temporary[i] && to >= begin && to < begin + output.shape[0] * output.strides[0])
            return true;
        }
      ++sample;
    }
    return false;
  }

  void keepCalls(const Batch &batch) {
    const std::lock_guard guard(recorded.lock);
    const size_t before = calls.size(), each = recorded.steps.size();
    for (size_t first = 0; first + each <= recorded.calls.size(); first += each)
      if (writes(&recorded.calls[first], batch))
        calls.insert(calls.end(), recorded.calls.begin() + long(first),
                     recorded.calls.begin() + long(first + each));
    if (calls.size() - before != size_t(batch.count()) * each)
      fail("a batch of " + std::to_string(batch.count()) + " samples took " +
           std::to_string(calls.size() - before) + " calls");
    expected.clear();
    for (const OutputView &output : batch.outputs()) {
      const auto *begin = static_cast<const uint8_t *>(output.data);
      expected.emplace_back(begin, begin + output.shape[0] * output.strides[0]);
      std::memset(const_cast<uint8_t *>(begin), 0, expected.back().size());
    }
  }

  static constexpr size_t spareBytes = size_t(16) << 20;
  static uint8_t *spareMemory() {
    auto *memory = static_cast<uint8_t *>(std::aligned_alloc(4096, spareBytes));
    std::memset(memory, 0, spareBytes);
    return memory;
  }

  /// Temporaries of the session's are another's by now: all samples share these.
  static void moveTemporaries(Call *sample, uint8_t *memory) {
    std::map<void *, void *> moved;
    size_t used = 0;
    for (const Recorded::Step &step : recorded.steps) {
      for (size_t i = 0; i < step.outputs; ++i)
        if (pst_tensor &tensor = sample->tensors[step.inputs + i]; step.temporary[i]) {
          moved[tensor.data] = memory + used;
          used += size_t(tensor.extent[0] * tensor.stride[0] + 127) & ~size_t(63);
          if (used > spareBytes)
            fail("the temporaries are large");
        }
      for (pst_tensor &tensor : sample->tensors)
        if (const auto found = moved.find(tensor.data); found != moved.end())
          tensor.data = found->second;
      ++sample;
    }
  }

  api::Compiled compiled;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const KernelTable> code;
  std::unique_ptr<RealFileSystem> files;
  std::shared_ptr<Session> session;
  std::vector<BatchPtr> batches;
  std::vector<Call> calls;
  std::vector<std::vector<uint8_t>> expected; // of the last batch
};

} // namespace bench
