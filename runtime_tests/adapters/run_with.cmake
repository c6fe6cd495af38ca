# cmake -D PROGRAM=… -D LIBRARY=… -D ADAPTER=… -D WORK=… -P run_with.cmake
# Runs PROGRAM by itself, then with LIBRARY before all others, where it must end the same
# way and the report must say that it was ADAPTER.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} by itself: ${status}\n${output}")
endif()
file(MAKE_DIRECTORY ${WORK})
file(REMOVE ${WORK}/report)
set(ENV{ESPALIER_SOLVER_REPORT} ${WORK}/report)
execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_PRELOAD=${LIBRARY} ${PROGRAM}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} with ${LIBRARY}: ${status}\n${output}")
endif()
file(READ ${WORK}/report report)
if(NOT report MATCHES "\"adapter\": \"${ADAPTER}\"")
  message(FATAL_ERROR "it was not ${ADAPTER}: ${report}")
endif()
message("${output}${report}")
