# cmake -D PROGRAM=… -D WORK=… [-D LAUNCH=…] [-D PRELOAD=…] -P run_within.cmake
# Runs PROGRAM with too little memory: it must fail, and say, or at least report, what
# suffices. Then within that
# and 3 MiB, for what a process has resident is not the same each time: it must end well,
# and no process of those that report may have had more resident.
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY ${WORK})
set(ENV{ESPALIER_SOLVER_REPORT} ${WORK}/report)
set(preload "")
if(PRELOAD)
  set(preload ${CMAKE_COMMAND} -E env LD_PRELOAD=${PRELOAD})
endif()

# run(BOUND): status, output
macro(run bound)
  file(REMOVE ${WORK}/report)
  set(ENV{ESPALIER_SOLVER_MEMORY} ${bound})
  execute_process(COMMAND ${LAUNCH} ${preload} ${PROGRAM}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
endmacro()

run(1MiB)
if(EXISTS ${WORK}/report)
  file(READ ${WORK}/report report)
  string(APPEND output "${report}")
endif()
if(status EQUAL 0 OR NOT output MATCHES "\\(([0-9]+) bytes\\) suffices")
  message(FATAL_ERROR "${PROGRAM} inside 1 MiB: ${status}\n${output}")
endif()
math(EXPR bound "${CMAKE_MATCH_1} + 3 * 1024 * 1024")
run(${bound})
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} inside ${bound}: ${status}\n${output}")
endif()
file(READ ${WORK}/report report)
string(REGEX MATCHALL "\"peak_resident_bytes\": [0-9]+" peaks "${report}")
if(NOT peaks)
  message(FATAL_ERROR "nobody reports: ${report}")
endif()
foreach(peak IN LISTS peaks)
  string(REGEX REPLACE "[^0-9]" "" peak "${peak}")
  if(peak GREATER bound)
    message(FATAL_ERROR "${peak} bytes resident inside ${bound}: ${report}")
  endif()
endforeach()
message("inside ${bound}: ${report}")
