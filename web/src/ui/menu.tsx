import type { ComponentChildren } from 'preact';
import { useCallback, useRef, useState } from 'preact/hooks';
import { Popover } from './popover';

interface Props {
  label: string; // what a screen reader says
  face: ComponentChildren; // what the button shows
  children: (close: () => void) => ComponentChildren;
  plain?: boolean;
  width?: number;
}

/** A button that opens a sheet. Arrow keys walk through its items. */
export function Menu({ label, face, children, plain, width }: Props) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = useCallback(() => setOpen(false), []);
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button ${plain ? 'plain' : ''}`}
        aria-haspopup="true"
        aria-expanded={isOpen}
        aria-label={label}
        title={label}
        onClick={(event) => {
          event.stopPropagation();
          setOpen(!isOpen);
        }}
      >
        {face}
      </button>
      {isOpen && button.current && (
        <Popover
          anchor={button.current}
          label={label}
          onClose={close}
          {...(width ? { width } : {})}
        >
          <div onKeyDown={walk}>{children(close)}</div>
        </Popover>
      )}
    </>
  );
}

function walk(event: KeyboardEvent): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const list = event.currentTarget as HTMLElement;
  const items = [...list.querySelectorAll<HTMLElement>('.item:not(:disabled)')];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = items[at + (event.key === 'ArrowDown' ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

interface ItemProps {
  children: ComponentChildren;
  onPick: () => void;
  disabled?: boolean;
}

export function Item({ children, onPick, disabled }: ItemProps) {
  return (
    <button type="button" class="item" disabled={disabled} onClick={onPick}>
      {children}
    </button>
  );
}
