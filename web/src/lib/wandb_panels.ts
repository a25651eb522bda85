// What wandb.plot logs: a table beside the other records, and in the run's config how to draw it.
// Its presets are known by name ("wandb/bar/v0"); all others are drawn as their columns allow.
import type { Json } from '../api/types';
import { isObject } from './flatten';
import { valueOf } from './tables';
import type { Table } from './tables';

export interface Panel {
  key: string; // what the script called it
  table: string; // the key of its table
  preset: string; // "wandb/bar/v0", "me/mine"
  fields: { [role: string]: string }; // which column is what
  texts: { [name: string]: string }; // title, names of axes
}

export function parsePanels(panels: { [key: string]: Json }): Panel[] {
  return Object.entries(panels).flatMap(([key, panel]) => {
    const config = isObject(panel) ? panel['panel_config'] : undefined;
    if (!isObject(config) || typeof config['panelDefId'] !== 'string') return [];
    return [
      {
        key,
        table: findTableKey(config['userQuery']) ?? `${key}_table`,
        preset: config['panelDefId'],
        fields: textsOf(config['fieldSettings']),
        texts: textsOf(config['stringSettings']),
      },
    ];
  });
}

function textsOf(value: Json | undefined): { [name: string]: string } {
  const entries = isObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The query asks for a field with the argument {name: "tableKey", value: ...} somewhere inside. */
function findTableKey(query: Json | undefined): string | undefined {
  if (Array.isArray(query)) {
    for (const item of query) {
      const found = findTableKey(item);
      if (found) return found;
    }
    return undefined;
  }
  if (!isObject(query)) return undefined;
  if (query['name'] === 'tableKey' && typeof query['value'] === 'string') return query['value'];
  return findTableKey(Object.values(query));
}

/** Rows of (true class, said class, count) as a matrix; classes as they come. */
export function confusionOf(table: Table, { fields }: Panel): { [key: string]: Json } {
  const at = (role: string) => table.columns.indexOf(fields[role] ?? role);
  const [actual, predicted, count] = [at('Actual'), at('Predicted'), at('nPredictions')];
  const cells = table.rows.map((row) => ({
    actual: String(valueOf(row[actual])),
    predicted: String(valueOf(row[predicted])),
    count: Number(valueOf(row[count])),
  }));
  const classes = [...new Set(cells.flatMap((c) => [c.actual, c.predicted]))];
  const counts = classes.map(() => classes.map(() => 0));
  for (const cell of cells) {
    const row = counts[classes.indexOf(cell.actual)];
    const column = classes.indexOf(cell.predicted);
    if (row) row[column] = (row[column] ?? 0) + cell.count;
  }
  return { classes, counts };
}

/** A column of numbers as a table of bins: the middle of each, and how many are in it. */
export function binsOf(table: Table, column: string): Table {
  const at = table.columns.indexOf(column);
  const values = table.rows
    .map((row) => valueOf(row[at]))
    .filter((v): v is number => typeof v === 'number' && Number.isFinite(v));
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const greatest = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const count = Math.min(50, Math.max(1, Math.ceil(Math.sqrt(values.length))));
  const width = (greatest - least) / count || 1;
  const bins = Array.from({ length: values.length > 0 ? count : 0 }, () => 0);
  for (const value of values) {
    const place = Math.min(count - 1, Math.floor((value - least) / width));
    bins[place] = (bins[place] ?? 0) + 1;
  }
  const rows = bins.map((n, i) => [{ value: least + (i + 0.5) * width }, { value: n }]);
  return { columns: [column, 'count'], rows };
}
