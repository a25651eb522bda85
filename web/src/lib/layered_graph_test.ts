import { expect, test } from 'vitest';
import { layOut } from './layered_graph';

const place = (ids: string[], edges: [string, string][]) =>
  new Map(
    layOut(
      ids,
      edges.map(([from, to]) => ({ from, to })),
    ).map((p) => [p.id, p]),
  );

test('a node stands right of everything that leads to it', () => {
  const at = place(
    ['c', 'a', 'b'],
    [
      ['a', 'b'],
      ['b', 'c'],
      ['a', 'c'],
    ],
  );
  expect(['a', 'b', 'c'].map((id) => at.get(id)?.column)).toEqual([0, 1, 2]);
});

test('two straight lines do not cross', () => {
  const at = place(
    ['a', 'b', 'y', 'x'],
    [
      ['a', 'x'],
      ['b', 'y'],
    ],
  );
  const rows = (id: string) => at.get(id)?.row ?? NaN;
  expect(Math.sign(rows('a') - rows('b'))).toBe(Math.sign(rows('x') - rows('y')));
});

test('a circle does not hang the page, and edges to nowhere are passed over', () => {
  expect(
    layOut(
      ['a', 'b'],
      [
        { from: 'a', to: 'b' },
        { from: 'b', to: 'a' },
        { from: 'a', to: 'z' },
      ],
    ),
  ).toHaveLength(2);
});
