import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatY } from './axis_format';
import { litRun } from './hover';
import type { Readout } from './hover';
import type { Place } from './line_plot';

interface Props {
  readout: Readout;
  place: Place;
  width: number;
  xText: string;
  metric: string;
}

const MAX_ROWS = 16;
const AXIS = 52; // the width of the y axis
const GAP = 14;
const WIDTH = 240;

/** All runs at the pointer; the lit one stands out, and stays in even when the list is cut. */
export function ReadoutBox({ readout, place, width, xText, metric }: Props) {
  const lit = readout.rows.findIndex((row) => row.id === litRun.value);
  const first = Math.max(0, Math.min(lit - MAX_ROWS / 2, readout.rows.length - MAX_ROWS));
  const rows = readout.rows.slice(first, first + MAX_ROWS);
  const box = useRef<HTMLDivElement>(null);
  const [own, setOwn] = useState(WIDTH);
  useLayoutEffect(() => setOwn(box.current?.offsetWidth ?? WIDTH), [readout]);
  const isLeft = place.pageLeft + GAP + own > innerWidth - GAP;
  const side = isLeft
    ? { right: width - place.left - AXIS + GAP }
    : { left: place.left + AXIS + GAP };
  return (
    <div ref={box} class="readout" style={side} role="status">
      <div class="at">{xText}</div>
      <table>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id} class={row.id === litRun.value ? 'lit' : ''}>
              <td>
                <i style={{ background: row.colour }} />
              </td>
              <td class="clip">{row.label}</td>
              <td class="num">{formatY(row.value ?? NaN, metric)}</td>
              {row.count !== undefined && (
                <td class="num faint">n = {row.count.toLocaleString('en')}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {readout.rows.length > rows.length && (
        <div class="faint">{readout.rows.length - rows.length} more</div>
      )}
    </div>
  );
}
