import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export interface Size {
  width: number;
  height: number;
}

/** The inner size of an element, in whole pixels, kept up to date. */
export function useSize(element: RefObject<HTMLElement>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const watcher = new ResizeObserver(([entry]) => {
      if (!entry) return;
      const width = Math.floor(entry.contentRect.width);
      const height = Math.floor(entry.contentRect.height);
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    });
    watcher.observe(target);
    return () => watcher.disconnect();
  }, [element]);
  return size;
}

const MARGIN = '400px';

/** True while the element is in view or nearly so. */
export function useVisible(element: RefObject<HTMLElement>): boolean {
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const watcher = new IntersectionObserver(
      ([entry]) => setVisible(entry?.isIntersecting ?? false),
      { rootMargin: MARGIN },
    );
    watcher.observe(target);
    return () => watcher.disconnect();
  }, [element]);
  return isVisible;
}
