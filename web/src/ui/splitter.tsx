import { useRef } from 'preact/hooks';

interface Props {
  value: number; // width of the left side in pixels
  onChange: (value: number) => void;
  min?: number;
}

const KEY_STEP = 24;

/** The line between two panes: drag it, or focus it and use the arrow keys. */
export function Splitter({ value, onChange, min = 220 }: Props) {
  const start = useRef<{ at: number; value: number } | null>(null);
  const limit = (width: number) => Math.max(min, Math.min(width, innerWidth - 320));
  return (
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the table"
      aria-valuenow={value}
      tabIndex={0}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { at: event.clientX, value };
      }}
      onPointerMove={(event) => {
        if (start.current) onChange(limit(start.current.value + event.clientX - start.current.at));
      }}
      onPointerUp={() => {
        start.current = null;
      }}
      onKeyDown={(event) => {
        if (event.key === 'ArrowLeft') onChange(limit(value - KEY_STEP));
        if (event.key === 'ArrowRight') onChange(limit(value + KEY_STEP));
      }}
    />
  );
}
