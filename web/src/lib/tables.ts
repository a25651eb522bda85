import type { Json } from '../api/types';
import { isObject, plain } from './flatten';
import type { Cell } from './flatten';
import { fromWire } from './numbers';

/** media: a file of another kind, "audio-file" say. Paths are relative to where the table is. */
export type TableCell =
  | { image: string; caption?: string }
  | { media: string; path: string; caption?: string }
  | { value: Cell };

export interface Table {
  columns: string[];
  rows: TableCell[][];
}

export function parseTable(body: { [key: string]: Json }): Table {
  const columns = Array.isArray(body['columns']) ? body['columns'].map((c) => String(c)) : [];
  const rows = Array.isArray(body['rows']) ? body['rows'] : [];
  return {
    columns,
    rows: rows.map((row) => (Array.isArray(row) ? row.map(parseCell) : [])),
  };
}

function parseCell(cell: Json): TableCell {
  if (isObject(cell) && typeof cell['image'] === 'string') return { image: cell['image'] };
  if (isObject(cell) && typeof cell['_type'] === 'string' && typeof cell['path'] === 'string') {
    const caption = typeof cell['caption'] === 'string' ? { caption: cell['caption'] } : {};
    return cell['_type'] === 'image-file'
      ? { image: cell['path'], ...caption }
      : { media: cell['_type'], path: cell['path'], ...caption };
  }
  if (cell === 'NaN' || cell === 'Infinity' || cell === '-Infinity')
    return { value: fromWire(cell) };
  return { value: plain(cell) };
}

export function valueOf(cell: TableCell | undefined): Cell {
  if (!cell) return undefined;
  if ('value' in cell) return cell.value;
  return cell.caption ?? ('image' in cell ? cell.image : cell.path);
}

export function hasImages(table: Table): boolean {
  return table.rows.some((row) => row.some((cell) => 'image' in cell));
}

export function numericColumns(table: Table): string[] {
  return table.columns.filter((_, i) =>
    table.rows.some((row) => typeof valueOf(row[i]) === 'number'),
  );
}
