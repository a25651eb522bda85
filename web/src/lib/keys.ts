// Keyboard commands: single keys and two-key chords ("g r"). A page binds its keys while it is
// shown; typing in a field is never a command.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

export interface Binding {
  keys: string; // "j", "g r", "?", "Escape"
  does: string; // for the help sheet
  run: () => void;
}

const CHORD_MS = 1200;
const layers: { current: Binding[] }[] = [];
export const helpOpen = signal(false);

let pending = '';
let pendingSince = 0;

export function allBindings(): Binding[] {
  return layers.flatMap((layer) => layer.current);
}

export function useKeys(bindings: Binding[]): void {
  const layer = useRef(bindings);
  layer.current = bindings;
  useEffect(() => {
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
  const now = Date.now();
  const chord = pending && now - pendingSince < CHORD_MS ? `${pending} ${event.key}` : '';
  pending = '';
  const bound = allBindings().reverse();
  const hit =
    bound.find((b) => chord && b.keys === chord) ?? bound.find((b) => b.keys === event.key);
  if (hit) {
    event.preventDefault();
    hit.run();
  } else if (bound.some((b) => b.keys.startsWith(`${event.key} `))) {
    pending = event.key;
    pendingSince = now;
  }
}

globalThis.addEventListener?.('keydown', onKeyDown);
