import { formatY } from './axis_format';
import { litRun } from './hover';
import type { Readout } from './hover';

interface Props {
  readout: Readout;
  place: { left: number; top: number };
  width: number;
  xText: string;
  metric: string;
}

const MAX_ROWS = 16;

/** All runs at the pointer; the lit one stands out, and stays in even when the list is cut. */
export function ReadoutBox({ readout, place, width, xText, metric }: Props) {
  const lit = readout.rows.findIndex((row) => row.id === litRun.value);
  const first = Math.max(0, Math.min(lit - MAX_ROWS / 2, readout.rows.length - MAX_ROWS));
  const rows = readout.rows.slice(first, first + MAX_ROWS);
  const isLeft = place.left > width / 2;
  const side = isLeft ? { right: width - place.left + 4 } : { left: place.left + 70 };
  return (
    <div class="readout" style={side} role="status">
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
