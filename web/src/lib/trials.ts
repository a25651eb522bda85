// Trials of a sweep as the comparison's plots take them, and the best so far.
import type { SweepSummary, Trial } from '../api/sweeps';
import type { Run, RunState } from '../api/types';
import { makeRun } from './make_run';

const STATES: Record<string, RunState> = {
  waiting: 'pending',
  running: 'running',
  paused: 'preempted',
  finished: 'finished',
  stopped: 'stopped',
  failed: 'failed',
};

/** A run for each trial: its values are the config, its result is the metric. */
export function trialsAsRuns(sweep: SweepSummary, trials: readonly Trial[]): Run[] {
  return trials.map((trial) => {
    const ended = Date.parse(trial.result?.ended ?? '') * 1000;
    const seconds = trial.result?.seconds ?? 0;
    const summary = trial.metric === null ? {} : { [sweep.metric.name]: { last: trial.metric } };
    return makeRun({
      project: sweep.project,
      id: trial.run,
      name: `trial ${trial.number}`,
      state: STATES[trial.state] ?? 'pending',
      created_us: Number.isNaN(ended) ? 0 : ended - seconds * 1e6,
      ended_us: Number.isNaN(ended) ? null : ended,
      config: trial.values,
      summary,
    });
  });
}

export interface Step {
  time: number; // seconds since the first trial began
  cost: number; // seconds of all trials that had ended by then, together
  best: number;
  number: number; // of the trial that brought it
  value: number; // of the trial that ended then
}

/** What was known when each trial ended. Trials of other sweeps cost nothing. */
export function bestSoFar(sweep: SweepSummary, trials: readonly Trial[]): Step[] {
  const ended = trials
    .flatMap((trial) => {
      const at = Date.parse(trial.result?.ended ?? '') / 1000;
      const value = trial.result?.metric;
      return Number.isNaN(at) || typeof value !== 'number' || trial.state === 'failed'
        ? []
        : [{ at, value, number: trial.number, result: trial.result }];
    })
    .sort((a, b) => a.at - b.at || a.number - b.number);
  const begin = Math.min(...ended.map((one) => one.at - (one.result?.seconds ?? 0)));
  const isBetter = (a: number, b: number) => (sweep.metric.goal === 'maximize' ? a > b : a < b);
  const steps: Step[] = [];
  let cost = 0;
  for (const { at, value, number, result } of ended) {
    const last = steps[steps.length - 1];
    cost += result?.reused ? 0 : (result?.seconds ?? 0);
    const isBest = !last || isBetter(value, last.best);
    steps.push({
      time: at - begin,
      cost,
      best: isBest ? value : last.best,
      number: isBest ? number : last.number,
      value,
    });
  }
  return steps;
}

/** The best first, those without a value last. */
export function rankTrials(sweep: SweepSummary, trials: readonly Trial[]): Trial[] {
  const sign = sweep.metric.goal === 'maximize' ? -1 : 1;
  const key = (trial: Trial) =>
    trial.metric === null || trial.state === 'failed' ? Infinity : sign * trial.metric;
  return [...trials].sort((a, b) => key(a) - key(b) || a.number - b.number);
}
