import { expect, test } from 'vitest';
import type { Run } from '../api/types';
import { DEFAULT_VIEW } from '../lib/view';
import { NONE, curveNames, plotRuns, plottedIds, togglePlotted } from './plot_choice';

const runs: Run[] = Array.from({ length: 30 }, (_, i) => ({
  project: 'p',
  id: `r${i}`,
  name: `run ${i}`,
  state: 'running',
  created_us: 1000 - i,
  tags: [],
  config: { seed: i, lr: i % 2 },
  summary: {},
}));

test('a text or a number set by hand has no curve to plot', () => {
  const logged = { last: 0.5, min: 0.5, max: 0.5, last_step: 1, count: 1 };
  const [first, second] = runs as [Run, Run];
  expect(
    curveNames([
      { ...first, summary: { verdict: { last: 'good' }, best: { last: 3 }, loss: logged } },
      { ...second, summary: { best: logged, acc: { ...logged, last: 'NaN' } } },
    ]),
  ).toEqual(['acc', 'best', 'loss']);
});

test('without a choice the first ten are plotted', () => {
  expect(plottedIds(runs, DEFAULT_VIEW)).toHaveLength(10);
});

test('chosen runs that the filter left out are not plotted', () => {
  expect(plottedIds(runs, { ...DEFAULT_VIEW, selected: ['r3', 'gone'] })).toEqual(['r3']);
});

test('the last run can be taken out, which is not the same as no choice', () => {
  expect(togglePlotted(['r1'], ['r1'])).toEqual([NONE]);
  expect(plottedIds(runs, { ...DEFAULT_VIEW, selected: [NONE] })).toEqual([]);
  expect(togglePlotted([NONE], ['r2'])).toEqual(['r2']);
});

test('runs of one group have one colour', () => {
  const shown = plotRuns(runs, { ...DEFAULT_VIEW, group: 'config.lr' }, false);
  const colours = new Map(shown.map((run) => [run.group, run.colour]));
  expect(colours.size).toBe(2);
  shown.forEach((run) => expect(run.colour).toBe(colours.get(run.group)));
});

test('colours do not depend on the order of the table', () => {
  const one = plotRuns(runs.slice(0, 10), DEFAULT_VIEW, false);
  const other = plotRuns(runs.slice(0, 10).reverse(), DEFAULT_VIEW, false);
  const byId = new Map(other.map((run) => [run.id, run.colour]));
  one.forEach((run) => expect(byId.get(run.id)).toBe(run.colour));
});
