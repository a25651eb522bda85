import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/client';

export interface Resource<T> {
  data: T | undefined;
  error: ApiError | undefined;
  isLoading: boolean;
  reload: () => void;
}

/**
 * Loads when `key` changes and on reload(). Old data stays while the next is on its way, so that
 * a live page does not flicker; an answer that came too late is dropped. An empty key loads
 * nothing.
 */
export function useResource<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
): Resource<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: ApiError }>({ key });
  const [isLoading, setLoading] = useState(key !== '');
  const [turn, setTurn] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  useEffect(() => {
    if (!key) return undefined;
    const control = new AbortController();
    setLoading(true);
    loader
      .current(control.signal)
      .then(
        (data) => {
          if (!control.signal.aborted) setState({ key, data });
        },
        (cause: unknown) => {
          if (control.signal.aborted) return;
          const error = toApiError(cause);
          setState((old) => (old.data === undefined ? { key, error } : { ...old, key, error }));
        },
      )
      .finally(() => {
        if (!control.signal.aborted) setLoading(false);
      });
    return () => control.abort();
  }, [key, turn]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  return { data: state.data, error: state.error, isLoading, reload };
}

export function toApiError(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  return new ApiError(0, 'page', cause instanceof Error ? cause.message : String(cause));
}
