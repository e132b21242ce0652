# SPDX-License-Identifier: Apache-2.0
#
# The licences of what the libraries contain, or wheels bring along: they ask that their notices go with binaries.
# Debian has them by package.
function(penstock_install_notices)
  foreach(package libantlr4-runtime-dev libcli11-dev libexpat1-dev libflac-dev libflatbuffers-dev libhwy-dev libjpeg62-turbo-dev libmlir-19-dev
      libogg-dev libspng-dev libwebp-dev libxxhash-dev libzstd1 llvm-19-dev nlohmann-json3-dev zlib1g-dev)
    set(notice /usr/share/doc/${package}/copyright)
    if(EXISTS ${notice})
      install(FILES ${notice} DESTINATION share/doc/penstock/third-party RENAME ${package})
      install(FILES ${notice} DESTINATION penstock/third-party RENAME ${package} COMPONENT python EXCLUDE_FROM_ALL)
    endif()
  endforeach()
endfunction()
