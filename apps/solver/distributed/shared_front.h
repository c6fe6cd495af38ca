#pragma once

#include <starpu.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "solver/distributed/channel.h"
#include "solver/distributed/front_distribution.h"
#include "solver/distributed/front_pieces.h"
#include "solver/distributed/front_tiles.h"
#include "solver/runtime/tiled_front.h"

namespace espalier::solver {

/// One process's part of a shared front: the tasks of a TiledFront on the tiles that are
/// here, and the messages between the processes.
///
/// Buffers have the addresses of the whole front and memory for what is here: own tiles,
/// and for a while what others send, which lands where it would be if all were here. So
/// the arithmetic is that of Front.
///
///   delays       what the children could not eliminate comes to every process; columns
///                may be put off only. With it the front is larger than planned, and
///                stands in memory of its own (FrontDelays)
///   assembly     own tiles, one block column after the other, AssemblyTree::window at
///                once. What others have of the children is fetched piece by piece; what
///                is here of the children is added, or sent to whoever asks, and goes
///                when the blocks before are finished everywhere
///   elimination  of own tiles as they are assembled; when nothing of the children is
///                left here, factored tiles of others are fetched, panel after panel. Of
///                panels that others put off columns in, the slots' rows are too, and
///                every process follows the slots by itself (Front::take_panel)
///   acceptance   of a panel whose rows several processes of a grid's column have: the
///                owner of the diagonal block tries its pivots and sends them to the
///                others (kTrial), who solve for their rows, say how many they bear and
///                hear how many are in force (kVerdict). Columns that are tried once more
///                come together at the owner (kRest) and go back (kRetried)
///   tail         of the slots, at the owner of the last block of the panel, who gets the
///                rows under the panel that others have followed (kTailRows); all who
///                have blocks of the contribution block fetch it
///
/// Everything is added to an entry in the order in which one process would add it: the
/// bits are those of one process.
///
/// SharedFrontRules says how much is fetched at once; nothing else is ever in memory.
template <class T>
class SharedFront final : public FrontExchange {
 public:
  struct Site {
    const FrontContext<T>& context;
    const FrontDistribution& distribution;
    std::int32_t process;
    Channel& channel;
    /// Called after a pivot was not positive here.
    std::function<void()> tell_failure;
    /// FrontShare::original, of a front of several strips.
    const std::vector<FrontEntry<T>>* original = nullptr;
  };

  /// `ended` is called when this part is done and has sent all that others need of it;
  /// it may destroy this object.
  SharedFront(const Site& site, std::int32_t node,
              std::function<void(starpu_task*)> submit, std::function<void()> ended);
  SharedFront(const SharedFront&) = delete;
  SharedFront& operator=(const SharedFront&) = delete;

  /// Begins; it has not ended before.
  void run();
  /// A request from another process. Any thread, also before run().
  void serve(std::int32_t from, const DataRequest& request);

  void compute(const TileTask& task) override;
  void ended(const TileTask& task) override;

 private:
  struct Waiting {
    std::int32_t process;
    DataRequest request;
  };
  /// Assembly of own tiles of a block column.
  struct Assembly {
    std::vector<std::int32_t> pieces;  // that are added to it, in order
    std::size_t next = 0, taken = 0;   // added before; taken by the task that runs
    bool begun = false, busy = false;
  };
  /// How far a panel is that is tested and whose rows several processes have.
  struct Acceptance {
    std::int32_t groups = 0;   // own ones that are not solved for
    std::int32_t pending = 0;  // at the diagonal: trials to be sent, counts to come
    std::int32_t least = std::numeric_limits<std::int32_t>::max();  // others bear so many
    std::int32_t missing = 0;               // parts of the rest, under way
    std::array<std::int32_t, 2> verdict{};  // columns in force; whether more is tried
    bool spread = false, tried = false, decided = false, told = false, put_back = false;
  };
  /// Columns that a child here delayed, as others get them.
  struct Delayed {
    std::int32_t count = 0;
    std::vector<std::int32_t> ids;  // rows, then columns
    std::array<std::vector<T>, 2> values;
  };

  /// Rows of the slots under the panel that a process has followed, and how many slots.
  struct TailRows {
    std::int32_t slots = 0;
    std::vector<T> values{};
  };

  // What children delayed (shared_delays.cpp).
  void count_delays();
  void fetch_delays();
  void fetch_delays_of(std::int32_t number);
  void one_less_to_fetch();
  void answer_delays(const Waiting& waiting);
  [[nodiscard]] Delayed& delayed_here(std::int32_t number);
  static void run_begin(void* buffers[], void* argument) noexcept;

  void begin();
  void open_buffers();
  [[nodiscard]] FrontShare<T> share() const;
  void list_pieces();
  void count_work();
  // Those below need the mutex.
  void advance();
  void begin_blocks();
  void add_pieces(std::int32_t block);
  void fetch_pieces();
  void fetch_panels();
  void take_panels();
  [[nodiscard]] bool may_take(std::int32_t panel);
  void take_tail();
  void answer_waiting();
  [[nodiscard]] bool can_answer(const DataRequest& request) const;
  void answer(const Waiting& waiting);
  void answer_piece(const Waiting& waiting);
  void end_of_block(std::int32_t block);
  void one_less_of(std::int32_t block);
  void fetch_tile(std::int32_t strip, std::int32_t panel);
  void end_of_use(std::int32_t panel);
  void end_of_solve(const TileTask& task);
  void end_of_tile(std::int32_t strip, std::int32_t panel);
  void tile_final(std::int32_t strip, std::int32_t panel);
  void tile_came(std::int32_t strip, std::int32_t panel);
  void tile_arrives(std::int32_t strip, std::int32_t panel);
  [[nodiscard]] bool panel_here(std::int32_t panel) const;
  void end_of_pivots();
  // Panels whose rows several processes have (shared_pivots.cpp).
  void count_acceptance();
  [[nodiscard]] bool helps(std::int32_t panel) const {
    return spread(panel) && !own(panel);
  }
  [[nodiscard]] bool spread(std::int32_t panel) const {
    return !acceptance_.empty() && acceptance_[panel].spread;
  }
  void ask_for_trial();
  void end_of_trial(const TileTask& task);
  void ask_for_verdict(std::int32_t panel);
  void hear_of_rows(const DataRequest& request);
  void decide(std::int32_t panel);
  void put_back(std::int32_t panel);
  void agreed(std::int32_t panel);
  void gather_rest(std::int32_t panel);
  [[nodiscard]] Channel::Parts rest_parts(std::int32_t panel, std::int32_t process);
  /// Rows of a tile elsewhere, in the columns that are tried again.
  struct RestTile {
    IndexRange rows;
    std::array<T*, 2> sides;
  };
  [[nodiscard]] std::vector<RestTile> rest_tiles(std::int32_t panel,
                                                 std::int32_t process) const;
  [[nodiscard]] std::int64_t rows_of(const std::vector<std::int32_t>& processes,
                                     std::int32_t panel) const;
  [[nodiscard]] std::span<std::byte> trial_part(const PageBuffer& buffer,
                                                std::int32_t panel) const;
  [[nodiscard]] Channel::Parts own_rest(std::int32_t panel);
  void fetch_retried(std::int32_t panel);
  void end_of_rest();
  void end_of_accept(std::int32_t panel);
  void answer_of_acceptance(const Waiting& waiting);
  void collect_tail();
  void tail_came(std::int32_t process);
  void pack_tail_rows();
  [[nodiscard]] TailRows room_for_tail(const std::vector<IndexRange>& ranges) const;
  [[nodiscard]] std::int64_t tail_entries(std::int64_t rows) const;

  void one_less();
  [[nodiscard]] Channel::Parts parts_of(const DataRequest& request);
  [[nodiscard]] Channel::Parts tile_parts(std::int32_t strip, std::int32_t panel,
                                          bool notes);
  void add_notes(std::int32_t panel, Channel::Parts& parts);
  [[nodiscard]] Channel::Parts piece_parts(
      const typename BlockAssembly<T>::Columns& columns);
  [[nodiscard]] typename BlockAssembly<T>::Columns columns_of(std::int32_t piece) const;
  [[nodiscard]] PageBuffer& panel_buffer();
  void tile_memory(std::int32_t strip, std::int32_t panel, bool take);
  void close();
  void drain_others();
  /// Of its diagonal block.
  [[nodiscard]] std::int32_t owner(std::int32_t block) const {
    return tiles_->owner(tiles_->strip_of(block), block);
  }
  [[nodiscard]] bool own(std::int32_t block) const {
    return owner(block) == site_.process;
  }
  [[nodiscard]] bool own(std::int32_t strip, std::int32_t block) const {
    return tiles_->has(site_.process, strip, block);
  }
  [[nodiscard]] std::size_t place(std::int32_t strip, std::int32_t panel) const {
    return static_cast<std::size_t>(panel) * tiles_->strips() + strip;
  }
  [[nodiscard]] std::int32_t strip_of_group(std::int32_t row) const {
    return tiles_->strip_of(tasks_->shape().first_block(row));
  }
  [[nodiscard]] bool own_contribution() const {
    return !own_.empty() && own_.back() >= panels_;
  }
  [[nodiscard]] WorkerRange group() const { return site_.distribution.group[node_]; }
  /// Other processes that follow slots behind a panel; that have contribution blocks.
  [[nodiscard]] std::int32_t followers(std::int32_t panel) const;
  [[nodiscard]] std::int32_t tail_clients() const;
  [[nodiscard]] Front<T>& front() { return tasks_->front(); }

  Site site_;
  std::int32_t node_, front_;
  bool may_delay_, in_turn_;  // panels are used in turn
  std::function<void(starpu_task*)> submit_;
  std::function<void()> ended_;
  std::vector<std::int32_t> children_;  // fronts
  std::atomic<std::int64_t> left_{1};   // the tasks of the front, and answers to others
  std::atomic<std::int32_t> to_fetch_{1};  // of delays, before the front is opened
  std::vector<std::int32_t> counts_;       // of each child: columns delayed elsewhere
  std::vector<std::vector<std::int32_t>> ids_;  // of each child: of those columns

  std::mutex mutex_;                         // of what follows
  std::map<std::int32_t, Delayed> delayed_;  // by number of child
  std::optional<TiledFront<T>> tasks_;       // when it is known what the children delayed
  bool begun_ = false;                       // its tasks can be submitted
  std::int32_t panels_ = 0, blocks_ = 0;
  std::optional<FrontTiles> tiles_;
  std::vector<std::int32_t> own_;         // block columns with tiles here
  std::vector<FrontPiece> pieces_;        // that are added here, in order of blocks
  std::vector<Assembly> assembly_;        // of each block
  std::vector<std::int32_t> block_left_;  // of each block: what it waits for here
  std::size_t next_own_ = 0;              // in own_: blocks before it have begun
  std::size_t next_piece_ = 0;            // in pieces_: fetched before it
  std::int32_t pieces_under_way_ = 0;
  std::vector<std::int8_t> piece_here_;
  std::int32_t next_panel_ = 0, panels_here_ = 0;  // with tiles of others, fetched
  std::int32_t next_take_ = 0;                     // panels before it are final here
  bool taking_ = false, slots_asked_ = false, slots_here_ = false;
  bool tail_asked_ = false, tail_here_ = false;
  std::vector<Acceptance> acceptance_;  // of each panel, of several strips
  PageBuffer trial_in_, trial_out_;     // a diagonal block
  PageBuffer rest_;                     // rows of others, in columns that are tried again
  std::int32_t next_trial_ = 0;         // panels before it have been asked for
  bool trial_open_ = false;
  std::int32_t rest_users_ = 0, rest_wanted_ = -1;
  std::int32_t tail_left_ = 0;  // of the rows of the slots
  bool tail_packed_ = false;
  std::map<std::int32_t, TailRows> tail_rows_;  // of processes
  std::vector<std::int8_t> tile_here_;          // of the panel: factored, and in memory
  std::vector<std::int32_t> tile_left_;         // of own ones: groups that are not final
  std::vector<std::int32_t> uses_left_;         // of each panel, for own tiles
  std::vector<Waiting> waiting_;
};

}  // namespace espalier::solver
