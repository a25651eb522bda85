import type { ComponentChildren } from 'preact';
import { createPortal } from 'preact/compat';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Props {
  anchor: HTMLElement;
  children: ComponentChildren;
  label: string;
  role?: 'menu' | 'dialog' | 'listbox';
  onClose: () => void;
  width?: number;
}

const MARGIN = 6;

/** A small sheet beside what opened it; Escape or a click elsewhere closes it. */
export function Popover({ anchor, children, label, role = 'dialog', onClose, width }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ left: -9999, top: 0 });
  useLayoutEffect(() => {
    const at = anchor.getBoundingClientRect();
    const own = box.current?.getBoundingClientRect();
    if (!own) return;
    const left = Math.max(MARGIN, Math.min(at.left, innerWidth - own.width - MARGIN));
    const fitsBelow = at.bottom + own.height + MARGIN < innerHeight;
    const top = fitsBelow ? at.bottom + 4 : Math.max(MARGIN, at.top - own.height - 4);
    setPlace({ left, top });
  }, [anchor]);
  useEffect(() => {
    const onDown = (event: PointerEvent) => {
      const target = event.target as Node;
      if (!box.current?.contains(target) && !anchor.contains(target)) onClose();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      onClose();
      anchor.focus();
    };
    addEventListener('pointerdown', onDown, true);
    addEventListener('keydown', onKey, true);
    box.current?.querySelector<HTMLElement>('input,button,select')?.focus();
    return () => {
      removeEventListener('pointerdown', onDown, true);
      removeEventListener('keydown', onKey, true);
    };
  }, [anchor, onClose]);
  return createPortal(
    <div
      ref={box}
      class="popover"
      role={role}
      aria-label={label}
      style={{ ...place, ...(width ? { width } : {}) }}
    >
      {children}
    </div>,
    document.body,
  );
}
