import { expect, test } from 'vitest';
import type { GroupFacts } from '../api/groups';
import type { Run } from '../api/types';
import { makeRun } from '../lib/make_run';
import { groupCell, groupName, groupRows, runRows, withPinned } from './run_rows';
import type { Row } from './run_rows';

const run = (id: string, lr: number): Run =>
  makeRun({ project: 'p', id, config: { optimizer: { name: 'adam', lr } } });
const group = (value: number, runs: number): GroupFacts => ({
  values: [value],
  runs,
  states: { finished: runs },
  fields: {},
});
const runs = [run('a', 0.1), run('b', 0.01), run('c', 0.1)];
const shown = (rows: Row[]) =>
  rows.map((r) => (r.kind === 'group' ? `[${r.name}]` : r.kind === 'run' ? r.run.id : r.text));

test('groups keep their order, and open ones say how many members they do not list', () => {
  const groups = [group(0.1, 2476), group(0.01, 1)];
  const members = new Map([['0.1', [run('a', 0.1), run('c', 0.1)]]]);
  expect(shown(groupRows(groups, new Set(['0.1']), members))).toEqual([
    '[0.1]',
    'a',
    'c',
    '2,474 more: filter to see them',
    '[0.01]',
  ]);
});

test('two keys make one group name', () => {
  expect(groupName(run('a', 0.1), 'config.optimizer.name,config.optimizer.lr')).toBe('adam / 0.1');
});

test('a group shows mean and deviation, or the value all share', () => {
  expect(groupCell({ runs: 2, values: 2, count: 2, mean: 2, sd: 1.5 }, 2)).toEqual({
    kind: 'numbers',
    mean: 2,
    std: 1.5,
    count: 2,
  });
  expect(groupCell({ runs: 2, values: 1, value: 'adam' }, 2)).toEqual({
    kind: 'same',
    value: 'adam',
  });
  expect(groupCell({ runs: 1, values: 1, value: 'adam' }, 2)).toEqual({
    kind: 'various',
    count: 1,
  });
  expect(groupCell({ runs: 0, values: 0 }, 2)).toEqual({ kind: 'none' });
});

test('pinned runs come first and once, and stay in their groups too', () => {
  const [a, , c] = runs as [Run, Run, Run];
  expect(shown(withPinned([c], runRows([...runs, undefined])))).toEqual(['c', 'a', 'b', '']);
  const members = new Map([['0.1', [a, c]]]);
  const rows = groupRows([group(0.1, 2)], new Set(['0.1']), members);
  expect(shown(withPinned([a], rows))).toEqual(['a', '[0.1]', 'a', 'c']);
});
