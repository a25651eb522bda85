#!/usr/bin/env python3
"""Prints the table of calls in docs/reference/mlflow.md from what the tests were answered.

    KEDGE_MLFLOW_CALLS=raw.json python3 tests/mlflow/contract.py
    KEDGE_MLFLOW_CALLS=client.json PYTHON tests/mlflow/clients.py
    python3 tests/mlflow/table.py raw.json client.json

The calls are those that src/mlflow adds to the router; how each was tested comes from the files.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADDED = re.compile(r'calls\.(?:read|write)\(Method::(\w+), "([^"]+)"')
QUICK = re.compile(r'calls\.write_quick\("([^"]+)"')
PREFIXED = re.compile(r'calls\.add(?:_raw)?\(Method::(\w+), (?:prefix \+ )?"([^"]+)"')


def calls_of_sources() -> list[tuple[str, str]]:
    found = []
    for path in sorted((ROOT / "src/mlflow").glob("*.cc")):
        if path.name == "absent.cc":
            continue
        text = path.read_text()
        found += [
            (method.upper(), f"/api/2.0/mlflow/{call}") for method, call in ADDED.findall(text)
        ]
        found += [("POST", f"/api/2.0/mlflow/{call}") for call in QUICK.findall(text)]
        for method, call in PREFIXED.findall(text):
            if call.startswith(("/ajax-api", "/get-artifact", "/model-versions", "/v")):
                found.append((method.upper(), call))
            elif path.name in ("artifacts.cc", "artifact_parts.cc"):
                found.append((method.upper(), "/api/2.0/mlflow-artifacts" + call))
    for method in ("PUT", "GET", "DELETE"):
        found.append((method, "/api/2.0/mlflow-artifacts/artifacts/{path...}"))
    found.append(("GET", "/api/3.0/mlflow/server-info"))
    found.append(("POST", "/graphql"))
    return sorted(set(found), key=lambda call: (call[1], call[0]))


def is_same(pattern: str, path: str) -> bool:
    path = path.replace("/ajax-api/", "/api/", 1)
    expression = re.sub(r"\\{\w+(?:\\\.){3}\\}", ".+", re.escape(pattern))
    expression = re.sub(r"\\{\w+\\}", "[^/]+", expression)
    return re.fullmatch(expression.replace("/ajax\\-api/", "/api/"), path) is not None


def main() -> None:
    seen = [json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:3]]
    print("| call | raw HTTP | mlflow client |\n| --- | --- | --- |")
    for method, pattern in calls_of_sources():
        marks = [
            "yes" if any(m == method and is_same(pattern, p) for m, p in each) else ""
            for each in seen
        ]
        print(f"| {method} `{pattern}` | {' | '.join(marks)} |")


if __name__ == "__main__":
    main()
