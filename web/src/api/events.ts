// Live updates: one stream of server-sent events per project. A listener hears which runs
// changed, or, after a gap in the connection, that it has to look at everything again.
import { signal } from '@preact/signals';
import { apiUrl, reachable } from './client';
import type { RunChange } from './types';

export type { RunChange } from './types';

type Listener = (change: RunChange | 'everything') => void;

/** Off while no page listens. */
export const stream = signal<'off' | 'live' | 'lost'>('off');

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15000;

/** Listens until the returned function is called. */
export function listen(project: string, listener: Listener, run = ''): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_RETRY_MS;
  let hadGap = false;
  const open = () => {
    const query = new URLSearchParams({ project });
    if (run) query.set('run', run);
    source = new EventSource(apiUrl(`events?${query.toString()}`));
    source.onopen = () => {
      stream.value = 'live';
      reachable.value = true;
      wait = FIRST_RETRY_MS;
      if (hadGap) listener('everything');
      hadGap = false;
    };
    source.onmessage = (event: MessageEvent<string>) => {
      const change = parseChange(event.data);
      if (change) listener(change);
    };
    source.onerror = () => {
      stream.value = 'lost';
      hadGap = true;
      source?.close();
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, LAST_RETRY_MS);
      void askHealth();
    };
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
    stream.value = 'off';
  };
}

/** A stream can fail while requests work (an old proxy); only a failed request means "away". */
async function askHealth(): Promise<void> {
  try {
    const answer = await fetch(new URL('health', new URL('.', document.baseURI)));
    reachable.value = answer.ok;
  } catch {
    reachable.value = false;
  }
}

export function parseChange(text: string): RunChange | undefined {
  try {
    const value = JSON.parse(text) as Partial<RunChange>;
    if (typeof value.project !== 'string' || typeof value.id !== 'string') return undefined;
    return { ...value, project: value.project, id: value.id, what: value.what ?? [] };
  } catch {
    return undefined;
  }
}
