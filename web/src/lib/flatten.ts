import type { Json, Run } from '../api/types';
import { fromWire } from './numbers';

/** {"a": {"b": 1}} -> {"a.b": 1}; lists stay whole. */
export function flatten(
  config: { [key: string]: Json },
  prefix = '',
  out: { [key: string]: Json } = {},
): { [key: string]: Json } {
  for (const [key, value] of Object.entries(config)) {
    const path = prefix ? `${prefix}.${key}` : key;
    if (isObject(value) && Object.keys(value).length > 0) flatten(value, path, out);
    else out[path] = value;
  }
  return out;
}

export function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function atPath(config: { [key: string]: Json }, path: string): Json | undefined {
  if (path in config) return config[path];
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const inner = config[path.slice(0, dot)];
    if (isObject(inner)) {
      const found = atPath(inner, path.slice(dot + 1));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

export type Cell = string | number | boolean | null | undefined;

const FACTS = [
  'name',
  'id',
  'state',
  'user',
  'host',
  'group',
  'job_type',
  'notes',
  'sweep',
  'source',
] as const;

/** The value in a column: a fact, config.KEY, label.NAME, summary.KEY or its .min and .max. */
export function cellOf(run: Run, column: string): Cell {
  if (column.startsWith('config.')) return plain(atPath(run.config, column.slice(7)));
  if (column.startsWith('summary.')) return summaryOf(run, column.slice(8));
  if (column.startsWith('label.')) return run.labels?.[column.slice(6)];
  if (column === 'tags') return run.tags.join(', ');
  if (column === 'created') return run.created_us;
  if (column === 'duration') return durationOf(run);
  if (column === 'last_step') return run.last_step ?? null;
  if (column === 'attempt') return run.attempt ?? null;
  const fact = FACTS.find((name) => name === column);
  return fact ? (run[fact] ?? null) : undefined;
}

function summaryOf(run: Run, key: string): Cell {
  const whole = run.summary[key];
  if (whole) return fromSummary(whole.last);
  const dot = key.lastIndexOf('.');
  const metric = dot > 0 ? run.summary[key.slice(0, dot)] : undefined;
  const part = key.slice(dot + 1);
  if (!metric) return undefined;
  if (part === 'min') return fromWire(metric.min);
  if (part === 'max') return fromWire(metric.max);
  return part === 'last' ? fromSummary(metric.last) : undefined;
}

function fromSummary(value: Json): Cell {
  const isNumber = value === 'NaN' || value === 'Infinity' || value === '-Infinity';
  return isNumber ? fromWire(value) : plain(value);
}

export function durationOf(run: Run): number | null {
  const end = run.ended_us || run.heartbeat_us;
  return end ? Math.max(0, (end - run.created_us) / 1e6) : null;
}

export function plain(value: Json | undefined): Cell {
  if (value === undefined || value === null) return value;
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

/** For sorting and grouping: numbers by size, then text, then nothing at all. */
export function compareCells(a: Cell, b: Cell): number {
  const rank = (v: Cell) => {
    if (typeof v === 'number') return Number.isNaN(v) ? 1 : 0;
    return v === undefined || v === null || v === '' ? 3 : 2;
  };
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'number' && typeof b === 'number') return a - b || 0;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}
