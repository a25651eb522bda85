// What the pointer is on, shared by all charts and the table: a line under the pointer lights up
// its run everywhere, and a row of the table lights up its lines.
import { signal } from '@preact/signals';

/** Run id or group that is lit; "" when none is. */
export const litRun = signal('');

export interface ReadoutRow {
  id: string;
  label: string;
  colour: string;
  value: number | null;
  count?: number | undefined; // of a group: the runs that count there
}

export interface Readout {
  x: number;
  rows: ReadoutRow[];
}

export const SYNC_KEY = 'kedge-x';
