// Mutations of complete versions and of collections.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/dialect/portfolios.h"
#include "wandb/internal/artifact_nodes.h"
#include "wandb/internal/encoding.h"
#include "wandb/internal/lenient_json.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

struct ArtifactDone {};

struct ChangedTags {
  std::vector<std::string> names;
};

struct TagName {
  std::string name;
};

struct ChangedArtifact {
  ArtifactNode artifact;
};

struct Linked {
  MembershipNode member;
};

struct ChangedCollection {
  CollectionNode collection;
  bool is_deleted = false;
};

// An alias as a mutation names it.
struct NamedAlias {
  ProjectNode project;
  std::string collection;
  std::string alias;
};

std::vector<NamedAlias> parse_aliases(const ArtifactNode& artifact, const json& list) {
  std::vector<NamedAlias> aliases;
  for (const json& item : list.is_array() ? list : json::array()) {
    const Args fields(item);
    aliases.push_back(
        {{artifact.call, fields.text("projectName").value_or(artifact.project()), artifact.entity},
         fields.text("artifactCollectionName").value_or(artifact.name()),
         fields.text("alias").value_or("")});
  }
  return aliases;
}

Result<ArtifactNode> load_complete(const Call& call, const Args& input) {
  ArtifactNode node = KEDGE_TRY(load_artifact(call, input.text("artifactID").value_or("")));
  if (!node.version) {
    return fail(ErrorKind::Usage, "this version is not complete");
  }
  return node;
}

Result<void> set_alias(const ArtifactNode& artifact, const NamedAlias& named) {
  if (named.collection == artifact.name() && named.project.name == artifact.project()) {
    return named.alias == "latest"
               ? Result<void>()
               : artifact.call->api.artifacts.set_alias(*artifact.version, named.alias);
  }
  store::Portfolios portfolios(artifact.call->api.store);
  for (const store::PortfolioMember& member : KEDGE_TRY(portfolios.links(*artifact.version))) {
    const auto portfolio = KEDGE_TRY(portfolios.find(member.portfolio));
    if (portfolio && portfolio->name == named.collection) {
      return portfolios.set_alias(member.portfolio, member.index, named.alias);
    }
  }
  return fail(ErrorKind::NotFound,
              fmt::format("the artifact is not in the collection '{}'", named.collection));
}

Result<void> remove_alias(const NamedAlias& named) {
  const auto collection = KEDGE_TRY(find_collection(named.project, named.collection));
  if (collection && collection->portfolio) {
    return store::Portfolios(named.project.call->api.store)
        .remove_alias(*collection->portfolio, named.alias);
  }
  KEDGE_TRY(named.project.call->api.artifacts.remove_alias(named.project.name, named.collection,
                                                           named.alias));
  return {};
}

Result<Value> add_aliases(const Call& call, const Args& args) {
  const Args input = args.input();
  const ArtifactNode artifact = KEDGE_TRY(load_complete(call, input));
  for (const NamedAlias& named : parse_aliases(artifact, input.value("aliases"))) {
    KEDGE_TRY(set_alias(artifact, named));
  }
  return make_node(ArtifactDone());
}

Result<Value> delete_aliases(const Call& call, const Args& args) {
  const Args input = args.input();
  const ArtifactNode artifact = KEDGE_TRY(load_complete(call, input));
  for (const NamedAlias& named : parse_aliases(artifact, input.value("aliases"))) {
    KEDGE_TRY(remove_alias(named));
  }
  return make_node(ArtifactDone());
}

// The client names all that the version shall have.
Result<void> replace_aliases(const ArtifactNode& artifact, const json& list) {
  std::vector<std::string> wanted;
  for (const NamedAlias& named : parse_aliases(artifact, list)) {
    wanted.push_back(named.alias);
    KEDGE_TRY(set_alias(artifact, named));
  }
  for (const std::string& alias : artifact.version->aliases) {
    if (alias != "latest" && std::ranges::find(wanted, alias) == wanted.end()) {
      KEDGE_TRY(
          artifact.call->api.artifacts.remove_alias(artifact.project(), artifact.name(), alias));
    }
  }
  return {};
}

std::vector<std::string> tag_names(const json& list) {
  std::vector<std::string> names;
  for (const json& item : list.is_array() ? list : json::array()) {
    if (const auto name = Args(item).text("tagName")) {
      names.push_back(*name);
    }
  }
  return names;
}

Result<Value> update_artifact(const Call& call, const Args& args) {
  const Args input = args.input();
  ArtifactNode artifact = KEDGE_TRY(load_artifact(call, input.text("artifactID").value_or("")));
  store::DraftPatch patch{.description = input.text("description")};
  if (const auto metadata = input.text("metadata")) {
    patch.metadata = KEDGE_TRY(parse_lenient(*metadata));
  }
  patch.ttl_s = input.number("ttlDurationSeconds");
  patch.added_tags = tag_names(input.value("tagsToAdd"));
  patch.removed_tags = tag_names(input.value("tagsToDelete"));
  if (artifact.draft) {
    KEDGE_TRY(drafts_of(call).patch(artifact.draft->id, patch, call.now_us()));
  } else if (patch.metadata) {
    KEDGE_TRY(call.api.artifacts.set_metadata(*artifact.version, *patch.metadata));
  }
  if (artifact.version && input.value("aliases").is_array()) {
    KEDGE_TRY(replace_aliases(artifact, input.value("aliases")));
  }
  return make_node(ChangedArtifact{KEDGE_TRY(load_artifact(call, artifact.id()))});
}

Result<Value> delete_artifact(const Call& call, const Args& args) {
  const Args input = args.input();
  const ArtifactNode artifact =
      KEDGE_TRY(load_artifact(call, input.text("artifactID").value_or("")));
  const auto aliases = artifact.version ? artifact.version->aliases : std::vector<std::string>();
  const bool has_alias =
      std::ranges::any_of(aliases, [](const std::string& alias) { return alias != "latest"; });
  if (has_alias && !input.flag("deleteAliases")) {
    return fail(ErrorKind::Usage,
                "the artifact has aliases: remove them first, or delete it with delete_aliases");
  }
  if (artifact.draft) {
    KEDGE_TRY(drafts_of(call).remove(artifact.draft->id));
  } else {
    KEDGE_TRY(call.api.artifacts.remove(*artifact.version));
  }
  call.api.audit(call.request, "artifact.delete", artifact.project() + "/" + artifact.name());
  return make_node(ChangedArtifact{artifact});
}

Result<Value> link_artifact(const Call& call, const Args& args) {
  const Args input = args.input();
  const ArtifactNode artifact = KEDGE_TRY(load_complete(call, input));
  const std::string project = project_or_default(input.text("projectName"));
  const std::string name = input.text("artifactPortfolioName").value_or("");
  KEDGE_TRY(call.check(project));
  if (name.empty()) {
    return fail(ErrorKind::Usage, "a link needs the name of a collection");
  }
  std::vector<std::string> aliases;
  for (const NamedAlias& named : parse_aliases(artifact, input.value("aliases"))) {
    aliases.push_back(named.alias);
  }
  const store::PortfolioMember member = KEDGE_TRY(
      store::Portfolios(call.api.store)
          .link({.project = project, .name = name}, *artifact.version, aliases, call.now_us()));
  const ProjectNode home{&call, project, call.entity_or_viewer(input.text("entityName"))};
  auto found = KEDGE_TRY(find_membership(home, fmt::format("{}:v{}", name, member.index)));
  if (!found) {
    return fail(ErrorKind::Usage,
                fmt::format("'{}' is a sequence: versions are logged to it, not linked", name));
  }
  return make_node(Linked{std::move(*found)});
}

Result<CollectionNode> load_collection(const Call& call, const std::string& id) {
  const auto text = parse_id("ArtifactCollection", id);
  const auto colon = text ? text->find(':') : std::string::npos;
  if (colon != std::string::npos) {
    const ProjectNode project{&call, text->substr(colon + 1), call.viewer()};
    KEDGE_TRY(call.check(project.name));
    if (auto found = KEDGE_TRY(find_collection(project, text->substr(0, colon)))) {
      return std::move(*found);
    }
  }
  return fail(ErrorKind::NotFound, "there is no such collection");
}

Result<Value> unlink_artifact(const Call& call, const Args& args) {
  const Args input = args.input();
  const ArtifactNode artifact = KEDGE_TRY(load_complete(call, input));
  const CollectionNode collection =
      KEDGE_TRY(load_collection(call, input.text("artifactPortfolioID").value_or("")));
  if (!collection.portfolio) {
    return fail(ErrorKind::Usage, "a version cannot be taken out of its own sequence");
  }
  KEDGE_TRY(store::Portfolios(call.api.store).unlink(*collection.portfolio, *artifact.version));
  return make_node(ArtifactDone());
}

// A new name, description or (of a sequence) type.
Result<Value> update_collection(const Call& call, const Args& args, const char* id) {
  const Args input = args.input();
  CollectionNode collection = KEDGE_TRY(load_collection(call, input.text(id).value_or("")));
  const std::string old_name = collection.name;
  collection.name = input.text("name").value_or(collection.name);
  collection.description = input.text("description").value_or(collection.description);
  collection.type = input.text("destinationArtifactTypeName").value_or(collection.type);
  if (collection.portfolio) {
    KEDGE_TRY(store::Portfolios(call.api.store)
                  .rename(*collection.portfolio, collection.name, collection.description));
  } else {
    KEDGE_TRY(store::Portfolios(call.api.store)
                  .change_sequence({.project = collection.project, .name = old_name},
                                   {.name = collection.name,
                                    .type = collection.type,
                                    .description = collection.description}));
  }
  return make_node(ChangedCollection{collection});
}

Result<Value> delete_collection(const Call& call, const Args& args, const char* id) {
  const CollectionNode collection =
      KEDGE_TRY(load_collection(call, args.input().text(id).value_or("")));
  if (collection.portfolio) {
    KEDGE_TRY(store::Portfolios(call.api.store).remove(*collection.portfolio));
  } else {
    for (const MembershipNode& member : KEDGE_TRY(list_members(collection))) {
      KEDGE_TRY(call.api.artifacts.remove(*member.artifact.version));
    }
    KEDGE_TRY(
        store::Portfolios(call.api.store).remove_sequence(collection.project, collection.name));
  }
  call.api.audit(call.request, "collection.delete", collection.project + "/" + collection.name);
  return make_node(ChangedCollection{collection, true});
}

Result<Value> change_tags(const Call& call, const Args& args, bool is_added) {
  const Args input = args.input();
  const ProjectNode project{&call, project_or_default(input.text("projectName")),
                            call.entity_or_viewer(input.text("entityName"))};
  KEDGE_TRY(call.check(project.name));
  const std::string name = input.text("artifactCollectionName").value_or("");
  const auto tags = tag_names(input.value("tags"));
  store::Portfolios portfolios(call.api.store);
  const std::vector<std::string> none;
  KEDGE_TRY(
      portfolios.change_tags(project.name, name, is_added ? tags : none, is_added ? none : tags));
  return make_node(ChangedTags{KEDGE_TRY(portfolios.tags(project.name, name))});
}

}  // namespace

void declare_artifact_changes(graphql::Schema& schema) {
  TypeBuilder<ArtifactDone>(schema, "ArtifactDonePayload")
      .leaf("success", [](const ArtifactDone&) { return true; })
      .leaf("clientMutationId", [](const ArtifactDone&) { return json(); });
  TypeBuilder<TagName>(schema, "ChangedTag")
      .leaf("id", [](const TagName& tag) { return render_id("Tag", tag.name); })
      .leaf("name", &TagName::name)
      .name_of([](const TagName&) { return "Tag"; })
      .also("Tag");
  TypeBuilder<ChangedTags>(schema, "ChangedTagsPayload")
      .leaf("success", [](const ChangedTags&) { return true; })
      .object("tags", "ChangedTag", [](const ChangedTags& changed) {
        std::vector<TagName> tags;
        for (const std::string& name : changed.names) {
          tags.push_back({name});
        }
        return graphql::make_nodes(std::move(tags));
      });
  TypeBuilder<ChangedArtifact>(schema, "ChangedArtifactPayload")
      .object("artifact", "Artifact", &ChangedArtifact::artifact);
  TypeBuilder<Linked>(schema, "LinkArtifactPayload")
      .leaf("versionIndex", [](const Linked& linked) { return linked.member.index; })
      .object("artifactMembership", "ArtifactCollectionMembership", &Linked::member);
  TypeBuilder<ChangedCollection>(schema, "ChangedCollectionPayload")
      .object("artifactCollection", "ArtifactCollection", &ChangedCollection::collection);
  TypeBuilder<Call>(schema, "Mutation")
      .object("addAliases", "ArtifactDonePayload", add_aliases)
      .object("deleteAliases", "ArtifactDonePayload", delete_aliases)
      .object("updateArtifact", "ChangedArtifactPayload", update_artifact)
      .object("deleteArtifact", "ChangedArtifactPayload", delete_artifact)
      .object("linkArtifact", "LinkArtifactPayload", link_artifact)
      .object("unlinkArtifact", "ArtifactDonePayload", unlink_artifact)
      .object("updateArtifactSequence", "ChangedCollectionPayload",
              [](const Call& call, const Args& args) {
                return update_collection(call, args, "artifactSequenceID");
              })
      .object("moveArtifactSequence", "ChangedCollectionPayload",
              [](const Call& call, const Args& args) {
                return update_collection(call, args, "artifactSequenceID");
              })
      .object("updateArtifactPortfolio", "ChangedCollectionPayload",
              [](const Call& call, const Args& args) {
                return update_collection(call, args, "artifactPortfolioID");
              })
      .object("deleteArtifactSequence", "ChangedCollectionPayload",
              [](const Call& call, const Args& args) {
                return delete_collection(call, args, "artifactSequenceID");
              })
      .object("deleteArtifactPortfolio", "ChangedCollectionPayload",
              [](const Call& call, const Args& args) {
                return delete_collection(call, args, "artifactPortfolioID");
              })
      .object("createArtifactCollectionTagAssignments", "ChangedTagsPayload",
              [](const Call& call, const Args& args) { return change_tags(call, args, true); })
      .object("deleteArtifactCollectionTagAssignments", "ChangedTagsPayload",
              [](const Call& call, const Args& args) { return change_tags(call, args, false); });
  schema.add_input("LinkArtifactInput",
                   "artifactID artifactPortfolioName entityName projectName aliases clientID "
                   "clientMutationId");
}

}  // namespace kedge::wandb
