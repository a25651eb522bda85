import { expect, test } from 'vitest';
import type { Run } from '../api/types';
import { groupCell, groupName, rowsOf, withPinned } from './run_rows';
import type { Row } from './run_rows';

const run = (id: string, lr: number, loss: number): Run => ({
  project: 'p',
  id,
  name: id,
  state: 'finished',
  created_us: 0,
  tags: [],
  config: { optimizer: { name: 'adam', lr } },
  summary: { 'val/loss': { last: loss } },
});
const runs = [run('a', 0.1, 1), run('b', 0.01, 2), run('c', 0.1, 3)];

test('groups keep the order of the table', () => {
  const rows = rowsOf(runs, 'config.optimizer.lr', new Set(['0.1']));
  expect(rows.map((r) => (r.kind === 'group' ? `[${r.name}]` : r.run.id))).toEqual([
    '[0.1]',
    'a',
    'c',
    '[0.01]',
  ]);
});

test('two keys make one group name', () => {
  expect(groupName(runs[0] ?? run('', 0, 0), 'config.optimizer.name,config.optimizer.lr')).toBe(
    'adam / 0.1',
  );
});

test('a group shows mean and deviation, or the value all share', () => {
  const members = [run('a', 0.1, 1), run('c', 0.1, 3)];
  expect(groupCell(members, 'summary.val/loss')).toEqual({
    kind: 'numbers',
    mean: 2,
    std: Math.SQRT2,
    count: 2,
  });
  expect(groupCell(members, 'config.optimizer.name')).toEqual({ kind: 'same', value: 'adam' });
  expect(groupCell(members, 'config.nothing')).toEqual({ kind: 'none' });
});

test('pinned runs come first and once, and stay in their groups too', () => {
  const [a, , c] = runs as [Run, Run, Run];
  const shown = (rows: Row[]) => rows.map((r) => (r.kind === 'group' ? `[${r.name}]` : r.run.id));
  expect(shown(withPinned([c], rowsOf(runs, '', new Set())))).toEqual(['c', 'a', 'b']);
  expect(shown(withPinned([a], rowsOf(runs, 'config.optimizer.lr', new Set(['0.1']))))).toEqual([
    'a',
    '[0.1]',
    'a',
    'c',
    '[0.01]',
  ]);
});
