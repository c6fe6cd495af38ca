# cmake -D PROGRAM=… -D WORK=… -P control_group.cmake
# `--memory auto` and `min` in a control group of its own whose limit is the least bound and
# two per cent, in core and out of core: solved, inside the bound, and not killed. Cached
# file pages count there. Prints "skipped: …" where no such group can be made.

cmake_minimum_required(VERSION 3.25)

# Version 2 where it has the memory controller, else version 1.
string(RANDOM LENGTH 8 ALPHABET 0123456789abcdef random)
set(name espalier-test-${random})
if(EXISTS /sys/fs/cgroup/cgroup.controllers)
  set(group /sys/fs/cgroup/${name})
  set(limit_file memory.max)
else()
  set(group /sys/fs/cgroup/memory/${name})
  set(limit_file memory.limit_in_bytes)
endif()
execute_process(COMMAND mkdir ${group} RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0 OR NOT EXISTS ${group}/${limit_file})
  execute_process(COMMAND rmdir ${group} ERROR_QUIET)
  message("skipped: no control group can be made as ${group}")
  return()
endif()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# solve(OUT LIMIT ARGUMENT …): in the group where LIMIT is not 0.
function(solve out limit)
  set(enter ":")
  if(limit)
    set(enter "echo ${limit} > ${group}/${limit_file} && echo $$ > ${group}/cgroup.procs")
  endif()
  list(JOIN ARGN " " arguments)
  set(command "${PROGRAM} solve --workers 2 --json ${arguments}")
  execute_process(COMMAND sh -c "${enter} && exec ${command}"
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    execute_process(COMMAND rmdir ${group})
    message(FATAL_ERROR
            "solve ${arguments} with ${limit}: status ${status}\n${output}${errors}")
  endif()
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

foreach(case IN ITEMS "least_bytes;--grid;26x26x26"
        "out_of_core_least_bytes;--grid;30x30x30;--out-of-core;${WORK}")
  list(POP_FRONT case key)
  solve(report 0 ${case} --memory min)
  string(JSON least GET "${report}" ${key})
  math(EXPR limit "${least} + ${least} / 50")
  foreach(memory IN ITEMS auto min)
    solve(report ${limit} ${case} --memory ${memory})
    string(JSON trusted GET "${report}" trusted)
    string(JSON kept GET "${report}" bound_kept)
    if(NOT trusted OR NOT kept)
      execute_process(COMMAND rmdir ${group})
      message(FATAL_ERROR "${case} --memory ${memory}:\n${report}")
    endif()
    if(memory STREQUAL "auto")
      string(JSON source GET "${report}" bound_source)
      if(NOT source MATCHES "control group.*${name}")
        execute_process(COMMAND rmdir ${group})
        message(FATAL_ERROR "the bound is from ${source}")
      endif()
    endif()
  endforeach()
endforeach()
execute_process(COMMAND rmdir ${group})
