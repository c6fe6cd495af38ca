#pragma once

#include <starpu.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "solver/distributed/channel.h"
#include "solver/distributed/front_distribution.h"
#include "solver/distributed/front_pieces.h"
#include "solver/front/block_assembly.h"
#include "solver/front/front.h"

namespace espalier::solver {

/// One process's part of a shared front, as StarPU tasks on its block columns and
/// messages between them.
///
/// Buffers have the addresses of the whole front and memory for what is here: own block
/// columns, and for a while what others send, which lands where it would be if all were
/// here. So the arithmetic is that of Front.
///
///   assembly     own block columns in turn, AssemblyTree::window at once. What others
///                have of the children is fetched piece by piece; what is here of the
///                children is added, or sent to whoever asks, and goes when the blocks
///                before are finished everywhere
///   elimination  when nothing of the children is left here: factored block columns in
///                turn, own or fetched, each with the updates of own ones behind it
///
/// Sums are made in one order, whatever comes first: the same shares make the same bits.
///
/// SharedFrontRules says how much is fetched at once; nothing else is ever in memory.
template <class T>
class SharedFront {
 public:
  struct Site {
    const FrontContext<T>& context;
    const FrontDistribution& distribution;
    std::int32_t process;
    Channel& channel;
    /// Called after a pivot was not positive here.
    std::function<void()> pivot_failed;
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

 private:
  enum class Kind : std::int8_t { kAssemble, kAdd, kFactor, kUpdate };
  struct Work {
    SharedFront* front;
    Kind kind;
    std::int32_t target, source;  // kAdd: block and piece; else block columns
  };
  struct Waiting {
    std::int32_t process;
    DataRequest request;
  };

  // Those below need the mutex.
  void advance();
  void begin_blocks();
  void fetch_pieces();
  void begin_steps();
  void fetch_panels();
  void submit_step(std::int32_t panel);
  void submit_work(Kind kind, std::int32_t target, std::int32_t source);
  void answer_panel(const Waiting& waiting);
  void answer_piece(const Waiting& waiting);
  void end_of_block(std::int32_t block);
  void end_of_step(std::int32_t panel);

  static void run_work(void* buffers[], void* argument) noexcept;
  void compute(const Work& work);
  void end_of(const Work& work);
  void piece_arrived(std::int32_t number);
  void panel_arrived(std::int32_t number);
  void one_less();
  void count_work();
  [[nodiscard]] Channel::Parts panel_parts(std::int32_t block);
  [[nodiscard]] Channel::Parts piece_parts(
      const typename BlockAssembly<T>::Columns& columns);
  void panel_memory(std::int32_t block, bool take);
  void drain_others();
  [[nodiscard]] bool own(std::int32_t block) const {
    return site_.distribution.owner_of(node_, block) == site_.process;
  }

  Site site_;
  std::int32_t node_;
  Front<T> front_;
  std::int32_t panels_, blocks_;
  std::vector<FrontPiece> incoming_;  // pieces that are sent here, in order of blocks
  BlockAssembly<T> assembly_;
  std::vector<std::int32_t> own_;              // blocks
  std::vector<starpu_data_handle_t> handles_;  // of own blocks: for dependencies only
  std::function<void(starpu_task*)> submit_;
  std::function<void()> ended_;
  Flops work_each_ = 0;

  std::mutex mutex_;            // of what follows
  std::int64_t left_ = 1;       // tasks, answers, and run() itself
  std::int32_t next_own_ = 0;   // in own_: blocks before it have begun
  std::size_t next_piece_ = 0;  // in incoming_: fetched before it
  std::int32_t pieces_under_way_ = 0;
  std::size_t next_added_ = 0;            // in incoming_: added, or in a task, before it
  std::vector<std::int8_t> piece_here_;   // of incoming_: received
  std::vector<std::int32_t> block_left_;  // of each block: what it waits for here
  std::int32_t next_step_ = 0, steps_under_way_ = 0;
  std::int32_t next_panel_ = 0, panels_here_ = 0;  // of others, fetched
  std::vector<std::int8_t> panel_here_;            // factored, and in memory
  std::vector<std::int32_t> step_left_;
  std::vector<Waiting> waiting_;  // for panels
};

}  // namespace espalier::solver
