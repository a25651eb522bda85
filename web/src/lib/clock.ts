import { signal } from '@preact/signals';

const TICK_MS = 5000;

/** The time, for "5 min ago"; moves every few seconds. */
export const now = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, TICK_MS);
