import { expect, test } from 'vitest';
import type { SweepSummary, Trial } from '../api/sweeps';
import { cellOf } from './flatten';
import { bestSoFar, rankTrials, trialsAsRuns } from './trials';

const SWEEP: SweepSummary = {
  id: 'abc',
  project: 'p',
  name: '',
  method: 'random',
  metric: { name: 'loss', goal: 'minimize' },
  state: 'running',
  reason: '',
  origin: 'kedge',
  trials: 4,
  best: 1,
  expected_runs: 4,
  created: '',
};

function trial(number: number, state: string, metric: number | null, ended: string): Trial {
  return {
    number,
    state,
    values: { net: { depth: number } },
    run: `abc-000${number}`,
    attempts: 1,
    failures: 0,
    curve: [],
    metric,
    result: ended
      ? {
          state,
          exit_code: 0,
          seconds: 10,
          ended,
          host: '',
          ...(metric === null ? {} : { metric }),
        }
      : null,
  };
}

const TRIALS = [
  trial(1, 'finished', 3, '2026-01-01T00:00:10Z'),
  trial(2, 'finished', 1, '2026-01-01T00:00:30Z'),
  trial(3, 'finished', 2, '2026-01-01T00:00:20Z'),
  trial(4, 'failed', 0, '2026-01-01T00:00:40Z'),
  trial(5, 'running', null, ''),
];

test('the best so far goes by when trials ended, and failures do not count', () => {
  expect(bestSoFar(SWEEP, TRIALS).map(({ time, cost, best }) => [time, cost, best])).toEqual([
    [10, 10, 3],
    [20, 20, 2],
    [30, 30, 1],
  ]);
});

test('the best come first, those without a value last', () => {
  expect(rankTrials(SWEEP, TRIALS).map((one) => one.number)).toEqual([2, 3, 1, 4, 5]);
});

test('a trial has its values and its metric as columns', () => {
  const [first] = trialsAsRuns(SWEEP, TRIALS);
  if (!first) throw new Error('no run');
  expect(cellOf(first, 'config.net.depth')).toBe(1);
  expect(cellOf(first, 'summary.loss')).toBe(3);
  expect(cellOf(first, 'duration')).toBe(10);
});
