// SPDX-License-Identifier: Apache-2.0
//
// Functions of pst_session.
#include "api/c/Session.h"
#include "api/c/Arguments.h"
#include "api/c/Batch.h"
#include "api/c/Entry.h"
#include "api/c/Program.h"
#include "api/c/Rows.h"
#include "api/c/Values.h"
#include "dsl/AST/Numbers.h"
#include "runtime/device/cuda/CudaDevice.h"
#include <algorithm>
#include <cstring>

using namespace penstock;
using namespace penstock::api;

//===--- opening -----------------------------------------------------------===//

static runtime::Error invalid(std::string message) {
  return {runtime::Code::InvalidArgument, std::move(message)};
}

/// The value of a run-time parameter, of the type that plan and text declare.
static runtime::Result<runtime::ParamValue> readParameter(const plan::ParamT &param,
                                                          const std::vector<Parameter> &parameters,
                                                          const std::string &text) {
  std::string declared;
  for (const Parameter &parameter : parameters)
    if (parameter.name == param.name)
      declared = parameter.type;
  if (declared.empty()) // a program that was read back from MLIR
    declared = param.type == plan::DType::i64 ? "int" : "f64";
  auto value = parseValue(text, param.type, declared);
  if (!value)
    return invalid("parameter `" + param.name + "`: " + value.error().message);
  return runtime::ParamValue{param.name, *value};
}

/// Checks a value of one that nothing reads: giving it is no mistake, but what is no value is.
static runtime::Status checkUnread(const Parameter &parameter, const std::string &text) {
  const std::string &type = parameter.type;
  const plan::DType kind = type == "text" || type == "path" ? plan::DType::text
                           : type == "bool"                 ? plan::DType::boolean
                           : dsl::isInteger(type)           ? plan::DType::i64
                                                            : plan::DType::f64;
  if (auto value = parseValue(text, kind, type); !value)
    return invalid("parameter `" + parameter.name + "`: " + value.error().message);
  return {};
}

/// Reads parameters that a session is given: those that it may choose.
static runtime::Result<std::vector<runtime::ParamValue>>
readParameters(const plan::PlanT &plan, const std::vector<Parameter> &parameters,
               const pst_parameter *given, size_t count) {
  std::vector<runtime::ParamValue> values;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = given[i].name;
    const auto known = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const Parameter &other) { return other.name == name; });
    const auto param = std::find_if(plan.params.begin(), plan.params.end(),
                                    [&](const auto &other) { return other->name == name; });
    if (param == plan.params.end() && known != parameters.end() && known->isStatic)
      return invalid("parameter `" + name + "` is compiled in; give its value when compiling");
    if (param == plan.params.end()) {
      std::string names;
      for (const auto &other : plan.params)
        names += (names.empty() ? ": it has `" : ", `") + other->name + "`";
      if (known != parameters.end()) {
        if (runtime::Status status = checkUnread(*known, given[i].value); !status)
          return status.error();
        continue;
      }
      return invalid("pipeline `" + plan.name + "` has no parameter `" + name + "`" + names);
    }
    auto value = readParameter(**param, parameters, given[i].value);
    if (!value)
      return value.error();
    values.push_back(std::move(*value));
  }
  return values;
}

/// Returns the parameters that the program was compiled with, overridden by the session's. Static
/// ones have been used, or refused.
static runtime::Result<std::vector<runtime::ParamValue>>
allParameters(const pst_program &program, const pst_session_options &options) {
  const plan::PlanT &plan = program.transfers.front().plan->contents();
  auto values =
      readParameters(plan, program.parameters, options.parameters, options.parameter_count);
  if (!values)
    return values;
  for (const auto &[name, text] : program.request.parameters) {
    const int number = program.transfers.front().plan->paramNumber(name);
    for (const Parameter &parameter : program.parameters)
      if (number < 0 && parameter.name == name && !parameter.isStatic)
        if (runtime::Status status = checkUnread(parameter, text); !status)
          return status.error();
    if (number < 0 ||
        std::any_of(
            values->begin(), values->end(),
            [&name = name](const runtime::ParamValue &other) { return other.name == name; }))
      continue;
    auto value = readParameter(*plan.params[size_t(number)], program.parameters, text);
    if (!value)
      return value.error();
    values->push_back(std::move(*value));
  }
  return values;
}

static runtime::SessionOptions readOptions(const pst_session_options &given) {
  runtime::SessionOptions options;
  for (size_t i = 0; i < given.column_count; ++i) {
    const pst_memory_column &column = given.columns[i];
    runtime::MemoryColumn memory;
    memory.name = column.name;
    memory.type = dtypeFrom(column.dtype);
    memory.extents.assign(column.extents, column.extents + column.rank);
    memory.data = column.data;
    options.memory.push_back(std::move(memory));
  }
  if (given.seed)
    options.seed = *given.seed;
  options.epoch = given.epoch;
  options.rank = given.rank;
  options.world = given.world ? given.world : 1;
  if (given.on_error)
    options.substitute = *given.on_error;
  options.threads = given.threads;
  options.ranksHere = given.ranks_here ? given.ranks_here : 1;
  options.prefetch = given.prefetch ? given.prefetch : 2;
  options.fetchThreads = given.fetch_threads;
  options.memoryBudget = given.memory_budget;
  options.growHeld = given.held == PST_HELD_GROW;
  options.samplesOnly = given.samples_only;
  options.callerOrders = given.order == PST_ORDER_CALLER;
  options.askAgain = given.ask_again;
  if (given.last != PST_LAST_PIPELINE)
    options.last = given.last == PST_LAST_DROP   ? runtime::LastBatch::Drop
                   : given.last == PST_LAST_KEEP ? runtime::LastBatch::Keep
                                                 : runtime::LastBatch::Pad;
  if (given.next_rows)
    options.nextRows = [ask = given.next_rows, context = given.next_rows_context](
                           uint32_t epoch, int64_t *rows, int64_t capacity) {
      return ask(context, epoch, rows, capacity);
    };
  return options;
}

static pst_status open(pst_session &self, const pst_program *program,
                       const pst_session_options *options) {
  pst_session_options given = PST_SESSION_OPTIONS_INIT;
  if (options) {
    std::memcpy(&given, options, std::min(options->size, sizeof given));
    given.size = options->size;
  }
  if (!program || program->transfers.empty())
    return self.fail(invalid(!program || !program->messages.text.empty()
                                 ? "the program was not compiled; see pst_program_messages()"
                                 : "the program has no code for a session: it was only checked, or "
                                   "is a bundle's, which pst_program_load() reads"));
  if (runtime::Status status = checkOptions(given); !status)
    return self.fail(status.error());
  const runtime::TransferLevel &first = program->transfers.front();
  const bool hasGpuCode = std::any_of(program->transfers.begin(), program->transfers.end(),
                                      [](const auto &level) { return !level.deviceCode.empty(); });
  const auto &outputs = first.plan->contents().outputs;
  const auto onGpu = std::find_if(outputs.begin(), outputs.end(),
                                  [](const auto &output) { return output->on_device; });
  const bool delivers = onGpu != outputs.end() && given.device != PST_DEVICE_CPU;
  if (given.device == PST_DEVICE_CUDA && !hasGpuCode && !delivers)
    return self.fail(invalid("the program has nothing for a GPU; compile it with `gpu`, such as "
                             "sm_90 or native, or have "
                             "outputs `on gpu`"));
  if (given.device == PST_DEVICE_CPU && hasGpuCode)
    return self.fail(invalid("the program's kernels were compiled for a GPU; compile it without "
                             "`gpu` to run them here"));
  if (!program->gpuPlaces.stage.empty())
    return self.fail(
        invalid(program->gpuPlaces.stage +
                " stands `on gpu`, and the program was compiled for the CPU alone; `on auto`, or "
                "nothing, runs there, and `--gpu native` on a GPU"));
  runtime::SessionOptions sessionOptions = readOptions(given);
  auto values = allParameters(*program, given);
  if (!values)
    return self.fail(values.error());
  sessionOptions.params = std::move(*values);
  // Without a private folder, sources do without an index that lasts.
  if (std::string folder = defaultCacheFolder(); !folder.empty() && preparePrivateFolder(folder))
    sessionOptions.cacheFolder = folder;
  const RemoteCache cache{given.remote_cache ? given.remote_cache : "", given.remote_cache_bytes};
  auto files =
      openFiles(*first.plan, sessionOptions,
                {given.allowed_folders, given.allowed_folders + given.allowed_folder_count}, cache);
  if (!files)
    return self.fail(files.error());
  self.files = std::move(*files);
  sessionOptions.files = self.files.get();
  if (given.table_count) {
    auto anywhere = openAnyFiles(cache);
    if (!anywhere)
      return self.fail(anywhere.error());
    self.anywhere = std::move(*anywhere);
    for (size_t i = 0; i < given.table_count; ++i) {
      auto table = externalTable(given.tables[i], *self.anywhere);
      if (!table)
        return self.fail(table.error());
      sessionOptions.external.push_back(std::move(*table));
    }
  }
  sessionOptions.outputsOnHost = given.device == PST_DEVICE_CPU;
  sessionOptions.stream = given.stream;
  if (hasGpuCode || delivers) {
    auto driver = runtime::cuda::openDriver();
    if (!driver && !hasGpuCode)
      return self.fail(
          invalid(program->gpuPlaces.output + " stands `on gpu`, and " + driver.error().message +
                  "; `--device cpu` (the session's `device`) delivers it in the host's memory"));
    if (!driver)
      return self.fail(driver.error());
    auto device = runtime::openCudaDevice(**driver, given.device_number);
    if (!device)
      return self.fail(device.error());
    sessionOptions.device = std::move(*device);
    sessionOptions.deviceCode = first.deviceCode;
  }
  sessionOptions.transfer = first.name;
  sessionOptions.transfers.assign(program->transfers.begin() + 1, program->transfers.end());
  auto opened = runtime::Session::open(first.plan, first.kernels, std::move(sessionOptions));
  if (!opened)
    return self.fail(opened.error());
  self.session = std::move(*opened);
  self.classes = self.session->classNames();
  self.plan = first.plan;
  self.parameters = program->parameters;
  for (const std::string &line : self.session->warnings())
    self.warnings += runtime::withoutSecrets(line) + "\n";
  return PST_OK;
}

pst_status pst_session_open(const pst_program *program, const pst_session_options *options,
                            pst_session **out_session) {
  *out_session = nullptr;
  return enter([&] { return open(*(*out_session = new pst_session), program, options); },
               [&](const runtime::Error &why) {
                 if (!*out_session)
                   return PST_ERROR;
                 (*out_session)->session = nullptr;
                 return (*out_session)->fail(why);
               });
}

const char *pst_session_error(const pst_session *session) {
  if (!session)
    return noHandle;
  return session->process.isThis() ? session->error.c_str() : session->elsewhere.c_str();
}
const char *pst_session_warnings(const pst_session *session) { return session->warnings.c_str(); }

//===--- running -----------------------------------------------------------===//

pst_status pst_session_next_within(pst_session *session, int64_t timeout_ns,
                                   pst_batch **out_batch) {
  *out_batch = nullptr;
  return useSession(*session, [&](runtime::Session &inner) {
    auto taken = inner.nextWithin(timeout_ns);
    if (!taken)
      return session->fail(taken.error());
    using Taken = runtime::Session::Taken;
    switch (taken->what) {
    case Taken::Batch:
      *out_batch = new pst_batch(std::move(taken->batch));
      return PST_OK;
    case Taken::EndOfEpoch:
      return PST_END_OF_EPOCH;
    case Taken::Timeout:
      return PST_TIMEOUT;
    case Taken::NoRows:
      break;
    }
    return PST_NO_ROWS;
  });
}

pst_status pst_session_next(pst_session *session, pst_batch **out_batch) {
  return pst_session_next_within(session, -1, out_batch);
}

static pst_status statusOf(pst_session &session, const runtime::Status &status) {
  return status ? PST_OK : session.fail(status.error());
}

pst_status pst_session_start(pst_session *session, uint32_t epoch, const pst_parameter *parameters,
                             size_t parameter_count) {
  return useSession(*session, [&](runtime::Session &inner) {
    if (runtime::Status status = checkParameters(parameters, parameter_count); !status)
      return session->fail(status.error());
    auto values =
        readParameters(session->plan->contents(), session->parameters, parameters, parameter_count);
    return values ? statusOf(*session, inner.start(epoch, *values)) : session->fail(values.error());
  });
}

pst_status pst_session_push_rows(pst_session *session, const int64_t *rows, size_t count) {
  return useSession(*session, [&](runtime::Session &inner) {
    runtime::Status status = checkArray(rows, count, "rows");
    if (status)
      status = inner.giveRows(std::vector<int64_t>(rows, rows + count));
    return statusOf(*session, status);
  });
}

int64_t pst_session_wants_rows(pst_session *session, uint32_t *out_epoch) {
  int64_t given = -1;
  (void)useSession(*session, [&](runtime::Session &inner) {
    if (const auto wanted = inner.wantedRows()) {
      *out_epoch = wanted->epoch;
      given = int64_t(wanted->given);
    }
    return PST_OK;
  });
  return given;
}

pst_status pst_session_set_transfer(pst_session *session, const char *level) {
  return useSession(*session, [&](runtime::Session &inner) {
    runtime::Status status = checkText(level, "level");
    if (status)
      status = inner.setTransfer(level);
    return statusOf(*session, status);
  });
}

/// Stores a text of the session's in `kept`; "" where there is none.
static const char *describe(pst_session &session, std::string &kept,
                            const std::function<std::string(const runtime::Session &)> &text) {
  kept.clear();
  useSession(session, [&](const runtime::Session &inner) {
    kept = text(inner);
    return PST_OK;
  });
  return kept.c_str();
}

const char *pst_session_transfer(pst_session *session) {
  return describe(*session, session->transfer,
                  [](const runtime::Session &inner) { return inner.transfer(); });
}

void pst_session_cancel(pst_session *session) {
  if (runtime::Session *inner = session->get())
    inner->cancel();
}

const char *pst_session_state(pst_session *session) {
  return describe(*session, session->state,
                  [](const runtime::Session &inner) { return inner.state(); });
}

const char *pst_session_state_before(pst_session *session) {
  return describe(*session, session->stateBefore,
                  [](const runtime::Session &inner) { return inner.state(true); });
}

pst_status pst_session_restore(pst_session *session, const char *state) {
  return useSession(*session, [&](runtime::Session &inner) {
    runtime::Status status = checkText(state, "state");
    if (status)
      status = inner.restore(state);
    return statusOf(*session, status);
  });
}

void pst_session_close(pst_session *session) {
  // A forked child has no thread to end, and nothing that may be touched.
  if (!session || !session->process.isThis())
    return;
  if (session->anywhere) // or what rows name would be waited for
    session->anywhere->cancel();
  delete session;
}
