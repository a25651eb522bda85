import type uPlot from 'uplot';
import type { Drawing } from './drawing';
import type { Readout } from './hover';

/**
 * A line that ended this far from the pointer (in parts of the view) has no value to read there.
 */
const REACH = 0.03;

/** The value of every line at the pointer, greatest first. */
export function readAt(plot: uPlot, drawing: Drawing): Readout | null {
  const xs = plot.data[0];
  const at = plot.posToVal(plot.cursor.left ?? 0, 'x');
  const view = (plot.scales['x']?.max ?? 0) - (plot.scales['x']?.min ?? 0);
  const rows: Readout['rows'] = [];
  let x = at;
  let closest = Infinity;
  drawing.strokes.forEach((stroke, i) => {
    if (stroke.role !== 'line') return;
    const index = plot.cursor.idxs?.[i + 1];
    const value = index === null || index === undefined ? null : plot.data[i + 1]?.[index];
    const own = index === null || index === undefined ? NaN : (xs[index] ?? NaN);
    if (typeof value !== 'number' || Math.abs(own - at) > reachOf(stroke.length, view)) return;
    if (Math.abs(own - at) < closest) {
      closest = Math.abs(own - at);
      x = own;
    }
    const { id, label, colour } = stroke;
    const count = drawing.counts.get(id)?.get(own);
    rows.push({ id, label: count === undefined ? label : id, colour, value, count });
  });
  rows.sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  return { x, rows };
}

/** How far from a point the pointer may be to read it. */
export function reachOf(length: number, view: number): number {
  return view * Math.max(REACH, 1 / Math.max(length, 1));
}
