// The rows of the runs table: runs, or groups of runs with what their members have in common.
import type { Run } from '../api/types';
import { cellOf, compareCells } from '../lib/flatten';
import type { Cell } from '../lib/flatten';
import { statsOf } from '../lib/spread';

export interface RunRow {
  kind: 'run';
  run: Run;
  isInGroup: boolean;
  isPinned?: boolean; // stands at the top, whatever the order is
}

export interface GroupRow {
  kind: 'group';
  name: string;
  runs: Run[];
  isOpen: boolean;
}

export type Row = RunRow | GroupRow;

export function groupName(run: Run, by: string): string {
  return by
    .split(',')
    .map((key) => textOf(cellOf(run, key)))
    .join(' / ');
}

function textOf(cell: Cell): string {
  return cell === undefined || cell === null || cell === '' ? '(none)' : String(cell);
}

/** The pinned ones first, then the others as they come. */
export function withPinned(pinned: readonly Run[], rows: readonly Row[]): Row[] {
  const ids = new Set(pinned.map((run) => run.id));
  return [
    ...pinned.map((run): RunRow => ({ kind: 'run', run, isInGroup: false, isPinned: true })),
    ...rows.filter((row) => row.kind === 'group' || row.isInGroup || !ids.has(row.run.id)),
  ];
}

/** Groups in the order in which the table's order first meets them. */
export function rowsOf(runs: readonly Run[], by: string, open: ReadonlySet<string>): Row[] {
  if (!by) return runs.map((run) => ({ kind: 'run', run, isInGroup: false }));
  const groups = new Map<string, Run[]>();
  for (const run of runs) {
    const name = groupName(run, by);
    const members = groups.get(name);
    if (members) members.push(run);
    else groups.set(name, [run]);
  }
  return [...groups].flatMap(([name, members]): Row[] => {
    const isOpen = open.has(name);
    const head: GroupRow = { kind: 'group', name, runs: members, isOpen };
    return isOpen
      ? [head, ...members.map((run): RunRow => ({ kind: 'run', run, isInGroup: true }))]
      : [head];
  });
}

export type GroupCell =
  | { kind: 'none' }
  | { kind: 'same'; value: Cell }
  | { kind: 'numbers'; mean: number; std: number; count: number }
  | { kind: 'various'; count: number };

/** What a group shows in a column: the one value, mean and deviation, or how many there are. */
export function groupCell(runs: readonly Run[], column: string): GroupCell {
  const cells = runs.map((run) => cellOf(run, column));
  const known = cells.filter((c) => c !== undefined && c !== null && c !== '');
  if (known.length === 0) return { kind: 'none' };
  const distinct = new Set(known);
  if (distinct.size === 1 && known.length === runs.length) return { kind: 'same', value: known[0] };
  const numbers = known.filter((c): c is number => typeof c === 'number' && Number.isFinite(c));
  if (numbers.length === known.length) {
    const { mean, std, count } = statsOf(numbers);
    return { kind: 'numbers', mean, std, count };
  }
  return { kind: 'various', count: distinct.size };
}

export function sortedValues(runs: readonly Run[], column: string): Cell[] {
  return [...new Set(runs.map((run) => cellOf(run, column)))].sort(compareCells);
}
