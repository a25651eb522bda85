import { useMemo, useRef, useState } from 'preact/hooks';
import type { Json, LogRecord } from '../api/types';
import { formatNumber, formatShort, fromWire } from '../lib/numbers';
import { isDark, token } from '../lib/theme';
import { useSize } from './element_size';
import { makeScale } from './ticks';

interface Histogram {
  step: number;
  edges: number[];
  counts: number[];
}

const HEIGHT = 230;
const LEFT = 46;
const BOTTOM = 22;
const TOP = 46;
const MAX_SHOWN = 60;

/** How a distribution moves: one ridge for each logged step, the newest in front. */
export function HistogramSteps({ records }: { records: LogRecord[] }) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const [hovered, setHovered] = useState(-1);
  const all = useMemo(() => thin(records.map(parse), MAX_SHOWN), [records]);
  const low = Math.min(...all.map((h) => h.edges[0] ?? 0));
  const high = Math.max(...all.map((h) => h.edges[h.edges.length - 1] ?? 1));
  const x = makeScale([low, high], [LEFT, Math.max(width - 8, LEFT + 1)]);
  const steps = all.map((h) => h.step);
  const range: [number, number] = [Math.min(...steps), Math.max(...steps)];
  const y = makeScale(range, [TOP, HEIGHT - BOTTOM], false, 4);
  const rowAt = (step: number) => (all.length > 1 ? y.at(step) : HEIGHT - BOTTOM);
  const peak = Math.max(...all.map((h) => Math.max(...densities(h))), 1e-12);
  const current = all[hovered];
  const sea = isDark.value ? token('sea') : token('sea');
  return (
    <div ref={box} class="histogram">
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label="Histograms over steps">
          {x.ticks.map((t) => (
            <text key={t} x={x.at(t)} y={HEIGHT - 6} text-anchor="middle">
              {formatShort(t)}
            </text>
          ))}
          {y.ticks.map((t) => (
            <text key={t} x={LEFT - 6} y={rowAt(t) + 4} text-anchor="end">
              {formatShort(t)}
            </text>
          ))}
          {all.map((h, i) => (
            <path
              key={h.step}
              d={ridge(h, x.at, rowAt(h.step), peak)}
              fill={hovered === i ? token('mark') : sea}
              fill-opacity={hovered === i ? 0.7 : 0.18 + (0.4 * i) / all.length}
              stroke={token('sheet')}
              stroke-width={1}
              onMouseEnter={() => setHovered(i)}
              onMouseLeave={() => setHovered(-1)}
            />
          ))}
        </svg>
      )}
      <div class="faint note">
        {current
          ? `step ${current.step}: ${formatNumber(current.counts.reduce((a, b) => a + b, 0))} values`
          : `${records.length} steps, values from ${formatNumber(low)} to ${formatNumber(high)}`}
      </div>
    </div>
  );
}

function parse(record: LogRecord): Histogram {
  const numbers = (value: Json | undefined) =>
    Array.isArray(value) ? value.map((v) => fromWire(v as number)) : [];
  return {
    step: record.step,
    edges: numbers(record.body['edges']),
    counts: numbers(record.body['counts']),
  };
}

/** Evenly chosen, the last one always in. */
function thin<T>(list: T[], limit: number): T[] {
  if (list.length <= limit) return list;
  return Array.from(
    { length: limit },
    (_, i) => list[Math.round((i * (list.length - 1)) / (limit - 1))] as T,
  );
}

/** Counts for each unit of x, so that bins of unequal width compare. */
function densities(h: Histogram): number[] {
  return h.counts.map(
    (count, i) => count / Math.max((h.edges[i + 1] ?? 0) - (h.edges[i] ?? 0), 1e-300),
  );
}

function ridge(h: Histogram, at: (v: number) => number, bottom: number, peak: number): string {
  const points = densities(h).map((density, i) => {
    const middle = ((h.edges[i] ?? 0) + (h.edges[i + 1] ?? 0)) / 2;
    return `${at(middle).toFixed(1)} ${(bottom - (density / peak) * (TOP - 6)).toFixed(1)}`;
  });
  const first = at(h.edges[0] ?? 0).toFixed(1);
  const last = at(h.edges[h.edges.length - 1] ?? 0).toFixed(1);
  return `M${first} ${bottom}L${points.join('L')}L${last} ${bottom}Z`;
}
