# run(COMMAND WORD …): what it prints is in `output`; another status than 0 ends the test.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nstatus ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
