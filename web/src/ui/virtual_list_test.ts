import { expect, test } from 'vitest';
import { windowOf } from './virtual_list';

const ROW = 26;
const HEIGHT = 800;
const COUNT = 10000;

test('every row in view is drawn, wherever the box is scrolled to', () => {
  for (let top = 0; top <= COUNT * ROW - HEIGHT; top += 997) {
    const { first, last } = windowOf(top, HEIGHT, ROW, COUNT);
    expect(first * ROW).toBeLessThanOrEqual(top);
    expect(last * ROW).toBeGreaterThanOrEqual(top + HEIGHT);
  }
});

test('as many rows are drawn everywhere, so that each element finds a new use', () => {
  const sizes = new Set<number>();
  for (let top = 0; top <= COUNT * ROW - HEIGHT; top += 331) {
    const { first, last } = windowOf(top, HEIGHT, ROW, COUNT);
    sizes.add(last - first);
  }
  expect(sizes.size).toBe(1);
});

test('a short list is drawn whole', () => {
  expect(windowOf(0, HEIGHT, ROW, 5)).toEqual({ first: 0, last: 5, top: 0 });
  expect(windowOf(0, HEIGHT, ROW, 0)).toEqual({ first: 0, last: 0, top: 0 });
});
