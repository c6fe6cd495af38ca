# Install rules: `cmake --install <build> --prefix <prefix>`.
#
# find_package(espalier) gives espalier::planner; the components `onnx`, `policy`, `solver`
# and `training`, where they were built, give espalier::onnx, espalier::policy,
# espalier::solver and espalier::training and look for what these need (onnx, StarPU, BLAS,
# orderings); `solver_c` gives espalier::solver_c, the solver as a shared library by its C
# interface, which needs nothing, and `solver_cxx` the same library by its C++ interface.
# Headers of the planner are those of public_headers.txt and what they include, headers of
# the solver those below espalier/solver/ and espalier_solver.h; all others are behind the
# interface and are not installed. Every installed path is relative to the prefix, so that
# an installed tree can be moved. runtime_tests/install holds all of it.

include(CMakePackageConfigHelpers)

set(espalier_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/espalier)
set(espalier_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# espalier_install(COMPONENT TARGETS …): those of the targets that exist, exported as
# espalier::<EXPORT_NAME> by espalier-<component>-targets.cmake.
function(espalier_install component)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      install(TARGETS ${target} EXPORT espalier-${component}-targets
              LIBRARY COMPONENT library NAMELINK_COMPONENT dev)
      set(installed TRUE)
    endif()
  endforeach()
  if(installed)
    install(EXPORT espalier-${component}-targets NAMESPACE espalier::
            DESTINATION ${espalier_cmake_dir})
  endif()
endfunction()

# espalier_pkgconfig(NAME): cmake/NAME.pc.in -> NAME.pc.
function(espalier_pkgconfig name)
  file(RELATIVE_PATH ESPALIER_PREFIX_FROM_PC /${espalier_pkgconfig_dir} /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in
                 ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${espalier_pkgconfig_dir})
endfunction()

# The planner.
espalier_install(planner espalier_planner)
install(CODE "
  set(ROOTS \"${PROJECT_SOURCE_DIR}/cmake/public_headers.txt\")
  set(SOURCE \"${PROJECT_SOURCE_DIR}/plugin\")
  set(DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")")
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/install_public_headers.cmake)
set(ESPALIER_PLANNER_REQUIRES fmt)
if(ESPALIER_WITH_HWLOC)
  list(APPEND ESPALIER_PLANNER_REQUIRES hwloc)
endif()
list(JOIN ESPALIER_PLANNER_REQUIRES " " ESPALIER_PLANNER_REQUIRES)
espalier_pkgconfig(espalier-planner)

# Graphs from ONNX models.
espalier_install(onnx espalier_onnx)

# The StarPU policy and its C interface.
if(TARGET espalier_policy)
  espalier_install(policy espalier_policy)
  espalier_pkgconfig(espalier)
endif()

# The solver library and the program. Without the policy there is no Solver.
if(TARGET espalier_solver AND TARGET espalier_policy)
  espalier_install(solver espalier_analysis espalier_solver)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/apps/solver/include/espalier
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  # Static libraries: what they need is linked by whoever links them.
  set(ESPALIER_SOLVER_LIBS ${BLAS_LIBRARIES} ${OpenMP_CXX_FLAGS})
  foreach(ordering IN ITEMS METIS SCOTCH)
    if(ESPALIER_WITH_${ordering})
      string(REPLACE SCOTCH SCOTCH_LIB package ${ordering})
      list(APPEND ESPALIER_SOLVER_LIBS ${${package}_LIBRARY})
    endif()
  endforeach()
  # As -l: whole paths would come before the objects that need them.
  list(TRANSFORM ESPALIER_SOLVER_LIBS
       REPLACE "^(.*)/lib([^/]+)\\.(so|a)$" "-L\\1 -l\\2")
  list(JOIN ESPALIER_SOLVER_LIBS " " ESPALIER_SOLVER_LIBS)
  espalier_pkgconfig(espalier-solver)
endif()

# The solver as a shared library.
espalier_install(solver_c espalier_solver_c)
espalier_install(solver_cxx espalier_solver_cxx)
if(TARGET espalier_solver_c)
  espalier_pkgconfig(espalier-solver-c)
  espalier_pkgconfig(espalier-solver-cxx)
endif()

# Chains run backwards.
if(TARGET espalier_training)
  espalier_install(training espalier_models espalier_training)
endif()

if(TARGET espalier_cli)
  file(RELATIVE_PATH libdir_from_bindir /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(espalier_cli PROPERTIES
    INSTALL_RPATH "$ORIGIN/${libdir_from_bindir}")
  install(TARGETS espalier_cli RUNTIME COMPONENT program)
endif()

set(ESPALIER_ORDERING_PACKAGES "")
foreach(ordering IN ITEMS METIS SCOTCH)
  if(ESPALIER_WITH_${ordering})
    string(REPLACE SCOTCH SCOTCH_LIB package ${ordering})
    list(APPEND ESPALIER_ORDERING_PACKAGES ${package})
  endif()
endforeach()
configure_package_config_file(cmake/espalier-config.cmake.in espalier-config.cmake
  INSTALL_DESTINATION ${espalier_cmake_dir})
write_basic_package_version_file(espalier-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/espalier-config.cmake
              ${PROJECT_BINARY_DIR}/espalier-config-version.cmake
              cmake/FindMETIS.cmake cmake/FindSCOTCH_LIB.cmake
        DESTINATION ${espalier_cmake_dir})
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT program)
# The pages that --help and the README name, where both name them, and the pages that
# these lead to.
install(DIRECTORY docs/manual docs/theory docs/decisions docs/measurements DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
        COMPONENT program)
install(FILES docs/architecture.svg DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
        COMPONENT program)
