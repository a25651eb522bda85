#include "device/quiet_warnings.h"

#include <string_view>

namespace kedge::device {

void QuietWarnings::process(const c10::Warning& warning) {
  constexpr std::string_view kNoContext =
      "Attempting to run cuBLAS, but there was no current CUDA context";
  if (!warning.msg().contains(kNoContext)) {
    next_.process(warning);
  }
}

void quiet_warnings() {
  static c10::WarningHandler printing;
  static QuietWarnings quiet(printing);
  c10::WarningUtils::set_warning_handler(&quiet);
}

}  // namespace kedge::device
