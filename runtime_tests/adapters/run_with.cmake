# cmake -D PROGRAM=… -D ADAPTER=… -D WORK=… [-D LAUNCH=…] [-D PRELOAD=…] [-D OPTIONS=…]
#       [-D SOLVERS=…] -P run_with.cmake
# Runs PROGRAM, with its arguments, by itself; then with the library PRELOAD before all
# others, with OPTIONS behind its arguments, or both. It must end well both times, and the
# second time the report must say that it was ADAPTER; that there were SOLVERS of them, if
# it is given. LAUNCH: a command that starts it, as mpirun does.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${LAUNCH} ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output
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
execute_process(COMMAND ${LAUNCH} ${preload} ${PROGRAM} ${OPTIONS}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} with ${PRELOAD}${OPTIONS}: ${status}\n${output}")
endif()
file(READ ${WORK}/report report)
if(NOT report MATCHES "\"adapter\": \"${ADAPTER}\"")
  message(FATAL_ERROR "it was not ${ADAPTER}: ${report}")
endif()
string(REGEX MATCHALL "\n" lines "${report}")
list(LENGTH lines solvers)
if(SOLVERS AND NOT solvers EQUAL SOLVERS)
  message(FATAL_ERROR "${solvers} solvers, not ${SOLVERS}:\n${report}")
endif()
message("${output}${report}")
