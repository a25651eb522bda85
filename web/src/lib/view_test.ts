import { expect, test } from 'vitest';
import { parseHash } from './router';
import { DEFAULT_VIEW, readView, writeView } from './view';
import type { View } from './view';

const full: View = {
  filter: 'loss < 0.1 and tag = "paper & pen"',
  order: '-summary.val/accuracy',
  columns: ['state', 'config.a,b', 'config.back\\slash'],
  group: 'config.optimizer.name',
  colourBy: 'group',
  selected: ['20261115-a', '20261115-b'],
  groups: ['adam / 0.1', 'a, b'],
  pinned: ['baseline'],
  x: 'relative',
  logX: true,
  logY: true,
  smooth: 0.85,
  spread: 'std',
  find: 'loss',
  range: [10.5, 2e6],
  layout: 'charts',
  perRow: 3,
  closed: ['system'],
  full: 'train/loss',
  archived: true,
  outliers: false,
  widths: { name: 300, 'config.a,b:c': 120 },
  attempt: '2',
};

test('a view comes back from its address, every field of it', () => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(writeView(full))) {
    if (value !== null) query.set(key, value);
  }
  expect(readView(parseHash(`#/p/x/runs?${query.toString()}`).query)).toEqual(full);
});

test('defaults leave no trace in the address', () => {
  expect(Object.values(writeView(DEFAULT_VIEW)).filter((v) => v !== null)).toEqual([]);
});

test('an address somebody broke falls back field by field', () => {
  const view = readView(new URLSearchParams('s=abc&r=9~1&l=sideways&x=time'));
  expect(view).toEqual({ ...DEFAULT_VIEW, x: 'time' });
});

test('project and run names with slashes and spaces survive a link', () => {
  expect(parseHash('#/p/a%2Fb%20c/runs').path).toEqual(['p', 'a/b c', 'runs']);
});
