// SPDX-License-Identifier: Apache-2.0
//
// One text through the compiler.
#include "test/texts/Judge.h"
#include "api/c/CompilerLibrary.h"
#include "api/c/Stack.h"
#include "api/c/penstock.h"
#include "runtime/core/Plan.h"
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace penstock::texts {

namespace {

using Program = std::unique_ptr<pst_program, decltype(&pst_program_release)>;
using Session = std::unique_ptr<pst_session, decltype(&pst_session_close)>;

/// Returns a fault if a message to a user has words of the compiler's.
std::string foreignWords(const std::string &message) {
  for (const char *word : {"please report", "internal error", "damaged plan", "cannot be loaded",
                           "'pipe.", "`pipe.", "operand #", "failed to verify", "assert"})
    if (message.find(word) != std::string::npos)
      return "speaks of the compiler: " + message;
  return {};
}

std::string judgeMessages(bool accepted, const std::string &json) {
  const auto messages = nlohmann::json::parse(json, nullptr, false);
  if (!messages.is_array())
    return "messages are no JSON: " + json;
  bool hasErrors = false;
  for (const auto &message : messages) {
    const std::string text = message["message"];
    const bool isError = message["severity"] == "error";
    hasErrors |= isError;
    if (text.empty())
      return "a message says nothing";
    if (std::string found = foreignWords(text); !found.empty())
      return found;
    if (isError && message["file"].is_null())
      return "no place: " + text;
  }
  if (!accepted && !hasErrors)
    return "refused without an error";
  if (accepted && hasErrors)
    return "accepted with an error";
  return {};
}

std::string judgeProgram(pst_status status, const pst_program *program) {
  return judgeMessages(status == PST_OK, pst_program_messages_json(program));
}

/// Up to the last thing that is ours: the plan, and what LLVM makes machine code of.
/// `accepted`: whether the text is a program.
std::string judgeLowering(const std::string &text, bool &accepted) {
  api::CompileRequest request;
  request.text = text;
  request.fileName = "text.pipe";
  std::string fault;
  api::onLargeStack([&] {
    auto compilation = api::startCompilation(request);
    if (!compilation) {
      fault = compilation.error().message;
      return;
    }
    const bool loaded = (*compilation)->load();
    accepted = loaded && (*compilation)->advance(api::Stage::llvm);
    fault = judgeMessages(accepted, (*compilation)->messages().json);
    if (!fault.empty() || !accepted) {
      fault = fault.empty() ? fault : (loaded ? "compile " : "check ") + fault;
      return;
    }
    if (auto plan = runtime::Plan::load((*compilation)->plan()); !plan)
      fault = "compile damaged plan: " + plan.error().message;
  });
  return fault;
}

/// Returns whether it needs nothing to run: no parameter without a value.
bool runsAlone(const pst_program *program) {
  for (size_t i = 0; i < pst_program_parameter_count(program); ++i)
    if (!pst_program_parameter(program, i)->default_value)
      return false;
  return true;
}

/// Cancels a session that takes longer: a text may say `repeat (9223372036854775807)`, and that
/// has to end when it is told to.
class Patience {
public:
  explicit Patience(pst_session *session)
      : watch([this, session] {
          std::unique_lock lock(mutex);
          if (!done.wait_for(lock, std::chrono::seconds(2), [this] { return isDone; }))
            pst_session_cancel(session);
        }) {}
  ~Patience() {
    {
      const std::lock_guard lock(mutex);
      isDone = true;
    }
    done.notify_one();
    watch.join();
  }

private:
  std::mutex mutex;
  std::condition_variable done;
  bool isDone = false;
  std::thread watch;
};

/// One batch. What keeps it from being made is told in the text's words.
std::string judgeRun(const pst_program *program) {
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  options.threads = 1;
  options.prefetch = 1;
  options.memory_budget = 256 << 20;
  pst_session *opened = nullptr;
  pst_status status = pst_session_open(program, &options, &opened);
  const Session session(opened, pst_session_close);
  pst_batch *batch = nullptr;
  if (status == PST_OK) {
    const Patience patience(opened);
    status = pst_session_next(opened, &batch);
    pst_batch_release(batch);
  }
  const pst_bad_sample *samples = nullptr;
  size_t count = 0;
  if (batch)
    pst_session_bad_samples(opened, &samples, &count);
  for (size_t i = 0; i < count; ++i)
    if (std::string found = foreignWords(samples[i].reason); !found.empty())
      return "a sample " + found;
  const std::string message = pst_session_error(opened);
  if (status == PST_ERROR && message.empty())
    return "a session fails without a message";
  return status == PST_ERROR ? foreignWords(message) : std::string();
}

} // namespace

std::string faultOf(const std::string &text, Depth depth) {
  bool accepted = false;
  if (std::string fault = judgeLowering(text, accepted); !fault.empty() || !accepted)
    return fault;
  pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
  options.cache_folder = "";
  options.check_only = depth != Depth::code;
  if (depth == Depth::lowering)
    return {};
  pst_program *made = nullptr;
  pst_status status = pst_compile(text.data(), text.size(), "text.pipe", &options, &made);
  const Program program(made, pst_program_release);
  if (std::string fault = judgeProgram(status, made); !fault.empty() || status != PST_OK)
    return "machine code " + (fault.empty() ? "is refused" : fault);
  if (depth == Depth::code)
    return runsAlone(made) ? judgeRun(made) : std::string();
  const char *said = nullptr;
  size_t length = 0;
  for (const auto &[what, say] :
       std::initializer_list<std::pair<const char *, std::function<pst_status()>>>{
           {"explain ", [&] { return pst_program_explain(made, &said); }},
           {"the overview ", [&] { return pst_program_overview(made, &said); }},
           {"cuda ", [&] { return pst_program_emit(made, "cuda", &said, &length); }}}) {
    status = say();
    if (std::string fault = judgeProgram(status, made); !fault.empty() || status != PST_OK)
      return what +
             (fault.empty() ? "is refused: " + std::string(pst_program_messages(made)) : fault);
  }
  return {};
}

} // namespace penstock::texts
