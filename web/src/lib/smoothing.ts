/**
 * TensorBoard's debiased exponential moving average, made independent of how densely the server
 * sampled the series: a gap of k logged points weighs as k points. Beyond 1000 points in view the
 * unit is a thousandth of the view, so that the slider always does something one can see.
 */
export function smooth(
  x: readonly number[],
  y: readonly number[],
  weight: number,
  count = x.length,
): number[] {
  const n = x.length;
  if (weight <= 0 || n < 3) return [...y];
  const range = (x[n - 1] ?? 0) - (x[0] ?? 0);
  const unit = range > 0 ? range / (Math.min(Math.max(count, n), 1000) - 1) : 1;
  const out = new Array<number>(n);
  let sum = 0;
  let mass = 0;
  let lastX = x[0] ?? 0;
  for (let i = 0; i < n; i += 1) {
    const value = y[i] ?? NaN;
    if (!Number.isFinite(value)) {
      out[i] = value;
      continue;
    }
    const gap = ((x[i] ?? 0) - lastX) / unit;
    const keep = mass === 0 ? 0 : weight ** Math.max(gap, 0);
    // A point a fraction of a unit after the last one counts as that fraction.
    const take = mass === 0 ? 1 - weight : 1 - keep;
    sum = sum * keep + value * take;
    mass = mass * keep + take;
    out[i] = sum / mass;
    lastX = x[i] ?? lastX;
  }
  return out;
}
