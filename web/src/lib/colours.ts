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

const HUES = 24;
const SHADES = { day: [0.44, 0.53, 0.61], night: [0.68, 0.76, 0.84] } as const;
const CHROMA = 0.125;

/**
 * The colour of a run, of its id alone: the same in every chart, table and browser, whatever else
 * is shown and in whatever order. One of 72, even steps of hue in three shades.
 */
export function colourOf(name: string, dark: boolean): string {
  const n = hashText(name);
  const hue = ((n >>> 8) % HUES) * (360 / HUES);
  const shades = dark ? SHADES.night : SHADES.day;
  return fromOklch(shades[(n >>> 16) % shades.length] ?? shades[0], CHROMA, hue);
}

/** Bjorn Ottosson's Oklab (bottosson.github.io/posts/oklab) as sRGB. */
function fromOklch(light: number, chroma: number, hue: number): string {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const bytes = linear.map((v) => {
    const c = Math.min(1, Math.max(0, v));
    const gamma = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;
    return Math.round(255 * gamma);
  });
  return `#${bytes.map((v) => v.toString(16).padStart(2, '0')).join('')}`;
}

/** "#0f6e84" and 0.2 -> "rgba(15, 110, 132, 0.2)". */
export function withAlpha(hex: string, alpha: number): string {
  const n = parseInt(hex.slice(1), 16);
  return `rgba(${n >> 16}, ${(n >> 8) & 255}, ${n & 255}, ${alpha})`;
}
