// SPDX-License-Identifier: Apache-2.0
//
// The list of the language's functions, constants and intrinsics.
#pragma once

#include <string>

namespace penstock::api {

/// A JSON array with every function and constant of the library's modules and
/// every intrinsic: by module, in the order of their text. pst_operators()
/// describes the fields.
std::string operatorsJson();

} // namespace penstock::api
