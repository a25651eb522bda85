import { expect, test } from 'vitest';
import { smooth } from './smoothing';

/** TensorBoard's algorithm (vz_line_chart resmoothDataset), written out. */
function tensorboard(y: number[], weight: number): number[] {
  let last = 0;
  let n = 0;
  return y.map((value) => {
    last = last * weight + (1 - weight) * value;
    n += 1;
    return last / (1 - weight ** n);
  });
}

const steps = Array.from({ length: 200 }, (_, i) => i * 10);
const noisy = steps.map((s) => Math.sin(s / 300) + ((s * 7919) % 13) / 13);

test('an evenly logged series is smoothed as TensorBoard does', () => {
  const ours = smooth(steps, noisy, 0.9);
  tensorboard(noisy, 0.9).forEach((value, i) => expect(ours[i]).toBeCloseTo(value, 9));
});

test('a constant stays a constant', () => {
  smooth(
    steps,
    steps.map(() => 3),
    0.99,
  ).forEach((v) => expect(v).toBeCloseTo(3, 9));
});

test('weight 0 changes nothing', () => {
  expect(smooth(steps, noisy, 0)).toEqual(noisy);
});

test('a NaN stays where it is and does not spread', () => {
  const y = [1, 1, NaN, 1, 1];
  const out = smooth([0, 1, 2, 3, 4], y, 0.5);
  expect(out[2]).toBeNaN();
  expect(out[4]).toBeCloseTo(1, 9);
});

test('a sampled series is smoothed like the whole one', () => {
  const x = Array.from({ length: 1000 }, (_, i) => i);
  const y = x.map((v) => Math.tanh(v / 200));
  const whole = smooth(x, y, 0.95);
  const few = x.filter((v) => v % 4 === 0);
  const sampled = smooth(
    few,
    few.map((v) => y[v] ?? 0),
    0.95,
    1000,
  );
  few.forEach((v, i) => expect(Math.abs((sampled[i] ?? 9) - (whole[v] ?? 0))).toBeLessThan(0.02));
});
