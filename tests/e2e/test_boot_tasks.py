"""What crosses the border between JavaScript and Python, and how a task ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import handlers
from tests.corpus import small
from tests.e2e.boot_bench import Session

if TYPE_CHECKING:
    from tests.e2e.boot_bench import BootBench

THREADS = ("inWorker", "onMain")


@pytest.mark.parametrize("thread", THREADS)
def test_falsy_results_settle_like_any_other(quick_boot: BootBench, thread: str) -> None:
    """0, false, the empty string and null are results."""
    values: list[Any] = [0, False, "", None, [], {}]

    session = quick_boot.start(thread, *(("probe-echo", {"value": value}) for value in values))

    assert session.results == values
    assert [type(result) for result in session.results] == [type(value) for value in values]


@pytest.mark.parametrize("thread", THREADS)
def test_payload_arrives_as_plain_python(quick_boot: BootBench, thread: str) -> None:
    """A handler never sees a proxy."""
    fields = {
        "bytes": {"bytes": [1, 2]},
        "whole": 3,
        "part": 1.5,
        "text": "x",
        "truth": True,
        "nothing": None,
        "list": [1],
        "object": {"inner": 1},
    }
    payload = {"buffer": {"bytes": [1, 2]}, "fields": fields}

    [types] = quick_boot.start(thread, ("probe-types", payload)).results

    assert types == {
        "buffer": "bytes",
        "bytes": "bytes",
        "whole": "int",
        "part": "float",
        "text": "str",
        "truth": "bool",
        "nothing": "NoneType",
        "list": "list",
        "object": "dict",
    }


@pytest.mark.parametrize("thread", THREADS)
def test_payload_of_another_kind_is_refused(quick_boot: BootBench, thread: str) -> None:
    """No payload is an empty one; what is no object, or fits no parameter, is named."""
    payloads: list[Any] = [None, 5, "x", True, [1], {"x": "7"}, {"x": True}, {"x": 1, "y": 2}]

    answers = quick_boot.start(thread, *(("square", payload) for payload in payloads)).answers

    errors = [failed["error"] for failed in answers]
    assert {error["code"] for error in errors} == {"bad-payload"}
    fields = [error["details"]["field"] for error in errors]
    assert fields == ["x", "payload", "payload", "payload", "payload", "x", "x", "y"]


@pytest.mark.parametrize("thread", THREADS)
def test_none_is_null_at_every_depth(quick_boot: BootBench, thread: str) -> None:
    """None becomes null, which JSON keeps, and not undefined, which it drops."""
    assert quick_boot.start(thread, ("probe-none-inside", {})).results == [
        {"field": None, "list": [None, {"deep": None}]}
    ]


@pytest.mark.parametrize("thread", THREADS)
def test_arrays_arrive_as_typed_arrays_with_their_own_buffer(
    quick_boot: BootBench, thread: str
) -> None:
    """An array is not a view of the whole of Python's memory."""
    [result] = quick_boot.start(thread, ("probe-arrays", {})).results

    assert result == {
        "counts": {
            "array": "Uint32Array",
            "values": [0, 1, 2, 3, 4, 5, 6, 7],
            "byteLength": 4 * 65536,
        },
        "raw": {"array": "Uint8Array", "values": [97, 98, 99], "byteLength": 3},
    }


@pytest.mark.parametrize("thread", THREADS)
def test_progress_is_reported_on_the_way(quick_boot: BootBench, thread: str) -> None:
    """Every value that a handler reports arrives, in order."""
    session = quick_boot.start(thread, ("probe-progress", {}))

    assert [message["value"] for message in session.of("progress")] == [0, 0.5, 1]
    assert session.results == ["reported"]


@pytest.mark.parametrize("thread", THREADS)
def test_python_exception_arrives_with_its_class_and_its_own_frames(
    quick_boot: BootBench, thread: str
) -> None:
    """A traceback shows the handler's frames and none of the machinery's."""
    [failed] = quick_boot.start(thread, ("probe-raise", {})).answers

    error = failed["error"]
    assert (error["name"], error["message"]) == ("ZeroDivisionError", "division by zero")
    assert "handlers/probe.py" in error["traceback"]
    assert "_pyodide" not in error["traceback"]
    assert "handlers/browser.py" not in error["traceback"]
    assert "code" not in error


@pytest.mark.parametrize("thread", THREADS)
def test_handlers_error_arrives_with_code_and_details(quick_boot: BootBench, thread: str) -> None:
    """A page can build a sentence of its own from a refusal."""
    [failed] = quick_boot.start(thread, ("probe-refuse", {})).answers

    error = failed["error"]
    assert (error["name"], error["message"]) == ("HandlerError", "The sentence.")
    assert (error["code"], error["details"]) == ("probe-code", {"limit": 3, "name": None})


@pytest.mark.parametrize("thread", THREADS)
def test_unknown_task_is_refused(quick_boot: BootBench, thread: str) -> None:
    """Only registered names run, whatever JavaScript calls its own things."""
    names = ("no-such-task", "toString", "__proto__")

    answers = quick_boot.start(thread, *((name, {}) for name in names)).answers

    assert len(answers) == len(names)
    for failed in answers:
        assert failed["error"]["name"] == "UnknownTaskError"
        assert failed["error"]["code"] == "unknown-task"


@pytest.mark.parametrize("thread", THREADS)
def test_result_without_meaning_in_javascript_fails_the_task_alone(
    quick_boot: BootBench, thread: str
) -> None:
    """A function is not a result; the interpreter goes on."""
    session = quick_boot.start(thread, ("probe-function", {}), ("probe-echo", {"value": 1}))

    [failed, done] = session.answers
    assert failed["error"]["name"] == "TypeError"
    assert done["result"] == 1


ODD = ("set", "key", "table", "dates", "date", "complex", "object")


def test_result_that_would_be_something_else_is_refused(quick_boot: BootBench) -> None:
    """A set, a key that is no name, a table, a date: each by an error that names it."""
    session = quick_boot.start(
        "inWorker", ("probe-numbers", {}), *(("probe-odd", {"kind": kind}) for kind in ODD)
    )

    [numbers, *refused] = session.answers
    assert numbers["result"] == [3, 1.5, True, 7]
    assert [failed["error"]["name"] for failed in refused] == ["TypeError"] * len(ODD)
    assert "must not hold a set" in refused[0]["error"]["message"]
    assert "must be a str, not int" in refused[1]["error"]["message"]


def test_result_that_cannot_be_cloned_fails_the_task_alone(quick_boot: BootBench) -> None:
    """The browser's refusal to clone a result is the task's failure; the worker goes on."""
    session = quick_boot.start("inWorker", ("probe-js-function", {}), ("probe-echo", {"value": 1}))

    [failed, done] = session.answers
    assert failed["error"]["name"] == "DataCloneError"
    assert done["result"] == 1


@pytest.mark.parametrize("thread", THREADS)
def test_every_way_to_fail_arrives(quick_boot: BootBench, thread: str) -> None:
    """Causes are told one by one, what is too long is cut, and no error hides another.

    None of it needs a file that a restored interpreter has not.
    """
    kinds = ("chain", "huge", "unprintable", "exit")

    session = quick_boot.start(thread, *(("fail", {"kind": kind}) for kind in kinds))

    chain, huge, unprintable, exit_ = (failed["error"] for failed in session.answers)
    assert chain["cause"]["name"] == "LookupError"
    assert chain["cause"]["cause"]["message"] == "The first of three."
    assert "cause" not in chain["cause"]["cause"]
    assert len(huge["message"]) + len(huge["traceback"]) < 50_000
    assert "characters left out" in huge["message"]
    assert unprintable["name"] == "UnprintableError"
    assert (exit_["name"], exit_["message"]) == ("SystemExit", "It was to be expected.")
    assert session.boot["boot"]["path"] == "shared"
    assert not [url for url in quick_boot.requests if "python_stdlib" in url]


@pytest.mark.parametrize("thread", THREADS)
def test_large_array_arrives_whole(quick_boot: BootBench, thread: str) -> None:
    """As one typed array with a buffer of its own."""
    [array] = quick_boot.start(thread, ("allocate", {"megabytes": 3})).results

    assert array == {"array": "Uint8Array", "values": [1] * 8, "byteLength": 3 << 20}


def test_smaller_pictures_are_those_of_the_server(quick_boot: BootBench) -> None:
    """Formats that are decoded alike become the same pixels; the PNG arrives as bytes."""
    exact = [sample.data for sample in small().values() if sample.exact][::4]
    asked = [("resize_image", {"image": {"bytes": list(data)}, "max_side": 20}) for data in exact]

    results = quick_boot.start("inWorker", *asked).results

    for data, result in zip(exact, results, strict=True):
        here: dict[str, Any] = handlers.run("resize_image", {"image": data, "max_side": 20})
        encoded, png = result.pop("image"), here.pop("image")
        assert (encoded["array"], bytes(encoded["values"][:8])) == ("Uint8Array", png[:8])
        assert result == here


@pytest.mark.parametrize("thread", THREADS)
def test_nothing_stays_behind_in_python(quick_boot: BootBench, thread: str) -> None:
    """After hundreds of tasks there are as many objects and references as before."""
    buffer = {"bytes": [1] * 1000}
    mixed: list[tuple[str, Any]] = [
        ("spin", {"seconds": 0.001}),
        ("sleep", {"seconds": 0}),
        ("probe-types", {"buffer": buffer, "fields": {"a": buffer, "b": [None]}}),
        ("allocate", {"megabytes": 1}),
        ("fail", {"kind": "chain"}),
        ("square", {}),
        ("probe-raise", {}),
        ("probe-function", {}),
        ("probe-circle", {}),
    ]
    count = ("probe-live", {})

    session = quick_boot.start(thread, *mixed * 3, count, *mixed * 30, count)

    before, after = (answer["result"] for answer in session.of("done") if has_counts(answer))
    assert after == before


def has_counts(answer: dict[str, Any]) -> bool:
    """Tell whether it is the answer of probe-live."""
    return isinstance(answer["result"], dict) and "references" in answer["result"]


def stopped(quick_boot: BootBench, *steps: dict[str, Any], **config: Any) -> list[str]:
    """Stop some tasks, with another one after each; say how they ended."""
    echo = {"task": "echo", "payload": {"value": "alive"}}
    in_turn = {"steps": [step for pair in ((step, echo) for step in steps) for step in pair]}
    answers = Session(quick_boot.call("inTurn", in_turn, **config)).answers
    ends = [answer["error"]["name"] if "error" in answer else "done" for answer in answers]
    assert [answer.get("result") for answer in answers[1::2]] == ["alive"] * len(steps)
    return ends[::2]


@pytest.mark.parametrize("path", ["snapshot", "plain"])
def test_interrupt_ends_a_busy_task_and_the_next_one_runs(quick_boot: BootBench, path: str) -> None:
    """The shared byte stops Python wherever the task's own code runs, and only that task.

    Whoever interrupts writes until the task has answered, and clears the byte then.
    """
    ends = stopped(
        quick_boot,
        {"task": "spin", "payload": {}, "stop": "interrupt"},
        {"task": "probe-stubborn", "payload": {}, "stop": "interrupt"},
        {"task": "probe-busy", "payload": {}, "stop": "interrupt"},
        {"task": "probe-many", "payload": {"count": 20_000}, "stop": "interrupt"},
        plain=path == "plain",
    )

    assert ends[:2] == ["KeyboardInterrupt", "KeyboardInterrupt"]
    # In its own code or in that of the event loop.
    assert ends[2] in ("KeyboardInterrupt", "CancelledError")
    # In its last line, or too late: while the result is converted.
    assert ends[3] in ("KeyboardInterrupt", "done")


def test_cancelled_task_settles_and_the_next_one_runs(quick_boot: BootBench) -> None:
    """Whatever it awaits, also with interrupts besides, and however it cleans up."""
    waits: list[dict[str, Any]] = [
        {"task": "probe-wait", "payload": {"how": how}, "stop": stop}
        for how, stop in (
            ("once", "cancel"),
            ("once", "both"),
            ("child", "cancel"),
            ("clean", "cancel"),
            ("clean", "both"),
        )
    ]
    early = {"task": "sleep", "payload": {"seconds": 3600}, "stop": "cancel", "when": "sent"}
    busy = {"task": "probe-busy", "payload": {}, "stop": "cancel"}

    ends = stopped(quick_boot, *waits, early, busy)

    assert ends[2] == ends[3] == ends[5] == ends[6] == "CancelledError"
    assert set(ends) <= {"CancelledError", "KeyboardInterrupt"}


def test_cancel_comes_too_late_for_a_task_that_never_waits(quick_boot: BootBench) -> None:
    """It is done, and the next one is not hit."""
    ends = stopped(
        quick_boot,
        {"task": "grind", "payload": {"size": 1000}, "stop": "cancel", "when": "sent"},
        {"task": "sleep", "payload": {"seconds": 0}, "stop": "cancel", "when": "sent"},
    )

    assert ends[0] == "done"
    assert ends[1] in ("done", "CancelledError")


@pytest.mark.complaints("fatal error", "Maximum call stack", "Stack trace")
@pytest.mark.parametrize(
    ("how", "types"),
    [("error", ["error"]), ("close", ["gone"]), ("rejection", ["fatal"]), ("fatal", ["fatal"])],
)
def test_crash_is_seen_and_never_answered(
    quick_boot: BootBench, how: str, types: list[str]
) -> None:
    """By an error event, by a message, or without a word; its lock is free in any case."""
    seen = quick_boot.call("toTheEnd", {"task": "crash", "payload": {"how": how}})

    assert [message["type"] for message in seen] == types


def test_crash_spares_the_page(quick_boot: BootBench) -> None:
    """On the main thread it is refused."""
    [failed] = quick_boot.start("onMain", ("crash", {"how": "close"})).answers

    assert failed["error"]["code"] == "not-in-a-worker"


@pytest.mark.complaints("fatal error", "Maximum call stack", "Stack trace")
def test_broken_interpreter_is_fatal(quick_boot: BootBench) -> None:
    """An interpreter that broke says so instead of failing one task after another."""
    session = quick_boot.start("inWorker", ("probe-break", {}), ("probe-echo", {"value": 1}))

    error = session.messages[-1]["error"]
    assert session.messages[-1]["type"] == "fatal"
    assert error["name"] == "RuntimeBrokenError"
    assert session.answers == []


def test_unhandled_rejection_is_fatal(quick_boot: BootBench) -> None:
    """A rejection that nobody handles, which the page cannot see, is reported."""
    message = quick_boot.page.evaluate(
        """async ([assets, runtimeURL]) => {
          const worker = new Worker(assets + "worker.js", {type: "module"});
          worker.postMessage({type: "boot", config: {runtimeURL}});
          worker.postMessage({type: "run", id: 1, task: "probe-reject", payload: {}});
          return await new Promise((resolve) => {
            worker.onmessage = ({data}) => {
              if (data.type === "fatal") { worker.terminate(); resolve(data); }
            };
          });
        }""",
        [f"{quick_boot.origin}{quick_boot.assets}", f"{quick_boot.origin}{quick_boot.runtime}"],
    )

    # Pyodide cannot turn a rejection with a string into an exception, and rejects for that reason.
    assert "invalid exception object" in message["error"]["message"]
