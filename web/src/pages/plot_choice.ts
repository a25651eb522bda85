// Which runs or groups the charts show, and in which colours.
import type { GroupFacts } from '../api/groups';
import type { Run } from '../api/types';
import type { PlotGroup, PlotRun } from '../charts/drawing';
import { assignColours, colourAt, colourOf } from '../lib/colours';
import { cellOf } from '../lib/flatten';
import { nameOfGroup } from '../lib/groups';
import type { View } from '../lib/view';
import { groupName } from './run_rows';

const AUTO_RUNS = 10;
const AUTO_GROUPS = 12;
/** Every run of the groups as a line of its own: more than these would be a grey cloud. */
const MAX_GROUP_LINES = 80;

/** The names of what these runs have logged as curves; a value set by hand has none. */
export function curveNames(runs: readonly Run[]): string[] {
  const names = runs.flatMap((run) =>
    Object.entries(run.summary)
      .filter(([, summary]) => (summary.count ?? 0) > 0)
      .map(([name]) => name),
  );
  return [...new Set(names)].sort();
}

/**
 * The chosen runs; when none is chosen, the first of the table, so that a new run shows by
 * itself.
 */
export function plottedIds(runs: readonly Run[], view: View): string[] {
  if (view.selected.length > 0) {
    const present = new Set(runs.map((run) => run.id));
    return view.selected.filter((id) => present.has(id));
  }
  return runs.slice(0, view.group ? MAX_GROUP_LINES : AUTO_RUNS).map((run) => run.id);
}

/** In or out of the charts. NONE stands for "none chosen", which an empty list does not. */
export const NONE = '-';

export function togglePlotted(plotted: readonly string[], ids: readonly string[]): string[] {
  const isAllIn = ids.every((id) => plotted.includes(id));
  const rest = plotted.filter((id) => id !== NONE && !ids.includes(id));
  const next = isAllIn ? rest : [...rest, ...ids];
  return next.length > 0 ? next : [NONE];
}

export function plotRuns(runs: readonly Run[], view: View, isDark: boolean): PlotRun[] {
  const ids = new Set(plottedIds(runs, view));
  const colourName = (run: Run) => {
    if (view.colourBy === 'run') return run.id;
    if (view.colourBy !== 'group') return String(cellOf(run, view.colourBy) ?? '');
    return view.group ? groupName(run, view.group) : run.id;
  };
  return runs
    .filter((run) => ids.has(run.id))
    .map((run) => ({
      project: run.project,
      id: run.id,
      name: run.name || run.id,
      colour: colourOf(colourName(run), isDark),
    }));
}

/**
 * The chosen groups, or the largest. Neither they nor their colours depend on the order of the
 * table.
 */
export function plotGroups(
  groups: readonly GroupFacts[],
  view: View,
  isDark: boolean,
): PlotGroup[] {
  const all = groups.map(({ values, runs }) => ({ name: nameOfGroup(values), values, runs }));
  all.sort((a, b) => b.runs - a.runs || (a.name < b.name ? -1 : 1));
  const slots = assignColours(all.map((group) => group.name).sort());
  const shown =
    view.groups.length > 0
      ? all.filter((group) => view.groups.includes(group.name))
      : all.slice(0, AUTO_GROUPS);
  return shown.map((group) => ({
    ...group,
    colour: colourAt(slots.get(group.name) ?? 0, isDark),
  }));
}
