# cmake -D NM=… -D LIBRARY=… -P symbols.cmake
# What libespalier_solver.so shows: the C interface and the C++ interface, each under its
# version, and nothing of what is behind them.

cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${NM} --dynamic --defined-only --demangle --with-symbol-versions
                        ${LIBRARY}
                OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ";" "," output "${output}")
string(REPLACE "\n" ";" lines "${output}")
set(c 0)
set(cxx 0)
foreach(line IN LISTS lines)
  if(line STREQUAL "" OR line MATCHES " A ESPALIER_SOLVER_")
    continue()
  elseif(line MATCHES " T espalier_solver_[a-z_]+@@ESPALIER_SOLVER_0$")
    math(EXPR c "${c} + 1")
  elseif(line MATCHES "@@ESPALIER_SOLVER_CXX_0.1$" AND line MATCHES
         " T espalier::solver::(Solver|ComplexSolver|Budget|Runtime|Determinant|LeaseRefused|check|analysis_bytes|default_workers)(::~?[A-Za-z_]+)?([[]abi:cxx11[]])?[(]")
    math(EXPR cxx "${cxx} + 1")
  else()
    message(FATAL_ERROR "exported: ${line}")
  endif()
endforeach()
if(c LESS 20 OR cxx LESS 60)
  message(FATAL_ERROR "${c} functions of C and ${cxx} of C++ are exported")
endif()
