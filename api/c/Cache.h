// SPDX-License-Identifier: Apache-2.0
//
// Compiled programs on disk.
#pragma once

#include "api/c/Program.h"
#include "runtime/core/FileSystem.h"
#include <memory>

namespace penstock::api {

/// Two kinds of entries, because only static parameters belong to the key and
/// which ones are static is known after import only:
///
/// * by text, modules, compiler, target and options: the list of parameters;
/// * by the same and the values of the static ones: plan, code and warnings.
///
/// Import with equal values of the static parameters takes equal decisions, so
/// the second key is complete. Entries are code: the folder must belong to
/// this user alone (preparePrivateFolder), and every entry carries a checksum
/// and its key. A damaged or misplaced entry is a miss; a failed write is no error. Entries that
/// were not used for long are removed (runtime/core/CacheFolder.h).
class Cache {
public:
  /// \param folder  empty: a cache that never hits and keeps nothing.
  Cache(std::string folder, const CompileRequest &request, const std::string &target);

  std::optional<Compiled> find() const;
  void store(const Compiled &compiled) const;

private:
  std::string keyWith(const std::vector<Parameter> &parameters) const;
  std::string pathOf(const std::string &key, const char *ending) const;

  std::string folder;
  std::unique_ptr<runtime::FileSystem> files; ///< the folder; null where there is none
  const CompileRequest &request;
  std::string textKey;
};

} // namespace penstock::api
