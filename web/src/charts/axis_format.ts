import { formatBytes, formatDate, formatDuration, formatNumber, formatShort } from '../lib/numbers';

export function formatX(x: number, axis: string): string {
  if (axis === 'time') return formatDate(x * 1e6);
  if (axis === 'relative') return formatDuration(x);
  return formatNumber(x, 7);
}

export function tickX(x: number, axis: string): string {
  return axis === 'relative' ? formatDuration(x) : formatShort(x);
}

export function formatY(value: number, metric: string): string {
  if (metric.endsWith('_bytes_per_s')) return `${formatBytes(value)}/s`;
  return metric.endsWith('_bytes') ? formatBytes(value) : formatNumber(value);
}

export function tickY(value: number, metric: string): string {
  if (metric.endsWith('_bytes') || metric.endsWith('_bytes_per_s')) {
    return formatBytes(value).replace(/\.0+ /, ' ');
  }
  return formatShort(value);
}

const DAY_S = 86400;

/** Hours and minutes; the day where it changes. */
export function tickTimes(ticks: readonly number[], step: number): string[] {
  let day = '';
  return ticks.map((t) => {
    const text = formatDate(t * 1e6);
    const today = text.slice(5, 10);
    const isNew = day !== '' && today !== day;
    day = today;
    if (step >= DAY_S || isNew) return today;
    return step < 60 ? text.slice(11) : text.slice(11, 16);
  });
}
