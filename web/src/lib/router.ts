// The address is the state: "#/p/cifar/runs?f=loss<0.1&x=time". A hash, so that the page works
// under any path of a proxy and needs no rewriting rules on the server.
import { computed, signal } from '@preact/signals';

export interface Route {
  path: string[];
  query: URLSearchParams;
}

export function parseHash(hash: string): Route {
  const text = hash.replace(/^#?\/?/, '');
  const mark = text.indexOf('?');
  const path = mark < 0 ? text : text.slice(0, mark);
  return {
    path: path.split('/').filter(Boolean).map(decodePart),
    query: new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1)),
  };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const hash = signal(globalThis.location?.hash ?? '');

globalThis.addEventListener?.('hashchange', () => {
  hash.value = location.hash;
});

export const route = computed(() => parseHash(hash.value));

export function linkTo(path: readonly string[], query?: URLSearchParams): string {
  const tail = query && [...query].length > 0 ? `?${query.toString()}` : '';
  return `#/${path.map(encodeURIComponent).join('/')}${tail}`;
}

export function go(path: readonly string[], query?: URLSearchParams): void {
  location.hash = linkTo(path, query);
}

/**
 * Changes the query of this page; settings replace the address, steps (a zoom, say) add to
 * history.
 */
export function setQuery(changes: Record<string, string | null>, push = false): void {
  const { path, query } = parseHash(hash.value);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(key);
    else query.set(key, value);
  }
  const target = linkTo(path, query);
  if (target === hash.value) return;
  if (push) history.pushState(null, '', target);
  else history.replaceState(null, '', target);
  hash.value = target;
}
