# SPDX-License-Identifier: Apache-2.0
#
# find_package(Penstock): the target Penstock::penstock. Everything is found from here,
# so that the tree may be moved.
include("${CMAKE_CURRENT_LIST_DIR}/PenstockTargets.cmake")
