import { nextDeadline } from "./core.mjs";
import { mishap, TASKS } from "./world.mjs";

/**
 * Plays on as a world does that is fair, though not kind: workers boot or fail to, what runs comes
 * to an end or dies, a timer goes off when it should.
 * @param {import("./world.mjs").World} world
 * @param {() => number} luck numbers from 0 to 1
 * @param {{boots: number, slow: boolean}} how the part of all boots that works, and whether tasks
 *   take longer than anything else
 * @param {() => boolean} isOver
 * @throws {import("./world.mjs").BrokenRule} when that takes more steps than it may
 */
export function playFair(world, luck, how, isOver) {
  const places = world.limits.size + world.living.size;
  const most = 20 + (places + world.open().length) * (4 + 3 * world.limits.bootAttempts);
  for (let steps = 0; !isOver(); steps += 1) {
    world.rule(steps < most, `all is over in ${most} steps`);
    const moves = movesIn(world, luck, how);
    world.rule(moves.length > 0, "nobody waits for nothing");
    moves[Math.floor(luck() * moves.length)]();
  }
}

/** What could happen next in a fair world. */
function movesIn(world, luck, { boots, slow }) {
  const moves = [];
  const booting = world.booting();
  if (booting) {
    moves.push(() =>
      luck() < boots ? world.ready(world.known ?? TASKS) : world.crash(booting, mishap("no boot")),
    );
  }
  if (nextDeadline(world.state) < Number.POSITIVE_INFINITY) moves.push(() => world.pass());
  if (slow && moves.length > 0) return moves;
  for (const worker of world.with("busy")) {
    moves.push(() => {
      const chance = luck();
      if (chance < 0.6) world.answer(worker);
      else if (chance < 0.8) world.fail(worker);
      else world.crash(worker);
    });
  }
  return moves;
}

/**
 * Chance that can be repeated.
 * @param {number} seed
 * @returns {() => number} numbers from 0 to 1
 */
export function lucky(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
