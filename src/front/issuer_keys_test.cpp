#include "front/issuer_keys.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "host/signing_key.h"
#include "virtual_time.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using host::SigningKey;
using testing::ElementsAre;
using testing::HasSubstr;
using Finding = IssuerKeys::Finding;

constexpr const char* issuer = "https://issuer.example";
constexpr const char* metadata_place = "https://issuer.example/.well-known/oauth-authorization-server";
constexpr const char* keys_place = "https://keys.example/jwks";

class IssuersKeys : public testing::Test {
 protected:
  IssuersKeys() {
    has(metadata_place, metadata(issuer));
    has(keys_place, SigningKey::set(first_.jwk()));
    make();
  }

  static std::string metadata(const std::string& name, const std::string& keys = keys_place) {
    return R"({"issuer":")" + name + R"(","jwks_uri":")" + keys + "\"}";
  }
  void has(const std::string& place, const std::string& body, int status = 200) {
    documents_[place] = {.status = status, .body = body};
  }
  void make(const std::string& name = issuer) {
    keys_ = std::make_unique<IssuerKeys>(time_, name, [this](const Url& url, IssuerKeys::Got got) {
      asked_.push_back(url.text());
      if (!silent_)
        time_.later(std::chrono::milliseconds(10), [this, place = url.text(), got = std::move(got)] {
          if (down_ || place == broken_) return got(std::unexpected("connection refused"));
          got(documents_.contains(place) ? documents_[place] : IssuerKeys::Document{.status = 404});
        });
    });
    keys_->on_ended([this] { ++ended_; });
  }
  void pass(std::chrono::milliseconds span) {
    const auto until = time_.now() + span;
    while (time_.step(until)) {
    }
  }
  static Jwt token(const SigningKey& key) {
    return *read_jwt(key.token(R"({"iss":"i","sub":"alice","aud":"a","exp":1800000600})"));
  }
  Finding judge(const SigningKey& key) { return keys_->verify(token(key)); }

  simulation::VirtualTime time_;
  const SigningKey first_{SigningKey::Kind::p256, "first"};
  const SigningKey second_{SigningKey::Kind::p256, "second"};
  std::map<std::string, IssuerKeys::Document> documents_;
  std::vector<std::string> asked_;
  bool down_ = false;
  bool silent_ = false;
  std::string broken_;  // no connection is made to this address
  int ended_ = 0;
  std::unique_ptr<IssuerKeys> keys_;
};

TEST_F(IssuersKeys, are_found_through_its_metadata_and_fetched_once_for_everyone) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(judge(first_), Finding::keys_come);
  pass(1s);
  EXPECT_THAT(asked_, ElementsAre(metadata_place, keys_place));
  EXPECT_EQ(ended_, 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(judge(first_), Finding::genuine);
  EXPECT_EQ(judge(SigningKey(SigningKey::Kind::p256, "first")), Finding::forged);
  EXPECT_EQ(asked_.size(), 2);
}

TEST_F(IssuersKeys, metadata_locations_are_tried_in_the_specified_order) {
  make("https://issuer.example/tenant");
  EXPECT_EQ(judge(first_), Finding::keys_come);
  pass(1s);
  EXPECT_THAT(asked_, ElementsAre("https://issuer.example/.well-known/oauth-authorization-server/tenant",
                                  "https://issuer.example/.well-known/openid-configuration/tenant",
                                  "https://issuer.example/tenant/.well-known/openid-configuration"));
  EXPECT_THAT(keys_->trouble(), HasSubstr("there is no metadata"));
  has(asked_.back(), metadata("https://issuer.example/tenant"));
  pass(1s);
  EXPECT_EQ(judge(first_), Finding::keys_come);
  pass(1s);
  EXPECT_EQ(judge(first_), Finding::genuine);
}

// Many issuers answer with a page, a redirect or an error where they have no metadata.
TEST_F(IssuersKeys, the_next_location_is_tried_if_one_has_no_metadata) {
  const std::string openid = "https://issuer.example/.well-known/openid-configuration";
  has(openid, metadata(issuer));
  for (const auto& [status, body] : {std::pair{200, "<html>"}, std::pair{200, "[]"}, std::pair{500, ""},
                                     std::pair{503, ""}, std::pair{403, ""}, std::pair{204, ""}}) {
    has(metadata_place, body, status);
    make();
    EXPECT_EQ(judge(first_), Finding::keys_come);
    pass(500ms);
    EXPECT_EQ(judge(first_), Finding::genuine) << status << body;
  }
  broken_ = metadata_place;
  make();
  EXPECT_EQ(judge(first_), Finding::keys_come);
  pass(500ms);
  EXPECT_EQ(judge(first_), Finding::genuine);
}

TEST_F(IssuersKeys, the_error_names_the_first_location_with_wrong_content) {
  has(metadata_place, "", 502);
  judge(first_);
  pass(500ms);
  EXPECT_EQ(keys_->trouble(), std::string(metadata_place) + ": status 502");
  has(metadata_place, "<html>");
  make();
  judge(first_);
  pass(500ms);
  EXPECT_EQ(keys_->trouble(), std::string(metadata_place) + " isn't valid metadata");
  broken_ = metadata_place;
  make();
  judge(first_);
  pass(500ms);
  EXPECT_THAT(keys_->trouble(), HasSubstr("connection refused"));
}

TEST_F(IssuersKeys, metadata_of_another_issuer_is_not_used) {
  for (const char* other :
       {"https://issuer.example/", "https://evil.example", "https://Issuer.example", ""}) {
    has(metadata_place, metadata(other));
    make();
    EXPECT_EQ(judge(first_), Finding::keys_come);
    pass(500ms);
    EXPECT_EQ(judge(first_), Finding::no_keys) << other;
    EXPECT_THAT(keys_->trouble(), HasSubstr("another issuer"));
    EXPECT_THAT(asked_, ElementsAre(metadata_place)) << "which is enough to know";
    asked_.clear();
  }
}

TEST_F(IssuersKeys, metadata_without_a_safe_key_location_is_not_used) {
  for (const std::string& odd :
       {metadata(issuer, "http://keys.example/jwks"), metadata(issuer, "file:///etc/passwd"),
        metadata(issuer, ""), std::string(R"({"issuer":"https://issuer.example"})"), std::string("[]"),
        std::string("<html>"), R"({"issuer":"https://evil.example",)" + metadata(issuer).substr(1)}) {
    has(metadata_place, odd);
    make();
    EXPECT_EQ(judge(first_), Finding::keys_come);
    pass(500ms);
    EXPECT_EQ(judge(first_), Finding::no_keys) << odd;
  }
}

TEST_F(IssuersKeys, a_new_key_is_fetched_when_a_token_needs_it) {
  judge(first_);
  pass(11s);
  has(keys_place, SigningKey::set(first_.jwk() + "," + second_.jwk()));
  const auto edition = keys_->edition();
  EXPECT_EQ(judge(second_), Finding::keys_come);
  EXPECT_EQ(judge(first_), Finding::genuine);  // and doesn't wait
  pass(1s);
  EXPECT_EQ(judge(second_), Finding::genuine);
  EXPECT_GT(keys_->edition(), edition);
}

TEST_F(IssuersKeys, a_thousand_tokens_with_unknown_keys_cause_few_fetches) {
  judge(first_);
  pass(1s);
  asked_.clear();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_NE(judge(SigningKey(SigningKey::Kind::ed25519, "k" + std::to_string(i))), Finding::genuine);
    pass(50ms);
  }
  EXPECT_LE(asked_.size(), 6);  // in 50 s
  EXPECT_EQ(judge(first_), Finding::genuine);
}

TEST_F(IssuersKeys, a_key_that_was_withdrawn_is_forgotten) {
  judge(first_);
  pass(1s);
  EXPECT_EQ(judge(first_), Finding::genuine);
  has(keys_place, SigningKey::set(second_.jwk()));
  pass(11min);
  EXPECT_EQ(judge(first_), Finding::genuine);  // and makes us fetch the keys
  pass(1s);
  EXPECT_EQ(judge(first_), Finding::forged);
  EXPECT_EQ(judge(second_), Finding::genuine);
  has(keys_place, SigningKey::set(first_.jwk()));
  pass(2h);
  EXPECT_EQ(judge(second_), Finding::keys_come);  // too old to be used unchecked
}

TEST_F(IssuersKeys, an_issuer_that_is_down_is_retried_less_and_less_often) {
  down_ = true;
  EXPECT_EQ(judge(first_), Finding::keys_come);
  for (int i = 0; i < 3600; ++i) {
    pass(1s);
    judge(first_);
  }
  EXPECT_LT(std::ranges::count(asked_, metadata_place), 75);
  EXPECT_LT(asked_.size(), 2 * 75);  // there are two locations
  EXPECT_THAT(keys_->trouble(), HasSubstr("connection refused"));
  EXPECT_LE(keys_->retry_after(), 60s);
  down_ = false;
  pass(61s);
  EXPECT_EQ(judge(first_), Finding::keys_come);
  pass(1s);
  EXPECT_EQ(judge(first_), Finding::genuine);
  EXPECT_EQ(keys_->trouble(), "");
}

TEST_F(IssuersKeys, a_known_key_stays_valid_for_a_day_while_the_issuer_is_down) {
  judge(first_);
  pass(1s);
  down_ = true;
  for (int minute = 0; minute < 23 * 60; ++minute) {
    pass(1min);
    const Finding finding = judge(first_);
    // The first tokens after an hour wait for the fetch that fails.
    if (finding != Finding::genuine) {
      EXPECT_EQ(finding, Finding::keys_come);
      pass(1s);
      EXPECT_EQ(judge(first_), Finding::genuine);
    }
  }
  pass(1s);
  EXPECT_EQ(judge(second_), Finding::no_keys);  // which might be a new key
  pass(1h);
  EXPECT_NE(judge(first_), Finding::genuine);
  pass(1s);
  EXPECT_EQ(judge(first_), Finding::no_keys);
}

TEST_F(IssuersKeys, a_silent_issuer_is_not_waited_for) {
  silent_ = true;
  EXPECT_EQ(judge(first_), Finding::keys_come);
  pass(10s);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(judge(first_), Finding::no_keys);
}

TEST_F(IssuersKeys, too_large_or_broken_key_sets_do_not_replace_known_keys) {
  judge(first_);
  pass(1s);
  for (const std::string& bad :
       {std::string(std::size_t{10} * 1024 * 1024, ' ') + SigningKey::set(second_.jwk()),
        std::string(R"({"keys":[]})"), std::string("oops")}) {
    has(keys_place, bad);
    pass(2min);
    EXPECT_EQ(judge(second_), Finding::keys_come);
    pass(500ms);
    EXPECT_EQ(judge(second_), Finding::no_keys);
    EXPECT_EQ(judge(first_), Finding::genuine);
  }
}

TEST_F(IssuersKeys, moved_keys_are_found_again) {
  judge(first_);
  pass(11s);
  documents_.erase(keys_place);
  has(metadata_place, metadata(issuer, "https://keys.example/new"));
  has("https://keys.example/new", SigningKey::set(second_.jwk()));
  EXPECT_EQ(judge(second_), Finding::keys_come);
  pass(2s);
  EXPECT_EQ(judge(second_), Finding::keys_come);
  pass(1s);
  EXPECT_EQ(judge(second_), Finding::genuine);
}

}  // namespace
}  // namespace mcpivot
