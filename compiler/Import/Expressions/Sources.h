// SPDX-License-Identifier: Apache-2.0
//
// The tables that pipelines run over.
#pragma once

#include "compiler/Import/Expressions/Expressions.h"

namespace penstock::importer {

/// The table that a call of a source gives, with its columns. The arguments are
/// evaluated by `in`, where they are not names of types.
Val importTable(Expressions &in, const dsl::Name &name, const dsl::ArgList &list);

} // namespace penstock::importer
