from __future__ import annotations

import json

import pytest


@pytest.fixture
def plans(machine):
    for name in ("PLAN.md", "PLAN-foo.md"):
        machine.run("state", "write", name, input=f"# {name}\n")
    return machine


def test_the_active_plan_has_a_star(plans):
    assert plans.run("plan", "list").out == "* PLAN.md\n  PLAN-foo.md\n"

    assert plans.run("plan", "use", "foo").out == "PLAN-foo.md\n"

    assert plans.run("plan", "list").out == "  PLAN.md\n* PLAN-foo.md\n"
    assert plans.run("plan", "clear").code == 0
    assert plans.run("plan", "list").out == "* PLAN.md\n  PLAN-foo.md\n"


def test_plans_are_listed_in_json(plans):
    plans.run("plan", "use", "foo")

    listed = json.loads(plans.run("plan", "list", "--json").out)

    assert listed == {
        "schema": 1,
        "project": "widgets",
        "active": "PLAN-foo.md",
        "plans": [{"file": name, "path": str(plans.harness / name)} for name in ("PLAN.md", "PLAN-foo.md")],
        "problem": None,
    }


@pytest.mark.parametrize("marker", ["gone\n", "", "../foo\n"])
def test_a_marker_that_leads_nowhere_is_reported_after_the_list(plans, marker):
    (plans.harness / "active-plan").write_text(marker)

    listed = plans.run("plan", "list")

    assert (listed.code, listed.out) == (1, "  PLAN.md\n  PLAN-foo.md\n")
    assert listed.err.startswith(f"error: the active-plan marker {plans.harness}/active-plan ")
    in_json = plans.run("plan", "list", "--json")
    assert in_json.code == 1
    assert json.loads(in_json.out)["problem"].startswith("the active-plan marker")


def test_a_plan_that_is_not_there_is_not_used(plans):
    refused = plans.run("plan", "use", "bar")

    assert refused.code == 1
    assert "there is no plan PLAN-bar.md" in refused.err
    assert not (plans.harness / "active-plan").exists()


def test_an_unsafe_name_is_refused(plans):
    refused = plans.run("plan", "use", "../PLAN")

    assert (refused.code, refused.err.startswith("error: unsafe plan name")) == (1, True)
