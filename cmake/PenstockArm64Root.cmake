# SPDX-License-Identifier: Apache-2.0
#
# Where scripts/setup unpacks Debian's packages for 64-bit ARM.
if(DEFINED ENV{XDG_CACHE_HOME})
  set(PENSTOCK_ARM64_ROOT $ENV{XDG_CACHE_HOME}/penstock/arm64)
else()
  set(PENSTOCK_ARM64_ROOT $ENV{HOME}/.cache/penstock/arm64)
endif()
