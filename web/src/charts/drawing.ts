// From the series of some runs to what one chart draws: lines, faded raw lines behind smoothed
// ones, group means with their bands, and the places of values that no axis has (NaN,
// infinities).
import uPlot from 'uplot';
import { lineKey } from '../api/series';
import type { Series } from '../api/series';
import { smooth } from '../lib/smoothing';
import { spreadOf } from '../lib/spread';
import type { Spread } from '../lib/view';

export interface PlotRun {
  project: string;
  id: string;
  attempt?: number; // only what this one logged
  name: string;
  colour: string;
  group: string; // "" when the runs are not grouped
}

export interface DrawOptions {
  smooth: number;
  spread: Spread;
  isGrouped: boolean;
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
}

type Table = [number[], (number | null)[]];

const MAX_GHOSTS = 24;

export function draw(series: readonly Series[], runs: PlotRun[], options: DrawOptions): Drawing {
  const byId = new Map(series.map((s) => [lineKey(s), s]));
  const parts = new Parts(options);
  const present = runs.filter((run) => (byId.get(lineKey(run))?.x.length ?? 0) > 0);
  if (options.isGrouped && options.spread !== 'lines') drawGroups(parts, present, byId);
  else drawRuns(parts, present, byId);
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

function drawGroups(parts: Parts, runs: PlotRun[], byId: Map<string, Series>): void {
  const { smooth: weight, spread } = parts.options;
  const groups = new Map<string, PlotRun[]>();
  runs.forEach((run) => groups.set(run.group, [...(groups.get(run.group) ?? []), run]));
  for (const [group, members] of groups) {
    const curves = members.flatMap((run) => byId.get(lineKey(run)) ?? []);
    const colour = members[0]?.colour ?? '#888888';
    const band = spreadOf(curves, spread === 'std' ? 'std' : 'range');
    const stroke = { id: group, label: `${group} (${members.length})`, colour };
    curves.forEach((curve) => parts.markStrange(curve, colour));
    if (spread !== 'none' && members.length > 1) {
      const high = parts.add(
        { ...stroke, role: 'high' },
        band.x,
        smooth(band.x, band.high, weight),
      );
      const low = parts.add({ ...stroke, role: 'low' }, band.x, smooth(band.x, band.low, weight));
      parts.bands.push({ high, low, colour });
    }
    parts.add({ ...stroke, role: 'line' }, band.x, smooth(band.x, band.mean, weight));
  }
}

class Parts {
  private readonly tables: Table[] = [];
  private readonly strokes: Stroke[] = [];
  private readonly marks: Mark[] = [];
  readonly bands: Drawing['bands'] = [];

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
    const { strokes, bands, marks } = this;
    const data: uPlot.AlignedData =
      this.tables.length === 0 ? [[]] : uPlot.join(this.tables as uPlot.AlignedData[]);
    return { data, strokes, bands, marks };
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
