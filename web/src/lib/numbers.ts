import type { Json } from '../api/types';

/** A number of the server's JSON; NaN for whatever is none. */
export function fromWire(value: Json | undefined): number {
  if (typeof value === 'number') return value;
  if (value === 'Infinity') return Infinity;
  if (value === '-Infinity') return -Infinity;
  return NaN;
}

const SI = ['', 'k', 'M', 'G', 'T', 'P'];

/** 5 significant digits, short exponents: 0.012346, 1.2346e-7, 12,346, NaN. */
export function formatNumber(value: number, digits = 5): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+inf' : '-inf';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return groupThousands(value);
  if (size >= 1e-4 && size < 1e7) return trimZeros(Number(value.toPrecision(digits)));
  return trimExponent(value.toExponential(digits - 1));
}

function trimZeros(value: number): string {
  return Math.abs(value) >= 10000 ? groupThousands(value) : String(value);
}

function groupThousands(value: number): string {
  const [whole = '', fraction] = String(value).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

function trimExponent(text: string): string {
  return text.replace(/\.?0+e/, 'e').replace('e+', 'e');
}

/** For axis ticks: 1.2k, 30M. */
export function formatShort(value: number): string {
  const size = Math.abs(value);
  if (size < 1e4) return formatNumber(value, 4);
  const power = Math.min(Math.floor(Math.log10(size) / 3), SI.length - 1);
  return `${Number((value / 10 ** (3 * power)).toPrecision(4))}${SI[power] ?? ''}`;
}

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return formatNumber(bytes);
  let power = 0;
  let rest = Math.abs(bytes);
  while (rest >= 1024 && power < BINARY.length - 1) {
    rest /= 1024;
    power += 1;
  }
  const sign = bytes < 0 ? '-' : '';
  return `${sign}${power === 0 ? rest : rest.toFixed(rest < 10 ? 2 : 1)} ${BINARY[power] ?? ''}`;
}

/** Two units at most: 3d 4h, 12m 05s, 4.2 s. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '';
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const s = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, '0');
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}

/** How long ago, for times in Unix microseconds. */
export function formatAgo(timeUs: number, nowMs: number): string {
  const seconds = (nowMs - timeUs / 1000) / 1000;
  if (seconds < 5) return 'now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 86400 * 30) return `${Math.floor(seconds / 86400)} d ago`;
  return formatDate(timeUs).slice(0, 10);
}

/** Local time, 2026-11-15 04:21:33. */
export function formatDate(timeUs: number): string {
  if (!timeUs) return '';
  const t = new Date(timeUs / 1000);
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
  return `${day} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}
