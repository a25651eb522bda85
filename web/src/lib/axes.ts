// Axes for parallel coordinates and scatter plots: any column of runs becomes a place between 0
// and 1.
import type { Run } from '../api/types';
import { logTicks, niceTicks } from '../charts/ticks';
import { cellOf, compareCells } from './flatten';
import type { Cell } from './flatten';
import { formatShort } from './numbers';

export interface Axis {
  column: string;
  kind: 'number' | 'log' | 'name';
  /** Null: the run has no such value, or one that no axis holds (NaN). */
  at: (value: Cell) => number | null;
  ticks: { at: number; text: string }[];
  /** From a place back to a number; names have none. */
  valueAt: (place: number) => number | null;
}

const LOG_RATIO = 50;
const MAX_NAMES = 24;
/** Up to so many different numbers are marked each; more get round ticks. */
const MAX_MARKED = 8;

export function makeAxis(runs: readonly Run[], column: string, count = 6): Axis {
  const cells = runs.map((run) => cellOf(run, column));
  const known = cells.filter((c) => c !== undefined && c !== null && c !== '');
  const numbers = known.filter((c): c is number => typeof c === 'number' && Number.isFinite(c));
  const texts = known.filter((c) => typeof c === 'string' || typeof c === 'boolean');
  if (numbers.length === 0 || texts.length > 0) return nameAxis(column, known);
  let low = Infinity;
  let high = -Infinity;
  numbers.forEach((v) => {
    low = Math.min(low, v);
    high = Math.max(high, v);
  });
  const isLog = low > 0 && high / low >= LOG_RATIO;
  const axis = isLog ? logAxis(column, low, high) : linearAxis(column, low, high, count);
  const distinct = [...new Set(numbers)];
  if (distinct.length <= MAX_MARKED) {
    axis.ticks = distinct.map((v) => ({ at: axis.at(v) ?? 0, text: formatShort(v) }));
  }
  return axis;
}

function linearAxis(column: string, low: number, high: number, count: number): Axis {
  const span = high - low || 1;
  const from = high === low ? low - 0.5 : low;
  const place = (v: number) => (v - from) / span;
  return {
    column,
    kind: 'number',
    at: (v) => (typeof v === 'number' && Number.isFinite(v) ? place(v) : null),
    ticks: niceTicks(from, from + span, count).map((t) => ({ at: place(t), text: formatShort(t) })),
    valueAt: (p) => from + p * span,
  };
}

function logAxis(column: string, low: number, high: number): Axis {
  const a = Math.log(low);
  const span = Math.log(high) - a || 1;
  const place = (v: number) => (Math.log(v) - a) / span;
  return {
    column,
    kind: 'log',
    at: (v) => (typeof v === 'number' && v > 0 && Number.isFinite(v) ? place(v) : null),
    ticks: logTicks(low, high).map((t) => ({ at: place(t), text: formatShort(t) })),
    valueAt: (p) => Math.exp(a + p * span),
  };
}

function nameAxis(column: string, known: Cell[]): Axis {
  const names = [...new Set(known)].sort(compareCells);
  const place = (i: number) => (names.length === 1 ? 0.5 : i / (names.length - 1));
  const index = new Map(names.map((name, i) => [name, place(i)]));
  const every = Math.ceil(names.length / MAX_NAMES);
  return {
    column,
    kind: 'name',
    at: (v) => index.get(v) ?? null,
    ticks: names.flatMap((name, i) =>
      i % every === 0 ? [{ at: place(i), text: String(name) }] : [],
    ),
    valueAt: () => null,
  };
}

/** A stretch of an axis that was brushed, in places between 0 and 1. */
export type Brushes = Readonly<Record<string, [number, number]>>;

export function passes(run: Run, axes: readonly Axis[], brushes: Brushes): boolean {
  return axes.every((axis) => {
    const brush = brushes[axis.column];
    if (!brush) return true;
    const place = axis.at(cellOf(run, axis.column));
    return place !== null && place >= brush[0] - 1e-9 && place <= brush[1] + 1e-9;
  });
}

export function writeBrushes(brushes: Brushes): string {
  return Object.entries(brushes)
    .map(([column, [a, b]]) => `${encodeURIComponent(column)}:${a.toFixed(4)}~${b.toFixed(4)}`)
    .join(';');
}

export function readBrushes(text: string): Brushes {
  const out: Record<string, [number, number]> = {};
  for (const part of text.split(';')) {
    const colon = part.lastIndexOf(':');
    const [a = NaN, b = NaN] = part
      .slice(colon + 1)
      .split('~')
      .map(Number);
    if (colon > 0 && a <= b) out[decodeURIComponent(part.slice(0, colon))] = [a, b];
  }
  return out;
}
