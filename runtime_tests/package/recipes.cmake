# cmake -D SOURCE=… -D CACHE=… -P recipes.cmake
# Options that the recipes name are options of the build, what the build may be made with
# is named by both, and they can be read by what reads them: Python, and Guile where it is
# there.

cmake_minimum_required(VERSION 3.25)
set(recipes ${SOURCE}/spack/package.py ${SOURCE}/guix/espalier.scm)
file(STRINGS ${CACHE} cache REGEX "^ESPALIER_")
foreach(recipe IN LISTS recipes)
  file(READ ${recipe} text)
  string(REGEX MATCHALL "ESPALIER_[A-Z_]+" names "${text}")
  foreach(option IN LISTS cache)
    if(option MATCHES "^(ESPALIER_WITH_[A-Z_]+):BOOL" AND NOT CMAKE_MATCH_1 IN_LIST names)
      message(FATAL_ERROR "${recipe} says nothing of ${CMAKE_MATCH_1}")
    endif()
  endforeach()
  foreach(name IN LISTS names)
    if(NOT cache MATCHES "${name}:")
      message(FATAL_ERROR "${recipe}: ${name} is no option of the build")
    endif()
  endforeach()
endforeach()

find_program(PYTHON python3 REQUIRED)
execute_process(COMMAND ${PYTHON} -c "import ast, sys; ast.parse(open(sys.argv[1]).read())"
                ${SOURCE}/spack/package.py COMMAND_ERROR_IS_FATAL ANY)
find_program(GUILE NAMES guile guile-3.0)
if(GUILE)
  # `#~` and the like are read by (guix gexp); the rest is plain Scheme.
  file(READ ${SOURCE}/guix/espalier.scm text)
  string(REPLACE "#~" "" text "${text}")
  file(WRITE ${WORK}/espalier.scm "${text}")
  execute_process(COMMAND ${GUILE} --no-auto-compile -c
    "(call-with-input-file (cadr (command-line))
       (lambda (port) (let loop () (or (eof-object? (read port)) (loop)))))"
    ${WORK}/espalier.scm COMMAND_ERROR_IS_FATAL ANY)
endif()
