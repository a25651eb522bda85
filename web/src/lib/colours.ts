// Line colours. Twelve that stay apart on paper and at night, in an order that keeps neighbours
// unlike; the second set is the first one, lit for a dark page.
export const DAY = [
  '#0f6e84', '#c2410c', '#6d28a8', '#3f7d20', '#b3125c', '#1d4fb8',
  '#92610a', '#0d8a63', '#9b2c2c', '#5b5fc7', '#55606b', '#a24fb0',
] as const; // prettier-ignore
export const NIGHT = [
  '#4cc3d9', '#ff9357', '#b98cf5', '#93cf6b', '#ff7fb0', '#7fa8ff',
  '#e3b34f', '#4fd6a5', '#f28b82', '#a3a8ff', '#a9b6c0', '#e09af0',
] as const; // prettier-ignore

export function hashText(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i += 1) {
    h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  }
  return h >>> 0;
}

/**
 * A colour number for each name. A name keeps its colour from visit to visit (it starts from a
 * hash), and names shown together share one only when there are more names than colours.
 */
export function assignColours(names: readonly string[], size = DAY.length): Map<string, number> {
  const slots = new Map<string, number>();
  const used = new Array<number>(size).fill(0);
  for (const name of names) {
    if (slots.has(name)) continue;
    const least = Math.min(...used);
    let slot = hashText(name) % size;
    while ((used[slot] ?? 0) > least) slot = (slot + 1) % size;
    used[slot] = (used[slot] ?? 0) + 1;
    slots.set(name, slot);
  }
  return slots;
}

export function colourAt(slot: number, dark: boolean): string {
  const set = dark ? NIGHT : DAY;
  return set[slot % set.length] ?? set[0];
}

/** "#0f6e84" and 0.2 -> "rgba(15, 110, 132, 0.2)". */
export function withAlpha(hex: string, alpha: number): string {
  const n = parseInt(hex.slice(1), 16);
  return `rgba(${n >> 16}, ${(n >> 8) & 255}, ${n & 255}, ${alpha})`;
}
