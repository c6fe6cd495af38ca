#include "espalier/sequential/segments/profile.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "espalier/sequential/segments/profile_heaps.h"
#include "support/series_parallel.h"

namespace espalier {
namespace TEST_SOURCE {

using support::draw;

// Tasks of a random composition in series and in parallel, with peaks and nets.
struct Instance {
  std::vector<Segment> task;
  std::vector<std::uint32_t> before;  // by task: a bit a predecessor
  std::vector<TaskId> next;
  Profile profile;
};

Instance random_instance(std::mt19937& random, std::size_t tasks) {
  Instance instance;
  instance.before.resize(tasks);
  instance.next.resize(tasks);
  struct Part {
    std::uint32_t tasks;
    Profile profile;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < tasks; ++i) {
    const Bytes net = static_cast<Bytes>(draw(random, 12)) - 6;
    const Bytes peak = std::max<Bytes>(net, 0) + static_cast<Bytes>(draw(random, 6));
    instance.task.push_back({peak, net, task_id(i), task_id(i)});
    parts.push_back({std::uint32_t{1} << i, {instance.task.back()}});
  }
  while (parts.size() > 1) {
    std::swap(parts[draw(random, parts.size() - 1)], parts.back());
    Part b = std::move(parts.back());
    parts.pop_back();
    Part& a = parts[draw(random, parts.size() - 1)];
    if (draw(random, 1) == 0) {
      for (std::size_t i = 0; i < tasks; ++i) {
        if ((b.tasks >> i & 1) != 0) instance.before[i] |= a.tasks;
      }
      a.profile = series(a.profile, b.profile, instance.next);
    } else {
      a.profile = parallel(std::vector{a.profile, b.profile}, instance.next);
    }
    a.tasks |= b.tasks;
  }
  instance.profile = parts.front().profile;
  return instance;
}

std::string describe(const Instance& instance) {
  std::string text;
  for (std::size_t i = 0; i < instance.task.size(); ++i) {
    text += fmt::format("{}: peak {} net {} after {:b}\n", i, instance.task[i].peak,
                        instance.task[i].net, instance.before[i]);
  }
  return text;
}

// Levels: start, then hill and valley of each segment.
std::vector<Bytes> levels(const std::vector<Segment>& segments) {
  std::vector<Bytes> result{0};
  for (const Segment& s : segments) {
    const Bytes start = result.back();
    result.push_back(start + s.peak);
    result.push_back(start + s.net);
  }
  return result;
}

// Whether a walk along both, forwards only, has `a` never above `b`.
bool dominates(const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
  std::vector<bool> reached(b.size(), false);  // the row of one level of a
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<bool> row(b.size(), false);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool from = (i == 0 && j == 0) || (i > 0 && reached[j]) ||
                        (j > 0 && row[j - 1]) || (i > 0 && j > 0 && reached[j - 1]);
      row[j] = from && a[i] <= b[j];
    }
    reached = row;
  }
  return reached.back();
}

template <class Visit>
void for_each_order(const Instance& instance, std::vector<Segment>& order,
                    std::uint32_t done, const Visit& visit) {
  if (order.size() == instance.task.size()) return visit(order);
  for (std::size_t i = 0; i < instance.task.size(); ++i) {
    if ((done >> i & 1) != 0 || (instance.before[i] & ~done) != 0) continue;
    order.push_back(instance.task[i]);
    for_each_order(instance, order, done | std::uint32_t{1} << i, visit);
    order.pop_back();
  }
}

TEST(Profile, OfAWorkedExample) {
  std::vector<TaskId> next(5);
  const auto task = [](std::size_t id, Bytes peak, Bytes net) {
    return Segment{peak, net, task_id(id), task_id(id)};
  };
  // 0 then 1 hold 2 over a hill of 6; 2 then 3 hold 1 over a hill of 4: the higher first.
  const Profile a = canon(std::vector{task(0, 6, 5), task(1, 0, -3)}, next);
  const Profile b = canon(std::vector{task(2, 4, 4), task(3, 0, -3)}, next);
  ASSERT_EQ(a.size(), 1U);
  EXPECT_EQ(a[0].peak, 6);
  EXPECT_EQ(a[0].net, 2);
  const Profile both = parallel(std::vector{b, a}, next);
  EXPECT_EQ(whole(both, next).peak, 6);
  EXPECT_EQ(rope(whole(both, next), next),
            (std::vector{task_id(0), task_id(1), task_id(2), task_id(3)}));
  // What ends by freeing everything has to be waited for by nothing.
  const Profile all = series(both, {task(4, 1, -3)}, next);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].peak, 6);
  EXPECT_EQ(all[0].net, 0);
}

TEST(Profile, DominatesEveryOrder) {
  std::mt19937 random(7);
  for (int k = 0; k < 8000; ++k) {
    const Instance instance = random_instance(random, 1 + draw(random, 5));
    ASSERT_TRUE(std::is_sorted(
        instance.profile.begin(), instance.profile.end(),
        [](const Segment& a, const Segment& b) { return a.rank() < b.rank(); }));
    std::vector<TaskId> next = instance.next;
    std::vector<Segment> run;
    for (const TaskId t : rope(whole(instance.profile, next), next)) {
      run.push_back(instance.task[index(t)]);
    }
    // The profile says of its order what the order does, up to delays and hurries.
    ASSERT_TRUE(dominates(levels(instance.profile), levels(run))) << describe(instance);
    ASSERT_TRUE(dominates(levels(run), levels(instance.profile))) << describe(instance);
    std::vector<Segment> order;
    for_each_order(instance, order, 0, [&](const std::vector<Segment>& other) {
      ASSERT_TRUE(dominates(levels(run), levels(other))) << describe(instance);
    });
    if (HasFatalFailure()) return;
  }
}

TEST(Profile, IsTheSameHoweverItIsPutTogether) {
  std::mt19937 random(8);
  for (int k = 0; k < 2000; ++k) {
    std::vector<Segment> run;
    for (std::size_t i = 0; i < 12; ++i) {
      const Bytes net = static_cast<Bytes>(draw(random, 12)) - 6;
      const Bytes peak = std::max<Bytes>(net, 0) + static_cast<Bytes>(draw(random, 6));
      run.push_back({peak, net, task_id(i), task_id(i)});
    }
    std::vector<TaskId> next(run.size());
    const std::size_t cut = draw(random, run.size());
    const auto middle = run.begin() + static_cast<std::ptrdiff_t>(cut);
    const Profile at_once = canon(run, next);
    const Profile in_two = series(canon({run.begin(), middle}, next),
                                  canon({middle, run.end()}, next), next);
    ASSERT_EQ(levels(at_once), levels(in_two));
  }
}

TEST(ProfileHeaps, AgreeWithProfiles) {
  std::mt19937 random(9);
  for (int k = 0; k < 3000; ++k) {
    const std::size_t tasks = 1 + draw(random, 30);
    std::vector<TaskId> next(tasks), heap_next(tasks);
    ProfileHeaps heaps(heap_next);
    std::vector<Profile> lists(3);
    std::vector<ProfileHeaps::Handle> handles(3);
    for (std::size_t i = 0; i < tasks; ++i) {
      // Two parts, joined by a task or side by side: an empty one takes their place.
      const Bytes net = static_cast<Bytes>(draw(random, 12)) - 6;
      const Bytes peak = std::max<Bytes>(net, 0) + static_cast<Bytes>(draw(random, 6));
      const Segment task{peak, net, task_id(i), task_id(i)};
      const std::size_t a = draw(random, 2), b = (a + 1) % 3, c = (a + 2) % 3;
      lists[a] = series(series(lists[a], {task}, next), lists[b], next);
      handles[a] = heaps.series(handles[a], task, handles[b]);
      lists[b] = {};
      handles[b] = {};
      if (draw(random, 1) == 0) {
        lists[a] = parallel(std::vector{lists[a], lists[c]}, next);
        handles[a] = heaps.parallel(handles[a], handles[c]);
        lists[c] = {};
        handles[c] = {};
      }
    }
    const Segment list = whole(parallel(lists, next), next);
    const Profile segments = heaps.segments(
        heaps.parallel(handles[0], heaps.parallel(handles[1], handles[2])));
    const Segment heap = whole(segments, heap_next);
    ASSERT_EQ(list.peak, heap.peak);
    ASSERT_EQ(list.net, heap.net);
    ASSERT_EQ(rope(list, next).size(), tasks);
    ASSERT_EQ(rope(heap, heap_next).size(), tasks);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
