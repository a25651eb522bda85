import { useEffect, useRef, useState } from 'preact/hooks';
import type { Run } from '../api/types';
import type { Axis } from '../lib/axes';
import { columnTitle } from '../lib/columns';
import { cellOf } from '../lib/flatten';
import { formatNumber } from '../lib/numbers';
import { rampAt } from '../lib/ramp';
import { go } from '../lib/router';
import { isDark, token } from '../lib/theme';
import { useSize } from './element_size';
import { litRun } from './hover';

interface Props {
  runs: Run[];
  x: Axis;
  y: Axis;
  colour: Axis | null;
}

const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 24;
const TOP = 14;
const BOTTOM = 44;
const NEAR = 14;

/** A dot for each run. A click opens it. */
export function ScatterPlot({ runs, x, y, colour }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(box);
  const [near, setNear] = useState<Run | null>(null);
  const dark = isDark.value;
  const xOf = (place: number) => LEFT + place * (width - LEFT - RIGHT);
  const yOf = (place: number) => HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM);
  const dots = runs.flatMap((run) => {
    const px = x.at(cellOf(run, x.column));
    const py = y.at(cellOf(run, y.column));
    return px === null || py === null ? [] : [{ run, x: xOf(px), y: yOf(py) }];
  });
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || width === 0) return;
    element.width = width * devicePixelRatio;
    element.height = HEIGHT * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    for (const dot of dots) {
      const hue = colour?.at(cellOf(dot.run, colour.column));
      const isLit = dot.run.id === litRun.value || dot.run.id === near?.id;
      context.globalAlpha = dots.length > 2000 ? 0.5 : 0.85;
      context.fillStyle = isLit ? token('mark') : colour ? rampAt(hue ?? 0, dark) : token('sea');
      context.beginPath();
      context.arc(dot.x, dot.y, isLit ? 6 : dots.length > 1000 ? 3 : 4.5, 0, 7);
      context.fill();
    }
  }, [runs, x, y, colour, width, dark, litRun.value, near]);
  const onMove = (event: MouseEvent) => {
    const frame = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [mx, my] = [event.clientX - frame.left, event.clientY - frame.top];
    let best = NEAR;
    let found: Run | null = null;
    for (const dot of dots) {
      const distance = Math.hypot(dot.x - mx, dot.y - my);
      if (distance < best) [best, found] = [distance, dot.run];
    }
    setNear(found);
  };
  return (
    <div
      ref={box}
      class="parallel"
      style={{ height: HEIGHT, cursor: near ? 'pointer' : 'default' }}
      onMouseMove={onMove}
      onMouseLeave={() => setNear(null)}
      onClick={() => near && go(['p', near.project, 'run', near.id])}
    >
      <svg width={width} height={HEIGHT} aria-hidden="true" class="data-plot">
        {y.ticks.map((t) => (
          <g key={t.text}>
            <path class="grid-line" d={`M${LEFT} ${yOf(t.at)}H${width - RIGHT}`} />
            <text x={LEFT - 8} y={yOf(t.at) + 4} text-anchor="end">
              {t.text.slice(0, 9)}
            </text>
          </g>
        ))}
        {x.ticks.map((t) => (
          <g key={t.text}>
            <path class="grid-line" d={`M${xOf(t.at)} ${TOP}V${HEIGHT - BOTTOM}`} />
            <text x={xOf(t.at)} y={HEIGHT - BOTTOM + 16} text-anchor="middle">
              {t.text.slice(0, 12)}
            </text>
          </g>
        ))}
        <text class="axis-name" x={(LEFT + width) / 2} y={HEIGHT - 6} text-anchor="middle">
          {columnTitle(x.column)}
        </text>
        <text
          class="axis-name"
          transform={`translate(13 ${HEIGHT / 2}) rotate(-90)`}
          text-anchor="middle"
        >
          {columnTitle(y.column)}
        </text>
      </svg>
      <canvas
        ref={canvas}
        style={{ width, height: HEIGHT }}
        role="img"
        aria-label={`${y.column} over ${x.column} for ${dots.length} runs`}
      />
      {near && (
        <div class="readout" style={{ left: LEFT + 10, top: TOP }}>
          <b>{near.name}</b>
          {[x, y, ...(colour ? [colour] : [])].map((axis) => {
            const value = cellOf(near, axis.column);
            return (
              <div key={axis.column} class="muted">
                {columnTitle(axis.column)}{' '}
                {typeof value === 'number' ? formatNumber(value) : String(value)}
              </div>
            );
          })}
        </div>
      )}
    </div>
  );
}
