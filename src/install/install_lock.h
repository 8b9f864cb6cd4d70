// Two installs at once would undo each other's work, so each holds this lock until it is done. The lock is a
// file; the file, and the folders that were created for it, are removed with it if nothing is recorded there.
//
// One thread.
#pragma once

#include <string>

namespace mcpivot {

class InstallLock {
 public:
  InstallLock();
  ~InstallLock();
  InstallLock(const InstallLock&) = delete;
  InstallLock& operator=(const InstallLock&) = delete;

  // The outermost folder that was created for it; empty: none.
  const std::string& made_folder() const { return made_folder_; }
  // An earlier lock created this folder.
  void made(const std::string& folder);

 private:
  bool take();

  std::string file_;
  std::string made_folder_;
  int descriptor_ = -1;
};

}  // namespace mcpivot
