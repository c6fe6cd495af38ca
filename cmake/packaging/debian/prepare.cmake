# What Debian wants of a package's files, done to what CPack has staged for each
# component.

set(packages "library:libespalier0" "dev:libespalier-dev" "program:espalier"
    "adapters:espalier-adapters")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

foreach(each IN LISTS packages)
  string(REPLACE ":" ";" each ${each})
  list(GET each 0 component)
  list(GET each 1 package)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  if(NOT IS_DIRECTORY ${root})
    continue()
  endif()

  # Libraries are where the loader looks by itself.
  file(GLOB_RECURSE binaries ${root}/usr/lib/*.so* ${root}/usr/bin/*)
  foreach(binary IN LISTS binaries)
    if(NOT IS_SYMLINK ${binary} AND NOT binary MATCHES "\\.(py|cmake)$")
      file(RPATH_REMOVE FILE ${binary})
    endif()
  endforeach()

  set(doc ${root}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${doc})
  file(REMOVE ${root}/usr/share/doc/espalier/LICENSE)
  file(WRITE ${doc}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: espalier

Files: *
Copyright: 2026 the authors of Espalier
License: Apache-2.0
 On Debian systems, the full text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE ${doc}/changelog
"${package} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What has changed is in CHANGELOG.md of the package espalier.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  execute_process(COMMAND gzip -9 -n -f ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB markdown ${root}/usr/share/doc/espalier/CHANGELOG.md)
  if(markdown)
    execute_process(COMMAND gzip -9 -n -f ${markdown} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  if(component MATCHES "library|adapters|program")
    # CPack writes these scripts itself, whatever triggers there are.
    file(WRITE ${root}/usr/share/lintian/overrides/${package}
         "${package}: maintscript-calls-ldconfig *\n")
  endif()
  if(component STREQUAL "program")
    set(man ${root}/usr/share/man/man1)
    file(MAKE_DIRECTORY ${man})
    file(COPY ${CMAKE_CURRENT_LIST_DIR}/espalier.1 DESTINATION ${man})
    execute_process(COMMAND gzip -9 -n -f ${man}/espalier.1 COMMAND_ERROR_IS_FATAL ANY)
  endif()
  execute_process(COMMAND chmod -R u=rwX,go=rX ${root} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE libraries ${root}/usr/lib/*.so* ${root}/usr/lib/*.a)
  foreach(library IN LISTS libraries)  # of links only what they lead to has a mode
    if(IS_SYMLINK ${library})
      list(REMOVE_ITEM libraries ${library})
    endif()
  endforeach()
  if(libraries)
    execute_process(COMMAND chmod 644 ${libraries} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
