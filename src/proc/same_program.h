// Ends other processes of this user that run a program: while one of them lives, Linux refuses to overwrite
// the program's file.
//
// One thread; `done` is called from the event loop.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace mcpivot {

// Ends every process of this user that runs the file with this device and inode, except us and our ancestors:
// SIGTERM, then SIGKILL after the patience. `done` gets those that were ended.
void end_processes_running(boost::asio::io_context& loop, dev_t device, ino_t inode,
                           std::chrono::milliseconds patience,
                           std::function<void(std::vector<pid_t> ended)> done);

}  // namespace mcpivot
