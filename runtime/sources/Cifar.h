// SPDX-License-Identifier: Apache-2.0
//
// cifar10(root), cifar100(root): the binary files of CIFAR.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <memory>
#include <string>

namespace penstock::runtime {

enum class Cifar { Ten, Hundred };

/// Columns image: u8[c = 3, h = 32, w = 32], as the files store it, label: i64,
/// and for CIFAR-100 coarse: i64. Rows go as in the files, batch after batch.
///
/// `root` is the folder of the binary version's files, or the one in which its
/// archive was unpacked. Files are mapped. Names of classes are those of the archive's list
/// (batches.meta.txt, fine_label_names.txt), where it is there. Errors: NotFound, with the files
/// that are expected; Corrupt where a size is no multiple of a row's.
Result<std::unique_ptr<Source>> openCifar(FileSystem &files, const std::string &root, Cifar kind,
                                          bool train);

} // namespace penstock::runtime
