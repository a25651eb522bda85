import { expect, test } from 'vitest';
import {
  formatAgo,
  formatBytes,
  formatDuration,
  formatNumber,
  formatShort,
  fromWire,
} from './numbers';

test.each([
  [0, '0'],
  [0.0123456, '0.012346'],
  [1.23456e-7, '1.2346e-7'],
  [1e-3, '0.001'],
  [3e-4, '0.0003'],
  [12345678, '12,345,678'],
  [12345.678, '12,346'],
  [NaN, 'NaN'],
  [-Infinity, '-inf'],
])('%d is shown as %s', (value, text) => expect(formatNumber(value)).toBe(text));

test('ticks are short', () => {
  expect(formatShort(12000)).toBe('12k');
  expect(formatShort(2500000)).toBe('2.5M');
  expect(formatShort(500)).toBe('500');
});

test('bytes have binary units', () => {
  expect(formatBytes(512)).toBe('512 B');
  expect(formatBytes(1536)).toBe('1.50 KiB');
  expect(formatBytes(25 * 1024 ** 3)).toBe('25.0 GiB');
});

test('durations have two units at most', () => {
  expect(formatDuration(4.21)).toBe('4.2 s');
  expect(formatDuration(725)).toBe('12m 05s');
  expect(formatDuration(90061)).toBe('1d 1h');
});

test('times are told as distances', () => {
  expect(formatAgo(1_000_000 * 1e6, 1_000_000_000 + 90_000)).toBe('1 min ago');
});

test('the three values JSON lacks come back', () => {
  expect(fromWire('NaN')).toBeNaN();
  expect(fromWire('-Infinity')).toBe(-Infinity);
  expect(fromWire(0.5)).toBe(0.5);
});
