import { expect, test } from 'vitest';
import { assignColours, colourOf, DAY, NIGHT } from './colours';

function luminance(hex: string): number {
  const channel = (shift: number) => {
    const c = ((parseInt(hex.slice(1), 16) >> shift) & 255) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0);
}

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

test('twelve names get twelve colours', () => {
  const names = Array.from({ length: 12 }, (_, i) => `run-${i}`);
  expect(new Set(assignColours(names).values()).size).toBe(12);
});

test('a name keeps its colour when others come after it', () => {
  const few = assignColours(['a', 'b']);
  const more = assignColours(['a', 'b', 'c', 'd']);
  expect(more.get('a')).toBe(few.get('a'));
  expect(more.get('b')).toBe(few.get('b'));
});

test('every line can be told from the page (WCAG: 3 to 1 for graphics)', () => {
  DAY.forEach((colour) => expect(contrast(colour, '#ffffff')).toBeGreaterThan(3));
  NIGHT.forEach((colour) => expect(contrast(colour, '#10181f')).toBeGreaterThan(3));
});

test('the colours of runs are many, and can be told from the page', () => {
  const names = Array.from({ length: 2000 }, (_, i) => `run-${i}`);
  for (const [isDark, page] of [
    [false, '#f5f4ee'],
    [true, '#10181f'],
  ] as const) {
    const colours = new Set(names.map((name) => colourOf(name, isDark)));
    expect(colours.size).toBeGreaterThan(65);
    colours.forEach((colour) => expect(contrast(colour, page)).toBeGreaterThan(3));
  }
});
