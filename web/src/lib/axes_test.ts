import { expect, test } from 'vitest';
import type { Run } from '../api/types';
import { makeAxis, passes, readBrushes, writeBrushes } from './axes';
import { makeRun } from './make_run';

const run = (id: string, lr: number, name: string, loss: number | 'NaN'): Run =>
  makeRun({ project: 'p', id, config: { lr, name }, summary: { loss: { last: loss } } });
const runs = [run('a', 1e-4, 'sgd', 1), run('b', 1e-2, 'adam', 3), run('c', 1e-3, 'adam', 'NaN')];

test('values over some magnitudes get a logarithmic axis', () => {
  const axis = makeAxis(runs, 'config.lr');
  expect(axis.kind).toBe('log');
  expect(axis.at(1e-3)).toBeCloseTo(0.5, 9);
  expect(axis.ticks.map((t) => t.text)).toContain('0.001');
});

test('names stand in order, and a NaN has no place', () => {
  expect(makeAxis(runs, 'config.name').at('adam')).toBe(0);
  expect(makeAxis(runs, 'summary.loss').at(NaN)).toBeNull();
  expect(makeAxis(runs, 'summary.loss').at(2)).toBe(0.5);
});

test('a run passes when it is inside every brush', () => {
  const axes = ['config.lr', 'summary.loss'].map((c) => makeAxis(runs, c));
  const inside = (brushes: Record<string, [number, number]>) =>
    runs.filter((r) => passes(r, axes, brushes)).map((r) => r.id);
  expect(inside({})).toEqual(['a', 'b', 'c']);
  expect(inside({ 'config.lr': [0.4, 1] })).toEqual(['b', 'c']);
  expect(inside({ 'config.lr': [0.4, 1], 'summary.loss': [0, 1] })).toEqual(['b']);
});

test('brushes survive the address', () => {
  const brushes = {
    'summary.val/loss': [0.25, 0.5] as [number, number],
    'config.a:b;c': [0, 1] as [number, number],
  };
  expect(readBrushes(writeBrushes(brushes))).toEqual(brushes);
});
