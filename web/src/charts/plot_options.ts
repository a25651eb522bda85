// The uPlot options of a line chart: axes, lines, bands and marks from a Drawing.
import type uPlot from 'uplot';
import { withAlpha } from '../lib/colours';
import { token } from '../lib/theme';
import { tickTimes, tickX, tickY } from './axis_format';
import { innerRange } from './drawing';
import type { Drawing, Stroke } from './drawing';
import { SYNC_KEY } from './hover';
import { reachOf } from './readout';

export interface PlotSettings {
  metric: string;
  xAxis: string;
  logX: boolean;
  logY: boolean;
  range: [number, number] | null;
  outliers: boolean;
  width: number;
  height: number;
}

const FONT = '11px Inter, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
const FEW_POINTS = 15;
const MANY_LINES = 40;

export function plotOptions(
  settings: PlotSettings,
  current: () => Drawing,
  hooks: uPlot.Hooks.Arrays,
): uPlot.Options {
  const { width, height, range } = settings;
  const drawing = current();
  const inner = settings.outliers ? undefined : innerRange(drawing);
  const axis = axisStyle();
  return {
    width,
    height,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    scales: {
      x: {
        time: settings.xAxis === 'time',
        distr: settings.logX ? 3 : 1,
        ...(range ? { range: () => range } : {}),
      },
      y: {
        distr: settings.logY ? 3 : 1,
        ...yRange(settings, inner),
      },
    },
    axes: [
      {
        ...axis,
        size: 26,
        space: 64,
        values: (_, ticks, __, ___, step) =>
          settings.xAxis === 'time'
            ? tickTimes(ticks, step)
            : ticks.map((v) => tick(v, (t) => tickX(t, settings.xAxis))),
      },
      {
        ...axis,
        size: 52,
        space: 34,
        values: (_, ticks) =>
          ticks.map((v) =>
            settings.logY && !isRound(v) ? '' : tick(v, (t) => tickY(t, settings.metric)),
          ),
      },
    ],
    series: [{}, ...drawing.strokes.map(strokeStyle)],
    bands: drawing.bands.map((band) => ({
      series: [band.high, band.low] as [number, number],
      fill: withAlpha(band.colour, 0.16),
    })),
    cursor: {
      sync: { key: SYNC_KEY, scales: ['x', null] },
      drag: { x: true, y: false, setScale: false },
      // Each is an element that moves with the pointer.
      points: { show: drawing.strokes.length <= MANY_LINES, size: 6, width: 1.5 },
      dataIdx: (plot, column, at) =>
        isRead(current(), column) ? nearestInReach(plot, current(), column, at) : NOWHERE,
      bind: { dblclick: () => () => null },
    },
    hooks: { ...hooks, draw: [...(hooks.draw ?? []), (plot) => drawMarks(plot, current())] },
  };
}

type RangeOption = { range?: uPlot.Scale.Range };

/** Logarithmic axes end near the data, not at the next power of ten. */
function yRange(settings: PlotSettings, inner: [number, number] | undefined): RangeOption {
  if (inner && inner[0] < inner[1] && !settings.logY) return { range: () => padded(inner) };
  if (!settings.logY) return {};
  return {
    range: (_, low, high) => {
      const [from, to] = inner && inner[0] > 0 ? inner : [low, high];
      return from > 0 && to > 0 ? [from / 1.15, to * 1.15] : [0.1, 1];
    },
  };
}

function tick(value: number | null, format: (v: number) => string): string {
  return value === null ? '' : format(value);
}

/** 1, 2 or 5 times a power of ten. */
function isRound(value: number | null): boolean {
  if (!value) return false;
  const head = Math.abs(value) / 10 ** Math.floor(Math.log10(Math.abs(value)) + 1e-9);
  return [1, 2, 5].some((round) => Math.abs(head - round) < 1e-6);
}

function padded([low, high]: [number, number]): [number, number] {
  const pad = (high - low) * 0.06;
  return [low - pad, high + pad];
}

function axisStyle(): Partial<uPlot.Axis> {
  return {
    font: FONT,
    stroke: token('ink-3'),
    grid: { stroke: token('rule'), width: 1, dash: [1, 3] },
    ticks: { stroke: token('rule-2'), width: 1, size: 4 },
    border: { show: true, stroke: token('rule-2'), width: 1 },
    gap: 4,
  };
}

function strokeStyle(stroke: Stroke): uPlot.Series {
  const isLine = stroke.role === 'line';
  const isEdge = stroke.role === 'low' || stroke.role === 'high';
  return {
    label: stroke.label,
    stroke: isLine ? stroke.colour : withAlpha(stroke.colour, isEdge ? 0 : 0.28),
    width: isLine ? 1.6 : 1,
    points: { show: isLine && stroke.length <= FEW_POINTS, size: 4, fill: stroke.colour },
  };
}

/** uPlot shows no point there. */
const NOWHERE = null as unknown as number;

function isRead(drawing: Drawing, column: number): boolean {
  return column === 0 || drawing.strokes[column - 1]?.role === 'line';
}

/**
 * The closest place that holds a value, as far as a reader may mean it; joined data has none where
 * other runs have their points.
 */
function nearestInReach(plot: uPlot, drawing: Drawing, column: number, at: number): number {
  const values = plot.data[column] ?? [];
  const xs = plot.data[0];
  const there = plot.posToVal(plot.cursor.left ?? 0, 'x');
  const stretch = (plot.scales['x']?.max ?? 0) - (plot.scales['x']?.min ?? 0);
  const reach = reachOf(
    column > 0 ? (drawing.strokes[column - 1]?.length ?? 0) : xs.length,
    stretch,
  );
  const isNear = (i: number) => Math.abs((xs[i] ?? NaN) - there) <= reach;
  for (let d = 0; isNear(at - d) || isNear(at + d) || d === 0; d += 1) {
    if (typeof values[at - d] === 'number' && isNear(at - d)) return at - d;
    if (typeof values[at + d] === 'number' && isNear(at + d)) return at + d;
  }
  return NOWHERE;
}

function drawMarks(plot: uPlot, drawing: Drawing): void {
  const { ctx, bbox } = plot;
  const size = 3 * devicePixelRatio;
  ctx.save();
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const mark of drawing.marks) {
    const x = plot.valToPos(mark.x, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const atTop = mark.sign === 'up';
    const y = atTop ? bbox.top + size + 1 : bbox.top + bbox.height - size - 1;
    ctx.strokeStyle = mark.colour;
    ctx.beginPath();
    if (mark.sign === 'nan') {
      ctx.moveTo(x - size, y - size);
      ctx.lineTo(x + size, y + size);
      ctx.moveTo(x - size, y + size);
      ctx.lineTo(x + size, y - size);
    } else {
      const tip = atTop ? -size : size;
      ctx.moveTo(x - size, y - tip);
      ctx.lineTo(x, y + tip);
      ctx.lineTo(x + size, y - tip);
    }
    ctx.stroke();
  }
  ctx.restore();
}
