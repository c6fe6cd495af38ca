# cmake -D BUILD=… -D SOURCE=… -D WORK=… -D LIBDIR=… -D VERSION=… -D CONFIG=…
#       -D TRAINS=… [-D LINTIAN=…] -P run.cmake
# Builds the Debian packages, looks at what is in them and what they need, takes them out
# into an empty folder, and compiles and runs programs of C and of C++ against that.

cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -G DEB -C "${CONFIG}"
    -B ${WORK}/packages)

# package(NAME WORD …): exists, has files and fields that match the words.
function(package name)
  file(GLOB found ${WORK}/packages/${name}_${VERSION}_*.deb)
  list(LENGTH found count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${name}: ${count} packages")
  endif()
  run(dpkg-deb --contents ${found})
  set(all "${output}")
  run(dpkg-deb --field ${found})
  string(APPEND all "${output}")
  foreach(word IN LISTS ARGN)
    if(NOT all MATCHES "${word}")
      message(FATAL_ERROR "${name} has nothing that matches ${word}:\n${all}")
    endif()
  endforeach()
  set(contents "${all}" PARENT_SCOPE)
  run(dpkg-deb --extract ${found} ${WORK}/root)
endfunction()

set(lib "usr/${LIBDIR}")
package(libespalier0 "${lib}/libespalier.so.0 " "${lib}/libespalier_solver.so.0 "
        "Depends: [^\n]*libc6" "Depends: [^\n]*libstarpu" "Section: libs"
        "doc/libespalier0/copyright" "doc/libespalier0/changelog.gz")
if(contents MATCHES "usr/include|\\.so ->|bin/")
  message(FATAL_ERROR "libespalier0 has more than libraries:\n${contents}")
endif()
package(libespalier-dev "usr/include/espalier_solver.h" "${lib}/libespalier_solver.so ->"
        "usr/include/espalier/solver/solver.h" "pkgconfig/espalier-solver-cxx.pc"
        "${lib}/cmake/espalier/espalier-config.cmake" "pkgconfig/espalier-solver-c.pc" "Depends: [^\n]*libexpected-dev"
        "Depends: [^\n]*libespalier0 \\(= ${VERSION}\\)")
package(espalier "usr/bin/espalier" "man1/espalier.1.gz" "doc/espalier/docs/manual/planning.md" "dist-packages/espalier/_solver"
        "Depends: [^\n]*libespalier0 \\(= ${VERSION}\\)")
package(espalier-adapters "${lib}/espalier/libhsl.so"
        "Depends: [^\n]*libespalier0 \\(= ${VERSION}\\)")

if(LINTIAN)
  file(GLOB all ${WORK}/packages/*.deb)
  # The placeholder of an address; and a prefix other than /usr when configuring does not
  # give Debian's own folders.
  set(tags bogus-mail-host,bogus-mail-host-in-debian-changelog)
  if(LIBDIR STREQUAL "lib")
    string(APPEND tags ,pkg-config-multi-arch-wrong-dir)
    string(APPEND tags ,pkg-config-unavailable-for-cross-compilation)
  endif()
  execute_process(COMMAND ${LINTIAN} --allow-root --suppress-tags ${tags}
                          --fail-on error,warning ${all}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "lintian:\n${output}")
  endif()
endif()

# The examples of both interfaces, by nothing but what was taken out.
set(ENV{PKG_CONFIG_PATH} ${WORK}/root/${lib}/pkgconfig)
set(ENV{LD_LIBRARY_PATH} ${WORK}/root/${lib})
set(ENV{STARPU_SILENT} 1)
foreach(example IN ITEMS "c;espalier-solver-c;cc;-std=c99"
                         "cpp;espalier-solver-cxx;c++;-std=c++20")
  list(POP_FRONT example suffix module)
  run(pkg-config --cflags --libs ${module})
  string(STRIP "${output}" output)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${example} ${SOURCE}/../solver/api/solver_example.${suffix} ${flags} -lm
      -Wl,-rpath-link,${WORK}/root/${lib} -o ${WORK}/example_${suffix})
  run(${WORK}/example_${suffix} ${WORK}/factor)
endforeach()
run(${WORK}/root/usr/bin/espalier solve --grid 9x9x9 --memory min)
if(TRAINS)  # with the library that is loaded for it
  run(${WORK}/root/usr/bin/espalier train --mlp 8x4 --steps 2)
endif()
