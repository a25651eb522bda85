// Rows of a table as the groups of a plot.
import { assignColours, colourAt } from '../lib/colours';
import { valueOf } from '../lib/tables';
import type { Table } from '../lib/tables';
import type { DataGroup } from './data_plot';

type Group = Omit<DataGroup, 'colour'>;

/** A group for each value of the column `by`; one without a name where that is empty. */
export function splitTable(table: Table, x: string, y: string, by: string): Group[] {
  const [xi, yi, bi] = [x, y, by].map((name) => table.columns.indexOf(name));
  const groups = new Map<string, { x: number | string; y: number }[]>();
  for (const row of table.rows) {
    const name = by ? String(valueOf(row[bi ?? -1])) : '';
    const px = valueOf(row[xi ?? -1]);
    const py = valueOf(row[yi ?? -1]);
    if (typeof py !== 'number' || px === null || px === undefined) continue;
    const list = groups.get(name) ?? [];
    list.push({ x: typeof px === 'number' ? px : String(px), y: py });
    groups.set(name, list);
  }
  return [...groups].map(([name, points]) => ({ name, points }));
}

export function withColours(groups: Group[], dark: boolean): DataGroup[] {
  const slots = assignColours(groups.map((g) => g.name));
  return groups.map((g) => ({ ...g, colour: colourAt(slots.get(g.name) ?? 0, dark) }));
}
