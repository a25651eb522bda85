"""Writes tests/fixtures/data/chat/cases.json: what jinja2, set up as transformers does, renders.

    python3 tools/golden/chat.py            (needs the package jinja2)

The templates in tests/fixtures/data/chat/*.jinja are those of models under Apache-2.0. Others are
compared by tests/chat/parity.py, which fetches them. src/data/chat/chat_template_test.cc reads it.
"""

import json
import pathlib

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "fixtures" / "data" / "chat"


class Generation(jinja2.ext.Extension):
    """{% generation %}, as transformers' AssistantTracker without its notes."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_pass", [])
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _pass(self, caller):
        return caller()


def environment() -> jinja2.Environment:
    """As transformers/utils/chat_template_utils.py makes it."""

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)  # fmt: skip

    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    return made


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": 'Wetter f\u00fcr <St\u00e4dte> & "more"\n',
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "\u57ce\u5e02"},
                "days": {"type": "integer", "enum": [1, 2.5, -3e20, 1e-5, True, None]},
            },
            "required": ["city"],
        },
        "return": {"type": "string"},
    },
}
CALL = {
    "type": "function",
    "id": "abcdefghi",
    "function": {"name": "get_weather", "arguments": {"city": "K\u00f6ln", "days": 3}},
}
CONVERSATIONS = {
    "one": [user("Hi")],
    "pair": [user(" Hello\n there "), assistant("  Hi!  ")],
    "system": [{"role": "system", "content": "Be brief. "}, user("Hi"), assistant("Yes")],
    "multi": [{"role": "system", "content": "x"}, user("a"), assistant("b"), user("c\n\nd"),
              assistant("e"), user("f"), assistant("g")],
    "no system": [user("a"), assistant("b"), user("c"), assistant("d {{ x }} {% if %}")],
    "thinking": [user("a"), assistant("<think>\nhm\n</think>\n\nb"), user("c"),
                 assistant("<think>\nmore\n</think>\n\nd")],
    "reasoning": [user("a"), assistant("b", reasoning_content="I think"), user("c"),
                  assistant("d", reasoning_content="again")],
    "tools": [{"role": "system", "content": "sys"}, user("Weather?"),
              assistant(None, tool_calls=[CALL]),
              {"role": "tool", "tool_call_id": "abcdefghi", "content": '{"t": 21.5}'},
              assistant("It is 21.5"), user("thanks"), assistant("np")],
    "tools, empty content": [user("Weather?"), assistant("", tool_calls=[CALL]),
                             {"role": "tool", "tool_call_id": "abcdefghi", "content": "x"},
                             assistant("It is 21.5")],
    "unicode": [user("\u65e5\u672c\u8a9e \U0001f600\u00a0 \u3000"),
                assistant("\u00e7a \u2028 ok\t")],
    "assistant first": [assistant("hello"), user("b"), assistant("c")],
    "parts": [user([{"type": "text", "text": " look "}, {"type": "image"}]),
              assistant([{"type": "text", "text": "ok"}])],
    "empty": [],
}  # fmt: skip

# For snippets.txt: a template a line, a feature each; `messages` is "multi".
VARIABLES = {
    "x": 3, "y": 2.5, "t": True, "n": None, "s": " Hello, W\u00f6rld\n", "l": ["b", "A", "c", "a"],
    "d": {"b": 1, "a": [1, "two", None], "items": "key"}, "e": "", "big": 1e16, "q": "it's",
    "rows": [{"k": "x", "v": 2, "w": {"z": 1}}, {"k": "y", "v": 1}, {"k": "x", "v": 3}],
}  # fmt: skip
SNIPPETS = (FOLDER / "snippets.txt").read_text(encoding="utf-8").splitlines()

# White space, with its own lines.
BLOCKS = [
    "a\n{% if true %}\nb\n{% endif %}\nc\n",
    "a\n   {% if true %}  \n  b\n  {% endif %}\nc\n\n",
    "a  {%- if true -%}  \n\n b {%- endif -%}\n c",
    "a\n  {%+ if true %}\nb\n  {%- endif +%}\nc",
    "  {{ x }}\n  {{- x -}}\n  {{ x }}\n",
    "a\n  {# c #}\nb {#- c -#} \n d\n",
    "{% for i in [1, 2] %}\n    {{ i }}\n{% endfor %}\nend",
    "x {% if true %} y {% endif %} z\n\t{% if true %}\n",
    "a\r\nb\r{% if true %}\r\nc{% endif %}\r\n",
    "{% raw -%}  a {{ x }}\n {%- endraw %}\n b",
    "  {% raw %} a {% endraw %}  b",
    "{{\n x\n}}\n{%\n if\n true\n%}\n  q\n{% endif %}",
    "a { b {x} {{ '{{' }} }} %} {% if true %}{% endif %}",
    "\n\n{%- set a = 1 %}\n\n{{ a }}\n\n",
    "{{ '}}' }}{{ \"%}\" }}{{ {'a': '}'} }}",
]
# Without an expected text: kedge's error must hold `says`.
REFUSED = [
    ["{{ x | frobnicate }}", "line 1: the filter 'frobnicate' is not known"],
    ["a\n{{ 1 }}\n{{ x is frobnicated }}", "line 3: the test 'frobnicated' is not known"],
    ["{{ frobnicate(1) }}", "line 1: the function 'frobnicate' is not known"],
    ["{{ s.frobnicate() }}", "line 1: the method 'frobnicate' is not known"],
    ["{% frobnicate %}", "line 1: the statement 'frobnicate' is not known"],
    ["{% if x %}", "{% endif %} is missing"],
    ["{{ x ", "not closed"],
    ["\n{{ 'abc }}", "line 2: a text in quotes is not closed"],
    ["{% for %}", "line 1: a variable's name is wanted"],
    ["{{ x + }}", "line 1: a value is wanted, not '}}'"],
    ["{{ ) }}", "line 1: ')' closes nothing"],
    ["{% include 'x' %}", "line 1: the statement 'include' is not known"],
    ["{% break %}", "line 1: {% break %} stands in no loop"],
    ["{{ 99999999999999999999 }}", "has more than 64 bits"],
    ["{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
     "does not end"],
    ["{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested deeper than 500"],
    ["{% set ns = namespace(a='x' * 1000) %}{% for i in range(100000) %}"
     "{% set ns.a = ns.a + ns.a %}{% endfor %}", "64 MiB"],
    ["{{ " + "(" * 700 + "1" + ")" * 700 + " }}", "nested deeper than"],
    ["{{ 1" + " + 1" * 700 + " }}", "more than 200 steps"],
    ["{% if x %}" * 700, "nested deeper than"],
    ["{{ strftime_now('%Y') }}", "'strftime_now' is undefined"],
    ["{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", "cannot be printed"],
]  # fmt: skip


def expected(made: jinja2.Environment, case: dict) -> dict:
    """The case with its text; without where jinja2 refuses."""
    try:
        case["text"] = made.from_string(case["template"]).render(
            messages=case["messages"], tools=case.get("tools"), documents=None,
            add_generation_prompt=case.get("prompt", False), bos_token=case.get("bos", ""),
            eos_token=case.get("eos", ""), **case.get("variables", {}))  # fmt: skip
    except (jinja2.exceptions.TemplateError, TypeError, ZeroDivisionError) as error:
        case["refused"] = str(error)
    return case


def main() -> None:
    made = environment()
    conversations = []
    for path in sorted(FOLDER.glob("*.jinja")):
        for name, messages in CONVERSATIONS.items():
            for prompt in (False, True):
                for tools in (None, [TOOL]) if "tools" in name or name == "pair" else (None,):
                    case = expected(made, {"template": path.read_text(), "messages": messages,
                                           "tools": tools, "prompt": prompt, "bos": "<s>",
                                           "eos": "</s>"})  # fmt: skip
                    del case["template"], case["bos"], case["eos"], case["messages"]
                    case["tools"] = tools is not None
                    conversations.append({"file": path.name, "messages": name, **case})
    snippets = [
        expected(made, {"template": text, "messages": CONVERSATIONS["multi"],
                        "variables": VARIABLES})
        for text in SNIPPETS + BLOCKS
    ]  # fmt: skip
    for case in snippets:
        del case["messages"], case["variables"]
    golden = {"messages": CONVERSATIONS, "tools": [TOOL], "variables": VARIABLES,
              "conversations": conversations, "snippets": snippets,
              "refused": [{"template": text, "says": says} for text, says in REFUSED]}  # fmt: skip
    with open(FOLDER / "cases.json", "w", encoding="utf-8") as file:
        json.dump(golden, file, ensure_ascii=False, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
