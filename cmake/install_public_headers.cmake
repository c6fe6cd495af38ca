# Installs the headers of ROOTS (public_headers.txt), which lie below SOURCE, and what they
# include, below DESTINATION. Run by `cmake --install`, so that the list is never old.

cmake_minimum_required(VERSION 3.25)

file(STRINGS ${ROOTS} waiting REGEX "^[^#]")
set(taken "")
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST taken)
    continue()
  endif()
  list(APPEND taken ${header})
  file(STRINGS ${SOURCE}/${header} includes REGEX "^#include \"espalier/")
  list(TRANSFORM includes REPLACE ".*\"(.*)\".*" "\\1")
  list(APPEND waiting ${includes})
  get_filename_component(folder ${header} DIRECTORY)
  file(INSTALL DESTINATION ${DESTINATION}/${folder} TYPE FILE FILES ${SOURCE}/${header})
endwhile()
