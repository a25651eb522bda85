// The rows of the runs table: runs, or groups of runs with what their members have in common.
import type { FieldSpread, GroupFacts } from '../api/groups';
import type { Run } from '../api/types';
import { cellOf } from '../lib/flatten';
import type { Cell } from '../lib/flatten';
import { nameOfGroup } from '../lib/groups';
import { fromWire } from '../lib/numbers';

export interface RunRow {
  kind: 'run';
  run: Run;
  isInGroup: boolean;
  isPinned?: boolean; // stands at the top, whatever the order is
}

export interface GroupRow {
  kind: 'group';
  name: string;
  facts: GroupFacts;
  isOpen: boolean;
}

/** A run that is on its way, or the members of a group that are not listed. */
export interface NoteRow {
  kind: 'note';
  text: string;
}

export type Row = RunRow | GroupRow | NoteRow;

const ON_ITS_WAY: NoteRow = { kind: 'note', text: '' };

export function groupName(run: Run, by: string): string {
  return by
    .split(',')
    .map((key) => cellOf(run, key))
    .map((cell) => (cell === undefined || cell === null || cell === '' ? '(none)' : String(cell)))
    .join(' / ');
}

/** The pinned ones first, then the others as they come. */
export function withPinned(pinned: readonly Run[], rows: readonly Row[]): Row[] {
  const ids = new Set(pinned.map((run) => run.id));
  return [
    ...pinned.map((run): RunRow => ({ kind: 'run', run, isInGroup: false, isPinned: true })),
    ...rows.filter((row) => row.kind !== 'run' || row.isInGroup || !ids.has(row.run.id)),
  ];
}

/** One row for each run; those that are not loaded yet have their places. */
export function runRows(runs: readonly (Run | undefined)[]): Row[] {
  return runs.map((run) => (run ? { kind: 'run', run, isInGroup: false } : ON_ITS_WAY));
}

/** Groups as the server orders them, and below the open ones the members that are loaded. */
export function groupRows(
  groups: readonly GroupFacts[],
  open: ReadonlySet<string>,
  members: ReadonlyMap<string, readonly Run[]>,
): Row[] {
  return groups.flatMap((facts): Row[] => {
    const name = nameOfGroup(facts.values);
    const isOpen = open.has(name);
    const head: GroupRow = { kind: 'group', name, facts, isOpen };
    if (!isOpen) return [head];
    const listed = members.get(name) ?? [];
    const more = facts.runs - listed.length;
    return [
      head,
      ...listed.map((run): RunRow => ({ kind: 'run', run, isInGroup: true })),
      ...(listed.length > 0 && more > 0 ? [moreRow(more)] : []),
    ];
  });
}

function moreRow(count: number): NoteRow {
  return { kind: 'note', text: `${count.toLocaleString('en')} more: filter to see them` };
}

export type GroupCell =
  | { kind: 'none' }
  | { kind: 'same'; value: Cell }
  | { kind: 'numbers'; mean: number; std: number; count: number }
  | { kind: 'various'; count: number };

/** What a group shows in a column: the one value, mean and deviation, or how many there are. */
export function groupCell(field: FieldSpread | undefined, runs: number): GroupCell {
  if (!field || field.runs === 0) return { kind: 'none' };
  if (field.values === 1 && field.runs === runs) return { kind: 'same', value: field.value };
  if (field.count !== undefined) {
    return {
      kind: 'numbers',
      mean: fromWire(field.mean),
      std: fromWire(field.sd),
      count: field.count,
    };
  }
  return { kind: 'various', count: field.values };
}
