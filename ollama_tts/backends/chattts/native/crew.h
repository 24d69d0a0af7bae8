// Threads that work through the phases of a step together.
//
// A phase ends when its work is done, not when every thread has arrived: a thread that the system
// has put aside while it holds no item delays nobody, neither inside a step nor at its end. Waiting
// is a short spin, then giving way to other processes, then sleeping.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ott {

// The phases of one step, in order. A task is called with (item, worker); worker numbers the
// thread, so that a task can use that thread's scratch memory.
class Plan {
 public:
  using Task = std::function<void(int item, int worker)>;

  void add(int items, Task task) {
    if (items > 0) phases_.emplace_back(new Phase(items, std::move(task)));
  }

  // Take part until every item of every phase is done (by whomever).
  void work(int worker);

 private:
  struct alignas(64) Phase {
    Phase(int n, Task t) : items(n), task(std::move(t)) {}
    const int items;
    const Task task;
    alignas(64) std::atomic<int> next{0};
    alignas(64) std::atomic<int> done{0};
  };
  static void wait(const Phase& phase);

  std::vector<std::unique_ptr<Phase>> phases_;
};

class Crew {
 public:
  explicit Crew(int threads);
  ~Crew();
  Crew(const Crew&) = delete;

  int threads() const { return (int)threads_.size() + 1; }

  // Carry the plan out; the calling thread is worker 0. A late thread may still look at the plan
  // afterwards (it shares it), but finds no item and calls no task.
  void run(std::shared_ptr<Plan> plan);

 private:
  void serve(int worker);

  std::mutex mutex_;
  std::condition_variable news_;
  std::shared_ptr<Plan> plan_;
  unsigned long count_ = 0;   // plans so far
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ott
