"""What modules state: the same in the loader, in a record, and derived from an older text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.errors import CompileFailed
from harness.records import modules
from harness.records.run import KernelRecord, region_of
from harness.runtime.module import load
from harness.verdicts.pairing import nodes_of
from tests.codegen import graphs
from tests.codegen.kernels import modules as emitted


def text_of(graph: object = graphs.LAYER_NORM) -> str:
    return emitted(graph)[0].text  # type: ignore[arg-type]


def as_before(text: str) -> str:
    """``text`` as modules were before they stated their hash, region and nodes."""
    found = modules.facts(text)
    origin = f"Region {found.region}; graph nodes: {', '.join(found.nodes)}"
    text = re.sub(r"^(CODE_HASH|REGION|NODES) = .*\n", "", text, flags=re.MULTILINE)
    return text.replace("\n", f"\n\n{origin}\n", 1).replace(
        "\n\n\ndef grid(", "\n\n\n_KERNEL = f\n\n\ndef grid("
    )


def test_a_module_states_what_its_record_and_its_loader_say(tmp_path: Path) -> None:
    (module,) = emitted(graphs.LAYER_NORM)
    found = modules.facts(module.text)
    assert found.code_hash == module.code_hash
    assert (found.region, found.nodes) == (module.region, module.origins)
    assert found.launch_hash == load(module.text, tmp_path).launch_hash
    assert found.best == load(module.text, tmp_path).raw.CONFIGS[0]
    record = KernelRecord("k", "per", 1, module=module.text)
    assert record.code_hash == module.code_hash
    assert (region_of(record), nodes_of(record)) == (module.region, frozenset(module.origins))
    assert dict(module.signature) == load(module.text, tmp_path).signature


@pytest.mark.parametrize("graph", [graphs.LAYER_NORM, graphs.BIAS], ids=lambda g: g.name)
def test_older_modules_are_read_by_the_same_function(graph: object) -> None:
    text = text_of(graph)
    old = as_before(text)
    assert "CODE_HASH" not in old and "REGION" not in old
    assert modules.facts(old) == modules.facts(text)


def test_remarks_and_names_do_not_change_what_executes() -> None:
    text = text_of()
    name = str(modules.stated(text, "KERNEL"))
    remarked = text.replace(
        "    xnumel = ", '    """What it\n    does."""\n\n    # rows\n    xnumel = ', 1
    ).replace("tl.rsqrt(", "tl.rsqrt(  ", 0)
    remarked = re.sub(r"(tmp0 = .*)", r"\1  # the first load", remarked)
    for other in (remarked, text.replace(name, f"{name}_2")):
        assert other != text
        assert modules.code_hash(other) == modules.code_hash(text)
    for changed in (
        text.replace("tmp0 = ", "tmp0 = 1.0 * ", 1),
        text.replace('"in_ptr0": "*fp32"', '"in_ptr0": "*fp16"'),
        text.replace('config["XBLOCK"]', '2 * config["XBLOCK"]'),
    ):
        assert changed != text
        assert modules.code_hash(changed) != modules.code_hash(text)


def test_a_string_that_is_no_documentation_counts() -> None:
    text = text_of().replace("    xnumel = ", '    s = """\n# {}\n"""\n    xnumel = ', 1)
    assert modules.code_hash(text) != modules.code_hash(text.replace("# {}", "# other"))


def test_assembly_in_brackets_counts() -> None:
    """Whole lines of it: two kernels that differ in nothing else are two."""
    call = 'tl.inline_asm_elementwise(  # (\n        "mov.b32 $0, {};"\n        "ret;",\n    )'
    text = text_of().replace("    xnumel = ", f"    s = {call}\n    xnumel = ", 1)
    assert modules.code_hash(text) != modules.code_hash(text.replace("{}", "$1"))


def test_a_string_that_begins_a_line_is_a_remark_unless_the_line_is_continued() -> None:
    text = text_of()
    for added, counts in (("s = 'a # b'", True), ("s = \\\n'a'", True), ("'''a\n# b'''", False)):
        other = text.replace("    xnumel = ", f"    {added}  # 'c'\n    xnumel = ", 1)
        assert (modules.code_hash(other) != modules.code_hash(text)) is counts
        assert modules.code_hash(other) == modules.code_hash(other.replace("# 'c'", '# """'))


def test_the_loader_says_what_is_of_the_wrong_type(tmp_path: Path) -> None:
    wrong = re.sub(r"^BYTES = .*$", "BYTES = 'many'", text_of(), flags=re.MULTILINE)
    with pytest.raises(CompileFailed, match="BYTES is 'many'"):
        load(wrong, tmp_path)
    with pytest.raises(CompileFailed, match="no OUTPUTS"):
        load(re.sub(r"^OUTPUTS = .*$", "", text_of(), flags=re.MULTILINE), tmp_path)


def test_what_a_module_computes_depends_on_the_places_of_its_arguments() -> None:
    """Of unknown sizes a module does not tell its arguments, and nothing names what it computes."""
    text = text_of()
    inputs = [line for line in text.splitlines() if line.startswith("    ((")]
    one, other = next((a, b) for a in inputs for b in inputs if a.split('"')[0] != b.split('"')[0])
    swapped = text.replace(one, "?").replace(other, one).replace("?", other)
    assert modules.computed(text).digest
    assert modules.computed(text).digest != modules.computed(swapped).digest
    unknown = text.replace(modules.facts(text).arguments, "")
    assert not modules.computed(unknown).digest
