import { formatNumber, formatShort } from '../lib/numbers';
import { makeScale } from './ticks';

export type Mark = 'line' | 'point' | 'bar';

export interface DataGroup {
  name: string;
  colour: string;
  points: { x: number | string; y: number }[];
}

interface Props {
  groups: DataGroup[];
  kind: Mark;
  xName: string;
  yName: string;
  width: number;
  height: number;
}

const LEFT = 52;
const BOTTOM = 36;
const TOP = 10;
const RIGHT = 12;

/** Lines, points or bars over numbers or names. */
export function DataPlot({ groups, kind, xName, yName, width, height }: Props) {
  const points = groups.flatMap((g) => g.points).filter((p) => Number.isFinite(p.y));
  const isNamed = points.some((p) => typeof p.x === 'string');
  const names = isNamed ? [...new Set(points.map((p) => String(p.x)))] : [];
  const place = (x: number | string) => (isNamed ? names.indexOf(String(x)) : Number(x));
  const xs = points.map((p) => place(p.x));
  const ys = points.map((p) => p.y);
  const xRange: [number, number] = isNamed
    ? [-0.5, names.length - 0.5]
    : [Math.min(...xs), Math.max(...xs)];
  const floor = kind === 'bar' ? Math.min(0, ...ys) : Math.min(...ys);
  const x = makeScale(xRange, [LEFT, width - RIGHT], false, width / 90);
  const y = makeScale([floor, Math.max(...ys)], [height - BOTTOM, TOP], false, 5);
  const slot = (width - LEFT - RIGHT) / Math.max(isNamed ? names.length : points.length, 1);
  const bar = Math.max(1, (slot * 0.8) / Math.max(groups.length, 1));
  const bottom = height - BOTTOM;
  const xTicks = isNamed ? thinned(names.length, width / 60) : x.ticks;
  if (points.length === 0) return <p class="faint">These columns hold no numbers to plot.</p>;
  return (
    <svg
      class="data-plot"
      width={width}
      height={height}
      role="img"
      aria-label={`${yName} over ${xName}`}
    >
      {y.ticks.map((t) => (
        <g key={t}>
          <path class="grid-line" d={`M${LEFT} ${y.at(t)}H${width - RIGHT}`} />
          <text x={LEFT - 6} y={y.at(t) + 4} text-anchor="end">
            {formatShort(t)}
          </text>
        </g>
      ))}
      {xTicks.map((t) => (
        <text key={t} x={x.at(t)} y={bottom + 15} text-anchor="middle">
          {isNamed ? (names[t] ?? '').slice(0, 12) : formatShort(t)}
        </text>
      ))}
      <path class="axis-line" d={`M${LEFT} ${TOP}V${bottom}H${width - RIGHT}`} />
      <text class="axis-name" x={(LEFT + width) / 2} y={height - 4} text-anchor="middle">
        {xName}
      </text>
      {groups.map((group, g) => (
        <g key={group.name} fill={group.colour} stroke={group.colour}>
          {kind === 'line' && (
            <path fill="none" stroke-width="1.6" d={lineOf(group, place, x.at, y.at)} />
          )}
          {kind !== 'line' &&
            group.points
              .filter((p) => Number.isFinite(p.y))
              .map((p, i) => {
                const label = <title>{`${group.name} ${p.x}: ${formatNumber(p.y)}`}</title>;
                return kind === 'point' ? (
                  <circle
                    key={i}
                    cx={x.at(place(p.x))}
                    cy={y.at(p.y)}
                    r="2.6"
                    fill-opacity="0.7"
                    stroke="none"
                  >
                    {label}
                  </circle>
                ) : (
                  <rect
                    key={i}
                    stroke="none"
                    x={x.at(place(p.x)) - (bar * groups.length) / 2 + g * bar}
                    y={Math.min(y.at(p.y), y.at(0))}
                    width={bar}
                    height={Math.abs(y.at(p.y) - y.at(0))}
                  >
                    {label}
                  </rect>
                );
              })}
        </g>
      ))}
    </svg>
  );
}

function thinned(count: number, room: number): number[] {
  const step = Math.max(1, Math.ceil(count / Math.max(room, 1)));
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
}

function lineOf(
  group: DataGroup,
  place: (x: number | string) => number,
  atX: (v: number) => number,
  atY: (v: number) => number,
): string {
  const path = group.points
    .filter((p) => Number.isFinite(p.y))
    .map((p) => `${atX(place(p.x)).toFixed(1)} ${atY(p.y).toFixed(1)}`);
  return path.length > 0 ? `M${path.join('L')}` : '';
}
