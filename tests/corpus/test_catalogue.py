from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from typing import ClassVar

import pytest

from harness.corpus import store
from harness.errors import UnknownName, UsageError
from harness.graph.suite import FOLDER
from harness.graph.text import loads
from suites.building import catalogue
from suites.building.__main__ import main
from suites.building.capturing import merged, shards
from suites.building.counterparts import ShrinkJob, alike, with_small

FILE = """
[defaults]
family = "language"
options = {{ rows = 3 }}
[[variant]]
mode = "inference"
dtype = "f16"
size = "latency"
options = {{ columns = 40 }}
[[model]]
target = "{target}"
{more}
"""


def written(folder, target="corpus_models:softmax", more=""):
    (folder / "models.toml").write_text(FILE.format(target=target, more=more))
    return folder


def test_a_model_is_two_lines(tmp_path):
    (one,) = catalogue.load(written(tmp_path, "corpus_models:softmax", 'origin = "here"'))
    assert one.name == "softmax/inference/f16/latency"
    assert (one.model.family, one.model.origin) == ("language", "here")
    assert one.options == {"columns": 40, "rows": 3}


def test_the_line_that_the_readme_shows_is_one_of_every_file(tmp_path):
    (line,) = re.findall(r"^ +{ target.*$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    for path in (FOLDER / "corpus").glob("*.toml"):
        text = path.read_text()
        assert text.count("\nmodel = [\n") == 1, path
        text = text.replace("\nmodel = [\n", f"\nmodel = [\n{line}\n")
        (tmp_path / "models.toml").write_text(text.replace("LlamaForCausalLM", "New", 1))
        assert any(p.model.name == "New" for p in catalogue.load(tmp_path))


def test_a_variant_of_some_models(tmp_path):
    more = '[[model]]\ntarget = "x:sum"\n[[model]]\ntarget = "x:mean"'
    text = FILE.format(target="x:softmax", more=more)
    some = "[[variant]]\nmode = 'training'\ndtype = 'f32'\nsize = 's'\nonly = 'soft*,su*'\n"
    (tmp_path / "models.toml").write_text(text.replace("[[model]]", f"{some}[[model]]", 1))
    found = [p.model.name for p in catalogue.load(tmp_path) if p.variant.mode == "training"]
    assert found == ["softmax", "sum"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("seconds = 'long'", "float"),
        ("colour = 'red'", "colour"),
        ("[[model]]", "target"),
        ("][", "models.toml"),
        ('[[model]]\ntarget = "x:softmax"', "twice"),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path, more, said):
    with pytest.raises(UsageError, match=r"models\.toml") as caught:
        catalogue.load(written(tmp_path, more=more))
    assert said in str(caught.value)


def test_an_empty_catalogue(tmp_path):
    with pytest.raises(UsageError, match="no model"):
        catalogue.load(tmp_path)


def test_names_and_patterns_of_names():
    planned = catalogue.load(FOLDER / "corpus")
    assert {p.model.name for p in catalogue.named(planned, ["GPT2LM*"])} == {"GPT2LMHeadModel"}
    with pytest.raises(UnknownName, match="no such model") as caught:
        catalogue.named(planned, ["GPT2LMHeadMode"])
    assert "GPT2LMHeadModel" in caught.value.expected


MODELS = """
import os, time, torch
def softmax(rows, columns):
    return (lambda x: torch.softmax(x, -1)), (torch.randn(rows, columns),)
def crash(rows, columns):
    os._exit(3)
def hang(rows, columns):
    time.sleep(60)
def refuse(rows, columns):
    raise ValueError(f"three rows are too few, see {__file__} and a/b\\nreally")
"""


def test_captures_that_crash_hang_or_fail_are_rows(tmp_path, monkeypatch):
    (tmp_path / "corpus_models.py").write_text(MODELS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    names = ("softmax", "crash", "hang", "refuse")
    others = "".join(f'[[model]]\ntarget = "corpus_models:{n}"\n' for n in names[1:])
    others = others.replace(':hang"\n', ':hang"\nseconds = 4\n')
    planned = catalogue.load(written(tmp_path, more=others))
    found = shards(planned, tmp_path / "work", 1)
    reasons = dict(zip(names, (s.capture.reason for s in found), strict=True))
    assert reasons["softmax"] == "" and len(found[0].patterns) == 1
    assert "ended" in reasons["crash"] or "died" in reasons["crash"]
    assert "4 s" in reasons["hang"]
    assert "three rows are" in reasons["refuse"] and "\n" not in reasons["refuse"]
    assert "see corpus_models.py and a/b" in reasons["refuse"], "no folder of this machine"
    again = shards(planned, tmp_path / "work", 0)
    assert again == found, "captures that are known are not made again"


PLACES = """
import torch
def places(rows, columns):
    limit = rows * columns - 1
    def looked_up(x, at):
        return x[at.clamp(0, limit) + limit - limit]
    return looked_up, (torch.randn(rows * columns), torch.arange(columns))
"""


def test_where_a_search_finds_none_a_small_counterpart_is_cut_from_a_small_model(
    tmp_path, monkeypatch
):
    """A limit of positions is a number like any other: only the model knows what it is of."""
    (tmp_path / "corpus_models.py").write_text(PLACES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("suites.building.counterparts.ShrinkJob", _Refuses)
    small = "small = { rows = 2 }\n"
    for more, reason in (("", "no sizes"), (small, "")):
        planned = catalogue.load(written(tmp_path, "corpus_models:places", more))
        patterns = merged(shards(planned, tmp_path / "work", 1))
        (made,) = with_small(patterns, 1, planned=planned)
        assert made.without_small == reason and bool(made.small) is bool(more)
    whole, cut = loads(made.text), loads(made.small)
    assert alike(whole, cut) and cut.name == whole.name
    assert [max(int(i.type.shape[0]) for i in g.inputs) for g in (whole, cut)] == [120, 80]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refuses(ShrinkJob):
    handler: ClassVar[str] = "tests.corpus.test_catalogue:refuse"


def refuse(_context, _job):
    """A search that finds nothing."""
    return "", "no sizes"


def test_regions_of_other_calls_types_or_dimensions_are_not_alike():
    def text(dim=1, dtype="f32", rows=3, op="exp"):
        return f"""# harness graph 1
def one(x: "{dtype}[{rows}, 9]"):
    a: "{dtype}[{rows}, 9]" = aten.{op}.default(x)
    b: "{dtype}[{rows}]" = aten.sum.dim_IntList(a, [{dim}])
    return (b,)
"""

    first = loads(text())
    assert alike(first, loads(text(rows=5)))
    for other in (text(dtype="bf16"), text(op="sin")):
        assert not alike(first, loads(other))
    square = loads(text(rows=9))
    assert not alike(square, loads(text(rows=9, dim=0)))


def test_a_corpus_is_built_tried_and_drawn_by_one_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "corpus_models.py").write_text(MODELS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = written(tmp_path, more='[[model]]\ntarget = "corpus_models:refuse"\n')
    places = ("--folder", str(folder), "--work", str(tmp_path / "work"), "--jobs", "1")
    assert main(["build", *places]) is None
    assert "1 patterns (1 with a small counterpart) of 2 captures" in capsys.readouterr().out
    first = store.load(folder)
    assert [bool(c.reason) for c in first.captures] == [False, True]
    assert main(["build", "--no-capture", *places]) is None
    assert store.load(folder).digest == first.digest, "built again it is the same"
    shutil.rmtree(tmp_path / "work")
    others = "".join(f'[[model]]\ntarget = "corpus_models:{n}"\n' for n in ("refuse", "unheard"))
    written(tmp_path, more=others)
    assert main(["build", "--no-capture", *places]) is None
    again = store.load(folder)
    assert again.digest == first.digest and again.captures == first.captures, "of what is there"
    capsys.readouterr()
    assert main(["causes", *places]) is None
    said = capsys.readouterr().out
    assert "| captured | 1 | 1 |" in said and "| not made yet | 1 | 1 |" in said
    assert "| refuse/inference/f16/latency | could not be built: ValueError: three rows" in said
    told: list[tuple[object, ...]] = []
    monkeypatch.setattr("harness.report.output.Progress.update", lambda _, *s: told.append(s))
    assert main(["try", *places]) is None
    assert [far for _, *far in told] == [[1, 1]]
    assert "1 patterns, 1 distinct kernels" in (said := capsys.readouterr().out)
    assert "0 patterns with something wrong" in said
    pytest.importorskip("matplotlib")
    assert main(["picture", str(tmp_path / "c.svg"), *places]) is None
    assert "1 patterns of 1 models" in (tmp_path / "c.svg").read_text()
    assert "no such model" in str(main(["build", "unheard-of", *places]))
