//===- Operators.h - what can be called in the language --------------------===//
#ifndef PENSTOCK_API_C_OPERATORS_H
#define PENSTOCK_API_C_OPERATORS_H

#include <string>

namespace penstock::api {

/// A JSON array with every function and constant of the library's modules and
/// every intrinsic: by module, in the order of their text. pst_operators()
/// describes the fields.
std::string operatorsJson();

} // namespace penstock::api

#endif
