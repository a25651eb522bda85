import { useRef, useState } from 'preact/hooks';
import type { Axis } from '../lib/axes';

interface Props {
  axis: Axis;
  x: number;
  yOf: (place: number) => number;
  brush: [number, number] | undefined;
  room: number; // to the next axis, for the name
  onBrush: (range: [number, number] | null) => void;
  onMove: (by: number) => void;
}

const GRIP = 18;
const KEY_STEP = 0.05;

/** Drag along it to brush, click it to let go; arrow keys move a brush, or the axis itself. */
export function ParallelAxis({ axis, x, yOf, brush, room, onBrush, onMove }: Props) {
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const start = useRef<number | null>(null);
  const top = yOf(1);
  const height = yOf(0) - top;
  const shown = drag ?? brush;
  const placeOf = (event: PointerEvent) => {
    const svg = (event.currentTarget as SVGElement).ownerSVGElement;
    const y = event.clientY - (svg?.getBoundingClientRect().top ?? 0);
    return Math.max(0, Math.min(1, 1 - (y - top) / height));
  };
  const span = (a: number, b: number): [number, number] => [Math.min(a, b), Math.max(a, b)];
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowLeft') onMove(-1);
    else if (event.key === 'ArrowRight') onMove(1);
    else if (event.key === 'Escape') onBrush(null);
    else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      const [a, b] = brush ?? [0, 1];
      const by = event.key === 'ArrowUp' ? KEY_STEP : -KEY_STEP;
      onBrush(event.shiftKey ? span(a, Math.min(1, b + by)) : span(Math.max(0, a + by), b));
    } else return;
    event.preventDefault();
  };
  const name = axis.column.replace(/^(config|summary)\./, '');
  const limit = Math.max(6, Math.floor(room / 7));
  return (
    <g>
      <text class="axis-title" x={x} y={16} text-anchor="middle">
        <title>{axis.column}</title>
        {name.length > limit ? `...${name.slice(-limit + 2)}` : name}
      </text>
      <path class="axis-line" d={`M${x} ${top}V${top + height}`} />
      {axis.ticks.map((tick) => (
        <text key={tick.text} class="axis-tick" x={x + 7} y={yOf(tick.at) + 4}>
          {tick.text.slice(0, 18)}
        </text>
      ))}
      {shown && (
        <rect
          class="brush"
          x={x - GRIP / 2 + 2}
          width={GRIP - 4}
          y={yOf(shown[1])}
          height={Math.max(2, yOf(shown[0]) - yOf(shown[1]))}
        />
      )}
      <rect
        class="grip"
        x={x - GRIP / 2}
        width={GRIP}
        y={top - 6}
        height={height + 12}
        tabIndex={0}
        role="slider"
        aria-label={`Range of ${name}`}
        aria-valuetext={brush ? `${brush[0].toFixed(2)} to ${brush[1].toFixed(2)}` : 'all'}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          start.current = placeOf(event);
          setDrag(null);
        }}
        onPointerMove={(event) => {
          if (start.current !== null) setDrag(span(start.current, placeOf(event)));
        }}
        onPointerUp={(event) => {
          const from = start.current ?? 0;
          const to = placeOf(event);
          start.current = null;
          setDrag(null);
          onBrush(Math.abs(to - from) < 0.015 ? null : span(from, to));
        }}
        onKeyDown={onKeyDown}
      />
    </g>
  );
}
