import type { Json } from '../api/types';
import { isObject, plain } from './flatten';
import type { Cell } from './flatten';
import { fromWire } from './numbers';

export type TableCell = { image: string } | { value: Cell };

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
  if (cell === 'NaN' || cell === 'Infinity' || cell === '-Infinity')
    return { value: fromWire(cell) };
  return { value: plain(cell) };
}

export function valueOf(cell: TableCell | undefined): Cell {
  if (!cell) return undefined;
  return 'image' in cell ? cell.image : cell.value;
}

export function hasImages(table: Table): boolean {
  return table.rows.some((row) => row.some((cell) => 'image' in cell));
}

export function numericColumns(table: Table): string[] {
  return table.columns.filter((_, i) =>
    table.rows.some((row) => typeof valueOf(row[i]) === 'number'),
  );
}
