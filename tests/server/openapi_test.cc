// /openapi.json says what the tables say that requests are checked by: routes, fields, types, limits,
// statuses. That its schemas accept what the server accepts is tested by tests/clients/openapi_test.py.
#include "api/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/assets.h"
#include "api/error_body.h"
#include "decision/validation.h"
#include "json/parse.h"
#include "server/routes.h"

namespace d3::server {
namespace {

using json::Value;
using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

Value description(bool takes_media = false, bool wants_key = false) {
  const api::ServedModel model{.names = {"m\"1", "org/m"},
                               .created = 0,
                               .max_model_len = {},
                               .takes_media = takes_media,
                               .description = {}};
  return json::parse(api::write_openapi(model, "1.2.3", wants_key));
}

const Value& at(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* found = &value;
  for (const std::string_view name : path) {
    found = found->find(name);
    if (found == nullptr) throw std::runtime_error("no " + std::string(name));
  }
  return *found;
}

const Value& schema(const Value& openapi, std::string_view name) {
  return at(openapi, {"components", "schemas", name});
}

std::vector<std::string> names(const Value& object) {
  std::vector<std::string> result;
  for (const json::Member& member : object.as_object()) result.push_back(member.key);
  return result;
}

size_t number(const Value& value) { return std::stoul(value.as_number().text); }

TEST(OpenApi, HasEveryRoute) {
  const Value openapi = description();
  std::vector<std::string> paths;
  for (const Route& route : routes()) {
    paths.emplace_back(route.path);
    const Value& methods = at(openapi, {"paths", route.path});
    EXPECT_THAT(names(methods), ElementsAre(route.asks ? "post" : "get")) << route.path;
    const Value& operation = methods.as_object().front().value;
    // One without a list of its own has that of the whole.
    EXPECT_EQ(operation.find("security") == nullptr, route.guarded) << route.path;
  }
  EXPECT_THAT(names(at(openapi, {"paths"})), UnorderedElementsAreArray(paths));
}

TEST(OpenApi, HasEveryFieldAndLimit) {
  const Value openapi = description();
  const Value& request = schema(openapi, "SystemOneRequest");
  std::vector<std::string> fields{"assets"};
  for (const std::string_view field : decision::request_fields()) fields.emplace_back(field);
  EXPECT_THAT(names(at(request, {"properties"})), UnorderedElementsAreArray(fields));
  const Value& questions = at(request, {"properties", "questions"});
  EXPECT_EQ(number(at(questions, {"maxProperties"})), decision::kMaxQuestions);
  EXPECT_EQ(number(at(openapi,
                      {"components", "schemas", "DecisionsRequest", "properties", "questions", "maxItems"})),
            decision::kMaxQuestions);
  EXPECT_EQ(number(at(schema(openapi, "ChoiceQuestion"), {"properties", "criteria", "maxProperties"})),
            decision::kMaxOptions);
  EXPECT_EQ(number(at(schema(openapi, "DecisionsChoice"), {"properties", "choices", "maxItems"})),
            decision::kMaxOptions);
  for (const auto& [name, field] : {std::pair{"ScoreQuestion", "criteria"}, {"DecisionsScore", "levels"}}) {
    EXPECT_EQ(number(at(schema(openapi, name), {"properties", field, "minItems"})), decision::kMinLevels);
    EXPECT_EQ(number(at(schema(openapi, name), {"properties", field, "maxItems"})), decision::kMaxLevels);
  }
  EXPECT_EQ(number(at(schema(openapi, "Assets"), {"maxProperties"})), api::kMaxAssets);
  EXPECT_EQ(number(at(schema(openapi, "SystemOneForm"), {"maxProperties"})), api::kMaxParts);
}

TEST(OpenApi, HasFormsWhereTheyAreTaken) {
  const Value openapi = description();
  EXPECT_THAT(names(at(openapi, {"paths", "/v1/systemone", "post", "requestBody", "content"})),
              ElementsAre("application/json", "multipart/form-data"));
  EXPECT_THAT(names(at(openapi, {"paths", "/v1/decisions", "post", "requestBody", "content"})),
              ElementsAre("application/json"));
  // Parts beside the request are images.
  EXPECT_FALSE(at(schema(openapi, "SystemOneForm"), {"additionalProperties"}).as_bool());
  EXPECT_EQ(at(schema(description(true), "SystemOneForm"), {"additionalProperties", "type"}).as_string(),
            "string");
}

TEST(OpenApi, HasEveryStatus) {
  const Value openapi = description();
  for (const std::string_view path : {"/v1/systemone", "/v1/decisions"}) {
    std::vector<std::string> statuses{"200"};
    for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
      const int status = api::http_status(static_cast<ErrorCode>(code));
      // Nobody sees the first; the second belongs to no method that is described.
      if (status == 499 || status == 405) continue;
      statuses.push_back(std::to_string(status));
    }
    std::ranges::sort(statuses);
    statuses.erase(std::unique(statuses.begin(), statuses.end()), statuses.end());
    EXPECT_THAT(names(at(openapi, {"paths", path, "post", "responses"})),
                UnorderedElementsAreArray(statuses));
  }
}

TEST(OpenApi, DescribesThisServer) {
  const Value openapi = description();
  EXPECT_EQ(at(openapi, {"info", "version"}).as_string(), "1.2.3");
  EXPECT_TRUE(at(openapi, {"security"}).as_array().empty());
  EXPECT_EQ(at(description(false, true), {"security"}).as_array().size(), 1U);
  const Value& models = at(schema(openapi, "DecisionsRequest"), {"properties", "model", "enum"});
  ASSERT_EQ(models.as_array().size(), 2U);
  EXPECT_EQ(models.as_array()[0].as_string(), "m\"1");
  const Value& images = at(schema(openapi, "SystemOneRequest"), {"properties", "images"});
  EXPECT_EQ(number(at(images, {"maxItems"})), 0U);
  const Value with_media = description(true);
  EXPECT_EQ(at(schema(with_media, "SystemOneRequest"), {"properties", "images"}).find("maxItems"), nullptr);
  const Value& content = at(schema(with_media, "Message"), {"properties", "content", "anyOf"});
  EXPECT_EQ(at(content.as_array()[1], {"items", "anyOf"}).as_array().size(), 3U);
}

}  // namespace
}  // namespace d3::server
