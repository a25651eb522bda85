// How wide the columns of the runs table are: as the reader set them, else by what is in them.
import { columnTitle } from '../lib/columns';

export const NAME = 'name';
export const LEAST_WIDTH = 48;

const NAME_WIDTH = 250;
const NARROW_NAME = 170; // on a telephone
const WIDTHS: Record<string, number> = {
  state: 96,
  created: 88,
  duration: 84,
  last_step: 78,
  tags: 150,
  labels: 190,
  notes: 220,
  user: 84,
  host: 110,
  source: 76,
};

export interface ColumnLayout {
  template: string; // for grid-template-columns
  least: number; // below it, the table scrolls sideways
}

function usualWidth(column: string, isGrouped: boolean): number {
  if (column === NAME) return globalThis.innerWidth < 760 ? NARROW_NAME : NAME_WIDTH;
  const least = isGrouped ? 132 : 86;
  return WIDTHS[column] ?? Math.max(least, Math.min(190, columnTitle(column).length * 7 + 26));
}

/** Columns without a width of their own share what is left. */
export function layoutOf(
  columns: readonly string[],
  set: Readonly<Record<string, number>>,
  isGrouped: boolean,
): ColumnLayout {
  const widths = columns.map((column) => set[column] ?? usualWidth(column, isGrouped));
  const tracks = columns.map((column, i) => {
    const share = column === NAME ? '1.6fr' : '1fr';
    return set[column] === undefined ? `minmax(${widths[i]}px, ${share})` : `${widths[i]}px`;
  });
  return { template: tracks.join(' '), least: widths.reduce((sum, width) => sum + width, 0) };
}
