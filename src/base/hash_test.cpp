#include "base/hash.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

// The examples from FIPS 180-2.
TEST(Hash, sha256_matches_the_standard_test_vectors) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Hash, of_content_does_not_depend_on_how_it_is_split) {
  ContentHash hash;
  hash.feed("12345678");
  hash.feed("12345");
  EXPECT_EQ(hash.value(), content_hash("1234567812345"));
  EXPECT_NE(hash.value(), content_hash("123456781234"));
}

}  // namespace
}  // namespace mcpivot
