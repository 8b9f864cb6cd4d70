// TLS for incoming connections: a certificate, and connections encrypted with it.
//
// One thread.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "front/wire.h"

namespace mcpivot {

class TlsCertificate {
 public:
  virtual ~TlsCertificate() = default;
  // A connection keeps the certificate that it started with.
  virtual std::unique_ptr<Wire> wire(int descriptor) = 0;
};

// PEM files; the certificate's chain follows it in the same file. The error says what is wrong with which
// one.
std::expected<std::unique_ptr<TlsCertificate>, std::string> load_certificate(
    const std::string& certificate_file, const std::string& key_file);

}  // namespace mcpivot
