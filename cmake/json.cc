#define KEDGE_JSON_TEMPLATE template
#include "json.h"
