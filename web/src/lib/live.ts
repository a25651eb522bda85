import { useEffect, useRef } from 'preact/hooks';
import { listen } from '../api/events';

/** At most one call in this time, so that a thousand live runs do not drown the page. */
const GATHER_MS = 1000;

export interface Changes {
  ids: Set<string>;
  what: Set<string>;
  everything: boolean;
}

/** Calls back with what changed since the last call, at most once a second. */
export function useLive(project: string, onChange: (changes: Changes) => void, run = ''): void {
  const handler = useRef(onChange);
  handler.current = onChange;
  useEffect(() => {
    if (!project) return undefined;
    let gathered: Changes | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastCall = 0;
    const stop = listen(
      project,
      (change) => {
        gathered ??= { ids: new Set(), what: new Set(), everything: false };
        if (change === 'everything') gathered.everything = true;
        else {
          gathered.ids.add(change.id);
          change.what.forEach((w) => gathered?.what.add(w));
        }
        timer ??= setTimeout(
          () => {
            const changes = gathered;
            gathered = undefined;
            timer = undefined;
            lastCall = Date.now();
            if (changes) handler.current(changes);
          },
          Math.max(0, lastCall + GATHER_MS - Date.now()),
        );
      },
      run,
    );
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [project, run]);
}
