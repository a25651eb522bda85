// Where kedge keeps what belongs to one user, by the XDG base directory rules. The folders need not
// exist yet.
#pragma once

#include "core/file.h"

namespace kedge {

Path cache_folder();   // ${XDG_CACHE_HOME:-~/.cache}/kedge: what can be made again
Path config_folder();  // ${XDG_CONFIG_HOME:-~/.config}/kedge: what must stay

}  // namespace kedge
