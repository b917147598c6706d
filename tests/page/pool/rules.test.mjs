/** The rules of the pool, against random sequences of everything that can happen to one. */

import { test } from "node:test";
import fc from "fast-check";
import { play, someLimits, someSequence } from "./chance.mjs";
import { lucky, playFair } from "./fair-play.mjs";
import { mishap } from "./world.mjs";

/** Sequences in all; fast-check's message has the seed with which to repeat a failure. */
const SEQUENCES = Number(process.env.POOL_SEQUENCES ?? 24_000);

/** The same sequences each time, unless others are looked for: `POOL_SEED=any`. */
const SEED = process.env.POOL_SEED === "any" ? {} : { seed: Number(process.env.POOL_SEED ?? 20) };

/** Whether a failing sequence should be made as short as possible. */
const SHRINK = process.env.POOL_SHRINK !== "no";

/**
 * @param {fc.IRawProperty<unknown>} property
 * @param {number} share of all sequences
 */
function hold(property, share) {
  fc.assert(property, { numRuns: Math.ceil(SEQUENCES * share), endOnFailure: !SHRINK, ...SEED });
}

const someSeed = fc.nat(2 ** 31 - 1);

/** How a fair world goes on: all, half or none of the boots work, and tasks are quick or slow. */
const someHow = fc.record({ boots: fc.constantFrom(1, 0.5, 0), slow: fc.boolean() });

test("every rule holds at every step, whatever happens", () => {
  hold(
    fc.property(someLimits, someSequence, (limits, sequence) => {
      play(limits, sequence);
    }),
    0.5,
  );
});

test("whatever has happened, every task settles once workers and time play fair", () => {
  hold(
    fc.property(someLimits, someSequence, someSeed, someHow, (limits, sequence, seed, how) => {
      const world = play(limits, sequence);
      playFair(world, lucky(seed), how, () => world.open().length === 0);
    }),
    0.25,
  );
});

test("whatever has happened, a pool that is told to close gets there", () => {
  hold(
    fc.property(someLimits, someSequence, someSeed, someHow, (limits, sequence, seed, how) => {
      const world = play(limits, sequence);
      world.happen({ type: "closing" });
      playFair(world, lucky(seed), how, () => world.phase === "closed");
    }),
    0.125,
  );
});

test("whatever has happened, a pool whose workers die of nothing gives up", () => {
  hold(
    fc.property(someLimits, someSequence, someSeed, (limits, sequence, seed) => {
      const world = play(limits, sequence);
      const luck = lucky(seed);
      const { size, bootAttempts } = world.limits;
      // Those that have a task die with it, and the others of nothing, ready or not.
      const most = 20 + (world.open().length + world.living.size + size) * 4 * (bootAttempts + 1);
      for (let steps = 0; world.phase !== "closed"; steps += 1) {
        world.rule(steps < most, `the pool gives up in ${most} steps`);
        const [worker] = world.living;
        if (!worker) world.pass();
        else if (worker.state === "booting" && luck() < 0.5) world.ready();
        else world.crash(worker, mishap("died of nothing"));
      }
    }),
    0.125,
  );
});
