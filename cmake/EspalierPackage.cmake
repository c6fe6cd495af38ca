# Debian packages: `cpack -G DEB` in a build directory, into <build>/packages.
#
#   libespalier0      the shared libraries: the policy and the solver's C interface
#   libespalier-dev   headers, static libraries, CMake and pkg-config files
#   espalier          the program, the manual and the Python package
#   espalier-adapters the libraries that take the place of others: HSL, MUMPS, PETSc
#
# A prefix of /usr when configuring gives Debian's own folders of libraries.
# runtime_tests/package builds them, looks at them with lintian where it is there, and runs
# outside programs against what was taken out of them.

find_program(DPKG_DEB dpkg-deb)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(NOT DPKG_DEB OR NOT DPKG_SHLIBDEPS)
  message(STATUS "No Debian packages: dpkg-dev is not there")
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME espalier)
set(CPACK_PACKAGE_VENDOR Espalier)
set(ESPALIER_PACKAGE_CONTACT "Espalier developers <espalier@localhost.localdomain>"
    CACHE STRING "Who maintains the Debian packages")
mark_as_advanced(ESPALIER_PACKAGE_CONTACT)
set(CPACK_PACKAGE_CONTACT "${ESPALIER_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library dev program)
if(TARGET espalier_hsl)
  list(APPEND CPACK_COMPONENTS_ALL adapters)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    ${PROJECT_BINARY_DIR}/plugin/policy ${PROJECT_BINARY_DIR})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/debian/shlibs CONTENT
"libespalier 0 libespalier0 (= @PROJECT_VERSION@)
libespalier_solver 0 libespalier0 (= @PROJECT_VERSION@)
" @ONLY)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs
    ${PROJECT_SOURCE_DIR}/cmake/packaging/debian/triggers)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/packaging/debian/prepare.cmake)

# espalier_package(COMPONENT NAME SECTION SUMMARY DESCRIPTION)
macro(espalier_package component name section summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${description}")
endmacro()
espalier_package(library libespalier0 libs
  "memory-bounded scheduling on StarPU, shared libraries"
  "A scheduling policy of StarPU that keeps task trees inside a bound on memory,
and a sparse direct solver on it, by its C interface.")
espalier_package(dev libespalier-dev libdevel
  "memory-bounded scheduling on StarPU, development files"
  "Headers, static libraries, CMake and pkg-config files of the planner, of the
policy, of the sparse direct solver and of training steps.")
espalier_package(program espalier science
  "plans and solves inside a bound on memory"
  "The program espalier: task trees, graphs and training steps are planned, and
sparse linear systems solved, inside a bound on memory. With a Python package.")
espalier_package(adapters espalier-adapters science
  "Espalier's solver in the place of others"
  "Libraries that programs load in the place of HSL's MA97, of MUMPS and, as a
plug-in, of PETSc's direct solvers.")

set(same "= ${PROJECT_VERSION}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_PROVIDES
    "libespalier-solver0 (${same})")
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
# What the static libraries and their CMake files ask for.
set(needed "libespalier0 (${same})" libfmt-dev libexpected-dev libstarpu-dev zlib1g-dev
    "libopenblas-dev | libblas-dev" "libopenblas-dev | liblapack-dev")
foreach(pair IN ITEMS HWLOC:libhwloc-dev METIS:libmetis-dev SCOTCH:libscotch-dev)
  string(REPLACE ":" ";" pair ${pair})
  list(POP_FRONT pair option name)
  if(ESPALIER_WITH_${option})
    list(APPEND needed ${name})
  endif()
endforeach()
list(JOIN needed ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libespalier0 (${same}), python3:any")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "python3-scipy")
set(CPACK_DEBIAN_ADAPTERS_PACKAGE_DEPENDS "libespalier0 (${same})")
# libespalier_solver_mpi.so, for PETSc on several processes.
set(CPACK_DEBIAN_ADAPTERS_PACKAGE_RECOMMENDS "espalier (${same})")

include(CPack)
