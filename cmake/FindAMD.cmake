# AMD::amd
find_path(AMD_INCLUDE_DIR amd.h PATH_SUFFIXES suitesparse)
find_library(AMD_LIBRARY amd)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(AMD DEFAULT_MSG AMD_LIBRARY AMD_INCLUDE_DIR)
if(AMD_FOUND AND NOT TARGET AMD::amd)
  add_library(AMD::amd UNKNOWN IMPORTED)
  set_target_properties(AMD::amd PROPERTIES
    IMPORTED_LOCATION ${AMD_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${AMD_INCLUDE_DIR})
endif()
mark_as_advanced(AMD_INCLUDE_DIR AMD_LIBRARY)
