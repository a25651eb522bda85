import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface Window {
  first: number;
  last: number; // one past the end
  top: number;
}

/** Rows come and go this many at a time, so that most scrolling draws nothing anew. */
const STRIDE = 8;
const OVERSCAN = 2 * STRIDE;

/** How many are drawn at a time: the same wherever the box is scrolled to, so that elements stay. */
function mostRows(height: number, row: number): number {
  return Math.ceil(height / row / STRIDE) * STRIDE + STRIDE + 2 * OVERSCAN;
}

export function windowOf(scrollTop: number, height: number, row: number, count: number): Window {
  const place = Math.floor(scrollTop / row / STRIDE) * STRIDE - OVERSCAN;
  const size = mostRows(height, row);
  const first = Math.max(0, Math.min(place, count - size));
  return { first, last: Math.min(count, first + size), top: first * row };
}

/**
 * Which rows of a scrolling box are in view; only those are drawn. `pool` elements are enough for
 * them wherever the box is scrolled to.
 */
export function useWindow(
  box: RefObject<HTMLElement>,
  row: number,
  count: number,
  above = 0,
): Window & { pool: number } {
  const [, redraw] = useState(0);
  const place = useRef({ top: 0, height: 600 });
  const shown = windowOf(Math.max(0, place.current.top - above), place.current.height, row, count);
  const drawn = useRef(shown);
  drawn.current = shown;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const read = () => {
      place.current = { top: element.scrollTop, height: element.clientHeight };
      const next = windowOf(
        Math.max(0, element.scrollTop - above),
        element.clientHeight,
        row,
        count,
      );
      const { first, last } = drawn.current;
      if (next.first !== first || next.last !== last) redraw((n) => n + 1);
    };
    read();
    element.addEventListener('scroll', read, { passive: true });
    const watcher = new ResizeObserver(read);
    watcher.observe(element);
    return () => {
      element.removeEventListener('scroll', read);
      watcher.disconnect();
    };
  }, [box, row, count, above]);
  return { ...shown, pool: mostRows(place.current.height, row) };
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
