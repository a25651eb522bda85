import { signal } from '@preact/signals';

interface Note {
  text: string;
  action?: { label: string; run: () => void };
}

const SHOWN_MS = 6000;
const note = signal<Note | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;

/** A passing note at the foot of the page, with one thing to do about it (undo, say). */
export function say(text: string, action?: Note['action']): void {
  clearTimeout(timer);
  note.value = action ? { text, action } : { text };
  timer = setTimeout(() => {
    note.value = null;
  }, SHOWN_MS);
}

export function Toast() {
  const current = note.value;
  return (
    <div aria-live="polite">
      {current && (
        <div class="toast">
          {current.text}
          {current.action && (
            <button
              type="button"
              onClick={() => {
                current.action?.run();
                note.value = null;
              }}
            >
              {current.action.label}
            </button>
          )}
        </div>
      )}
    </div>
  );
}
