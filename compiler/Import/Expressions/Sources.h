//===- Sources.h - the tables that pipelines run over ---------------------===//
#ifndef PENSTOCK_COMPILER_IMPORT_EXPRESSIONS_SOURCES_H
#define PENSTOCK_COMPILER_IMPORT_EXPRESSIONS_SOURCES_H

#include "compiler/Import/Expressions/Expressions.h"

namespace penstock::importer {

/// The table that a call of a source gives, with its columns. The arguments are
/// evaluated by `in`, where they are not names of types.
Val importTable(Expressions &in, const dsl::Name &name, const dsl::ArgList &list);

} // namespace penstock::importer

#endif
