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
