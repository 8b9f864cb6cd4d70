// Who else runs a program: the other processes of this user that hold its file, which Linux refuses to
// overwrite as long as one of them lives; and the way to end them.
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

// Ends every process of this user that runs the file with this device and inode, but for us and those who
// started us: SIGTERM, after the patience SIGKILL. `done` gets those that were ended.
void end_processes_running(boost::asio::io_context& loop, dev_t device, ino_t inode,
                           std::chrono::milliseconds patience,
                           std::function<void(std::vector<pid_t> ended)> done);

}  // namespace mcpivot
