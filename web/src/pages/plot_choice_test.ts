import { expect, test } from 'vitest';
import type { GroupFacts } from '../api/groups';
import type { Run } from '../api/types';
import { makeRun } from '../lib/make_run';
import { DEFAULT_VIEW } from '../lib/view';
import { NONE, curveNames, plotGroups, plotRuns, plottedIds, togglePlotted } from './plot_choice';

const runs: Run[] = Array.from({ length: 30 }, (_, i) =>
  makeRun({
    project: 'p',
    id: `r${i}`,
    name: `run ${i}`,
    state: 'running',
    created_us: 1000 - i,
    config: { seed: i, lr: i % 2 },
  }),
);

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

test('a run has its colour whatever else is shown, and in whatever order', () => {
  const one = plotRuns(runs.slice(0, 10), DEFAULT_VIEW, false);
  const other = plotRuns(runs.slice(5, 15).reverse(), DEFAULT_VIEW, false);
  const byId = new Map(other.map((run) => [run.id, run.colour]));
  one.slice(5).forEach((run) => expect(byId.get(run.id)).toBe(run.colour));
  expect(byId.has('r9')).toBe(true);
});

const groups: GroupFacts[] = Array.from({ length: 20 }, (_, i) => ({
  values: [`g${i}`, i],
  runs: i,
  states: {},
  fields: {},
}));

test('the largest groups are plotted, in colours that no order changes', () => {
  const one = plotGroups(groups, DEFAULT_VIEW, false);
  expect(one.map((group) => group.runs)).toEqual([19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8]);
  expect(plotGroups([...groups].reverse(), DEFAULT_VIEW, false)).toEqual(one);
  const chosen = plotGroups(groups, { ...DEFAULT_VIEW, groups: ['g3 / 3', 'g19 / 19'] }, false);
  expect(chosen.map((group) => group.name)).toEqual(['g19 / 19', 'g3 / 3']);
  expect(chosen[0]?.colour).toBe(one[0]?.colour);
  expect(plotGroups(groups, { ...DEFAULT_VIEW, groups: [NONE] }, false)).toEqual([]);
});
