// Every operation of Cluster against its definition; started by mpirun. What does not
// hold ends the job with a message.

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cli/job/cluster.h"
#include "espalier/model/error.h"
#include "solver/distributed/job_program.h"
#include "solver/distributed/mpi_communicator.h"

namespace espalier::solver {

using namespace cli;
namespace {

class Operations {
 public:
  explicit Operations(Cluster& cluster)
      : cluster_(cluster), rank_(cluster.rank()), size_(cluster.size()) {}

  void places_are_ranks() {
    expect(rank_ >= 0 && rank_ < size_, "a rank below the size");
    expect(size_ == Cluster::launched_processes(), "as many as were launched");
    const std::vector<std::int64_t> ranks = cluster_.gather_all(std::int64_t{rank_});
    expect(std::ssize(ranks) == size_, "one number of every process");
    for (std::int32_t rank = 0; rank < size_; ++rank)
      expect(ranks[rank] == rank, "numbers by rank");
  }

  void broadcasts_come_from_the_root() {
    for (std::int32_t root = 0; root < size_; ++root) {
      for (const std::size_t length : {0, 1, 1000, 300'000}) {
        std::vector<std::byte> bytes = random_bytes(rank_, length);
        cluster_.broadcast(bytes, root);
        expect(bytes == random_bytes(root, length), "the root's bytes everywhere");
      }
    }
  }

  void sums_are_those_of_all_and_the_same_bits() {
    for (const std::size_t length : {0, 1, 7, 100'000}) {
      std::vector<double> sum = random_numbers(rank_, length);
      cluster_.sum(sum);
      std::vector<double> expected(length);
      for (std::int32_t rank = 0; rank < size_; ++rank) {
        const std::vector<double> part = random_numbers(rank, length);
        for (std::size_t i = 0; i < length; ++i) expected[i] += part[i];
      }
      for (std::size_t i = 0; i < length; ++i)
        expect(std::abs(sum[i] - expected[i]) <= 1e-12 * size_, "the sum");
      std::vector<double> first = sum;
      cluster_.broadcast(std::as_writable_bytes(std::span(first)), 0);
      expect(std::memcmp(first.data(), sum.data(), length * sizeof(double)) == 0,
             "the same bits");
    }
  }

  void whole_numbers_are_exact() {
    const std::int64_t big = (std::int64_t{1} << 60) + 1;
    expect(cluster_.sum(rank_ == 0 ? big : std::int64_t{3}) == big + 3 * (size_ - 1),
           "an exact sum");
    expect(cluster_.largest(big - rank_) == big, "the largest whole number");
    expect(cluster_.largest(std::int64_t{-5} - rank_) == -5, "the largest of negatives");
    expect(cluster_.smallest(big - rank_) == big - size_ + 1, "the smallest number");
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    bool refused = false;
    try {
      (void)cluster_.sum(most);
    } catch (const OverflowError&) {
      refused = true;
    }
    expect(refused == (size_ > 1), "a sum beyond 64 bits is refused, everywhere");
  }

  void largest_of_numbers() {
    expect(cluster_.largest(-1.5 * (rank_ + 1)) == -1.5, "the largest number");
    expect(cluster_.largest(rank_ == size_ - 1 ? HUGE_VAL : 0.0) == HUGE_VAL, "infinity");
    expect(std::isnan(cluster_.largest(rank_ == size_ - 1 ? std::nan("") : HUGE_VAL)),
           "not a number at one process is the answer at all");
  }

  void texts_are_gathered_at_rank_0() {
    const auto text = [](std::int32_t rank) {
      return std::string(static_cast<std::size_t>(rank) * 70'000, 'a') +
             fmt::format("\nline of {}\n", rank);
    };
    const std::vector<std::string> texts = cluster_.gather(text(rank_));
    expect(std::ssize(texts) == (rank_ == 0 ? size_ : 0), "texts at rank 0 only");
    for (std::int32_t rank = 0; rank < std::ssize(texts); ++rank)
      expect(texts[rank] == text(rank), "texts by rank");
    expect(cluster_.gather("").size() == texts.size(), "no text");
  }

  // To the next, from the one before, in two tags at once: the second tag is asked for
  // first.
  void messages_of_a_pair_with_one_tag_arrive_in_order() {
    if (size_ == 1) return;
    constexpr int kMessages = 200;
    for (std::int32_t from = 0; from < size_; ++from) {
      const std::int32_t to = (from + 1) % size_;
      for (int message = 0; rank_ == from && message < kMessages; ++message) {
        cluster_.send(random_bytes(message, message % 50), to, 0);
        cluster_.send(random_bytes(-message, message % 50), to, 32'767);
      }
      for (const std::int32_t tag : {32'767, 0}) {
        for (int message = 0; rank_ == to && message < kMessages; ++message) {
          std::vector<std::byte> bytes(static_cast<std::size_t>(message % 50));
          cluster_.receive(bytes, from, tag);
          expect(bytes == random_bytes(tag == 0 ? message : -message, bytes.size()),
                 "messages in order");
        }
      }
    }
    cluster_.barrier();
  }

  void long_messages_arrive_whole() {
    if (size_ == 1) return;
    constexpr std::size_t kLength = std::size_t{48} << 20;
    if (rank_ == 0) cluster_.send(random_bytes(5, kLength), size_ - 1, 1);
    if (rank_ == size_ - 1) {
      std::vector<std::byte> bytes(kLength);
      cluster_.receive(bytes, 0, 1);
      expect(bytes == random_bytes(5, kLength), "a long message");
    }
    cluster_.barrier();
  }

  // The same code as for messages beyond what MPI can count, with small pieces.
  void what_is_cut_into_pieces_arrives_whole() {
    MpiCommunicator processes(MPI_COMM_WORLD, 64);
    for (const std::size_t length : {0, 1, 63, 64, 65, 128, 1000}) {
      std::vector<std::byte> bytes = random_bytes(rank_, length);
      processes.broadcast(bytes, size_ - 1);
      expect(bytes == random_bytes(size_ - 1, length), "a broadcast in pieces");
      std::vector<double> ones(length, 1.0);
      processes.sum(ones);
      expect(std::ranges::count(ones, size_) == std::ssize(ones), "a sum in pieces");
      if (rank_ > 0) processes.send(random_bytes(rank_, length), 0, 3);
      for (std::int32_t from = 1; rank_ == 0 && from < size_; ++from) {
        processes.receive(bytes, from, 3);
        expect(bytes == random_bytes(from, length), "a message in pieces");
      }
    }
  }

  void a_message_of_another_length_is_refused() {
    if (size_ == 1) return;
    if (rank_ == 1) cluster_.send(random_bytes(0, 10), 0, 4);
    if (rank_ == 1) cluster_.send(random_bytes(0, 30), 0, 4);
    for (int message = 0; rank_ == 0 && message < 2; ++message) {
      std::vector<std::byte> bytes(20);
      bool refused = false;
      try {
        cluster_.receive(bytes, 1, 4);
      } catch (const Error&) {
        refused = true;
      }
      expect(refused, message == 0 ? "a shorter message" : "a longer message");
    }
    cluster_.barrier();
  }

 private:
  void expect(bool holds, std::string_view what) {
    if (!holds) cluster_.fail(3, fmt::format("does not hold: {}", what));
  }

  static std::vector<std::byte> random_bytes(std::int32_t seed, std::size_t length) {
    std::minstd_rand random(static_cast<unsigned>(seed + 1000));
    std::vector<std::byte> bytes(length);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
    return bytes;
  }

  static std::vector<double> random_numbers(std::int32_t seed, std::size_t length) {
    std::minstd_rand random(static_cast<unsigned>(seed + 1));
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> numbers(length);
    for (double& each : numbers) each = number(random);
    return numbers;
  }

  Cluster& cluster_;
  std::int32_t rank_, size_;
};

void run(Cluster& cluster) {
  Operations operations(cluster);
  operations.places_are_ranks();
  operations.broadcasts_come_from_the_root();
  operations.sums_are_those_of_all_and_the_same_bits();
  operations.whole_numbers_are_exact();
  operations.largest_of_numbers();
  operations.texts_are_gathered_at_rank_0();
  operations.messages_of_a_pair_with_one_tag_arrive_in_order();
  operations.long_messages_arrive_whole();
  operations.what_is_cut_into_pieces_arrives_whole();
  operations.a_message_of_another_length_is_refused();
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  return espalier::solver::run_job_program(
      argc, argv, "program=operations\n",
      [&](auto& cluster) { espalier::solver::run(cluster); }, nullptr);
}
