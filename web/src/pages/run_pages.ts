// The runs of a table of any length, of which only the blocks that are looked at are loaded.
import type { Run } from '../api/types';

export const BLOCK = 100;

export interface RunPages {
  key: string; // of the search they belong to; "" before the first
  total: number;
  warnings: string[];
  blocks: ReadonlyMap<number, Run[]>;
}

export const NO_PAGES: RunPages = { key: '', total: 0, warnings: [], blocks: new Map() };

/** The blocks that rows first to last - 1 are in, and the first one, which the charts show. */
export function blocksOf(first: number, last: number): number[] {
  const blocks = new Set([0]);
  for (let at = Math.floor(first / BLOCK); at * BLOCK < last; at += 1) blocks.add(at);
  return [...blocks];
}

/** One place for each run that matches. */
export function runsOf({ total, blocks }: RunPages): (Run | undefined)[] {
  const runs = new Array<Run | undefined>(total).fill(undefined);
  for (const [block, loaded] of blocks) {
    loaded.forEach((run, i) => {
      if (block * BLOCK + i < total) runs[block * BLOCK + i] = run;
    });
  }
  return runs;
}

/** With these runs in place of what was known of them. */
export function withFresh(pages: RunPages, fresh: readonly Run[]): RunPages {
  const byId = new Map(fresh.map((run) => [run.id, run]));
  const blocks = new Map<number, Run[]>();
  for (const [block, runs] of pages.blocks) {
    const isTouched = runs.some((run) => byId.has(run.id));
    blocks.set(block, isTouched ? runs.map((run) => byId.get(run.id) ?? run) : runs);
  }
  return { ...pages, blocks };
}

const MOVING = /^-?(summary\.|last_step|duration|heartbeat|ended)/;

/**
 * Whether new points of runs may change which runs there are, or their order. Then what is in view
 * is loaded again; else only the runs that changed are.
 */
export function movesRuns(what: ReadonlySet<string>, order: string, filter: string): boolean {
  if (what.has('facts') || what.has('deleted')) return true;
  return filter !== '' || MOVING.test(order);
}
