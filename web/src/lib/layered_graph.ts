// Places for the nodes of a directed graph without circles, in columns from left to right.
export interface GraphEdge {
  from: string;
  to: string;
}

export interface Placed {
  id: string;
  column: number;
  row: number;
}

const SWEEPS = 8;

/** Each node right of all that lead to it, and each column ordered so that few edges cross. */
export function layOut(ids: readonly string[], edges: readonly GraphEdge[]): Placed[] {
  const before = new Map<string, string[]>(ids.map((id) => [id, []]));
  const after = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const { from, to } of edges) {
    if (!before.has(from) || !before.has(to) || from === to) continue;
    before.get(to)?.push(from);
    after.get(from)?.push(to);
  }
  const column = columnsOf(ids, before);
  const columns: string[][] = [];
  ids.forEach((id) => (columns[column.get(id) ?? 0] ??= []).push(id));
  const filled = columns.filter(Boolean);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isForward = sweep % 2 === 0;
    const order = isForward ? filled : [...filled].reverse();
    const beside = isForward ? before : after;
    const rows = rowsOf(filled);
    order.forEach((list) => {
      sortByMean(list, beside, rows);
      list.forEach((id, i) => rows.set(id, centred(i, list.length)));
    });
  }
  const rows = rowsOf(filled);
  return filled.flatMap((list, c) => list.map((id) => ({ id, column: c, row: rows.get(id) ?? 0 })));
}

/** The longest way to each node; an edge that closes a circle is passed over. */
function columnsOf(ids: readonly string[], before: Map<string, string[]>): Map<string, number> {
  const done = new Map<string, number>();
  const open = new Set<string>();
  const visit = (id: string): number => {
    const known = done.get(id);
    if (known !== undefined) return known;
    if (open.has(id)) return -1;
    open.add(id);
    const depth = Math.max(-1, ...(before.get(id) ?? []).map(visit)) + 1;
    open.delete(id);
    done.set(id, depth);
    return depth;
  };
  ids.forEach(visit);
  return done;
}

function centred(i: number, count: number): number {
  return i - (count - 1) / 2;
}

function rowsOf(columns: readonly string[][]): Map<string, number> {
  return new Map(
    columns.flatMap((list) => list.map((id, i) => [id, centred(i, list.length)] as const)),
  );
}

function sortByMean(
  list: string[],
  beside: Map<string, string[]>,
  rows: Map<string, number>,
): void {
  const mean = new Map(
    list.map((id) => {
      const others = (beside.get(id) ?? []).map((o) => rows.get(o) ?? 0);
      const sum = others.reduce((a, b) => a + b, 0);
      return [id, others.length > 0 ? sum / others.length : (rows.get(id) ?? 0)] as const;
    }),
  );
  list.sort((a, b) => (mean.get(a) ?? 0) - (mean.get(b) ?? 0));
}
