#include "cli/answer_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AnswerOutput : public testing::Test {
 protected:
  ShownAnswer show(const std::string& result, const std::string& tool = "shot") {
    return show_answer(json::parse(result).as_object(), tool, folder_.path());
  }
  std::string content(const std::string& name) {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  host::TemporaryDirectory folder_;
};

TEST_F(AnswerOutput, shows_text_unchanged) {
  const ShownAnswer shown = show(R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"b\n"},
        {"type":"resource","resource":{"uri":"file:///x","text":"inside"}},
        {"type":"resource_link","name":"x","uri":"file:///x"},{"type":"new","what":1}]})");
  EXPECT_EQ(shown.text, "a\nb\ninside\nx: file:///x\n{\"type\":\"new\",\"what\":1}\n");
  EXPECT_THAT(shown.problems, IsEmpty());
}

TEST_F(AnswerOutput, saves_images_and_audio_without_overwriting_any_file) {
  const std::string image = R"({"type":"image","data":"aGk/Pg==","mimeType":"image/png"})";
  const std::string sound = R"({"type":"audio","data":"aGk=","mimeType":"audio/mpeg"})";
  const ShownAnswer shown = show(R"({"content":[)" + image + "," + image + "," + sound + "]}");
  EXPECT_EQ(shown.text, "saved " + (folder_ / "shot-1.png") + " (image/png, 4 bytes)\n" + "saved " +
                            (folder_ / "shot-2.png") + " (image/png, 4 bytes)\n" + "saved " +
                            (folder_ / "shot-1.mp3") + " (audio/mpeg, 2 bytes)\n");
  EXPECT_EQ(content("shot-1.png"), "hi?>");
  EXPECT_EQ(content("shot-2.png"), "hi?>");
  EXPECT_EQ(content("shot-1.mp3"), "hi");
}

TEST_F(AnswerOutput, tool_names_and_media_types_cannot_lead_to_another_folder) {
  show(R"({"content":[{"type":"resource","resource":{"uri":"x","blob":"aGk=","mimeType":"a/../../b"}}]})",
       "../evil/tool");
  EXPECT_EQ(content("_._evil_tool-1.bin"), "hi");
}

TEST_F(AnswerOutput, reports_what_cannot_be_saved) {
  EXPECT_THAT(show(R"({"content":[{"type":"image","data":"!","mimeType":"image/png"}]})").problems,
              ElementsAre("image: the data isn't valid base64"));
  const auto problems_in = [&](const std::string& folder) {
    return show_answer(json::parse(R"({"content":[{"type":"image","data":"aGk=","mimeType":"image/png"}]})")
                           .as_object(),
                       "x", folder_ / folder)
        .problems;
  };
  EXPECT_THAT(problems_in("new/folder"), IsEmpty()) << "it is made";
  std::ofstream(folder_ / "file") << "in the way";
  EXPECT_THAT(problems_in("file"),
              ElementsAre(testing::AllOf(HasSubstr("can't save"), HasSubstr("Not a directory"))));
}

TEST_F(AnswerOutput, shows_structured_content_if_there_is_nothing_else) {
  EXPECT_EQ(show(R"({"content":[],"structuredContent":{"a":1}})").text, "{\"a\":1}\n");
  EXPECT_EQ(show(R"({"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}})").text, "x\n");
  EXPECT_EQ(show("{}").text, "");
}

}  // namespace
}  // namespace mcpivot
