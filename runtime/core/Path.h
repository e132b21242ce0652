// SPDX-License-Identifier: Apache-2.0
//
// Paths as texts: of this machine's files, and URLs of files elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace penstock::runtime {

/// True for `http://..`, `https://..`, `s3://..`, `gs://..`, `az://..` and `hf://..`, in small
/// letters.
bool isUrl(std::string_view path);

/// True for URLs, and for paths that begin with `/`.
bool isAbsolutePath(std::string_view path);

/// `path` without `.`, `..`, doubled and trailing slashes, made absolute with
/// `currentFolder`, which may be a URL. Works on the text alone. Of URLs, no `..` leaves the
/// server or bucket; doubled slashes, and what stands behind a `?`, stay as they are.
std::string normalizePath(std::string_view path, std::string_view currentFolder);

/// The same of files of this machine as the system takes it: the `..` behind a symbolic link is the
/// folder that holds the link's target.
std::string resolvePath(std::string_view path, std::string_view currentFolder);

/// Resolves `path`, from the process's current folder. Where that has no path any more, the
/// result names a file in it, which is not there and cannot be made.
std::string absolutePath(std::string_view path);

/// A path without the `?..` of a URL.
std::string_view withoutQuery(std::string_view path);

/// A message without what may be secret in its URLs: users, passwords and queries.
std::string withoutSecrets(std::string_view message);

/// The folder of a normalized path: `/` of `/a`, and a URL's server or bucket at least.
std::string folderOf(std::string_view path);

/// True where `path` is `root` or lies below it; both normalized.
bool liesWithin(std::string_view path, std::string_view root);

/// Returns whether a name or path comes before another, as in Python's `sorted`, and so for
/// torchvision: by code points, where a byte that belongs to no UTF-8 counts as U+DC00 and more
/// (PEP 383). Of UTF-8 alone that is the order of bytes.
bool comesBefore(std::string_view a, std::string_view b);

} // namespace penstock::runtime
