// From the series of some runs to what one chart draws: lines, faded raw lines behind smoothed
// ones, group means with their bands, and the places of values that no axis has (NaN,
// infinities).
import uPlot from 'uplot';
import type { GroupCurve, GroupValue } from '../api/groups';
import { lineKey } from '../api/series';
import type { Series } from '../api/series';
import { nameOfGroup } from '../lib/groups';
import { smooth } from '../lib/smoothing';
import type { Spread } from '../lib/view';

export interface PlotRun {
  project: string;
  id: string;
  attempt?: number; // only what this one logged
  name: string;
  colour: string;
}

/** Runs that are drawn as one line. */
export interface PlotGroup {
  name: string;
  values: GroupValue[];
  runs: number;
  colour: string;
}

export interface DrawOptions {
  smooth: number;
  spread: Spread;
  logY: boolean;
  logX: boolean;
}

export interface Stroke {
  id: string; // of a run, of one of its attempts (lineKey), or a group
  label: string;
  colour: string;
  role: 'line' | 'ghost' | 'low' | 'high';
  length: number;
}

export interface Mark {
  x: number;
  sign: 'nan' | 'up' | 'down';
  colour: string;
}

export interface Drawing {
  data: uPlot.AlignedData;
  strokes: Stroke[]; // one for each column of data after x
  bands: { high: number; low: number; colour: string }[];
  marks: Mark[];
  counts: ReadonlyMap<string, ReadonlyMap<number, number>>; // by group: how many runs count at x
}

type Table = [number[], (number | null)[]];

const MAX_GHOSTS = 24;

export function draw(series: readonly Series[], runs: PlotRun[], options: DrawOptions): Drawing {
  const byId = new Map(series.map((s) => [lineKey(s), s]));
  const parts = new Parts(options);
  drawRuns(
    parts,
    runs.filter((run) => (byId.get(lineKey(run))?.x.length ?? 0) > 0),
    byId,
  );
  return parts.finish();
}

function drawRuns(parts: Parts, runs: PlotRun[], byId: Map<string, Series>): void {
  const weight = parts.options.smooth;
  const showGhosts = weight > 0 && runs.length <= MAX_GHOSTS;
  for (const run of runs) {
    const s = byId.get(lineKey(run));
    if (!s) continue;
    const stroke = { id: lineKey(run), label: run.name, colour: run.colour };
    parts.markStrange(s, run.colour);
    if (showGhosts) parts.add({ ...stroke, role: 'ghost' }, s.x, s.y);
    parts.add({ ...stroke, role: 'line' }, s.x, smooth(s.x, s.y, weight, s.count));
  }
}

/** The mean of each group with its band. */
export function drawGroups(
  curves: readonly GroupCurve[],
  groups: readonly PlotGroup[],
  options: DrawOptions,
): Drawing {
  const { smooth: weight, spread } = options;
  const parts = new Parts(options);
  const byName = new Map(curves.map((curve) => [nameOfGroup(curve.values), curve]));
  for (const { name, colour } of groups) {
    const curve = byName.get(name);
    if (!curve || curve.x.length === 0) continue;
    const { x, mean, sd } = curve;
    const label = `${name} (n = ${curve.curves.toLocaleString('en')})`;
    const stroke = { id: name, label, colour };
    parts.counts.set(name, new Map(x.map((at, i) => [at, curve.n[i] ?? 0])));
    if (spread !== 'none' && curve.curves > 1) {
      const by = (sign: number) => mean.map((m, i) => m + sign * (sd[i] ?? 0));
      const [above, below] = spread === 'std' ? [by(1), by(-1)] : [curve.max, curve.min];
      const high = parts.add({ ...stroke, role: 'high' }, x, smooth(x, above, weight));
      const low = parts.add({ ...stroke, role: 'low' }, x, smooth(x, below, weight));
      parts.bands.push({ high, low, colour });
    }
    parts.add({ ...stroke, role: 'line' }, x, smooth(x, mean, weight));
  }
  return parts.finish();
}

class Parts {
  private readonly tables: Table[] = [];
  private readonly strokes: Stroke[] = [];
  private readonly marks: Mark[] = [];
  readonly bands: Drawing['bands'] = [];
  readonly counts = new Map<string, ReadonlyMap<number, number>>();

  constructor(readonly options: DrawOptions) {}

  /** Returns the column of the data it will be. */
  add(stroke: Omit<Stroke, 'length'>, x: number[], y: number[]): number {
    const keep = x.map((v) => Number.isFinite(v) && (!this.options.logX || v > 0));
    const shown = (v: number) => Number.isFinite(v) && (!this.options.logY || v > 0);
    this.tables.push([
      x.filter((_, i) => keep[i]),
      y.filter((_, i) => keep[i]).map((v) => (shown(v) ? v : null)),
    ]);
    this.strokes.push({ ...stroke, length: x.length });
    return this.tables.length;
  }

  markStrange(s: Series, colour: string): void {
    s.y.forEach((v, i) => {
      if (Number.isFinite(v)) return;
      const sign = Number.isNaN(v) ? 'nan' : v > 0 ? 'up' : 'down';
      this.marks.push({ x: s.x[i] ?? NaN, sign, colour });
    });
  }

  finish(): Drawing {
    const { strokes, bands, marks, counts } = this;
    const data: uPlot.AlignedData =
      this.tables.length === 0 ? [[]] : uPlot.join(this.tables as uPlot.AlignedData[]);
    return { data, strokes, bands, marks, counts };
  }
}

/** The y range without the most extreme percent at both ends; undefined when there is nothing. */
export function innerRange(drawing: Drawing): [number, number] | undefined {
  const values: number[] = [];
  drawing.data.slice(1).forEach((column) => {
    for (const v of column) if (typeof v === 'number') values.push(v);
  });
  if (values.length === 0) return undefined;
  values.sort((a, b) => a - b);
  const at = (q: number) => values[Math.round(q * (values.length - 1))] ?? 0;
  return [at(0.01), at(0.99)];
}
