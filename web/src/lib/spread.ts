// Several runs of one group as one curve: the mean over the runs that have a value there, with
// the range or the standard deviation around it. It depends on the group's own runs and on
// nothing else.

export interface Curve {
  x: number[];
  y: number[];
}

export interface Band {
  x: number[];
  mean: number[];
  low: number[];
  high: number[];
  runs: number[];
}

const MAX_GRID = 600;

/** The distinct x of all curves, or an even grid when those are too many (sampled curves). */
export function sharedGrid(curves: readonly Curve[], limit = MAX_GRID): number[] {
  const distinct = new Set<number>();
  for (const curve of curves) curve.x.forEach((x) => distinct.add(x));
  const sorted = [...distinct].filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length <= limit) return sorted;
  const first = sorted[0] ?? 0;
  const last = sorted[sorted.length - 1] ?? 0;
  return Array.from({ length: limit }, (_, i) => first + ((last - first) * i) / (limit - 1));
}

/** Linear between points, nothing outside the curve's own extent or beside a NaN. */
export function resample(curve: Curve, grid: readonly number[]): number[] {
  const { x, y } = curve;
  let at = 0;
  return grid.map((g) => {
    while (at < x.length - 1 && (x[at + 1] ?? Infinity) <= g) at += 1;
    const x0 = x[at];
    const y0 = y[at];
    if (x0 === undefined || y0 === undefined || g < x0) return NaN;
    if (x0 === g) return y0;
    const x1 = x[at + 1];
    const y1 = y[at + 1];
    if (x1 === undefined || y1 === undefined) return NaN;
    return y0 + ((y1 - y0) * (g - x0)) / (x1 - x0);
  });
}

export function spreadOf(curves: readonly Curve[], kind: 'range' | 'std'): Band {
  const grid = sharedGrid(curves);
  const rows = curves.map((curve) => resample(curve, grid));
  const band: Band = { x: [], mean: [], low: [], high: [], runs: [] };
  grid.forEach((x, i) => {
    const values = rows.map((row) => row[i] ?? NaN).filter(Number.isFinite);
    if (values.length === 0) return;
    const stats = statsOf(values);
    band.x.push(x);
    band.mean.push(stats.mean);
    band.low.push(kind === 'range' ? stats.min : stats.mean - stats.std);
    band.high.push(kind === 'range' ? stats.max : stats.mean + stats.std);
    band.runs.push(values.length);
  });
  return band;
}

export interface Stats {
  mean: number;
  std: number; // of a sample: divided by n - 1
  min: number;
  max: number;
  count: number;
}

export function statsOf(values: readonly number[]): Stats {
  const count = values.length;
  const mean = values.reduce((sum, v) => sum + v, 0) / count;
  const squares = values.reduce((sum, v) => sum + (v - mean) ** 2, 0);
  return {
    mean,
    std: count > 1 ? Math.sqrt(squares / (count - 1)) : 0,
    min: Math.min(...values),
    max: Math.max(...values),
    count,
  };
}
