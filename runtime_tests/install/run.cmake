# cmake -D BUILD=… -D SOURCE=… -D WORK=… -D CONFIG=… -D PKGCONFIG_DIR=…
#       [-D PROGRAM=…] [-D SANITIZE=…] -P run.cmake
# Installs BUILD below WORK, moves the installed tree (so that no path of the first place
# can be of use), builds SOURCE against it and runs what it built.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nstatus ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first --config "${CONFIG}")
file(RENAME ${WORK}/first ${WORK}/moved)

set(ENV{PKG_CONFIG_PATH} ${WORK}/moved/${PKGCONFIG_DIR})
set(flags "")
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja
    -D CMAKE_PREFIX_PATH=${WORK}/moved ${flags})
run(${CMAKE_COMMAND} --build ${WORK}/build)

foreach(program IN ITEMS by_package by_pkgconfig)
  run(${WORK}/build/${program})
  if(NOT output STREQUAL "best postorder 7, Liu 7\n")
    message(FATAL_ERROR "${program} printed: ${output}")
  endif()
endforeach()

if(PROGRAM)
  run(${WORK}/moved/${PROGRAM} --version)
endif()
