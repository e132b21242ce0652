//===- Judge.cpp - one text through the compiler --------------------------===//

#include "test/texts/Judge.h"
#include "api/c/penstock.h"
#include <memory>
#include <nlohmann/json.hpp>

namespace penstock::texts {

namespace {

using Program = std::unique_ptr<pst_program, decltype(&pst_program_release)>;
using Session = std::unique_ptr<pst_session, decltype(&pst_session_close)>;

/// What no message to a user says.
std::string foreignWords(const std::string &message) {
  for (const char *word : {"please report", "internal error", "damaged plan", "cannot be loaded",
                           "'pipe.", "`pipe.", "operand #", "failed to verify", "assert"})
    if (message.find(word) != std::string::npos)
      return "speaks of the compiler: " + message;
  return {};
}

std::string judgeMessages(pst_status status, const pst_program *program) {
  const auto messages = nlohmann::json::parse(pst_program_messages_json(program), nullptr, false);
  if (!messages.is_array())
    return std::string("messages are no JSON: ") + pst_program_messages_json(program);
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
  if (status != PST_OK && !hasErrors)
    return "refused without an error";
  if (status == PST_OK && hasErrors)
    return "accepted with an error";
  return {};
}

/// Whether it needs nothing to run: no parameter without a value.
bool runsAlone(const pst_program *program) {
  for (size_t i = 0; i < pst_program_parameter_count(program); ++i)
    if (!pst_program_parameter(program, i)->default_value)
      return false;
  return true;
}

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

std::string faultOf(const std::string &text) {
  pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
  options.cache_folder = "";
  for (const int checkOnly : {1, 0}) {
    options.check_only = checkOnly;
    pst_program *made = nullptr;
    const pst_status status = pst_compile(text.data(), text.size(), "text.pipe", &options, &made);
    const Program program(made, pst_program_release);
    if (std::string fault = judgeMessages(status, made); !fault.empty())
      return (checkOnly ? "check " : "compile ") + fault;
    if (status != PST_OK)
      return {};
    if (!checkOnly && runsAlone(made))
      return judgeRun(made);
  }
  return {};
}

} // namespace penstock::texts
