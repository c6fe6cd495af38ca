# Options, dependencies and the flags that every target of the project shares.

include(CMakeDependentOption)
option(ESPALIER_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ESPALIER_BUILD_BENCH "Build the benchmarks" OFF)
option(ESPALIER_BUILD_FUZZERS "Build the libFuzzer programs (clang)" OFF)
option(ESPALIER_WERROR "Treat warnings as errors" OFF)
option(ESPALIER_ASSERTS "Keep ESPALIER_ASSERT in optimised builds" OFF)
option(ESPALIER_POLICY_ALONE
       "Of the planner only what the policy needs: its tests can be built, no programs" OFF)
set(ESPALIER_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(ZLIB)
find_package(CLI11)
find_package(nlohmann_json)
find_package(OpenMP COMPONENTS CXX)
find_package(METIS)
find_package(SCOTCH_LIB)
find_package(Protobuf)
if(Protobuf_FOUND)
  find_package(ONNX CONFIG)
endif()
if(TARGET ONNX::onnx AND NOT TARGET onnx)  # its name since 1.16 or so
  add_library(onnx INTERFACE IMPORTED GLOBAL)
  target_link_libraries(onnx INTERFACE ONNX::onnx)
endif()
find_package(dnnl CONFIG QUIET)
if(dnnl_VERSION VERSION_GREATER_EQUAL 4)  # another interface, perhaps
  message(STATUS "oneDNN ${dnnl_VERSION} is not known: training steps need version 2 or 3")
  set(dnnl_FOUND FALSE)
endif()
find_package(BLAS)
find_package(LAPACK)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
  # StarPU's pkg-config name carries its version; the newest found wins.
  pkg_search_module(STARPU IMPORTED_TARGET starpu-1.4 starpu-1.3)
endif()

option(ESPALIER_WITH_STARPU "Build the StarPU policy and the solver's numerics"
       ${STARPU_FOUND})
option(ESPALIER_WITH_METIS "Order with METIS" ${METIS_FOUND})
option(ESPALIER_WITH_SCOTCH "Order with SCOTCH" ${SCOTCH_LIB_FOUND})
option(ESPALIER_WITH_ONNX "Read ONNX models" ${ONNX_FOUND})
option(ESPALIER_WITH_HWLOC "See the machine with hwloc" ${HWLOC_FOUND})
option(ESPALIER_WITH_DNNL "Train networks through oneDNN" ${dnnl_FOUND})
option(ESPALIER_WITH_MPI "Build the solver for cluster jobs, over StarPU-MPI" ON)

# MPI, and the StarPU-MPI of the StarPU that was found.
if(ESPALIER_WITH_MPI AND ESPALIER_WITH_STARPU)
  string(REPLACE starpu starpumpi starpumpi_module "${STARPU_MODULE_NAME}")
  pkg_check_modules(STARPUMPI IMPORTED_TARGET "${starpumpi_module}")
  find_package(MPI COMPONENTS C)
endif()
if(NOT (ESPALIER_WITH_STARPU AND STARPUMPI_FOUND AND MPI_C_FOUND))
  message(STATUS "No cluster jobs: they need StarPU, StarPU-MPI and MPI")
  set(ESPALIER_WITH_MPI OFF)
endif()

# espalier_module(TARGET NAME SOURCES …): lib<NAME>.so, which programs load when they need
# what is linked to it: machine/load_module.h.
function(espalier_module target name)
  add_library(${target} MODULE ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} INSTALL_RPATH $ORIGIN/..)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
  install(TARGETS ${target} DESTINATION ${CMAKE_INSTALL_LIBDIR}/espalier
          COMPONENT program)
endfunction()

# A compiler cache serves several builds of one tree, which precompiled headers would
# keep apart.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
# espalier_precompile(TARGET HEADER …): what most of the target's sources include, compiled
# once. Half of a source's time is that of the standard library's headers. Sources include
# what they need as if there were none of this: preset dev sees to it.
function(espalier_precompile target)
  target_precompile_headers(${target} PRIVATE
    <fmt/format.h> <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map>
    <memory> <numeric> <optional> <span> <string> <tl/expected.hpp> <utility> <vector>
    ${ARGN})
endfunction()

# Flags of our own targets; not exported.
add_library(espalier_flags INTERFACE)
target_compile_options(espalier_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>
  $<$<BOOL:${ESPALIER_WERROR}>:-Werror>)
# gcc 12 finds fault with how its own strings move, and holds its headers back from saying
# so only where they are not precompiled.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13
    AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  target_compile_options(espalier_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict>)
endif()
# In one translation unit with others, a source's own types look to gcc like a header's.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_UNITY_BUILD)
  target_compile_options(espalier_flags INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wno-subobject-linkage>)
endif()
target_compile_definitions(espalier_flags INTERFACE
  $<$<OR:$<CONFIG:Debug>,$<BOOL:${ESPALIER_ASSERTS}>>:ESPALIER_ENABLE_ASSERTS>)
if(ESPALIER_SANITIZE)
  add_compile_options(-fsanitize=${ESPALIER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ESPALIER_SANITIZE})
endif()

# espalier_unite(DIRECTORY): with CMAKE_UNITY_BUILD, up to CMAKE_UNITY_BUILD_BATCH_SIZE (0:
# all) sources of one folder are one translation unit in each target of the directory and of
# those below: half of a build's time is that of headers and of templates that many sources
# instantiate. So names in anonymous namespaces are unique in their folder.
function(espalier_unite directory)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  get_property(subdirectories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory IN LISTS subdirectories)
    espalier_unite(${subdirectory})
  endforeach()
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "[.]cpp$")
    set(folders "")
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${directory} NORMALIZE)
      cmake_path(GET source PARENT_PATH folder)
      string(MAKE_C_IDENTIFIER "${folder}" folder)
      set(before ${folders})
      list(FILTER before INCLUDE REGEX "^${folder}$")
      list(LENGTH before number)
      list(APPEND folders ${folder})
      if(CMAKE_UNITY_BUILD_BATCH_SIZE GREATER 0)
        math(EXPR number "${number} / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
      else()
        set(number 0)
      endif()
      set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP
        ${folder}_${number})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  endforeach()
endfunction()
