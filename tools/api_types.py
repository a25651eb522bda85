#!/usr/bin/env python3
"""Writes web/src/api/types.ts: the shapes that the native API declares, in the page's language.

Usage: api_types.py OPENAPI.JSON [TYPES.TS]     (GET /api/v1/openapi.json of a server; default: -)
"""

import json
import pathlib
import re
import sys

HEAD = """// Made by tools/api_types.py of what the server declares: do not change.
// Golden examples: tests/fixtures/api. Fields that end in _us are Unix times in microseconds; 0:
// not known.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
"""

OF_TIMES = "Unix time in microseconds; 0: not known"  # of every *_us
WIDTH = 100  # as prettier has it

PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def render(schema: dict, indent: str) -> str:
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if "anyOf" in schema:
        return " | ".join(render(choice, indent) for choice in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(f"'{text}'" for text in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        items = render(schema["items"], indent)
        return f"({items})[]" if "|" in items else f"{items}[]"
    if kind == "object":
        return render_object(schema, indent)
    return PLAIN.get(kind, "null") if kind else "Json"


def render_object(schema: dict, indent: str) -> str:
    if not schema["properties"]:
        return f"{{ [key: string]: {render(schema['additionalProperties'] or {}, indent)} }}"
    return "{\n" + "".join(fields_of(schema, indent + "  ")) + indent + "}"


def fields_of(schema: dict, indent: str):
    required = schema.get("required", [])
    for name, field in schema["properties"].items():
        mark = "" if name in required else "?"
        comment = field.get("description", "")
        comment = f" // {comment}" if comment and comment != OF_TIMES else ""
        yield f"{indent}{name}{mark}: {render(field, indent)};{comment}\n"


def values_name(name: str) -> str:
    """RunState is RUN_STATES."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper() + "S"


def declare(name: str, schema: dict) -> str:
    if schema.get("type") == "object" and schema["properties"]:
        return f"export interface {name} {render_object(schema, '')}\n"
    if "enum" in schema:
        texts = [f"'{text}'" for text in schema["enum"]]
        line = f"export const {values_name(name)} = [{', '.join(texts)}] as const;\n"
        if len(line) > WIDTH:
            texts = "".join(f"  {text},\n" for text in texts)
            line = f"export const {values_name(name)} = [\n{texts}] as const;\n"
        return f"{line}\nexport type {name} = (typeof {values_name(name)})[number];\n"
    return f"export type {name} = {render(schema, '')};\n"


def render_types(openapi: dict) -> str:
    shapes = openapi["components"]["schemas"]
    return HEAD + "".join("\n" + declare(name, schema) for name, schema in shapes.items())


def main(openapi: str, output: str = "") -> None:
    text = render_types(json.loads(pathlib.Path(openapi).read_text()))
    if output:
        pathlib.Path(output).write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
