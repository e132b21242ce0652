// SPDX-License-Identifier: Apache-2.0
//
// An object file becomes an image.
#pragma once

#include "codegen/cpu/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace penstock::codegen {

/// Lays out code and read-only data of a relocatable ELF object, resolves its
/// PC-relative relocations, and returns the bytes that runtime::Image::load
/// reads (runtime/abi/image.h). Entries are the object's global functions.
///
/// Refuses, by name: undefined symbols, writable data, and every relocation
/// that would need work when loading.
llvm::Expected<std::vector<uint8_t>> linkImage(llvm::ArrayRef<uint8_t> object,
                                               const Target &target);

} // namespace penstock::codegen
