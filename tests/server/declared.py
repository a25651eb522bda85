"""What the server declares of itself, and whether an answer is as declared."""

import json
import re
from typing import ClassVar


class Declared:
    def __init__(self, openapi: dict) -> None:
        self.shapes = openapi["components"]["schemas"]
        self.calls = []  # (method, pattern of the path, operation, name)
        for path, item in openapi["paths"].items():
            for method, operation in item.items():
                pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))
                rest = [p["name"] for p in operation.get("parameters", []) if "description" in p]
                if rest and path.endswith(f"{{{rest[0]}}}"):
                    pattern = pattern.removesuffix("[^/]+") + ".+"
                name = f"{method.upper()} {path}"
                self.calls.append((method.upper(), re.compile(pattern), operation, name))
        self.all.update(name for _, _, _, name in self.calls)
        # "/runs/search" comes before "/runs/{project}".
        self.calls.sort(key=lambda call: call[3].count("{"))

    seen: ClassVar[set[str]] = set()  # the calls that were answered, by whatever server
    all: ClassVar[set[str]] = set()

    def find(self, method: str, path: str):
        for declared, pattern, operation, name in self.calls:
            if declared == method and pattern.fullmatch(path.split("?")[0]):
                return operation, name
        return None, ""

    def check_answer(self, method: str, path: str, status: int, headers, body: bytes) -> None:
        """Raises AssertionError for an answer that is not as declared."""
        operation, name = self.find(method, path)
        if operation is None or status in (206, 304):  # parts, and what has not changed
            return
        declared = operation["responses"].get(str(status))
        if declared is None:
            assert status >= 300, f"{name}: status {status} is not declared"
            self.check(self.shapes["ErrorAnswer"], json.loads(body), name)
            return
        self.seen.add(name)
        if "content" not in declared:
            assert body == b"", f"{name}: declared without a body"
            return
        kind = headers.get("Content-Type", "").split(";")[0]
        if "application/octet-stream" in declared["content"]:
            return  # bytes, with the type of the file
        assert kind in declared["content"], f"{name}: {kind} is not declared"
        if kind == "application/json":
            self.check(declared["content"][kind]["schema"], json.loads(body), name)

    def check_event(self, event: dict) -> None:
        """The same for one of GET /api/v1/events."""
        self.check(self.shapes["RunChange"], event, "event")
        self.seen.add("GET /api/v1/events")

    def check(self, schema: dict, value, place: str) -> None:
        if "$ref" in schema:
            return self.check(self.shapes[schema["$ref"].rsplit("/", 1)[1]], value, place)
        if "anyOf" in schema:
            assert any(self.fits(choice, value) for choice in schema["anyOf"]), f"{place}: {value}"
        if "enum" in schema:
            assert value in schema["enum"], f"{place}: {value!r}"
        if "type" in schema:
            assert is_a(value, schema["type"]), f"{place}: {value!r} is no {schema['type']}"
        if schema.get("type") == "array":
            for i, item in enumerate(value):
                self.check(schema["items"], item, f"{place}[{i}]")
        if schema.get("type") == "object":
            missing = set(schema.get("required", [])) - set(value)
            assert not missing, f"{place}: without {missing}"
            for name, item in value.items():
                field = schema["properties"].get(name, schema["additionalProperties"])
                assert field is not False, f"{place}: '{name}' is not declared"
                self.check(field, item, f"{place}.{name}")
        return None

    def fits(self, schema: dict, value) -> bool:
        try:
            self.check(schema, value, "")
        except AssertionError:
            return False
        return True


def is_a(value, kind: str) -> bool:
    if kind in ("integer", "number"):
        numbers = int if kind == "integer" else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    kinds = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    return isinstance(value, kinds[kind])
