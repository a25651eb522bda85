// nlohmann-json's templates, compiled once in json.cc: their code was a quarter of all that the
// compiler wrote. This header is pre-compiled for the rooms marked JSON.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#ifndef KEDGE_JSON_TEMPLATE
#define KEDGE_JSON_TEMPLATE extern template
#endif

namespace kedge::json_input {
using Text = decltype(nlohmann::detail::input_adapter(std::declval<const std::string&>()));
using View = decltype(nlohmann::detail::input_adapter(std::declval<const std::string_view&>()));
}  // namespace kedge::json_input

KEDGE_JSON_TEMPLATE class nlohmann::basic_json<>;
KEDGE_JSON_TEMPLATE class nlohmann::detail::serializer<nlohmann::json>;
KEDGE_JSON_TEMPLATE class nlohmann::detail::lexer<nlohmann::json, kedge::json_input::Text>;
KEDGE_JSON_TEMPLATE class nlohmann::detail::lexer<nlohmann::json, kedge::json_input::View>;
KEDGE_JSON_TEMPLATE class nlohmann::detail::parser<nlohmann::json, kedge::json_input::Text>;
KEDGE_JSON_TEMPLATE class nlohmann::detail::parser<nlohmann::json, kedge::json_input::View>;
KEDGE_JSON_TEMPLATE class std::vector<nlohmann::json>;
KEDGE_JSON_TEMPLATE class std::map<std::string, nlohmann::json, std::less<>>;
