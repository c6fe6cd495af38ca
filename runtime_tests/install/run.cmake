# cmake -D BUILD=… -D SOURCE=… -D WORK=… -D CONFIG=… -D LIBDIR=…
#       [-D COMPONENTS=…] [-D PROGRAM=…] [-D SANITIZE=…] -P run.cmake
# Installs BUILD below WORK, moves the installed tree (so that no path of the first place
# can be of use), builds SOURCE against it and runs what it built.

cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake)

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first --config "${CONFIG}")
file(RENAME ${WORK}/first ${WORK}/moved)

set(ENV{PKG_CONFIG_PATH} ${WORK}/moved/${LIBDIR}/pkgconfig)
set(flags "")
if(SANITIZE)
  set(flags -DCMAKE_C_FLAGS=-fsanitize=${SANITIZE}
            -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja
    -D CMAKE_PREFIX_PATH=${WORK}/moved ${flags})
run(${CMAKE_COMMAND} --build ${WORK}/build)

function(expect expected)
  run(${ARGN})
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "${ARGN} printed: ${output}")
  endif()
endfunction()

expect("best postorder 7, Liu 7\n" ${WORK}/build/by_package)
expect("best postorder 7, Liu 7\n" ${WORK}/build/by_pkgconfig)
file(WRITE ${WORK}/small.tree "0 -1 1 1 1\n1 0 2 0 1\n2 0 3 4 1\n")
expect("6 bytes: not enough, 7 are
7 bytes: peak 7, makespan 3 of at least 2.28571
14 bytes: peak 9, makespan 2 of at least 2
" ${WORK}/build/plan_tree ${WORK}/small.tree)
expect("as given 12, least 9, at least 9: down shrink deep join probe\n"
       ${WORK}/build/order_graph)
if("policy" IN_LIST COMPONENTS)
  set(ENV{LD_LIBRARY_PATH} ${WORK}/moved/${LIBDIR}:$ENV{LD_LIBRARY_PATH})
  expect("espalier\n" ${WORK}/build/policy_by_package)
  expect("espalier\n" ${WORK}/build/policy_by_pkgconfig)
endif()

# What an installed header includes is installed, and nothing that is behind the planner's.
foreach(header IN ITEMS espalier/layout/exact_layout.h espalier/parallel/banker_rule.h
        espalier/sequential/series_parallel/shared_fork.h espalier/report/run_sweep.h)
  if(EXISTS ${WORK}/moved/include/${header})
    message(FATAL_ERROR "${header} is installed")
  endif()
endforeach()
file(GLOB_RECURSE headers RELATIVE ${WORK}/moved/include ${WORK}/moved/include/*.h)
foreach(header IN LISTS headers)
  file(STRINGS ${WORK}/moved/include/${header} includes
       REGEX "#include [\"<]espalier/[^\">]+[\">]")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE ".*[\"<](espalier/[^\">]+)[\">].*" "\\1" include "${include}")
    if(NOT EXISTS ${WORK}/moved/include/${include})
      message(FATAL_ERROR "${header} includes ${include}, which is not installed")
    endif()
  endforeach()
endforeach()

# Pages that an installed page of the manual leads to are installed; sources are not.
file(GLOB_RECURSE pages ${WORK}/moved/share/doc/*.md)
foreach(page IN LISTS pages)
  file(READ ${page} text)
  get_filename_component(folder ${page} DIRECTORY)
  string(REGEX MATCHALL "[(][.][.]/(decisions|manual|measurements|theory)/[^)# ]+"
         links "${text}")
  foreach(link IN LISTS links)
    string(SUBSTRING "${link}" 1 -1 link)
    if(NOT EXISTS ${folder}/${link})
      message(FATAL_ERROR "${page}: ${link} is not installed")
    endif()
  endforeach()
endforeach()

# Of the solver nothing but its interface can be included.
file(GLOB_RECURSE headers RELATIVE ${WORK}/moved/include ${WORK}/moved/include/*.h)
foreach(header IN LISTS headers)
  if(header MATCHES "(^|/)(solver|training)/" AND
     NOT header MATCHES "^espalier/(solver/[a-z_]+[.]h$|training/)")
    message(FATAL_ERROR "${header} is installed")
  endif()
  file(STRINGS ${WORK}/moved/include/${header} inner REGEX "#include \"(solver|training)/")
  if(inner)
    message(FATAL_ERROR "${header}: ${inner}")
  endif()
endforeach()
if("solver" IN_LIST COMPONENTS)
  set(ENV{STARPU_SILENT} 1)
  foreach(program IN ITEMS c_by_package c_by_pkgconfig cpp_by_package cpp_by_pkgconfig)
    run(${WORK}/build/example_${program} ${WORK}/factor)
  endforeach()
endif()
if("solver_c" IN_LIST COMPONENTS)
  foreach(program IN ITEMS shared_by_package shared_by_pkgconfig shared_cxx_by_package
          shared_cxx_by_pkgconfig)
    run(${WORK}/build/${program} ${WORK}/factor)
  endforeach()
  expect("refused and caught\n" ${WORK}/build/catch_refusals)
endif()
if("training" IN_LIST COMPONENTS)
  set(ENV{STARPU_SILENT} 1)
  expect("12 of 12 states right, 21 forward steps\n" ${WORK}/build/run_chain)
endif()
# From C alone the static solver cannot be linked.
if("solver" IN_LIST COMPONENTS)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/c_alone
    -B ${WORK}/c_alone -G Ninja -D CMAKE_PREFIX_PATH=${WORK}/moved
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(status EQUAL 0 OR NOT said MATCHES "the project needs the language CXX")
    message(FATAL_ERROR "in C alone: ${status} ${said}")
  endif()
endif()

# LD_PRELOAD knows no quotes: where a blank is in the path, the policy goes by its name.
if(PROGRAM)
  unset(ENV{LD_LIBRARY_PATH})
  run(${WORK}/moved/${PROGRAM} --version)
  file(RENAME ${WORK}/moved "${WORK}/moved here")
  run("${WORK}/moved here/${PROGRAM}" info --json)
  if("policy" IN_LIST COMPONENTS AND NOT output MATCHES
     "(LD_LIBRARY_PATH='[^']*' LD_PRELOAD=libesp|STARPU_SCHED_LIB='[^']*/libesp)")
    message(FATAL_ERROR "info says: ${output}")
  endif()
endif()
