// What most files use of nlohmann-json, std::expected and std::optional, asked for once. g++ keeps
// the classes that it makes on the way in the pre-compiled header, and a file that uses them finds
// them there: 7% of the time of a file. Nothing here has a body, which g++ would compile anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::warm {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;
using Text = const std::string&;

template <typename T>
constexpr bool is_json =
    std::is_constructible_v<Json, T> && std::is_convertible_v<T, Json> &&
    std::is_assignable_v<Json&, T> && std::is_constructible_v<nlohmann::detail::json_ref<Json>, T>;

template <typename... T>
constexpr bool are_json = (is_json<T> && ...);

template <std::size_t... N>
constexpr bool are_texts_json(std::index_sequence<N...>) {
  return are_json<const char(&)[N + 1]...>;
}

static_assert(are_texts_json(std::make_index_sequence<24>()));
static_assert(are_json<std::string, std::string&, Text, const char*, std::string_view,
                       std::string_view&, const std::string_view&>);
static_assert(
    are_json<bool, bool&, const bool&, int, int&, std::int64_t, std::int64_t&, const std::int64_t&,
             std::uint64_t, const std::uint64_t&, double, double&, const double&, std::nullptr_t>);
static_assert(are_json<Json, Json&, const Json&, Texts, const Texts&, std::vector<Json>,
                       std::map<std::string, std::string>>);

// Asked for their types only.
template <typename J>
using JsonCalls =
    decltype(std::declval<J>()["a"], std::declval<J>()[std::declval<Text>()],
             std::declval<J>()[0UL], std::declval<J>().at("a"), std::declval<J>().find("a"),
             std::declval<J>().contains("a"), std::declval<J>().contains(std::declval<Text>()),
             std::declval<J>().value("a", std::string()), std::declval<J>().value("a", ""),
             std::declval<J>().value("a", std::int64_t{}), std::declval<J>().value("a", 0.0),
             std::declval<J>().value("a", false), std::declval<J>().value("a", Json()),
             *std::declval<J>().begin() == "a",
             std::declval<J>().begin() != std::declval<J>().end(),
             std::declval<J>().items().begin(), std::declval<J>() == std::declval<J>(),
             std::declval<J>().dump(), std::declval<J>().template get<std::string>(),
             std::declval<J>().template get<std::int64_t>(),
             std::declval<J>().template get<double>(), std::declval<J>().template get<bool>(),
             std::declval<J>().template get<Texts>());
static_assert(!std::is_void_v<JsonCalls<Json&>> && !std::is_void_v<JsonCalls<const Json&>>);
static_assert(sizeof(Json{{"a", 1}, {"b", "c"}, {"d", std::string()}}) > 0);
static_assert(sizeof(Json::parse(std::declval<Text>(), nullptr, false)) > 0);
static_assert(sizeof(Json::parse(std::declval<std::string_view>(), nullptr, false)) > 0);

template <typename T>
constexpr bool is_result = std::is_convertible_v<T, Result<T>> &&
                           std::is_convertible_v<std::unexpected<Error>, Result<T>> &&
                           std::is_move_constructible_v<Result<T>> &&
                           std::is_move_assignable_v<Result<T>> &&
                           sizeof(std::declval<Result<T>>().value()) > 0 &&
                           sizeof(*std::declval<Result<T>&>()) > 0;

template <typename T>
constexpr bool is_optional =
    std::is_convertible_v<T, std::optional<T>> && std::is_copy_constructible_v<std::optional<T>> &&
    std::is_assignable_v<std::optional<T>&, T> &&
    sizeof(std::declval<std::optional<T>&>().value_or(std::declval<T>())) > 0;

template <typename... T>
constexpr bool are_values = ((is_result<T> && is_optional<T>) && ...);

static_assert(are_values<std::string, std::string_view, bool, int, std::int64_t, std::uint64_t,
                         double, Json, Texts, std::filesystem::path>);
static_assert(is_result<std::optional<std::string>> && is_result<std::optional<std::int64_t>>);
static_assert(std::is_convertible_v<std::unexpected<Error>, Result<void>>);

static_assert(sizeof(std::declval<std::map<std::string, std::string>&>()[""]) > 0);
static_assert(sizeof(std::declval<std::map<std::string, std::int64_t>&>()[""]) > 0);
static_assert(sizeof(std::declval<std::set<std::string>&>().insert("")) > 0);
static_assert(sizeof(std::declval<Texts&>().emplace_back(std::string_view())) > 0);

}  // namespace kedge::warm
