import { useRef } from 'preact/hooks';
import { formatDuration, formatNumber, formatShort } from '../lib/numbers';
import type { Step } from '../lib/trials';
import { useSize } from './element_size';
import { niceTicks } from './ticks';

interface Props {
  steps: readonly Step[];
  x: 'time' | 'cost';
  metric: string;
}

const HEIGHT = 240;
const LEFT = 64;
const RIGHT = 16;
const TOP = 12;
const BOTTOM = 36;

/** A dot for each trial that ended, and the best of them up to then as a stair. */
export function BestSoFar({ steps, x, metric }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const end = Math.max(1e-9, ...steps.map((step) => step[x]));
  const values = steps.map((step) => step.value);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const span = high - low || 1;
  const xOf = (v: number) => LEFT + (v / end) * (width - LEFT - RIGHT);
  const yOf = (v: number) => HEIGHT - BOTTOM - ((v - low) / span) * (HEIGHT - TOP - BOTTOM);
  const stair = steps.map((step, i) => {
    const to = `${xOf(step[x]).toFixed(1)}`;
    return i === 0 ? `M${to} ${yOf(step.best)}` : `H${to}V${yOf(step.best).toFixed(1)}`;
  });
  const last = steps[steps.length - 1];
  const name = x === 'time' ? 'time since the first trial' : 'cost: time of all trials together';
  return (
    <div ref={box} style={{ height: HEIGHT }}>
      {width > 0 && last && (
        <svg
          width={width}
          height={HEIGHT}
          class="data-plot"
          role="img"
          aria-label={`Best ${metric} so far over ${x}: ${formatNumber(last.best)} by trial ${last.number}`}
        >
          {niceTicks(low, low + span, 5).map((t) => (
            <g key={t}>
              <path class="grid-line" d={`M${LEFT} ${yOf(t)}H${width - RIGHT}`} />
              <text x={LEFT - 8} y={yOf(t) + 4} text-anchor="end">
                {formatShort(t)}
              </text>
            </g>
          ))}
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <text
              key={part}
              x={xOf(part * end)}
              y={HEIGHT - BOTTOM + 15}
              text-anchor={part === 1 ? 'end' : 'middle'}
            >
              {part === 0 ? '0' : formatDuration(part * end)}
            </text>
          ))}
          <text class="axis-name" x={(LEFT + width) / 2} y={HEIGHT - 4} text-anchor="middle">
            {name}
          </text>
          {steps.map((step) => (
            <circle
              key={`${step[x]}-${step.value}`}
              class="trial-dot"
              cx={xOf(step[x])}
              cy={yOf(step.value)}
              r={3}
            />
          ))}
          <path class="best-line" d={`${stair.join('')}H${width - RIGHT}`} />
        </svg>
      )}
    </div>
  );
}
