"""What runs, curves, files and artifacts say; contract.py runs them."""

import gzip
import json
import math

from server_case import ServerCase


class Data(ServerCase):
    def test_keeps_what_a_run_says(self):
        config = {"optimizer": {"lr": 0.1}, "layers": [1, 2], "name": "\u00e4 \U0001f600"}
        made = self.ask("POST", "/api/v1/runs/p", {"id": "facts", "config": config, "tags": ["a"]})
        self.assertEqual(made.status, 201)
        again = self.ask("POST", "/api/v1/runs/p", {"id": "facts"})
        self.assertEqual((again.status, again.json["config"]), (200, config))
        path = "/api/v1/runs/p/facts"
        change = {"optimizer": {"lr": None, "beta": 2}}
        patch = {"notes": "n", "config": change, "state": "finished"}
        self.assertEqual(self.ask("PATCH", path, patch).status, 200)
        run = self.ask("GET", path).json
        self.assertEqual(run["config"]["optimizer"], {"beta": 2})
        self.assertEqual((run["notes"], run["state"], run["tags"]), ("n", "finished", ["a"]))
        found = self.ask(
            "POST", "/api/v1/runs/search", {"project": "p", "filter": "config.optimizer.beta = 2"}
        ).json
        self.assertEqual([each["id"] for each in found["runs"]], ["facts"])
        self.assertEqual(self.ask("DELETE", path + "?for_good=1").status, 204)
        self.assertEqual(self.ask("GET", path).status, 404)

    def test_keeps_numbers_that_json_does_not_have(self):
        run = self.make_run("p/nan")
        values = ["NaN", "Infinity", "-Infinity", 1e308, 5e-324, -0.0, 0.1]
        for step, value in enumerate(values):
            self.ask("POST", run + "/log", {"step": step, "values": {"a": value}})
        points = self.ask("GET", run + "/history?key=a").json["points"]
        self.assertEqual([p["value"] for p in points], values)
        csv = self.ask("GET", run + "/history?key=a&format=csv").body.decode().splitlines()
        self.assertEqual(csv[0], "key,step,value,time_us,attempt")
        self.assertTrue(math.isnan(float(csv[1].split(",")[2])))
        lines = self.ask("GET", run + "/history?format=jsonl").body.decode().splitlines()
        self.assertEqual([json.loads(line)["value"] for line in lines], values)
        parquet = self.ask("GET", run + "/history?format=parquet").body
        self.assertEqual((parquet[:4], parquet[-4:]), (b"PAR1", b"PAR1"))
        self.assertEqual(self.ask("GET", run + "/history?format=xml").status, 400)

    def test_draws_curves_with_their_extremes(self):
        run = self.make_run("p/chart")
        spike = {13_000: 99.0, 17_777: -99.0}
        for start in range(0, 20_000, 5_000):
            points = [
                {"key": "y", "step": step, "value": spike.get(step, step % 7), "time_us": step + 1}
                for step in range(start, start + 5_000)
            ]
            self.assertEqual(self.ask("POST", run + "/log", {"points": points}).status, 200)
        want = {"runs": [{"project": "p", "id": "chart"}], "keys": ["y"], "points": 200}
        series = self.ask("POST", "/api/v1/series", want).json["series"][0]
        self.assertEqual((series["count"], series["sampled"]), (20_000, True))
        self.assertLess(len(series["x"]), 500)
        for step, value in spike.items():
            self.assertIn((step, value), list(zip(series["x"], series["y"], strict=True)))
        part = self.ask("POST", "/api/v1/series", want | {"from": 10, "to": 12}).json["series"][0]
        self.assertEqual((part["x"], part["y"]), ([10, 11, 12], [3, 4, 5]))
        by_time = self.ask(
            "POST", "/api/v1/series", want | {"x": "time", "from": 11, "to": 12}
        ).json["series"][0]
        self.assertEqual(by_time["x"], [11, 12])

    def test_takes_a_hundred_thousand_names(self):
        run = self.make_run("p/names")
        for part in range(10):
            values = {f"layer.{part}.{i}/norm": i for i in range(10_000)}
            answer = self.ask("POST", run + "/log", {"step": 0, "values": values})
            self.assertEqual(answer.json, {"accepted": 10_000})
        metrics = self.ask("GET", run + "/metrics").json["metrics"]
        self.assertEqual(len(metrics), 100_000)

    def test_keeps_a_table_of_fifty_megabytes(self):
        run = self.make_run("p/table")
        rows = [[i, "x" * 90, i * 0.5] for i in range(480_000)]
        body = {"columns": ["a", "b", "c"], "rows": rows}
        record = {"type": "table", "key": "t", "step": 1, "body": body}
        text = json.dumps({"records": [record]}).encode()
        self.assertGreater(len(text), 50_000_000)
        self.assertEqual(self.ask("POST", run + "/records", text).json, {"accepted": 1})
        answer = self.ask("GET", run + "/records?type=table").json
        self.assertEqual(answer["keys"], ["t"])
        self.assertEqual(answer["records"][0]["body"], body)

    def test_gives_files_in_parts(self):
        run = self.make_run("p/files")
        content = bytes(range(256)) * 20_000
        stored = self.ask("PUT", run + "/files/media/a%20b.bin", content)
        self.assertEqual((stored.status, stored.json["size"]), (201, len(content)))
        path = run + "/files/media/a%20b.bin"
        whole = self.ask("GET", path)
        self.assertEqual(whole.body, content)
        part = self.ask("GET", path, headers={"Range": "bytes=1000-1999"})
        self.assertEqual((part.status, part.body), (206, content[1000:2000]))
        self.assertEqual(part.headers["Content-Range"], f"bytes 1000-1999/{len(content)}")
        beyond = self.ask("GET", path, headers={"Range": f"bytes={len(content)}-"})
        self.assertEqual(beyond.status, 416)
        same = self.ask("GET", path, headers={"If-None-Match": whole.headers["ETag"]})
        self.assertEqual((same.status, same.body), (304, b""))
        self.assertIn("sandbox", whole.headers["Content-Security-Policy"])
        digest = stored.json["digest"]
        self.assertEqual(self.ask("GET", f"/api/v1/blobs/{digest}").body, content)
        wrong = self.ask("PUT", f"/api/v1/blobs/{digest}", b"something else")
        self.assertEqual(wrong.status, 422)
        self.assertEqual(self.ask("PUT", "/api/v1/blobs/abc", b"x").status, 400)
        empty = self.ask("PUT", run + "/files/empty", b"")
        self.assertEqual((empty.status, empty.json["size"]), (201, 0))

    def test_keeps_console_views_and_models(self):
        run = self.make_run("p/rest")
        self.ask("POST", run + "/console", {"lines": ["one", "two", "\u00fc"]})
        console = self.ask("GET", run + "/console?from=1&limit=1").json
        self.assertEqual((console["total"], console["lines"][0]["text"]), (3, "two"))
        view = {"name": "v", "project": "p", "view": {"query": "x=1"}}
        self.assertEqual(self.ask("PUT", "/api/v1/views/v1", view).status, 200)
        views = self.ask("GET", "/api/v1/views?project=p").json["views"]
        self.assertEqual(views, [{"id": "v1"} | view])
        self.assertEqual(self.ask("DELETE", "/api/v1/views/v1").status, 204)
        self.assertEqual(self.ask("POST", "/api/v1/models", {"name": "m"}).status, 201)
        self.assertEqual(self.ask("POST", "/api/v1/models", {"name": "m"}).status, 409)
        source = {"source": "artifact:p/weights:v0"}
        version = self.ask("POST", "/api/v1/models/m/versions", source)
        self.assertEqual((version.status, version.json["version"]), (201, 1))
        self.assertEqual(version.json["source"]["artifact"], "weights")
        alias = self.ask("PUT", "/api/v1/models/m/aliases/best", {"version": 1})
        self.assertEqual(alias.status, 204)
        self.assertEqual(self.ask("GET", "/api/v1/models/m").json["aliases"], {"best": 1})

    def test_makes_artifacts_of_blobs(self):
        run = self.make_run("p/maker")
        digest = self.ask("PUT", run + "/files/w", b"weights").json["digest"]
        absent = "1" * 64
        files = [{"path": "w.bin", "digest": digest, "size": 7}]
        draft = {"type": "model", "files": files, "run": "maker", "aliases": ["best"]}
        missing = draft | {"files": [*files, {"path": "no.bin", "digest": absent, "size": 1}]}
        answer = self.ask("POST", "/api/v1/artifacts/p/weights", missing)
        self.assertEqual((answer.status, answer.json["missing"]), (200, [absent]))
        answer = self.ask("POST", "/api/v1/artifacts/p/weights", draft)
        self.assertEqual((answer.status, answer.json["version"]["version"]), (201, "v0"))
        version = self.ask("GET", "/api/v1/artifacts/p/weights/best").json
        self.assertEqual(version["files"][0]["path"], "w.bin")
        self.assertEqual(version["made_by"], {"project": "p", "id": "maker"})
        got = self.ask("GET", "/api/v1/artifacts/p/weights/v0/files/w.bin")
        self.assertEqual(got.body, b"weights")
        lineage = self.ask("GET", "/api/v1/artifacts/p/weights/v0/lineage").json
        self.assertEqual(
            lineage["edges"], [{"from": "run:p/maker", "to": "artifact:p/weights:v0"}]
        )

    def test_serves_the_page_for_addresses_of_its_own(self):
        page = self.ask("GET", "/")
        self.assertEqual(page.status, 200)
        self.assertIn("text/html", page.headers["Content-Type"])
        if "ETag" not in page.headers:
            self.assertIn(b"built without its web page", page.body)
            return
        printed = self.ask("GET", "/lab/mnist/runs/abc")  # by a client of another tool
        self.assertEqual(printed.status, 302)
        self.assertEqual(printed.headers["Location"], "./../../../#/at/lab/mnist/runs/abc")
        packed = self.ask("GET", "/", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(gzip.decompress(packed.body), page.body)
        same = self.ask("GET", "/", headers={"If-None-Match": page.headers["ETag"]})
        self.assertEqual(same.status, 304)
        self.assertEqual(self.ask("GET", "/assets/none.js").status, 404)
