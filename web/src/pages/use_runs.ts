import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ARCHIVED, loadRuns, searchRuns } from '../api/runs';
import type { Fields } from '../api/fields';
import type { SearchAnswer, SearchRequest } from '../api/runs';
import { ApiError } from '../api/client';
import type { Run } from '../api/types';
import { quoteField } from '../lib/groups';
import { useLive } from '../lib/live';
import { withCondition } from '../lib/query_words';
import { toApiError } from '../lib/resource';
import { DEFAULT_COLUMNS } from '../lib/view';
import type { View } from '../lib/view';
import { BLOCK, NO_PAGES, blocksOf, movesRuns, runsOf, withFresh } from './run_pages';
import type { RunPages } from './run_pages';

const MAX_PATCHED = 100;
/** Of rows that fly by, those are loaded that are in view when this time is over. */
const SCROLL_MS = 80;

export interface LoadedRuns {
  runs: (Run | undefined)[]; // as many as match; undefined: not loaded yet
  total: number;
  warnings: string[];
  error: ApiError | undefined;
  isFirstLoad: boolean;
  turn: number; // goes up when watched runs have new points
  reload: () => void;
  show: (first: number, last: number) => void; // these rows are in view
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
  const keyed = names.filter((name) => /^(config|summary|label)\./.test(name));
  return [...new Set(keyed)].map(quoteField);
}

/** What the reader filters by, and that archived runs are out of sight. */
export function fullFilter(view: View): string {
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

/** An order as the server takes it. */
export function orderOf(view: View): string[] {
  const column = view.order.replace(/^-/, '');
  return [view.order.startsWith('-') ? `-${quoteField(column)}` : quoteField(column)];
}

/**
 * The runs of the table, of which only those in view are loaded, kept up to date by the server's
 * events; nothing until it is ready. `watched`: ids whose new points the charts want.
 */
export function useRuns(
  project: string,
  view: View,
  isReady: boolean,
  watched: { current: ReadonlySet<string> },
): LoadedRuns {
  const request = { project, order: orderOf(view), fields: neededFields(view) };
  const key = isReady ? JSON.stringify([request, fullFilter(view)]) : '';
  const [pages, setPages] = useState<RunPages>(NO_PAGES);
  const [error, setError] = useState<ApiError>();
  const [turn, setTurn] = useState(0);
  const inView = useRef<number[]>([0]);
  const asked = useRef(new Set<number>()); // blocks that are on their way
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const now = useRef({ key, view, request, pages, control: new AbortController() });
  Object.assign(now.current, { key, view, request, pages });

  /** Loads blocks: in place of all that were there, or beside them. */
  const load = useCallback((blocks: number[], isAnew: boolean) => {
    const { key: search, view: shown, request: wanted } = now.current;
    if (isAnew) {
      now.current.control.abort();
      now.current.control = new AbortController();
      asked.current.clear();
    }
    const needed = blocks.filter((at) => !asked.current.has(at));
    if (!search || needed.length === 0) return;
    needed.forEach((at) => asked.current.add(at));
    const { signal } = now.current.control;
    const pieces = needed.map(async (block): Promise<[number, SearchAnswer]> => {
      const page = { ...wanted, limit: BLOCK, offset: block * BLOCK };
      return [block, await searchView(shown, page, signal)];
    });
    void Promise.all(pieces).then(
      (answers) => {
        if (signal.aborted) return;
        needed.forEach((at) => asked.current.delete(at));
        setError(undefined);
        setPages((old) => joined(isAnew ? NO_PAGES : old, search, answers));
      },
      (cause: unknown) => {
        if (signal.aborted) return;
        needed.forEach((at) => asked.current.delete(at));
        setError(toApiError(cause));
      },
    );
  }, []);
  useEffect(() => load(inView.current, true), [key]);
  const reload = useCallback(() => load(inView.current, true), []);
  const fillIn = useCallback(() => {
    const { key: search, total, blocks } = now.current.pages;
    const missing = inView.current.filter((at) => !blocks.has(at) && at * BLOCK < total);
    if (search !== '') load(missing, false);
  }, []);
  useEffect(fillIn, [pages]); // rows may have come into view since they were asked for
  const show = useCallback((first: number, last: number) => {
    inView.current = blocksOf(first, last);
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      fillIn();
    }, SCROLL_MS);
  }, []);
  useEffect(() => () => clearTimeout(timer.current), []);

  useLive(project, (changes) => {
    const ids = [...changes.ids];
    if (changes.everything || ids.some((id) => watched.current.has(id))) setTurn((n) => n + 1);
    const isMoved = movesRuns(changes.what, view.order, view.filter);
    if (changes.everything || isMoved || ids.length > MAX_PATCHED) {
      reload();
      return;
    }
    const shown = new Set(inView.current.flatMap((at) => pages.blocks.get(at) ?? []).map(idOf));
    const stale = ids.filter((id) => shown.has(id));
    if (stale.length === 0) return;
    void loadRuns(project, stale, undefined, { fields: request.fields }).then((runs) =>
      setPages((old) => withFresh(old, runs)),
    );
  });

  const runs = useMemo(() => runsOf(pages), [pages]);
  const isFirstLoad = pages.key === '' && error === undefined;
  return {
    runs,
    total: pages.total,
    warnings: pages.warnings,
    error,
    isFirstLoad,
    turn,
    reload,
    show,
  };
}

function idOf(run: Run): string {
  return run.id;
}

function joined(old: RunPages, key: string, answers: [number, SearchAnswer][]): RunPages {
  const { total = 0, warnings = [] } = answers[0]?.[1] ?? {};
  const blocks = new Map([...old.blocks, ...answers.map(([at, { runs }]) => [at, runs] as const)]);
  return { key, total, warnings, blocks };
}
