// Rows and lines of a project's page: runs, or groups of runs, and the colours of those in charts.
import { useMemo, useRef } from 'preact/hooks';
import type { ApiError } from '../api/client';
import type { PlotGroup, PlotRun } from '../charts/drawing';
import type { SummedRuns } from '../charts/use_drawing';
import { isDark } from '../lib/theme';
import type { View } from '../lib/view';
import { plotGroups, plotRuns } from './plot_choice';
import { groupRows, runRows, withPinned } from './run_rows';
import type { Row } from './run_rows';
import { useGroups, useMembers } from './use_groups';
import { useRunsById, useStable, useSummed } from './use_plotted';
import { fullFilter, useRuns } from './use_runs';

export interface Scene {
  rows: Row[];
  table: {
    total: number; // runs that match
    warnings: string[];
    error: ApiError | undefined;
    isFirstLoad: boolean;
    reload: () => void;
  };
  groupTotal: number | undefined; // where runs are grouped
  runs: PlotRun[]; // with lines of their own
  ids: string[]; // of those
  groups: PlotGroup[]; // in the charts
  summed: SummedRuns | undefined; // where groups are lines
  colours: ReadonlyMap<string, string>; // by run id or group
  turn: number; // goes up when charts have something new to load
  show: (first: number, last: number) => void; // these rows are in view
}

export function useScene(
  project: string,
  view: View,
  isReady: boolean,
  open: ReadonlySet<string>,
): Scene {
  const isGrouped = view.group !== '';
  const isSummed = isGrouped && view.spread !== 'lines';
  const watched = useRef<ReadonlySet<string>>(new Set());
  const loaded = useRuns(project, view, isReady && !isSummed, watched);
  const found = useGroups(project, view, isReady);
  const facts = useMemo(() => found.data?.groups ?? [], [found.data]);
  const members = useMembers(project, view, facts, open);
  const dark = isDark.value;

  const known = useMemo(() => loaded.runs.filter((run) => run !== undefined), [loaded.runs]);
  const chosen = useRunsById(project, view.selected, known, fullFilter(view));
  const pinned = useRunsById(project, view.pinned, known);
  const rows = useMemo(
    () => withPinned(pinned, isGrouped ? groupRows(facts, open, members) : runRows(loaded.runs)),
    [pinned, loaded.runs, isGrouped, facts, open, members],
  );
  const plotted = useMemo(
    () => (isSummed ? [] : plotRuns([...new Set([...pinned, ...chosen, ...known])], view, dark)),
    [isSummed, pinned, chosen, known, view, dark],
  );
  const runs = useStable(plotted);
  const ids = runs.map((run) => run.id);
  watched.current = new Set(ids);
  const groups = useStable(
    useMemo(() => (isGrouped ? plotGroups(facts, view, dark) : []), [isGrouped, facts, view, dark]),
  );
  const summed = useSummed(project, view, isSummed ? groups : undefined);
  const colours = useMemo(
    () =>
      new Map([
        ...runs.map((run) => [run.id, run.colour] as const),
        ...(isSummed ? groups : []).map((group) => [group.name, group.colour] as const),
      ]),
    [runs, groups, isSummed],
  );
  const table = !isGrouped
    ? loaded
    : {
        total: found.data?.runs ?? 0,
        warnings: found.data?.warnings ?? [],
        error: found.error,
        isFirstLoad: found.data === undefined && found.error === undefined,
        reload: found.reload,
      };
  const groupTotal = isGrouped ? (found.data?.total ?? 0) : undefined;
  const turn = isSummed ? found.turn : loaded.turn;
  return { rows, table, groupTotal, runs, ids, groups, summed, colours, turn, show: loaded.show };
}
