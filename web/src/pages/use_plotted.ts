// What the charts of a project need beside the rows of its table.
import { useMemo, useState } from 'preact/hooks';
import { loadRuns } from '../api/runs';
import type { Run } from '../api/types';
import type { PlotGroup } from '../charts/drawing';
import type { SummedRuns } from '../charts/use_drawing';
import { withCondition } from '../lib/query_words';
import { useResource } from '../lib/resource';
import type { View } from '../lib/view';
import { NONE, curveNames } from './plot_choice';
import { groupFields } from './use_groups';
import { fullFilter, searchView } from './use_runs';

/** These runs, also where the table has not loaded them; with a filter, those that match it. */
export function useRunsById(
  project: string,
  ids: readonly string[],
  runs: readonly Run[],
  filter = '',
): Run[] {
  const missing = useMemo(() => {
    const present = new Set(runs.map((run) => run.id));
    return ids.filter((id) => id !== NONE && !present.has(id));
  }, [ids, runs]);
  const key = missing.length > 0 ? JSON.stringify([project, missing, filter]) : '';
  const others = useResource(key, (signal) => loadRuns(project, missing, signal, { filter }));
  return useMemo(() => {
    const byId = new Map([...(key ? (others.data ?? []) : []), ...runs].map((r) => [r.id, r]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  }, [ids, runs, others.data, key === '']);
}

/** The groups that charts sum up: over all runs of the filter, or over the chosen ones. */
export function useSummed(
  project: string,
  view: View,
  groups: PlotGroup[] | undefined,
): SummedRuns | undefined {
  const chosen = view.selected.map((id) => JSON.stringify(id)).join(', ');
  const filter = chosen ? withCondition(fullFilter(view), `id in [${chosen}]`) : fullFilter(view);
  return useMemo(
    () => groups && { project, filter, by: groupFields(view), groups },
    [project, filter, view.group, groups],
  );
}

const LOOKED_AT = 100;

/** The names of the curves that these runs have; without ids, those of the first of the filter. */
export function usePlottedMetrics(
  project: string,
  view: View,
  ids: string[] | undefined,
  turn: number,
): string[] {
  const shown = ids ?? fullFilter(view);
  const key =
    shown.length > 0 || !ids
      ? JSON.stringify([project, shown, Math.min(turn, 1), Math.floor(turn / 5)])
      : '';
  const full = useResource(key, async (signal) =>
    ids
      ? loadRuns(project, ids, signal)
      : (await searchView(view, { project, limit: LOOKED_AT }, signal)).runs,
  );
  const names = useMemo(() => curveNames(full.data ?? []), [full.data]);
  return useStable(names);
}

/** The same array as before while it says the same, so that charts are not drawn again. */
export function useStable<T>(value: T): T {
  const [kept, setKept] = useState(value);
  const isSame = JSON.stringify(kept) === JSON.stringify(value);
  if (!isSame) setKept(value);
  return isSame ? kept : value;
}
