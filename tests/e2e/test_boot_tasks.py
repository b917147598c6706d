"""What crosses the border between JavaScript and Python, and how a task ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.boot_bench import BootBench

THREADS = ("inWorker", "onMain")


@pytest.mark.parametrize("thread", THREADS)
def test_falsy_results_settle_like_any_other(boot_bench: BootBench, thread: str) -> None:
    """0, false, the empty string and null are results."""
    values: list[Any] = [0, False, "", None, [], {}]

    session = boot_bench.start(thread, *(("probe-echo", {"value": value}) for value in values))

    assert session.results == values
    assert [type(result) for result in session.results] == [type(value) for value in values]


@pytest.mark.parametrize("thread", THREADS)
def test_payload_arrives_as_plain_python(boot_bench: BootBench, thread: str) -> None:
    """A handler never sees a proxy."""
    payload = {
        "image": {"bytes": [1, 2]},
        "whole": 3,
        "part": 1.5,
        "text": "x",
        "truth": True,
        "nothing": None,
        "list": [1],
        "object": {"inner": 1},
    }

    [types] = boot_bench.start(thread, ("probe-types", payload)).results

    assert types == {
        "image": "'bytes'",
        "whole": "'int'",
        "part": "'float'",
        "text": "'str'",
        "truth": "'bool'",
        "nothing": "'NoneType'",
        "list": "'list'",
        "object": "'dict'",
    }


@pytest.mark.parametrize("thread", THREADS)
def test_task_without_payload_gets_an_empty_one(boot_bench: BootBench, thread: str) -> None:
    """No payload is an empty payload."""
    assert boot_bench.start(thread, ("probe-types", None)).results == [{}]


@pytest.mark.parametrize("thread", THREADS)
def test_none_is_null_at_every_depth(boot_bench: BootBench, thread: str) -> None:
    """None becomes null, which JSON keeps, and not undefined, which it drops."""
    assert boot_bench.start(thread, ("probe-none-inside", {})).results == [
        {"field": None, "list": [None, {"deep": None}]}
    ]


@pytest.mark.parametrize("thread", THREADS)
def test_arrays_arrive_as_typed_arrays_with_their_own_buffer(
    boot_bench: BootBench, thread: str
) -> None:
    """An array is not a view of the whole of Python's memory."""
    [result] = boot_bench.start(thread, ("probe-arrays", {})).results

    assert result == {
        "counts": {
            "array": "Uint32Array",
            "values": [0, 1, 2, 3, 4, 5, 6, 7],
            "byteLength": 4 * 65536,
        },
        "raw": {"array": "Uint8Array", "values": [97, 98, 99], "byteLength": 3},
    }


@pytest.mark.parametrize("thread", THREADS)
def test_progress_is_reported_on_the_way(boot_bench: BootBench, thread: str) -> None:
    """Every value that a handler reports arrives, in order."""
    session = boot_bench.start(thread, ("probe-progress", {}))

    assert [message["value"] for message in session.of("progress")] == [0, 0.5, 1]
    assert session.results == ["reported"]


@pytest.mark.parametrize("thread", THREADS)
def test_python_exception_arrives_with_its_class_and_its_own_frames(
    boot_bench: BootBench, thread: str
) -> None:
    """A traceback shows the handler's frames and none of the machinery's."""
    [failed] = boot_bench.start(thread, ("probe-raise", {})).answers

    error = failed["error"]
    assert (error["name"], error["message"]) == ("ZeroDivisionError", "division by zero")
    assert "handlers/probe.py" in error["traceback"]
    assert "_pyodide" not in error["traceback"]
    assert "handlers/browser.py" not in error["traceback"]
    assert "code" not in error


@pytest.mark.parametrize("path", ["snapshot", "plain"])
def test_exception_from_the_standard_library_arrives_whole(
    boot_bench: BootBench, path: str
) -> None:
    """A traceback can be written where the source of its frames is missing."""
    session = boot_bench.start("inWorker", ("probe-raise-inside", {}), plain=path == "plain")

    [failed] = session.answers
    assert failed["error"]["name"] == "JSONDecodeError"
    assert "handlers/probe.py" in failed["error"]["traceback"]
    assert "json/decoder.py" in failed["error"]["traceback"]


@pytest.mark.parametrize("thread", THREADS)
def test_handlers_error_arrives_with_code_and_details(boot_bench: BootBench, thread: str) -> None:
    """A page can build a sentence of its own from a refusal."""
    [failed] = boot_bench.start(thread, ("probe-refuse", {})).answers

    error = failed["error"]
    assert (error["name"], error["message"]) == ("HandlerError", "The sentence.")
    assert (error["code"], error["details"]) == ("probe-code", {"limit": 3, "name": None})


@pytest.mark.parametrize("thread", THREADS)
def test_unknown_task_is_refused(boot_bench: BootBench, thread: str) -> None:
    """Only registered names run, whatever JavaScript calls its own things."""
    names = ("no-such-task", "toString", "__proto__")

    answers = boot_bench.start(thread, *((name, {}) for name in names)).answers

    assert len(answers) == len(names)
    for failed in answers:
        assert failed["error"]["name"] == "UnknownTaskError"
        assert failed["error"]["code"] == "unknown-task"


@pytest.mark.parametrize("thread", THREADS)
def test_result_without_meaning_in_javascript_fails_the_task_alone(
    boot_bench: BootBench, thread: str
) -> None:
    """A function is not a result; the interpreter goes on."""
    session = boot_bench.start(thread, ("probe-function", {}), ("probe-echo", {"value": 1}))

    [failed, done] = session.answers
    assert failed["error"]["name"] == "ConversionError"
    assert done["result"] == 1


def test_result_that_cannot_be_cloned_fails_the_task_alone(boot_bench: BootBench) -> None:
    """The browser's refusal to clone a result is the task's failure; the worker goes on."""
    session = boot_bench.start("inWorker", ("probe-js-function", {}), ("probe-echo", {"value": 1}))

    [failed, done] = session.answers
    assert failed["error"]["name"] == "DataCloneError"
    assert done["result"] == 1


@pytest.mark.parametrize("path", ["snapshot", "plain"])
def test_interrupt_ends_a_busy_task_and_the_next_one_runs(boot_bench: BootBench, path: str) -> None:
    """The shared byte stops Python in an endless loop, and only that task.

    Whoever interrupts writes until the task has answered: about one write in sixty gets lost in
    Python. And it clears the byte before it sends the next task, which would be hit otherwise.
    """
    messages = boot_bench.page.evaluate(
        """async ([assets, runtimeURL, plain]) => {
          const interruptBuffer = new Uint8Array(new SharedArrayBuffer(1));
          const worker = new Worker(assets + "worker.js", {type: "module"});
          const post = (message) => worker.postMessage(message);
          post({type: "boot", config: {runtimeURL, interruptBuffer, plain}});
          post({type: "run", id: 1, task: "probe-interrupt", payload: {}});
          const answers = [];
          let writing;
          return await new Promise((resolve) => {
            worker.onmessage = ({data}) => {
              if (data.type === "progress") {
                writing = setInterval(() => { interruptBuffer[0] = 2; }, 250);
                interruptBuffer[0] = 2;
              }
              if (data.type === "failed" || data.type === "done") answers.push(data);
              if (answers.length === 1) {
                clearInterval(writing);
                interruptBuffer[0] = 0;
                post({type: "run", id: 2, task: "probe-echo", payload: {value: "alive"}});
              }
              if (answers.length === 2) { worker.terminate(); resolve(answers); }
            };
          });
        }""",
        [
            f"{boot_bench.origin}{boot_bench.assets}",
            f"{boot_bench.origin}{boot_bench.runtime}",
            path == "plain",
        ],
    )

    [failed, done] = messages
    assert failed["error"]["name"] == "KeyboardInterrupt"
    assert done["result"] == "alive"


@pytest.mark.complaints("fatal error", "Maximum call stack", "Stack trace")
def test_broken_interpreter_is_fatal(boot_bench: BootBench) -> None:
    """An interpreter that broke says so instead of failing one task after another."""
    session = boot_bench.start("inWorker", ("probe-break", {}), ("probe-echo", {"value": 1}))

    error = session.messages[-1]["error"]
    assert session.messages[-1]["type"] == "fatal"
    assert error["name"] == "RuntimeBrokenError"
    assert session.answers == []


def test_unhandled_rejection_is_fatal(boot_bench: BootBench) -> None:
    """A rejection that nobody handles, which the page cannot see, is reported."""
    message = boot_bench.page.evaluate(
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
        [f"{boot_bench.origin}{boot_bench.assets}", f"{boot_bench.origin}{boot_bench.runtime}"],
    )

    # Pyodide cannot turn a rejection with a string into an exception, and rejects for that reason.
    assert "invalid exception object" in message["error"]["message"]
