import { expect, test } from 'vitest';
import { makeRun } from '../lib/make_run';
import { blocksOf, movesRuns, runsOf, withFresh } from './run_pages';
import type { RunPages } from './run_pages';

const run = (id: string, name = id) => makeRun({ project: 'p', id, name, state: 'running' });
const pages: RunPages = {
  key: 'k',
  total: 10_000,
  warnings: [],
  blocks: new Map([
    [0, [run('a'), run('b')]],
    [50, [run('y')]],
  ]),
};

test('only the blocks in view are needed, and the one that charts show', () => {
  expect(blocksOf(0, 60)).toEqual([0]);
  expect(blocksOf(5080, 5130)).toEqual([0, 50, 51]);
  expect(blocksOf(5000, 5100)).toEqual([0, 50]);
});

test('a run that is not loaded has its place', () => {
  const runs = runsOf(pages);
  expect(runs).toHaveLength(10_000);
  expect([runs[1]?.id, runs[2], runs[5000]?.id]).toEqual(['b', undefined, 'y']);
});

test('a changed run is put where it was', () => {
  const changed = withFresh(pages, [run('y', 'new name'), run('nobody')]);
  expect(runsOf(changed)[5000]?.name).toBe('new name');
  expect(changed.blocks.get(0)).toBe(pages.blocks.get(0));
});

test('new points of runs move them only where the order or the filter looks at them', () => {
  const points = new Set(['metrics']);
  expect(movesRuns(points, '-created', '')).toBe(false);
  expect(movesRuns(points, '-summary.loss', '')).toBe(true);
  expect(movesRuns(points, 'last_step', '')).toBe(true);
  expect(movesRuns(points, '-created', 'loss < 1')).toBe(true);
  expect(movesRuns(new Set(['facts']), '-created', '')).toBe(true);
});
