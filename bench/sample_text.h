// The text that the echo server returns for {"size": N}. It has its own file because the benchmark
// builds the same text to check that what arrived through a proxy is what the server sent.
#pragma once

#include <cstddef>
#include <string>

// Exactly `size` bytes of UTF-8 that look like a tool's output: prose, lines of JSON, quotes, some text that
// is not ASCII. The same size always gives the same text.
std::string sample_text(size_t size);
