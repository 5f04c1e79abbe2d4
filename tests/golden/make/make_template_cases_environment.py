"""Jinja2 as Hugging Face sets it up for chat templates; used by make_template_cases.py."""
import datetime, json
from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

def fail(message): raise TemplateError(message)

class Generation(Extension):
    tags = {"generation"}
    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_pass"), [], [], body).set_lineno(line)
    def _pass(self, caller): return caller()

environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = fail
environment.globals["strftime_now"] = datetime.datetime(2026, 7, 4, 12, 30).strftime

def render(source, variables):
    try:
        text = environment.from_string(source).render(json.loads(json.dumps(variables)))
        text.encode("utf-8")  # a lone surrogate is no text
        return dict(text=text)
    except Exception as e:
        return dict(error=f"{type(e).__name__}: {e}")
