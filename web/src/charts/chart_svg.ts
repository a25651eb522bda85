// A chart as an SVG text of its own: what the export buttons save, fit for a paper (white ground,
// real text).
import { tickX, tickY } from './axis_format';
import type { Drawing, Stroke } from './drawing';
import { makeScale } from './ticks';
import type { Scale } from './ticks';

export interface SvgAxes {
  metric: string;
  xAxis: string;
  logX: boolean;
  logY: boolean;
  range: [number, number] | null;
}

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 64;
const RIGHT = 16;
const TOP = 34;
const BOTTOM = 46;
const LEGEND_ROW = 16;
const MAX_LEGEND = 30;

export function chartSvg(drawing: Drawing, axes: SvgAxes): string {
  const lines = drawing.strokes.filter((s) => s.role === 'line');
  const legendRows = Math.ceil(Math.min(lines.length, MAX_LEGEND) / 3);
  const height = HEIGHT + legendRows * LEGEND_ROW;
  const xRange = axes.range ?? extent([...drawing.data[0]]);
  const inView = [...drawing.data[0]].map((x) => x >= xRange[0] && x <= xRange[1]);
  const columns = drawing.data.slice(1) as (number | null | undefined)[][];
  const yRange = extent(
    columns.flatMap((c) => c.filter((v, i) => inView[i] && isNumber(v)) as number[]),
  );
  const x = makeScale(xRange, [LEFT, WIDTH - RIGHT], axes.logX, 8);
  const y = makeScale(pad(yRange, axes.logY), [HEIGHT - BOTTOM, TOP], axes.logY, 6);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}"`,
    ` viewBox="0 0 ${WIDTH} ${height}" font-family="Helvetica, Arial, sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="20" font-size="14" fill="#14212c">${escapeXml(axes.metric)}</text>`,
    gridSvg(x, y, axes),
    `<clipPath id="view"><rect x="${LEFT}" y="${TOP}" width="${WIDTH - LEFT - RIGHT}"`,
    ` height="${HEIGHT - TOP - BOTTOM}"/></clipPath><g clip-path="url(#view)" fill="none">`,
    ...drawing.bands.map((band) => bandSvg(drawing, band, x, y)),
    ...drawing.strokes.map((stroke, i) => lineSvg(stroke, drawing.data[0], columns[i] ?? [], x, y)),
    '</g>',
    legendSvg(lines),
    '</svg>',
  ];
  return parts.join('');
}

function isNumber(v: unknown): v is number {
  return typeof v === 'number';
}

function extent(values: readonly number[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high) return [0, 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

function pad([low, high]: [number, number], isLog: boolean): [number, number] {
  if (isLog) return [low / 1.2, high * 1.2];
  const by = (high - low) * 0.04;
  return [low - by, high + by];
}

function gridSvg(x: Scale, y: Scale, axes: SvgAxes): string {
  const bottom = HEIGHT - BOTTOM;
  const columns = x.ticks.map((t) => {
    const at = x.at(t).toFixed(1);
    const text = axes.xAxis === 'time' ? timeTick(t) : tickX(t, axes.xAxis);
    return (
      `<path d="M${at} ${TOP}V${bottom}" stroke="#e3e1d8"/>` +
      `<text x="${at}" y="${bottom + 16}" text-anchor="middle" fill="#435360">${text}</text>`
    );
  });
  const rows = y.ticks.map((t) => {
    const at = y.at(t).toFixed(1);
    return (
      `<path d="M${LEFT} ${at}H${WIDTH - RIGHT}" stroke="#e3e1d8"/>` +
      `<text x="${LEFT - 6}" y="${Number(at) + 4}" text-anchor="end" fill="#435360">` +
      `${tickY(t, axes.metric)}</text>`
    );
  });
  const middle = (LEFT + WIDTH - RIGHT) / 2;
  const name =
    `<text x="${middle}" y="${bottom + 34}" text-anchor="middle" fill="#435360">` +
    `${escapeXml(axes.xAxis)}</text>`;
  return columns.join('') + rows.join('') + name;
}

function timeTick(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(5, 16).replace('T', ' ');
}

function lineSvg(
  stroke: Stroke,
  xs: ArrayLike<number>,
  ys: (number | null | undefined)[],
  x: Scale,
  y: Scale,
): string {
  if (stroke.role === 'low' || stroke.role === 'high') return '';
  const path = pathOf(xs, ys, x, y);
  const style =
    stroke.role === 'ghost' ? 'stroke-opacity="0.28" stroke-width="1"' : 'stroke-width="1.6"';
  return `<path d="${path}" stroke="${stroke.colour}" ${style} stroke-linejoin="round"/>`;
}

function pathOf(
  xs: ArrayLike<number>,
  ys: (number | null | undefined)[],
  x: Scale,
  y: Scale,
): string {
  let path = '';
  let isOpen = false;
  ys.forEach((value, i) => {
    if (value === null) isOpen = false;
    if (!isNumber(value)) return;
    path += `${isOpen ? 'L' : 'M'}${x.at(xs[i] ?? 0).toFixed(1)} ${y.at(value).toFixed(1)}`;
    isOpen = true;
  });
  return path;
}

function bandSvg(drawing: Drawing, band: Drawing['bands'][number], x: Scale, y: Scale): string {
  const xs = [...drawing.data[0]];
  const high = [...(drawing.data[band.high] ?? [])] as (number | null | undefined)[];
  const low = [...(drawing.data[band.low] ?? [])] as (number | null | undefined)[];
  const there = pathOf(xs, high, x, y);
  const back = pathOf([...xs].reverse(), low.reverse(), x, y).replace(/^M/, 'L');
  return `<path d="${there}${back}Z" fill="${band.colour}" fill-opacity="0.16"/>`;
}

function legendSvg(lines: Stroke[]): string {
  const column = (WIDTH - LEFT - RIGHT) / 3;
  return lines
    .slice(0, MAX_LEGEND)
    .map((line, i) => {
      const x = LEFT + (i % 3) * column;
      const y = HEIGHT + Math.floor(i / 3) * LEGEND_ROW + 4;
      return (
        `<path d="M${x} ${y - 4}h14" stroke="${line.colour}" stroke-width="2"/>` +
        `<text x="${x + 20}" y="${y}" fill="#14212c">${escapeXml(line.label.slice(0, 32))}</text>`
      );
    })
    .join('');
}

export function escapeXml(text: string): string {
  const names: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' };
  return text.replace(/[&<>"]/g, (c) => `&${names[c] ?? ''};`);
}
