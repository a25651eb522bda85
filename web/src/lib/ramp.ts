// A scale of colours for a number: shallow water to deep water, and magenta for the far end.
const DAY = ['#b9d3cf', '#56a5aa', '#0b6173', '#1f2f6b', '#8f1363'];
const NIGHT = ['#2c4a53', '#3a8f9b', '#79d4dc', '#cfe9ff', '#ff9fcb'];

export function rampAt(place: number, isDark: boolean): string {
  const stops = isDark ? NIGHT : DAY;
  const at = Math.max(0, Math.min(1, place)) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  return mix(stops[i] ?? '#888888', stops[i + 1] ?? '#888888', at - i);
}

function mix(a: string, b: string, part: number): string {
  const [p, q] = [parseInt(a.slice(1), 16), parseInt(b.slice(1), 16)];
  const channel = (shift: number) => {
    const from = (p >> shift) & 255;
    return Math.round(from + (((q >> shift) & 255) - from) * part);
  };
  return `rgb(${channel(16)}, ${channel(8)}, ${channel(0)})`;
}
