#include "server/known_eras.h"

#include <gtest/gtest.h>

#include "server/kept_texts_fixture.h"

namespace mcpivot {
namespace {

class KnownErasTest : public testing::Test {
 protected:
  KnownErasTest() {
    files.program = FileFacts{.path = "/bin/server", .stamp = {}};
    eras.recall(config);
  }
  void learn(Eras now) { eras.learn(std::move(now), config, files.program); }

  KeptTexts files;
  ServerConfig config;
  KnownEras eras{files};
};

TEST_F(KnownErasTest, a_client_gets_its_own_era_unless_the_server_is_known_to_reject_it) {
  EXPECT_EQ(eras.first_for(Era::legacy), Era::legacy);
  learn({.legacy = false, .modern = true});
  EXPECT_EQ(eras.first_for(Era::legacy), Era::modern);
  EXPECT_EQ(eras.first_for(Era::modern), Era::modern);
  learn({.legacy = false, .modern = false});
  EXPECT_EQ(eras.first_for(Era::legacy), Era::legacy) << "neither is better";
}

TEST_F(KnownErasTest, the_next_run_knows_what_this_one_learned) {
  learn({.legacy = false, .modern = true});
  KnownEras next{files};
  next.recall(config);
  EXPECT_TRUE(next.accepts(Era::modern));
  EXPECT_FALSE(next.accepts(Era::legacy));
}

TEST_F(KnownErasTest, what_is_known_already_is_not_written_again) {
  learn({.legacy = true, .modern = std::nullopt});
  learn({.legacy = true, .modern = std::nullopt});
  EXPECT_EQ(files.saves, 1);
}

TEST_F(KnownErasTest, what_is_known_is_kept_for_a_new_build_too) {
  learn({.legacy = true, .modern = std::nullopt});
  files.program->stamp.size = 17;
  learn({.legacy = true, .modern = std::nullopt});
  EXPECT_EQ(files.saves, 2);
}

TEST_F(KnownErasTest, an_assumption_is_kept_once_the_server_has_shown_it) {
  eras.assume(Era::legacy, false);
  eras.assume(Era::modern, true);
  learn({.legacy = false, .modern = true});
  EXPECT_EQ(files.saves, 1);
}

TEST_F(KnownErasTest, an_assumption_or_a_doubt_is_not_kept) {
  learn({.legacy = true, .modern = std::nullopt});
  eras.assume(Era::legacy, false);
  eras.doubt(Era::modern);
  EXPECT_EQ(files.saves, 1);
  eras.recall(config);
  EXPECT_TRUE(eras.accepts(Era::legacy));
}

}  // namespace
}  // namespace mcpivot
