#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "solver/runtime/factorise.h"
#include "solver/solve/determinant.h"
#include "solver/solve/inverse_entries.h"
#include "solver/symbolic/block_form.h"

namespace espalier::solver {

class SectionReader;
class SectionWriter;
struct FrontDistribution;

/// A factorisation in either precision; right-hand sides are in double precision. Those
/// of complex matrices are real and imaginary parts in turn, and A^T stands for the
/// transposed of the real matrix that maps such parts: it is A^H.
class Numeric {
 public:
  virtual ~Numeric() = default;

  /// Factors; an earlier factor is given up first. @throws as solver::factorise()
  /// @param runtime  null: the calling thread does it all, node after node
  [[nodiscard]] virtual tl::expected<FactorReport, NotPositiveDefinite> factorise(
      const FactorInput& input, const Runtime* runtime, const espalier_plan* plan,
      const std::function<void(double)>& progress) = 0;

  /// Gives the factor up, and all pages.
  virtual void release_factor() = 0;
  /// What its panels have of memory, in this process.
  [[nodiscard]] virtual Bytes held_bytes() const = 0;
  /// Pages beside, that wait for the next factorisation.
  [[nodiscard]] virtual Bytes waiting_bytes() const = 0;
  /// Gives back those, where there are any, that with `bytes` more beside the panels
  /// would be more than factorisations had.
  virtual void make_room(Bytes bytes) = 0;

  /// Prepares for blocks of `nrhs` right-hand sides at most.
  /// @throws InvalidInput when there is no factor
  /// @param form        empty: the matrix was factored whole; else it is solved with
  ///                    block after block
  /// @param runtime     awake in solve() alone: what is done between solves has its cores
  ///                    for itself; null: the calling thread solves
  /// @param read_limit  bytes of panels that may be read from the file at once; one
  ///                    node's are read in any case
  /// @param pieces      of the tree's only node, where threads may share it without a
  ///                    runtime; outlives the solves; null: they may not
  virtual void open_solve(const Symbolic& symbolic, const AssemblyTree& tree,
                          const BlockForm& form, const Runtime* runtime,
                          std::int32_t nrhs, Bytes read_limit,
                          const NodePieces* pieces) = 0;
  /// block := A^-1 block, or A^-T block, in elimination order, after open_solve().
  /// @param rows  where right-hand sides may have entries, increasing; empty: anywhere
  /// @param ask   called on the way by this thread; what it throws is thrown when no task
  ///              runs any more, and another block can be solved for. Empty: not called.
  ///              One process alone
  virtual void solve(bool transposed, std::span<double> block, std::int32_t nrhs,
                     std::span<const std::int32_t> rows,
                     const std::function<void()>& ask) = 0;
  virtual void close_solve() = 0;
  /// Work space of solve_alone(), in numbers; 0: there is no such way with this factor.
  [[nodiscard]] virtual std::int64_t alone_entries(const Symbolic& symbolic,
                                                   const AssemblyTree& tree) const = 0;
  /// x := A^-1 x of one vector, as solve(), by the calling thread and without
  /// open_solve().
  virtual void solve_alone(const Symbolic& symbolic, const AssemblyTree& tree,
                           std::span<double> x, std::span<double> work) const = 0;

  /// See solve/factor_parts.h: in place, with P^-T as solve() has A^-T, and `ask` as
  /// there.
  /// @throws InvalidInput when there is no factor
  virtual void solve_part(const Symbolic& symbolic, const AssemblyTree& tree,
                          FactorPart part, bool transposed, std::span<double> block,
                          std::int32_t nrhs, const std::function<void()>& ask) const = 0;

  /// See solve/inverse_entries.h, likewise.
  virtual void inverse_entries(const Symbolic& symbolic, const AssemblyTree& tree,
                               std::span<const InversePlace> places, std::int32_t at_once,
                               std::span<double> values,
                               const std::function<void(double)>& progress) const = 0;

  /// See solve/determinant.h. @throws InvalidInput when there is no factor
  [[nodiscard]] virtual Determinant determinant(const Symbolic& symbolic,
                                                const AssemblyTree& tree) const = 0;
  /// See solve/kept_block.h.
  virtual void read_kept_block(const Symbolic& symbolic, const AssemblyTree& tree,
                               std::span<double> block) const = 0;

  /// Writes the factor that factorise() left.
  /// @throws InvalidInput when there is none, otherwise as save_factor()
  virtual void save(const Symbolic& symbolic, const AssemblyTree& tree,
                    SectionWriter& file) const = 0;
  /// As after factorise(). @throws as load_factor()
  virtual void load(const Symbolic& symbolic, const AssemblyTree& tree,
                    SectionReader& file) = 0;

  /// Bytes beside the tree's own, while factorising and while solving.
  /// @param kind  as which the factorisation ends: that of the tree, or what it goes on
  /// as
  /// @param blocks  whether the matrix is in block form
  /// @param distribution  of several processes: under which `input` has the tree
  [[nodiscard]] virtual Bytes factor_workspace_bytes(const FactorInput& input,
                                                     FactorKind kind,
                                                     std::int32_t workers) const = 0;
  [[nodiscard]] virtual Bytes solve_workspace_bytes(
      const FactorInput& input, FactorKind kind, std::int32_t workers, std::int32_t nrhs,
      bool blocks, const FrontDistribution* distribution) const = 0;
  [[nodiscard]] virtual Bytes entry_bytes() const = 0;
  /// Real numbers in an entry.
  [[nodiscard]] virtual std::int32_t parts() const = 0;
  [[nodiscard]] virtual double epsilon() const = 0;

  /// In one process; make_cluster_numeric() on several.
  /// @param complex  none: of a real matrix
  [[nodiscard]] static std::unique_ptr<Numeric> create(
      Precision precision, std::optional<ComplexSymmetry> complex = {});
};

}  // namespace espalier::solver
