"""Makes the seeds of the fuzzers, tests/fuzz/corpus/NAME/seed-*, from the formats' descriptions.

Run with the xxhash package: python tests/fuzz/make_seeds.py
Inputs that once failed lie beside them under other names, and stay.
"""

import base64
import gzip
import json
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import xxhash

HERE = Path(__file__).parent
FIXTURES = HERE.parent / "fixtures"


def put(name, seed, data):
    folder = HERE / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{seed}").write_bytes(data)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def cbor(value):
    def head(major, n):
        if n < 24:
            return bytes([major << 5 | n])
        size = next(i for i in range(4) if n < 1 << (8 << i))
        return bytes([major << 5 | 24 + size]) + n.to_bytes(1 << size, "big")

    if isinstance(value, bool) or value is None:
        return {False: b"\xf4", True: b"\xf5", None: b"\xf6"}[value]
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    pairs = b"".join(cbor(k) + cbor(v) for k, v in value.items())
    return head(5, len(value)) + pairs


def klog():
    def frame(payload):
        length = struct.pack("<I", len(payload))
        return length + struct.pack("<I", crc32c(length + payload)) + payload

    def record(kind, body):
        return cbor({"type": kind, "seq": 1, "time": 1794719617490327, "step": 1, "body": body})

    records = [
        record("scalars", {"train/loss": 0.5, "epoch": float("nan"), "rate": float("inf")}),
        record("table", {"key": "t", "columns": ["a"], "rows": [[1], [{"image": "media/x.png"}]]}),
        record("console", {"line": "loss 0.5", "raw": b"\x00\xff"}),
        record("state", {"state": "finished", "none": None, "big": -(2**63), "yes": True}),
    ]
    header = cbor({"run": "20261115-042133-k3f9q2", "writer": "a1-r0", "created": 1794719617490327})
    whole = b"KEDGELOG" + struct.pack("<I", 1) + b"".join(map(frame, [header, *records]))
    put("klog", "whole", b"f" + whole)
    put("klog", "torn", b"f" + whole[:-7])
    put("klog", "zeros", b"f" + whole + bytes(32))
    put("klog", "damaged", b"f" + whole[:120] + b"?" + whole[121:])
    put("klog", "records", b"r" + b"\xff\xfe".join(records))
    put("klog", "chunks", b"r" + b"\x7f" * 2000)
    put("klog", "cbor", b"r" + bytes.fromhex("9f01bf6161fa3f800000fff93c00c11a5f5e1000d82040ff"))


def safetensors_file(tensors):
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, data


def safetensors():
    put("safetensors", "python", (FIXTURES / "checkpoint/python.safetensors").read_bytes())
    small = {"w": ("F32", [2, 2], bytes(16)), "e": ("I64", [0], b""), "s": ("U8", [], b"x")}
    put("safetensors", "small", b"".join(safetensors_file(small)))
    put("safetensors", "unaligned", b"".join(safetensors_file({"b": ("BOOL", [3], b"\1\0\1"),
                                                               "w": ("F64", [1], bytes(8))})))


def manifest():
    def hash_of(data):
        return f"{xxhash.xxh3_64_intdigest(data):016x}"

    tensors = {"bias": ("F64", [3], bytes(range(24))), "w": ("F32", [2, 2], bytes(16))}
    header, data = safetensors_file(tensors)
    entries, offset = [], len(header)
    for name, (dtype, shape, content) in tensors.items():
        entries.append({
            "name": name, "dtype": dtype, "shape": shape,
            "slice": {"offset": [0] * len(shape), "shape": shape},
            "offset": offset, "bytes": len(content), "chunks": [hash_of(content)],
        })  # fmt: skip
        offset += len(content)
    part = {"name": "model", "file": "model.safetensors", "size": offset,
            "header_xxh3": hash_of(header), "tensors": entries}
    whole = {"format": "kedge-checkpoint", "version": 1, "created": "2026-11-15T05:13:17Z",
             "parts": [part], "state": {"epoch": 3, "rng": [1, -2.5, "x", None, True]}}
    text = json.dumps(whole, separators=(",", ":")).encode()[:-1]
    put("manifest", "whole", text + b"\0" + header + data)
    put("manifest", "tower", text + b',"x":' + b"[" * 2000 + b"\0" + header + data)
    put("manifest", "no-parts", json.dumps({**whole, "parts": []}).encode()[:-1] + b"\0")
    put("manifest", "short-shard", text + b"\0" + header + data[:-1])
    tail = b',\n"manifest_xxh3":"' + hash_of(text).encode() + b'"}\n'
    put("manifest", "plain", b"#" + text + tail + b"\0" + header + data)


def torch_file():
    for name in ("views", "zip64", "evil", "types"):
        data = (FIXTURES / f"checkpoint/{name}.pt").read_bytes()
        put("torch_file", name, data)
        with zipfile.ZipFile(BytesIO(data)) as archive:
            pickle = next(n for n in archive.namelist() if n.endswith("data.pkl"))
            put("torch_file", f"{name}-pickle", archive.read(pickle))


    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value

    def integer(value):
        return b"\x8a\x08" + struct.pack("<q", value)

    def tensor(kind, elements, offset, shape, strides):
        storage = (b"(" + text(b"storage") + b"ctorch\n" + kind + b"\n" + text(b"0") + text(b"cpu")
                   + integer(elements) + b"tQ")
        numbers = [b"(" + b"".join(map(integer, row)) + b"t" for row in (shape, strides)]
        return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + integer(offset) + numbers[0]
                + numbers[1] + b"tR")

    def state_dict(*tensors):
        pairs = b"".join(text(b"t%d" % i) + tensor for i, tensor in enumerate(tensors))
        return b"\x80\x02}(" + pairs + b"u."

    # Once an overflow: the stride of a dimension of one element may be any number.
    put("torch_file", "odd-stride",
        state_dict(tensor(b"FloatStorage", 16, 1, [2, 1], [2, 2**63 - 1])))
    # Once without a limit: each is allowed, together they are not.
    put("torch_file", "expanded",
        state_dict(tensor(b"ByteStorage", 64, 0, [2**20, 1], [0, 1]),
                   tensor(b"ByteStorage", 64, 0, [2**28 - 2**19], [0])))
    put("torch_file", "dimensions", state_dict(tensor(b"ByteStorage", 64, 0, [1] * 65, [1] * 65)))


def config():
    for name in ("convnet", "gpt"):
        put("config", name, (HERE.parents[1] / f"examples/{name}/config.yaml").read_bytes())
    put("config", "layers",
        b"optimizer: {name: adamw, lr: 1e-3}\nbatch_size: 8\ntags: [a, 'b: c']\n"
        b"\0{optimizer.lr: 0.1, seed: 4}\0optimizer.lr=3e-4\0--train.epochs=2\0run.notes='x\\n#y'")
    put("config", "yaml", b"a: &x {b: [1, ~, 'q\\n']}\nc: *x\n? d\n: |\n  text\n--- \n!!int '4'\n")


def chunk():
    # docs/formats/chunk.md: steps 5, 7; times 100, 130; values 1, 1
    small = bytes.fromhex("0102" "0106040000" "018c013c0000" "000050f03f")
    put("chunk", "small", b"c" + small)
    put("chunk", "bare", small)
    stored = b"\x00" + struct.pack("<H", 0xAAAA) + bytes(range(32))
    put("chunk", "stored", b"c\x01\x04" + stored * 3)
    # The second plane of each column: a zstd frame (RFC 8878) with one block that repeats a byte.
    frame = bytes.fromhex("28b52ffd" "2008" "430000" "07")
    packed = b"\x03\x02\x04" + struct.pack("<H", 0x000C) + bytes([len(frame)]) + frame
    put("chunk", "packed", b"c\x01\x08" + packed * 3)
    put("chunk", "sketch", b"s\x01\x02\x00\x02\x00" + b"\x01\x07" + small[2:])
    values = [0.0, -0.0, float("nan"), float("inf"), 5e-324, 1.5]
    points = b"".join(struct.pack("<qqd", i * 10, 2**60 + i, v) for i, v in enumerate(values))
    put("chunk", "points", b"p" + points * 8)


def query():
    filters = {
        "all": b'loss < 0.1 and config.lr in [1e-3, 1e-2] and not (tag = "x" or state != running)',
        "names": b"exists config.`a.b` and summary.`g.min`.max >= 7 and `odd x` not in [nan, null]",
        "times": b"created > -7d12h and ended <= '2026-11-01T12:30:05.25+02:00' or duration = 1.5h",
        "patterns": b"name ~ '^res(net|nest)[0-9]+.*$' and user !~ (?i)ada",
        "order": b"o-summary.val/accuracy\0created\0+config.lr",
        "pattern": b"p(a|b*)+[^x-z\\d]?\\w$\0abbaq1",
    }
    for name, data in filters.items():
        put("query", name, data)


def event_file():
    for name in ("modern", "legacy"):
        data = (FIXTURES / f"exchange/{name}.tfevents").read_bytes()
        put("event_file", name, b"f" + data)
        events = []
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            events.append(data[12 : 12 + length])
            data = data[16 + length :]
        put("event_file", f"{name}-events", b"e" + b"\xff\xfe".join(events))
    put("event_file", "csv", b'cstep,"a """,_timestamp\r\n1,nan,1794719617.5\n2,,\n"3","x\ny",0\n')


def graphql():
    documents = {
        "query": b"#graphql\nquery Q($x: Int = 1, $l: [String!]! = []) { a(v: $x,) k: b { ...F } }"
        b"fragment F on Query { __typename c @include(if: true) { ... on Query { a(v: $l) } } }",
        "mutation": b'mutation { b { a(v: {list: [1, -2.5e1, "x\\u00e9\\n", true, null, RED]}) } }',
        "block": b'{ a(v: """\n  block\n    \\"""text\n  """) ... { c { a } } }',
        "schema": b'{ __schema { types { name } } __type(name: "Query") { fields { name } } }',
    }
    for name, data in documents.items():
        put("graphql", name, data)


def http():
    zipped = gzip.compress(b"loss 0.5\n" * 50, mtime=0)
    seeds = {
        "target": b"/api/v1/runs/mnist/k3f9q2/files/media/a%20b%2Fc.png?x=1&y=%C3%A9&z",
        "dots": b"/a/%2e%2E/b/./c?token=a+b",
        "range": b"rbytes=10-99\0\"e\"",
        "suffix": b"rbytes=-18446744073709551615",
        "base64": b"b" + base64.b64encode(b"ada:kedge_secret\xff"),
        "gzip": b"zgzip\0" + zipped,
        "deflate": b"zdeflate\0" + zlib.compress(b"x" * 300),
        "bomb": b"zgzip\0" + gzip.compress(bytes(1 << 20), mtime=0),
        "zstd": b"zzstd\0" + bytes.fromhex("28b52ffd2005290000") + b"hello",
    }
    for name, data in seeds.items():
        put("http", name, data)


def log_body():
    put("log_body", "points",
        b'{"points": [{"key": "loss", "step": 3, "value": 0.5, "time_us": 17},'
        b' {"kind": "system", "value": "NaN", "key": "gpu\\u00e9\\n", "step": -1}], "epoch": 1.5}')
    put("log_body", "values", b'{"step":9223372036854775807,"values":{"a":1e308,"b":true,'
        b'"c":"-Infinity"},"epoch":2}')


def wandb():
    seeds = {
        "history": b'h{"loss": 0.5, "_step": 3, "_timestamp": 1794719617.5, "nested": {"a": NaN},'
        b' "pic": {"_type": "image-file", "path": "media/x.png", "caption": "c"},'
        b' "h": {"_type": "histogram", "bins": [0, 1, 2], "values": [3, 4]}}',
        "event": b'e{"system.gpu.0.gpu": 97.5, "_runtime": 12, "_timestamp": 1794719617.5}',
        "console": b"cERROR 2026-11-15T02:23:22.835188 loss 0.5\n",
        "console-json": b'c{"ts":"2026-11-15T02:23:22+02:00","content":"x","level":"error",'
        b'"label":"r0"}',
        "id": b"i" + base64.b64encode(b"Run:v1:k3f9q2:ada:mnist"),
        "filter": b'f{"$and": [{"config.lr.value": {"$gt": 0.1, "$lte": 1}}, {"$or": [{"state":'
        b' "running"}, {"$not": {"tags": {"$in": ["a"]}}}, {"display_name": {"$regex": "^r"}}]}]}',
        "order": b"o-summary_metrics.loss,+created_at",
        "lenient": b'{"a": [NaN, -Infinity, 1e5, "NaN", null], "b": {"c": "\\ud83d\\ude00"}}',
    }
    for name, data in seeds.items():
        put("wandb", name, data)


def mlflow_body():
    seeds = {
        "log": b'{"run_id": "a", "metrics": [{"key": "loss", "value": NaN, "step": "3"}, null]}',
        "text": b'"{\\"runId\\": \\"x\\", \\"metrics\\": {\\"run_id\\": 1.5}}"',
        "float": b"p1e-05",
        "integer": b"p9223372036854775808",
        "truth": b"pTrue",
        "number": b"i-9223372036854775808",
    }
    for name, data in seeds.items():
        put("mlflow_body", name, data)


def image():
    for name in ("photo.jpg", "grey.jpg", "cmyk.jpg", "grey.png", "palette.png", "resize_down.png"):
        put("image", name.replace(".", "-"), (FIXTURES / "data" / name).read_bytes())


def dataset():
    images = struct.pack(">4I", 0x803, 2, 2, 3) + bytes(range(12))
    labels = struct.pack(">2I", 0x801, 2) + b"\1\2"
    put("dataset", "idx", b"i" + images + b"\xff\xfe" + labels)
    put("dataset", "gzip", b"z" + gzip.compress(images, mtime=0))
    put("dataset", "pickle", b"p" + (FIXTURES / "data/cifar_py/data_batch_1").read_bytes())
    put("dataset", "binary", b" " + bytes([3]) + bytes(3072))


def sweep_file():
    put("sweep_file", "plan", b"""program: config.yaml
method: bayes
metric: {name: val/loss, goal: minimize, target: 0.1}
run_cap: 20
early_terminate: {type: hyperband, min_iter: 3, eta: 2, s: 2}
parameters:
  optimizer.lr: {distribution: log_uniform_values, min: 1e-5, max: 0.1}
  batch: {distribution: q_uniform, min: 8, max: 64, q: 8}
  model: {values: [mlp, convnet], probabilities: [0.3, 0.7]}
  nested: {parameters: {depth: {distribution: int_uniform, min: 1, max: 4}, fixed: {value: x}}}
""")
    put("sweep_file", "grid",
        b"method: grid\nsweep: {}\nparameters: {x: {min: 1, max: 9}, y: [1]}\n")
    put("sweep_file", "alias", b"a: &x {values: [1, 2]}\nmethod: random\nparameters: {b: *x}\n")
    put("sweep_file", "table", b'clr,seed,"a ""b"""\n0.1,1,\n0.2,2,"x\ny"\n')
    put("sweep_file", "facts",
        b'j{"id": "s1", "name": "n", "program": "config.yaml", "command": ["a"],'
        b' "folder": "/x", "is_config": true, "created": "2026-11-15T05:13:17Z", "version": 1}')
    put("sweep_file", "trial",
        b'j{"number": 3, "values": {"lr": 0.1}, "state": "done", "curve": [1, null],'
        b' "result": {"state": "done", "metric": 0.5, "exit_code": 0}, "attempts": 1}')


def job_book():
    record = {
        "version": 1, "key": "k7f3q2", "launcher": "slurm", "host": "login1", "is_cancelled": False,
        "spec": {
            "name": "img", "command": ["/bin/kedge", "train"], "folder": "/home/ada",
            "wants": ["job.cpus=4", "job.setup=[a]"], "variables": {"A": "1"}, "tasks": 2,
            "items": ["a", "b"], "after": [{"job": "q1", "after": "ok"}], "keys": ["KEDGE_TOKEN"],
            "files": {"config.yaml": "seed: 1\n"}, "is_kedge": True, "per_gpu": 1, "shared": 0,
            "estimate_s": 1.5,
        },
        "submissions": [{
            "number": 1, "state": "submitted", "tasks": [0, 1], "id": "12", "prepared_s": 99,
            "message": "", "output": "/x/{task}.log", "offset": 0, "part_of": 0,
        }],
        "ended": [{"task": 1, "state": "timed out", "exit_code": 137}],
    }  # fmt: skip
    put("job_book", "record", json.dumps(record).encode())
    put("job_book", "ends", b"estart 1 100 n1 12\nend 1 130 85\nstart 1 140 n2 12_3\nend 1 150 0\n")
    put("job_book", "list", b"l1-3,7,9-11:2%4")
    for name, mode in (("squeue_22.05.json", "q"), ("squeue_24.11.json", "q"),
                       ("squeue_array.txt", "t"), ("condor_q_running.json", "a"),
                       ("condor_holds.log", "u")):
        data = (FIXTURES / "jobs" / name).read_bytes()
        put("job_book", name.replace(".", "-"), mode.encode() + data)


def run_folder():
    run = {"id": "20261115-042133-k3f9q2", "project": "mnist", "name": "x", "state": "running",
           "created": "2026-11-15T05:13:17Z", "tags": ["a"], "summary": {"loss": 0.5}, "version": 1}
    attempt = {"number": 1, "host": "n1", "pid": 77, "user": "ada",
               "started": "2026-11-15T05:13:17Z", "state": "running", "from_step": 0, "changes": []}
    parts = [json.dumps(run).encode(), json.dumps(attempt).encode(),
             b"seed: 1\nmodel: {name: mlp, hidden: [8, 0x10, ~]}\nx: !t &a [*a]\n",
             b'{"host": "n1"}']
    put("run_folder", "whole", b"\0".join(parts))
    put("run_folder", "yaml",
        b"\0".join([*parts[:2], b"a: &x [1, .nan, -.inf, 1e400]\nb: *x\n? c\n"]))


def tokenizer():
    for name in ("gpt2", "bert"):
        file = json.loads((FIXTURES / "data" / "tokenizers" / f"{name}.json").read_text())
        text = json.dumps(file, ensure_ascii=False).encode()
        put("tokenizer", name, text + b"\0the dog's  12 \xff \xe4\xb8\xad")
    vocab = {"<unk>": 0, "\u2581": 1, "a": 2, "b": 3, "ab": 4, "\u2581a": 5, "1": 6}
    small = {
        "added_tokens": [
            {"id": 7, "content": "<s>", "special": True, "lstrip": True, "rstrip": True},
            {"id": 8, "content": "Word", "single_word": True, "normalized": True},
        ],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Strip"}, {"type": "StripAccents"},
            {"type": "Replace", "pattern": {"Regex": "\\s{2,}|[x-z]"}, "content": "b"},
        ]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "(?i:a|b)+|\\p{N}{1,3}?(?!\\d)|\\s+$"},
             "behavior": "MergedWithNext", "invert": True},
            {"type": "Digits", "individual_digits": True}, {"type": "Punctuation"},
            {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"},
        ]},
        "post_processor": {"type": "TemplateProcessing", "single": [
            {"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
            "special_tokens": {"<s>": {"ids": [7]}}},
        "decoder": {"type": "Metaspace"},
        "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "vocab": vocab,
                  "merges": ["a b", ["\u2581", "a"]]},
    }  # fmt: skip
    put("tokenizer", "small", json.dumps(small).encode() + b"\0 ab <s> Word a12b  e\xcc\x81.")


for make in (klog, safetensors, manifest, torch_file, config, chunk, query, event_file, graphql,
             http, log_body, wandb, mlflow_body, image, dataset, sweep_file, job_book, run_folder,
             tokenizer):
    make()
