// SPDX-License-Identifier: Apache-2.0
//
// The functions pst_format() and pst_text_...().
#include "api/c/Text.h"
#include "api/c/Arguments.h"
#include "api/c/CompilerLibrary.h"
#include "api/c/Entry.h"
#include "api/c/Stack.h"
#include "dsl/Diagnostics/Render.h"

using namespace penstock;
using namespace penstock::api;

Messages api::messageWithoutPlace(const std::string &message) {
  dsl::Diagnostics diagnostics;
  diagnostics.error({}, message);
  return {"penstock: error: " + message + "\n", dsl::renderJson(diagnostics, {})};
}

static pst_status give(runtime::Result<std::unique_ptr<Written>> written, pst_text &text) {
  if (!written)
    return failWith(text, written.error());
  text.messages = std::move((*written)->messages);
  if (!(*written)->text)
    return PST_ERROR;
  text.data = std::move(*(*written)->text);
  return PST_OK;
}

pst_status api::failWith(pst_text &text, const runtime::Error &why) {
  text.messages = messageWithoutPlace(why.message);
  return why.code == runtime::Code::Cancelled ? PST_CANCELLED : PST_ERROR;
}

pst_status pst_format(const char *text, size_t length, const char *file_name, pst_text **out_text) {
  return makeText(out_text, [&](pst_text &made) {
    if (runtime::Status status = checkArray(text, length, "text"); !status)
      return failWith(made, status.error());
    CompileRequest request;
    request.text.assign(text, length);
    request.fileName = file_name ? file_name : "<text>";
    pst_status status = PST_ERROR;
    onLargeStack([&] { status = give(writeFormatted(request), made); });
    return status;
  });
}

pst_status pst_operators(pst_text **out_text) {
  return makeText(out_text, [](pst_text &made) { return give(writeOperators(), made); });
}

const char *pst_text_data(const pst_text *text) { return text->data.c_str(); }
size_t pst_text_length(const pst_text *text) { return text->data.size(); }
const char *pst_text_messages(const pst_text *text) {
  return text ? text->messages.text.c_str() : noHandle;
}
const char *pst_text_messages_json(const pst_text *text) {
  return text ? text->messages.json.c_str() : "[]";
}
void pst_text_release(pst_text *text) { delete text; }
