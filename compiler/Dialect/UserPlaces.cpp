// SPDX-License-Identifier: Apache-2.0
//
// The user's own lines, of an op.
#include "compiler/Dialect/UserPlaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include <tuple>

using namespace mlir;

static void collect(Location location, llvm::SetVector<FileLineColLoc> &places) {
  if (auto call = llvm::dyn_cast<CallSiteLoc>(location))
    return collect(call.getCaller(), places);
  if (auto name = llvm::dyn_cast<NameLoc>(location))
    return collect(name.getChildLoc(), places);
  if (auto fused = llvm::dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collect(part, places);
    return;
  }
  if (auto place = llvm::dyn_cast<FileLineColLoc>(location))
    places.insert(place);
}

SmallVector<FileLineColLoc> penstock::pipe::userPlacesOf(Location location) {
  llvm::SetVector<FileLineColLoc> places;
  collect(location, places);
  SmallVector<FileLineColLoc> ordered(places.begin(), places.end());
  llvm::sort(ordered, [](FileLineColLoc a, FileLineColLoc b) {
    return std::tuple(a.getFilename().getValue(), a.getLine(), a.getColumn()) <
           std::tuple(b.getFilename().getValue(), b.getLine(), b.getColumn());
  });
  return ordered;
}

Location penstock::pipe::joinedPlaces(Location first, Location second) {
  constexpr size_t most = 256;
  for (Location one : {first, second})
    if (auto fused = llvm::dyn_cast<FusedLoc>(one); fused && fused.getLocations().size() >= most)
      return one;
  return FusedLoc::get(first.getContext(), {first, second});
}

FileLineColLoc penstock::pipe::userPlaceOf(Location location) {
  llvm::SetVector<FileLineColLoc> places;
  collect(location, places);
  return places.empty() ? FileLineColLoc() : places.front();
}
