/**
 * A worker that speaks the protocol by hand, well or badly. Its config says how:
 * `boot` and `run` are lists of what it does then: messages to post, with `id` put into those that
 * have `id: "task"`, or the words "close" and "throw". With `lock`, it takes the lifeline first.
 */

const acts = {
  close: () => close(),
  throw() {
    throw new Error("thrown by hand");
  },
};

/** @param {(object | string)[]} script @param {number} [id] */
function play(script = [], id) {
  for (const act of script) {
    if (Object.hasOwn(acts, act)) {
      acts[act]();
    } else {
      postMessage(act?.id === "task" ? { ...act, id } : act);
    }
  }
}

let config;

onmessage = ({ data }) => {
  if (data.type === "boot") {
    ({ config } = data);
    if (config.lock) {
      navigator.locks.request(config.lifeline, () => {
        play(config.boot);
        return new Promise(() => {});
      });
    } else {
      play(config.boot);
    }
  } else {
    play(config[data.type], data.id);
  }
};
