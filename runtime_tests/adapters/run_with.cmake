# cmake -D PROGRAM=… -D ADAPTER=… -D WORK=… (-D PRELOAD=… | -D OPTIONS=…) -P run_with.cmake
# Runs PROGRAM, with its arguments, by itself; then with the library PRELOAD before all
# others, or with OPTIONS behind its arguments. It must end well both times, and the second
# time the report must say that it was ADAPTER.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} by itself: ${status}\n${output}")
endif()
file(MAKE_DIRECTORY ${WORK})
file(REMOVE ${WORK}/report)
set(ENV{ESPALIER_SOLVER_REPORT} ${WORK}/report)
set(preload "")
if(PRELOAD)
  set(preload ${CMAKE_COMMAND} -E env LD_PRELOAD=${PRELOAD})
endif()
execute_process(COMMAND ${preload} ${PROGRAM} ${OPTIONS}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} with ${PRELOAD}${OPTIONS}: ${status}\n${output}")
endif()
file(READ ${WORK}/report report)
if(NOT report MATCHES "\"adapter\": \"${ADAPTER}\"")
  message(FATAL_ERROR "it was not ${ADAPTER}: ${report}")
endif()
message("${output}${report}")
