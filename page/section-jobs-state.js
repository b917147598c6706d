/**
 * What the jobs' section knows, from the server's answers alone: pure, no page in it.
 *
 * @typedef {object} Process
 * @property {number} pid
 * @property {number} memory_bytes
 * @property {number} cpu_s
 *
 * @typedef {object} Cost the answer of GET /api/jobs/cost
 * @property {string} as_of
 * @property {{processes: (Process & {job: string, run: number})[], statements: number}} jobs
 * @property {{processes: Process[], statements: number}} workers
 *
 * @typedef {object} LastRun
 * @property {number} run
 * @property {string} waker
 * @property {string} started_at
 * @property {string | null} ended_at
 * @property {string} outcome
 * @property {number | null} cpu_s
 * @property {number | null} memory_bytes
 *
 * @typedef {object} Job
 * @property {string} name
 * @property {string} does
 * @property {string[]} triggers
 * @property {string | null} next_due_at
 * @property {number} timeout_s
 * @property {string} catch_up
 * @property {LastRun | null} last_run
 *
 * @typedef {object} Sample what was measured at one moment; times in ms, memory in bytes
 * @property {number} at
 * @property {number} jobs memory
 * @property {number} workers memory
 * @property {number} jobsAsked statements so far
 * @property {number} workersAsked
 *
 * @typedef {object} SeenRun
 * @property {number} run
 * @property {string} job
 * @property {number} from ms
 * @property {number} to ms; infinity while it goes on
 * @property {number} memory bytes
 *
 * @typedef {object} JobsState
 * @property {Sample[]} samples the oldest first
 * @property {SeenRun[]} runs
 */

/** How far back the figure looks, in ms. */
export const SPAN = 90_000;
/** Below so many ms of measuring a rate says nothing yet. */
const ENOUGH = 15_000;

/** @returns {JobsState} */
export const emptyJobs = () => ({ samples: [], runs: [] });

/** @param {Process[]} processes */
const memoryOf = (processes) => processes.reduce((sum, one) => sum + one.memory_bytes, 0);

/**
 * @param {JobsState} state
 * @param {Cost} cost
 * @returns {JobsState}
 */
export function measured({ samples, runs }, { as_of, jobs, workers }) {
  const at = Date.parse(as_of);
  const last = samples.at(-1);
  // A server that was started anew counts from the beginning.
  const anew = last && (jobs.statements < last.jobsAsked || workers.statements < last.workersAsked);
  const kept = anew ? [] : samples.filter((one) => one.at > at - SPAN && one.at < at);
  const sample = {
    at,
    jobs: memoryOf(jobs.processes),
    workers: memoryOf(workers.processes),
    jobsAsked: jobs.statements,
    workersAsked: workers.statements,
  };
  return { samples: [...kept, sample], runs: runs.filter(({ to }) => to > at - SPAN) };
}

/**
 * @param {JobsState} state
 * @param {Job[]} jobs
 * @returns {JobsState} with their latest runs among those that were seen
 */
export function listed({ samples, runs }, jobs) {
  const seen = new Map(runs.map((one) => [one.run, one]));
  for (const { name, last_run } of jobs) {
    if (!last_run) continue;
    seen.set(last_run.run, {
      run: last_run.run,
      job: name,
      from: Date.parse(last_run.started_at),
      to: last_run.ended_at ? Date.parse(last_run.ended_at) : endOf(last_run),
      memory: last_run.memory_bytes ?? seen.get(last_run.run)?.memory ?? 0,
    });
  }
  return { samples, runs: [...seen.values()] };
}

/** @param {LastRun} run */
const endOf = ({ outcome, started_at }) =>
  outcome === "running" ? Number.POSITIVE_INFINITY : Date.parse(started_at);

/**
 * Statements a minute, on either side.
 *
 * @param {JobsState} state
 * @returns {{jobs: number, workers: number, seconds: number} | undefined} undefined: it was not
 * measured for long enough
 */
export function ratesOf({ samples }) {
  const [first] = samples;
  const last = samples.at(-1);
  if (!first || !last || last.at - first.at < ENOUGH) return undefined;
  const minutes = (last.at - first.at) / 60_000;
  return {
    jobs: (last.jobsAsked - first.jobsAsked) / minutes,
    workers: (last.workersAsked - first.workersAsked) / minutes,
    seconds: 60 * minutes,
  };
}
