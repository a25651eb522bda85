import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Window {
  first: number;
  last: number; // one past the end
  top: number;
}

const OVERSCAN = 12;

export function windowOf(scrollTop: number, height: number, row: number, count: number): Window {
  const first = Math.max(0, Math.floor(scrollTop / row) - OVERSCAN);
  const last = Math.min(count, Math.ceil((scrollTop + height) / row) + OVERSCAN);
  return { first: Math.min(first, last), last, top: Math.min(first, last) * row };
}

/** Which rows of a scrolling box are in view; only those are drawn. */
export function useWindow(
  box: RefObject<HTMLElement>,
  row: number,
  count: number,
  above = 0,
): Window {
  const [place, setPlace] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const read = () => setPlace({ top: element.scrollTop, height: element.clientHeight });
    read();
    element.addEventListener('scroll', read, { passive: true });
    const watcher = new ResizeObserver(read);
    watcher.observe(element);
    return () => {
      element.removeEventListener('scroll', read);
      watcher.disconnect();
    };
  }, [box, count === 0]);
  return windowOf(Math.max(0, place.top - above), place.height, row, count);
}

interface Props {
  height: number;
  top: number;
  children: ComponentChildren;
}

/** As tall as all rows together, with the drawn ones at their place. */
export function Strip({ height, top, children }: Props) {
  return (
    <div style={{ height, position: 'relative' }}>
      <div style={{ transform: `translateY(${top}px)` }}>{children}</div>
    </div>
  );
}
