// Which cores we, and every process that we start from then on, run on.
#pragma once

#include <sched.h>

class Cores {
 public:
  Cores();

  // The core of use_one(). The last one allowed to us: the first often has the interrupts.
  int chosen() const { return chosen_; }

  void use_one() const;
  void use_all() const;

 private:
  cpu_set_t all_;
  cpu_set_t one_;
  int chosen_ = 0;
};
