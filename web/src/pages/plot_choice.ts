// Which runs the charts show and in which colours.
import type { Run } from '../api/types';
import type { PlotRun } from '../charts/drawing';
import { assignColours, colourAt } from '../lib/colours';
import { cellOf } from '../lib/flatten';
import type { View } from '../lib/view';
import { groupName } from './run_rows';

const AUTO_RUNS = 10;
const AUTO_GROUPS = 8;
const AUTO_GROUP_RUNS = 80;

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
  if (!view.group) return runs.slice(0, AUTO_RUNS).map((run) => run.id);
  const groups = new Set<string>();
  const ids: string[] = [];
  for (const run of runs) {
    const name = groupName(run, view.group);
    if (!groups.has(name) && groups.size >= AUTO_GROUPS) continue;
    groups.add(name);
    if (ids.length < AUTO_GROUP_RUNS) ids.push(run.id);
  }
  return ids;
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
  const shown = runs.filter((run) => ids.has(run.id));
  const colourName = (run: Run) => {
    const isByGroup = view.group && (view.spread !== 'lines' || view.colourBy === 'group');
    if (isByGroup) return groupName(run, view.group);
    return view.colourBy === 'run' || view.colourBy === 'group'
      ? run.id
      : String(cellOf(run, view.colourBy) ?? '');
  };
  const inOrder = [...shown].sort((a, b) => a.created_us - b.created_us || (a.id < b.id ? -1 : 1));
  const slots = assignColours(inOrder.map(colourName));
  return shown.map((run) => ({
    project: run.project,
    id: run.id,
    name: run.name || run.id,
    colour: colourAt(slots.get(colourName(run)) ?? 0, isDark),
    group: view.group ? groupName(run, view.group) : '',
  }));
}
