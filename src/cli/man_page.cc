// Pages for man, rendered from what the verbs say of themselves.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/completion.h"

namespace kedge::cli {
namespace {

// Text that troff shows as it is.
std::string escape(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    begins_line = c == '\n';
  }
  return out;
}

std::string page_of(std::string_view verb) {
  std::string name = fmt::format("kedge-{}", verb);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string render_head(const std::string& page, std::string_view summary) {
  std::string title = page;
  std::ranges::transform(title, title.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return fmt::format(".TH {} 1 \"\" \"kedge {}\" \"kedge\"\n.SH NAME\n{} \\- {}\n", escape(title),
                     KEDGE_VERSION, escape(page), escape(summary));
}

// Each line of the usage for itself, without the blanks that align them.
std::string render_usage(std::string_view usage) {
  std::string out;
  while (!usage.empty()) {
    const std::size_t end = std::min(usage.find('\n'), usage.size());
    const std::string_view line = usage.substr(0, end);
    out += fmt::format(".nf\n{}\n.fi\n",
                       escape(line.substr(std::min(line.find_first_not_of(' '), line.size()))));
    usage.remove_prefix(std::min(end + 1, usage.size()));
  }
  return out;
}

std::string render_options(const std::vector<OptionFacts>& options) {
  std::string out;
  for (const OptionFacts& option : options) {
    out += fmt::format(".TP\n.B {}", escape(option.name));
    out += option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", escape(option.value));
    out += fmt::format("\n{}\n", escape(option.meaning));
  }
  return out;
}

}  // namespace

std::string render_man(const VerbFacts& verb) {
  std::string text = render_head(page_of(verb.name), verb.summary) + ".SH SYNOPSIS\n" +
                     render_usage(verb.usage) + ".SH DESCRIPTION\n" + escape(verb.text) + "\n";
  if (!verb.options.empty()) {
    text += ".SH OPTIONS\n" + render_options(verb.options);
  }
  if (!verb.verbs.empty()) {
    text += ".SH VERBS\n";
  }
  for (const VerbFacts& own : verb.verbs) {
    text += fmt::format(".SS kedge {}\n{}.PP\n{}\n{}", escape(own.name), render_usage(own.usage),
                        escape(own.text), render_options(own.options));
  }
  return text + ".SH SEE ALSO\n.BR kedge (1)\n";
}

std::string render_man(const std::vector<VerbFacts>& all) {
  std::string text = render_head("kedge", "train, track, sweep and submit deep-learning work") +
                     ".SH SYNOPSIS\n.B kedge\n.I VERB\n[...]\n.SH VERBS\n";
  for (const VerbFacts& verb : all) {
    text += fmt::format(".TP\n.BR {} (1)\n{}\n", escape(page_of(verb.name)), escape(verb.summary));
  }
  return text +
         ".SH EXIT STATUS\n0: done. 1: failed. 2: wrong usage or config. 85: saved and stopped, "
         "run "
         "it again.\n";
}

}  // namespace kedge::cli
