import { expect, test } from 'vitest';
import { resample, sharedGrid, spreadOf, statsOf } from './spread';

test('runs with the same steps are averaged point by point', () => {
  const band = spreadOf(
    [
      { x: [0, 10, 20], y: [1, 2, 3] },
      { x: [0, 10, 20], y: [3, 4, 5] },
    ],
    'range',
  );
  expect(band).toEqual({
    x: [0, 10, 20],
    mean: [2, 3, 4],
    low: [1, 2, 3],
    high: [3, 4, 5],
    runs: [2, 2, 2],
  });
});

test('a run that ended early no longer counts', () => {
  const band = spreadOf(
    [
      { x: [0, 1], y: [0, 0] },
      { x: [0, 1, 2], y: [2, 2, 2] },
    ],
    'range',
  );
  expect(band.mean).toEqual([1, 1, 2]);
  expect(band.runs).toEqual([2, 2, 1]);
});

test('between two points a run has the value on the line', () => {
  expect(resample({ x: [0, 10], y: [0, 1] }, [0, 5, 10, 11])).toEqual([0, 0.5, 1, NaN]);
});

test('NaN is left out of the mean', () => {
  const band = spreadOf(
    [
      { x: [0, 1], y: [NaN, 1] },
      { x: [0, 1], y: [5, 3] },
    ],
    'std',
  );
  expect(band.mean).toEqual([5, 2]);
});

test('the deviation is that of a sample (numpy: ddof=1)', () => {
  expect(statsOf([2, 4, 4, 4, 5, 5, 7, 9]).std).toBeCloseTo(2.13809, 5);
});

test('many distinct steps become an even grid', () => {
  const x = Array.from({ length: 5000 }, (_, i) => i * 2);
  const grid = sharedGrid([{ x, y: x }], 101);
  expect(grid).toHaveLength(101);
  expect(grid[1]).toBeCloseTo(99.98, 6);
});
