import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ARCHIVED, loadRuns, searchRuns } from '../api/runs';
import type { Fields } from '../api/fields';
import type { SearchAnswer, SearchRequest } from '../api/runs';
import { ApiError } from '../api/client';
import type { Run } from '../api/types';
import { useLive } from '../lib/live';
import { withCondition } from '../lib/query_words';
import { useResource } from '../lib/resource';
import { DEFAULT_COLUMNS } from '../lib/view';
import type { View } from '../lib/view';

const MAX_RUNS = 10000;
/** A list up to here is simply loaded again when something changes. */
const SMALL_LIST = 500;
const MAX_PATCHED = 200;

export interface LoadedRuns {
  runs: Run[];
  total: number;
  warnings: string[];
  error: ApiError | undefined;
  isFirstLoad: boolean;
  turn: number; // goes up when runs have new points
  reload: () => void;
}

const AUTO_METRICS = 2;
const AUTO_CONFIG = 2;
const TELLING = [/^(val|test|eval)\/.*(acc|loss|f1|auc|ppl|error)/, /acc|loss/, /./];

/** Before anybody has chosen columns: the metrics and config values most likely to be asked for. */
export function shownColumns(columns: string[], fields: Fields | undefined): string[] {
  if (!fields || JSON.stringify(columns) !== JSON.stringify(DEFAULT_COLUMNS)) return columns;
  const known = fields.summary.slice(0, fields.frequent || AUTO_METRICS);
  const ranked = TELLING.flatMap((pattern) => known.filter((key) => pattern.test(key)));
  const metrics = [...new Set(ranked)].slice(0, AUTO_METRICS).map((key) => `summary.${key}`);
  const config = fields.config.slice(0, Math.min(fields.differing, AUTO_CONFIG));
  return [...metrics, ...config.map((key) => `config.${key}`), ...columns];
}

/** The names of config, summary and label values that the view needs. */
export function neededFields(view: View): string[] {
  const names = [...view.columns, view.order.replace(/^-/, ''), ...view.group.split(',')];
  if (view.colourBy !== 'run') names.push(view.colourBy);
  return [...new Set(names.filter((name) => /^(config|summary|label)\./.test(name)))];
}

function fullFilter(view: View): string {
  return view.archived ? view.filter : withCondition(view.filter, `tag != "${ARCHIVED}"`);
}

/** The runs of a view. A message about the filter counts in what the reader wrote, and no more. */
export async function searchView(
  view: View,
  request: Omit<SearchRequest, 'filter'>,
  signal?: AbortSignal,
): Promise<SearchAnswer> {
  try {
    return await searchRuns({ ...request, filter: fullFilter(view) }, signal);
  } catch (cause) {
    if (view.filter && cause instanceof ApiError && cause.status === 400) {
      await searchRuns({ project: request.project, filter: view.filter, limit: 0 }, signal);
    }
    throw cause;
  }
}

/** The runs of the table, kept up to date by the server's events; nothing until it is ready. */
export function useRuns(project: string, view: View, isReady: boolean): LoadedRuns {
  const fields = neededFields(view);
  const request = { project, order: [view.order], limit: MAX_RUNS, fields };
  const key = isReady ? JSON.stringify([request, fullFilter(view)]) : '';
  const found = useResource<SearchAnswer>(key, (signal) => searchView(view, request, signal));
  const [fresh, setFresh] = useState<ReadonlyMap<string, Run>>(new Map());
  const [turn, setTurn] = useState(0);
  useEffect(() => setFresh(new Map()), [found.data]);
  const known = useRef(new Set<string>());
  known.current = useMemo(() => new Set(found.data?.runs.map((run) => run.id)), [found.data]);

  useLive(project, (changes) => {
    setTurn((n) => n + 1);
    const ids = [...changes.ids];
    const isKnown = ids.every((id) => known.current.has(id));
    const isSmall = known.current.size <= SMALL_LIST;
    if (changes.everything || !isKnown || isSmall || ids.length > MAX_PATCHED) {
      found.reload();
      return;
    }
    void loadRuns(project, ids).then((runs) =>
      setFresh((old) => new Map([...old, ...runs.map((run) => [run.id, run] as const)])),
    );
  });

  const runs = useMemo(
    () => (found.data?.runs ?? []).map((run) => fresh.get(run.id) ?? run),
    [found.data, fresh],
  );
  return {
    runs,
    total: found.data?.total ?? 0,
    warnings: found.data?.warnings ?? [],
    error: found.error,
    isFirstLoad: found.data === undefined && (found.isLoading || !isReady),
    turn,
    reload: found.reload,
  };
}
