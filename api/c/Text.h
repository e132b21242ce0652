//===- Text.h - messages that are about no place in a file -----------------===//
#ifndef PENSTOCK_API_C_TEXT_H
#define PENSTOCK_API_C_TEXT_H

#include "api/c/Program.h"

namespace penstock::api {

/// One error, as text and as JSON.
Messages messageWithoutPlace(const std::string &message);

} // namespace penstock::api

struct pst_text {
  std::string data;
  penstock::api::Messages messages;
};

#endif
