// SPDX-License-Identifier: Apache-2.0
//
// The user's own lines, of an op.
//
// An op that a function of the library made has the places of all calls on the way to
// it. What a person is told is where the outermost one stands.
#pragma once

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"

namespace penstock::pipe {

/// Without repetition, ordered by file, line and column: an op may have been made from several.
llvm::SmallVector<mlir::FileLineColLoc> userPlacesOf(mlir::Location location);
/// Of several the one that was first made into the op; null where there is none.
mlir::FileLineColLoc userPlaceOf(mlir::Location location);

/// The places of what is made of two ops; of a chain of thousands some hundreds, since
/// each link would copy those of all that were joined before.
mlir::Location joinedPlaces(mlir::Location first, mlir::Location second);

} // namespace penstock::pipe
