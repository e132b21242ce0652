// SPDX-License-Identifier: Apache-2.0
//
// Tables whose rows a caller gives.
#pragma once

#include "api/c/penstock.h"
#include "runtime/sources/ExternalSource.h"

namespace penstock::api {

/// The runtime's form of a caller's table. `files` opens the files that rows name. The error
/// says which column in memory does not fit.
runtime::Result<runtime::ExternalTable> externalTable(const pst_external_table &given,
                                                      runtime::FileSystem &files);

} // namespace penstock::api

struct pst_row {
  penstock::runtime::ExternalRow &row;
  penstock::runtime::Error error = {}; ///< the first; no message: none
};
