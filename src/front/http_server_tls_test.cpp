// The server with TLS, tested with a client made from OpenSSL itself.
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "front/http_server_fixture.h"
#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

template <auto free>
struct Freeing {
  template <class T>
  void operator()(T* it) const {
    free(it);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freeing<::EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freeing<::X509_free>>;
using File = std::unique_ptr<std::FILE, Freeing<std::fclose>>;

// Writes a self-signed certificate for this name, and its key.
void make_certificate(const std::string& certificate_file, const std::string& key_file,
                      const std::string& name, const char* password = nullptr) {
  const Key key(::EVP_EC_gen("P-256"));
  const Certificate made(::X509_new());
  ::X509_set_version(made.get(), X509_VERSION_3);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(made.get()), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(made.get()), -3600);
  ::X509_gmtime_adj(::X509_getm_notAfter(made.get()), 3600);
  ::X509_set_pubkey(made.get(), key.get());
  X509_NAME* subject = ::X509_get_subject_name(made.get());
  ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  ::X509_set_issuer_name(made.get(), subject);
  ASSERT_GT(::X509_sign(made.get(), key.get(), ::EVP_sha256()), 0);
  const File certificate(std::fopen(certificate_file.c_str(), "w"));
  ASSERT_EQ(::PEM_write_X509(certificate.get(), made.get()), 1);
  const File secret(std::fopen(key_file.c_str(), "w"));
  ASSERT_EQ(
      ::PEM_write_PKCS8PrivateKey(secret.get(), key.get(), password ? ::EVP_aes_256_cbc() : nullptr, password,
                                  password ? static_cast<int>(std::strlen(password)) : 0, nullptr, nullptr),
      1);
}

class HttpServerTlsTest : public HttpServerTest {
 public:
  void start_tls(const HttpLimits& limits = {}) {
    make_certificate(certificate, key, "first");
    server.emplace(loop, corks, handler, limits);
    const auto used = server->use_tls(certificate, key);
    ASSERT_TRUE(used) << used.error();
    const auto bound = server->listen(*parse_listen_address("127.0.0.1:0"), true);
    ASSERT_TRUE(bound) << bound.error();
    port = bound->port;
  }

  host::TemporaryDirectory folder;
  const std::string certificate = folder / "certificate.pem";
  const std::string key = folder / "key.pem";
};

class TlsClient {
 public:
  explicit TlsClient(HttpServerTest& test, std::string_view protocols = {}, int newest = TLS1_3_VERSION)
      : raw(test),
        test_(test),
        context_(::SSL_CTX_new(::TLS_client_method())),
        tls_(::SSL_new(context_.get())) {
    ::SSL_set_fd(tls_.get(), raw.descriptor());
    ::SSL_set_min_proto_version(tls_.get(), TLS1_VERSION);
    ::SSL_set_max_proto_version(tls_.get(), newest);
    ::SSL_set_cipher_list(tls_.get(), "DEFAULT@SECLEVEL=0");
    if (!protocols.empty())
      ::SSL_set_alpn_protos(tls_.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                            static_cast<unsigned>(protocols.size()));
    ::fcntl(raw.descriptor(), F_SETFL, O_NONBLOCK);
  }
  bool connect() {
    int result = 0;
    test_.until([&] { return !waits(result = ::SSL_connect(tls_.get())); });
    return result == 1;
  }
  void say(std::string_view bytes) {
    test_.until([&] {
      const int count = ::SSL_write(tls_.get(), bytes.data(),
                                    static_cast<int>(std::min<std::size_t>(bytes.size(), 16'000)));
      if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
      return bytes.empty() || (count <= 0 && !waits(count));
    });
  }
  void listen() {
    char room[20'000];
    for (;;) {
      const int count = ::SSL_read(tls_.get(), room, sizeof(room));
      if (count > 0) {
        raw.heard.append(room, static_cast<std::size_t>(count));
        continue;
      }
      if (!waits(count)) raw.ended = true;
      return;
    }
  }
  Heard answer() {
    Heard result;
    test_.until([&] {
      listen();
      result = raw.take_answer();
      return result.whole || raw.ended;
    });
    return result;
  }
  Heard ask(std::string_view request) {
    say(request);
    return answer();
  }
  bool hears_the_end() {
    return test_.until([&] {
      listen();
      return raw.ended;
    });
  }
  std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    ::SSL_get0_alpn_selected(tls_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  std::string certificate_name() const {
    const Certificate theirs(::SSL_get1_peer_certificate(tls_.get()));
    char name[100] = "";
    ::X509_NAME_get_text_by_NID(::X509_get_subject_name(theirs.get()), NID_commonName, name, sizeof(name));
    return name;
  }
  SSL* native() { return tls_.get(); }

  RawClient raw;

 private:
  bool waits(int result) const {
    const int error = ::SSL_get_error(tls_.get(), result);
    if (result <= 0) ::ERR_clear_error();
    return result <= 0 && (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE);
  }

  HttpServerTest& test_;
  std::unique_ptr<SSL_CTX, Freeing<::SSL_CTX_free>> context_;
  std::unique_ptr<SSL, Freeing<::SSL_free>> tls_;
};

TEST_F(HttpServerTlsTest, requests_and_responses_are_encrypted_and_the_handler_knows) {
  start_tls();
  answer_all();
  TlsClient client(*this, "\x02h2\x08http/1.1");
  ASSERT_TRUE(client.connect());
  EXPECT_EQ(client.protocol(), "http/1.1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.ask(post("secret")).body, "hello");
  EXPECT_TRUE(handler.requests.at(0).ask.secure);
  EXPECT_EQ(handler.requests.at(0).body, "secret");
  EXPECT_EQ(handler.requests.at(0).ask.peer, "127.0.0.1");
  TlsClient plain_spoken(*this);
  ASSERT_TRUE(plain_spoken.connect()) << "nobody has to offer a protocol";
  EXPECT_EQ(plain_spoken.ask(get("Connection: close\r\n")).status, 200);
  EXPECT_TRUE(plain_spoken.hears_the_end());
  EXPECT_EQ(::SSL_get_shutdown(plain_spoken.native()) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN)
      << "an end that is no accident";
}

TEST_F(HttpServerTlsTest, old_tls_versions_and_http_2_only_clients_are_rejected) {
  start_tls();
  TlsClient newer(*this, {}, TLS1_2_VERSION);
  EXPECT_TRUE(newer.connect());
  TlsClient old(*this, {}, TLS1_1_VERSION);
  EXPECT_FALSE(old.connect());
  TlsClient two(*this, "\x02h2");
  EXPECT_FALSE(two.connect());
}

TEST_F(HttpServerTlsTest, large_bodies_pass_both_ways_even_if_the_client_reads_late) {
  start_tls();
  std::string large(5'000'000, ' ');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i * i % 26);
  TlsClient client(*this);
  ASSERT_TRUE(client.connect());
  client.say(post(large));
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  EXPECT_EQ(handler.requests[0].body, large);
  const ReplyId reply = handler.requests[0].reply;
  server->begin_stream(reply, 200, "");
  // In pieces of all sizes, more than the sockets hold, before anything is read.
  for (std::size_t at = 0, size = 1; at < large.size(); at += size, size = size * 7 % 65'537) {
    server->write(reply, large.substr(at, size));
    if (size % 3 == 0) settle();
  }
  server->end(reply);
  settle();
  const Heard heard = client.answer();
  EXPECT_TRUE(heard.whole);
  EXPECT_EQ(heard.body, large);
}

TEST_F(HttpServerTlsTest, unwritten_data_may_grow_before_the_write_is_retried) {
  start_tls({.stream_bytes = 0});  // full as soon as something waits
  TlsClient client(*this);
  ASSERT_TRUE(client.connect());
  client.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  const ReplyId reply = handler.requests[0].reply;
  server->begin_stream(reply, 200, "");
  std::string all;
  const auto write = [&] {
    const std::string piece(1000, static_cast<char>('a' + all.size() / 1000 % 26));
    all += piece;
    server->write(reply, piece);
  };
  settle();
  while (!server->full(reply)) {
    write();
    settle();
  }
  for (int i = 0; i < 50; ++i) write();
  server->end(reply);
  const Heard heard = client.answer();
  EXPECT_TRUE(heard.whole);
  EXPECT_EQ(heard.body, all);
}

TEST_F(HttpServerTlsTest, a_blocked_stream_reports_when_it_has_room_again) {
  start_tls({.stream_bytes = 500'000});
  TlsClient client(*this);
  ASSERT_TRUE(client.connect());
  client.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  const ReplyId reply = handler.requests[0].reply;
  server->begin_stream(reply, 200, "");
  while (!server->full(reply)) {
    server->write(reply, std::string(100'000, 'x'));
    settle();
  }
  EXPECT_TRUE(handler.drained.empty());
  EXPECT_TRUE(until([&] {
    client.listen();
    return !handler.drained.empty();
  }));
}

TEST_F(HttpServerTlsTest, a_client_is_gone_whether_it_closes_tls_properly_or_not) {
  start_tls();
  TlsClient polite(*this);
  TlsClient rude(*this);
  ASSERT_TRUE(polite.connect());
  ASSERT_TRUE(rude.connect());
  polite.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 1; }));
  rude.say(get());
  ASSERT_TRUE(until([&] { return handler.requests.size() == 2; }));
  ::SSL_shutdown(polite.native());
  ASSERT_TRUE(until([&] { return handler.gone.size() == 1; }));
  EXPECT_EQ(handler.gone[0], handler.requests[0].reply);
  rude.raw.shut();
  ASSERT_TRUE(until([&] { return handler.gone.size() == 2; }));
  EXPECT_EQ(server->connections(), 0U);
}

TEST_F(HttpServerTlsTest, a_new_certificate_applies_to_new_connections) {
  start_tls();
  answer_all();
  TlsClient before(*this);
  ASSERT_TRUE(before.connect());
  EXPECT_EQ(before.certificate_name(), "first");
  make_certificate(certificate, key, "second");
  const auto reloaded = server->reload_tls();
  ASSERT_TRUE(reloaded) << reloaded.error();
  TlsClient after(*this);
  ASSERT_TRUE(after.connect());
  EXPECT_EQ(after.certificate_name(), "second");
  EXPECT_EQ(before.ask(get()).status, 200);
  EXPECT_EQ(after.ask(get()).status, 200);
}

TEST_F(HttpServerTlsTest, an_unusable_certificate_leaves_the_old_one_and_is_reported) {
  start_tls();
  const auto trouble = [&] {
    const auto reloaded = server->reload_tls();
    EXPECT_FALSE(reloaded);
    TlsClient client(*this);
    EXPECT_TRUE(client.connect());
    EXPECT_EQ(client.certificate_name(), "first");
    return reloaded ? "" : reloaded.error();
  };
  make_certificate(certificate, folder / "other.pem", "other");
  EXPECT_EQ(trouble(), "the key in '" + key + "' doesn't belong to the certificate in '" + certificate + "'");
  folder.write("certificate.pem", "no certificate");
  EXPECT_NE(trouble().find("'" + certificate + "' holds no certificate"), std::string::npos);
  folder.remove("certificate.pem");
  EXPECT_NE(trouble().find("No such file"), std::string::npos) << trouble();
  make_certificate(certificate, key, "third", "password");
  EXPECT_NE(trouble().find("is encrypted"), std::string::npos) << trouble();
  folder.write("key.pem", "no key");
  EXPECT_NE(trouble().find("'" + key + "' holds no private key"), std::string::npos);
}

TEST_F(HttpServerTlsTest, without_a_certificate_there_is_no_tls) {
  server.emplace(loop, corks, handler);
  EXPECT_FALSE(server->listen(*parse_listen_address("127.0.0.1:0"), true));
  EXPECT_FALSE(server->reload_tls());
  EXPECT_FALSE(server->use_tls(certificate, key));
}

TEST_F(HttpServerTlsTest, a_plain_http_client_gets_an_explanation_in_plain_http) {
  start_tls();
  RawClient client(*this);
  const Heard heard = client.ask(get());
  EXPECT_EQ(heard.status, 400);
  EXPECT_EQ(heard.body, "This port speaks HTTPS. Use https:// instead of http://.\n");
  EXPECT_TRUE(client.hears_the_end());
  EXPECT_FALSE(client.reset);
  client.close();
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServerTlsTest, the_tls_handshake_counts_toward_the_time_limit_of_the_first_head) {
  start_tls({.header_time = milliseconds(50)});
  RawClient silent(*this);
  EXPECT_TRUE(silent.hears_the_end());
  TlsClient shaken(*this);
  ASSERT_TRUE(shaken.connect());
  EXPECT_TRUE(shaken.hears_the_end());
  EXPECT_TRUE(until([&] { return server->connections() == 0; }));
}

TEST_F(HttpServerTlsTest, one_connection_too_many_is_rejected_over_tls) {
  start_tls({.connections = 1});
  answer_all();
  TlsClient first(*this);
  ASSERT_TRUE(first.connect());
  TlsClient second(*this);
  ASSERT_TRUE(second.connect());
  EXPECT_EQ(second.answer().status, 503);
  EXPECT_EQ(first.ask(get()).status, 200);
}

}  // namespace
}  // namespace mcpivot
