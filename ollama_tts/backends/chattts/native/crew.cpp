#include "crew.h"

#include <chrono>

namespace ott {
namespace {

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

constexpr int kSpins = 300;    // some ten microseconds: what a fair share of a phase may differ
constexpr int kYields = 50;

}  // namespace

void Plan::wait(const Phase& phase) {
  for (int i = 0; phase.done.load(std::memory_order_acquire) < phase.items; i++) {
    if (i < kSpins)
      pause_briefly();
    else if (i < kSpins + kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Plan::work(int worker) {
  for (const auto& owned : phases_) {
    Phase& phase = *owned;
    int finished = 0;
    if (phase.next.load(std::memory_order_relaxed) < phase.items) {
      for (int i; (i = phase.next.fetch_add(1, std::memory_order_relaxed)) < phase.items;) {
        phase.task(i, worker);
        finished++;
      }
    }
    if (finished) phase.done.fetch_add(finished, std::memory_order_acq_rel);
    wait(phase);
  }
}

Crew::Crew(int threads) {
  for (int worker = 1; worker < threads; worker++)
    threads_.emplace_back([this, worker] { serve(worker); });
}

Crew::~Crew() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  news_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Crew::run(std::shared_ptr<Plan> plan) {
  if (threads_.empty()) return plan->work(0);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    plan_ = plan;
    count_++;
  }
  news_.notify_all();
  plan->work(0);
}

void Crew::serve(int worker) {
  unsigned long seen = 0;
  for (;;) {
    std::shared_ptr<Plan> plan;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      news_.wait(lock, [&] { return closing_ || count_ != seen; });
      if (closing_) return;
      seen = count_;
      plan = plan_;
    }
    plan->work(worker);
  }
}

}  // namespace ott
