import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { loadConsole } from '../../api/records';
import type { ConsoleLine, RunRef } from '../../api/types';

const PAGE = 1000;

export interface ConsoleLines {
  total: number;
  isReady: boolean;
  error: string;
  line: (n: number) => ConsoleLine | undefined;
  /** Asks for the lines of a window, and whatever of them is not here yet. */
  want: (first: number, last: number) => void;
  /** Loads everything, for a search; resolves when it is all here. */
  loadAll: () => Promise<void>;
}

/** A console of any length, loaded a page at a time as it is looked at. */
export function useConsole(run: RunRef, turn: number): ConsoleLines {
  const pages = useRef(new Map<number, ConsoleLine[]>());
  const pending = useRef(new Set<number>());
  const [total, setTotal] = useState(0);
  const [isReady, setReady] = useState(false);
  const [error, setError] = useState('');
  const [, redraw] = useState(0);

  const loadPage = useCallback(
    async (page: number) => {
      if (pending.current.has(page)) return;
      pending.current.add(page);
      try {
        const answer = await loadConsole(run, page * PAGE, PAGE);
        pages.current.set(page, answer.lines);
        setTotal(answer.total);
        setReady(true);
        setError('');
        redraw((n) => n + 1);
      } catch (cause) {
        setError(cause instanceof Error ? cause.message : String(cause));
      } finally {
        pending.current.delete(page);
      }
    },
    [run.project, run.id],
  );

  useEffect(() => {
    void loadPage(Math.max(0, Math.floor((total - 1) / PAGE)));
  }, [loadPage, turn]);

  const isWhole = (page: number) => {
    const have = pages.current.get(page)?.length ?? 0;
    return have === PAGE || (have > 0 && page * PAGE + have >= total);
  };
  const want = (first: number, last: number) => {
    for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1) {
      if (!isWhole(page)) void loadPage(page);
    }
  };
  const loadAll = async () => {
    for (let page = 0; page * PAGE < total; page += 1) if (!isWhole(page)) await loadPage(page);
  };
  const line = (n: number) => pages.current.get(Math.floor(n / PAGE))?.[n % PAGE];
  return { total, isReady, error, line, want, loadAll };
}
