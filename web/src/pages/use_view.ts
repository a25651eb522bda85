import { useCallback, useMemo } from 'preact/hooks';
import { route, setQuery } from '../lib/router';
import { readView, writeView } from '../lib/view';
import type { View } from '../lib/view';

export type SetView = (patch: Partial<View>, push?: boolean) => void;

/** The view in the address, and the way to change it. */
export function useView(): [View, SetView] {
  const query = route.value.query.toString();
  const view = useMemo(() => readView(new URLSearchParams(query)), [query]);
  const setView = useCallback<SetView>((patch, push = false) => {
    setQuery(writeView(patch), push);
  }, []);
  return [view, setView];
}
