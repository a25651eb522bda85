import { useMemo } from 'preact/hooks';
import { loadRuns } from '../api/runs';
import type { Run } from '../api/types';
import { useResource } from '../lib/resource';

/** The pinned runs, also those that the filter leaves out: a baseline is there to compare with. */
export function usePinned(project: string, pinned: readonly string[], runs: readonly Run[]): Run[] {
  const missing = useMemo(() => {
    const present = new Set(runs.map((run) => run.id));
    return pinned.filter((id) => !present.has(id));
  }, [pinned, runs]);
  const key = missing.length > 0 ? JSON.stringify([project, missing]) : '';
  const others = useResource(key, (signal) => loadRuns(project, missing, signal));
  return useMemo(() => {
    const byId = new Map([...(others.data ?? []), ...runs].map((run) => [run.id, run]));
    return pinned.flatMap((id) => byId.get(id) ?? []);
  }, [pinned, runs, others.data]);
}
