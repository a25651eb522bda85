import { expect, test } from 'vitest';
import type { GroupCurve } from '../api/groups';
import type { Series } from '../api/series';
import { draw, drawGroups, innerRange } from './drawing';
import type { DrawOptions, PlotRun } from './drawing';

const plain: DrawOptions = {
  smooth: 0,
  spread: 'range',
  logX: false,
  logY: false,
};
const run = (id: string): PlotRun => ({
  project: 'p',
  id,
  name: id,
  colour: '#112233',
});
const series = (id: string, x: number[], y: number[]): Series => ({
  id,
  key: 'loss',
  x,
  y,
  count: x.length,
  isSampled: false,
});

test('runs with other steps share one x axis and keep their points', () => {
  const drawing = draw(
    [series('a', [0, 2], [1, 3]), series('b', [1], [7])],
    [run('a'), run('b')],
    plain,
  );
  expect(drawing.data[0]).toEqual([0, 1, 2]);
  expect(drawing.data[1]).toEqual([1, undefined, 3]);
  expect(drawing.data[2]).toEqual([undefined, 7, undefined]);
});

test('NaN is a gap with a mark, and infinity a mark with its sign', () => {
  const drawing = draw([series('a', [0, 1, 2], [1, NaN, -Infinity])], [run('a')], plain);
  expect(drawing.data[1]).toEqual([1, null, null]);
  expect(drawing.marks.map((m) => [m.x, m.sign])).toEqual([
    [1, 'nan'],
    [2, 'down'],
  ]);
});

test('a logarithmic axis leaves out what has no logarithm', () => {
  const drawing = draw([series('a', [0, 1, 2], [1, 0, -1])], [run('a')], { ...plain, logY: true });
  expect(drawing.data[1]).toEqual([1, null, null]);
});

const curve: GroupCurve = {
  values: ['g'],
  runs: 2500,
  curves: 2476,
  binned: false,
  sampled: false,
  x: [0, 1],
  n: [2476, 2400],
  mean: [1, 3],
  sd: [0.5, 0.25],
  min: [0, 2],
  max: [2, 4],
};
const group = { name: 'g', values: ['g'], runs: 2500, colour: '#112233' };

test('a group is one mean with a band, and says how many runs it counts', () => {
  const drawing = drawGroups([curve], [group], plain);
  expect(drawing.strokes.map((s) => s.role)).toEqual(['high', 'low', 'line']);
  expect(drawing.data.slice(1)).toEqual([
    [2, 4],
    [0, 2],
    [1, 3],
  ]);
  expect(drawing.bands).toEqual([{ high: 1, low: 2, colour: '#112233' }]);
  expect(drawing.strokes[2]?.label).toBe('g (n = 2,476)');
  expect(drawing.counts.get('g')?.get(1)).toBe(2400);
  const deviation = drawGroups([curve], [group], { ...plain, spread: 'std' });
  expect(deviation.data[1]).toEqual([1.5, 3.25]);
});

test('the inner range leaves out a single spike', () => {
  const y = Array.from({ length: 200 }, (_, i) => (i === 50 ? 1e9 : i / 200));
  const x = y.map((_, i) => i);
  const [low, high] = innerRange(draw([series('a', x, y)], [run('a')], plain)) ?? [NaN, NaN];
  expect(low).toBeLessThan(0.02);
  expect(high).toBeLessThan(1.01);
});
