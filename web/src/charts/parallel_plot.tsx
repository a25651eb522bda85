import { useEffect, useRef } from 'preact/hooks';
import type { Run } from '../api/types';
import type { Axis, Brushes } from '../lib/axes';
import { passes } from '../lib/axes';
import { cellOf } from '../lib/flatten';
import { rampAt } from '../lib/ramp';
import { isDark, token } from '../lib/theme';
import { useSize } from './element_size';
import { litRun } from './hover';
import { ParallelAxis } from './parallel_axis';

interface Props {
  runs: Run[];
  axes: Axis[];
  brushes: Brushes;
  onBrush: (column: string, range: [number, number] | null) => void;
  onMove: (column: string, by: number) => void;
}

const HEIGHT = 400;
const TOP = 44;
const BOTTOM = 16;
const SIDE = 70;

/** One line for each run across all axes; the last axis gives the colour. */
export function ParallelPlot({ runs, axes, brushes, onBrush, onMove }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(box);
  const step = axes.length > 1 ? (width - 2 * SIDE) / (axes.length - 1) : 0;
  const xOf = (i: number) => (axes.length > 1 ? SIDE + i * step : width / 2);
  const yOf = (place: number) => HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM);
  const dark = isDark.value;
  const lit = litRun.value;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || width === 0) return;
    element.width = width * devicePixelRatio;
    element.height = HEIGHT * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    const colourAxis = axes[axes.length - 1];
    const faded = token('rule-2');
    const alpha = runs.length > 2000 ? 0.25 : runs.length > 200 ? 0.5 : 0.85;
    const order = runs
      .map((run) => ({ run, isIn: passes(run, axes, brushes) }))
      .sort((a, b) => Number(a.isIn) - Number(b.isIn));
    for (const { run, isIn } of order) {
      const places = axes.map((axis) => axis.at(cellOf(run, axis.column)));
      const hue = colourAxis?.at(cellOf(run, colourAxis.column));
      const isLit = run.id === lit;
      context.strokeStyle = isLit ? token('mark') : isIn ? rampAt(hue ?? 0, dark) : faded;
      context.globalAlpha = isLit ? 1 : isIn ? alpha : 0.25;
      context.lineWidth = isLit ? 2.5 : isIn ? 1.3 : 1;
      strokeLine(context, places, xOf, yOf);
    }
  }, [runs, axes, brushes, width, dark, lit]);
  return (
    <div ref={box} class="parallel" style={{ height: HEIGHT }}>
      <canvas ref={canvas} style={{ width, height: HEIGHT }} aria-hidden="true" />
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="group" aria-label="Parallel coordinates">
          {axes.map((axis, i) => (
            <ParallelAxis
              key={axis.column}
              axis={axis}
              x={xOf(i)}
              yOf={yOf}
              brush={brushes[axis.column]}
              room={step || width}
              onBrush={(range) => onBrush(axis.column, range)}
              onMove={(by) => onMove(axis.column, by)}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

/** A run without a value on an axis has a gap there. */
function strokeLine(
  context: CanvasRenderingContext2D,
  places: (number | null)[],
  xOf: (i: number) => number,
  yOf: (place: number) => number,
): void {
  context.beginPath();
  let last: [number, number] | null = null;
  places.forEach((place, i) => {
    if (place === null) {
      last = null;
      return;
    }
    const [x, y] = [xOf(i), yOf(place)];
    if (last) {
      const middle = (last[0] + x) / 2;
      context.bezierCurveTo(middle, last[1], middle, y, x, y);
    } else context.moveTo(x, y);
    last = [x, y];
  });
  context.stroke();
}
