import { useMemo, useRef, useState } from 'preact/hooks';
import { TablePlot } from '../charts/table_plot';
import { compareCells } from '../lib/flatten';
import { formatNumber } from '../lib/numbers';
import { hasImages, numericColumns, valueOf } from '../lib/tables';
import type { Table, TableCell } from '../lib/tables';
import { Button } from './button';
import { MediaFile } from './media_file';
import { useWindow, Strip } from './virtual_list';

interface Props {
  table: Table;
  imageUrl: (path: string) => string;
}

const TEXT_ROW = 26;
const IMAGE_ROW = 68;
const MAX_HEIGHT = 420;

/** A logged table: sort by a column, find rows, see its images, or plot it. */
export function DataTable({ table, imageUrl }: Props) {
  const [sort, setSort] = useState<{ column: number; isFalling: boolean } | null>(null);
  const [find, setFind] = useState('');
  const [isPlot, setPlot] = useState(false);
  const rows = useMemo(() => {
    const word = find.toLowerCase();
    const kept = word
      ? table.rows.filter((row) => row.some((c) => String(valueOf(c)).toLowerCase().includes(word)))
      : [...table.rows];
    if (sort) {
      const sign = sort.isFalling ? -1 : 1;
      kept.sort((a, b) => sign * compareCells(valueOf(a[sort.column]), valueOf(b[sort.column])));
    }
    return kept;
  }, [table, sort, find]);
  const row = hasImages(table) ? IMAGE_ROW : TEXT_ROW;
  const box = useRef<HTMLDivElement>(null);
  const { first, last, top } = useWindow(box, row, rows.length, TEXT_ROW);
  const layout = { gridTemplateColumns: `repeat(${table.columns.length}, minmax(90px, 1fr))` };
  return (
    <div class="data-table">
      <div class="row">
        <input
          class="field"
          type="search"
          placeholder="Find rows"
          aria-label="Find rows"
          value={find}
          onInput={(event) => setFind(event.currentTarget.value)}
        />
        <span class="faint">
          {rows.length} of {table.rows.length} rows
        </span>
        {numericColumns(table).length > 0 && (
          <Button pressed={isPlot} onClick={() => setPlot(!isPlot)}>
            plot
          </Button>
        )}
      </div>
      {isPlot ? (
        <TablePlot table={{ columns: table.columns, rows }} body={{}} />
      ) : (
        <div
          ref={box}
          class="runs"
          role="grid"
          aria-rowcount={rows.length}
          style={{ height: Math.min(MAX_HEIGHT, rows.length * row + TEXT_ROW + 2), flex: 'none' }}
        >
          <div class="line head" role="row" style={layout}>
            {table.columns.map((name, i) => (
              <div key={name} class="cell" role="columnheader">
                <button
                  type="button"
                  onClick={() =>
                    setSort({ column: i, isFalling: sort?.column === i && !sort.isFalling })
                  }
                >
                  {name}
                  {sort?.column === i && <span>{sort.isFalling ? '\u2193' : '\u2191'}</span>}
                </button>
              </div>
            ))}
          </div>
          <Strip height={rows.length * row} top={top}>
            {rows.slice(first, last).map((cells, i) => (
              <div key={first + i} class="line" role="row" style={{ ...layout, height: row }}>
                {cells.map((cell, k) => (
                  <div
                    key={k}
                    class="cell clip"
                    role="gridcell"
                    style={{ lineHeight: `${row - 1}px` }}
                  >
                    <CellView cell={cell} imageUrl={imageUrl} />
                  </div>
                ))}
              </div>
            ))}
          </Strip>
        </div>
      )}
    </div>
  );
}

function CellView({ cell, imageUrl }: { cell: TableCell; imageUrl: (path: string) => string }) {
  if ('image' in cell) {
    const caption = cell.caption ?? cell.image;
    return (
      <img class="thumb" loading="lazy" src={imageUrl(cell.image)} alt={caption} title={caption} />
    );
  }
  if ('media' in cell) return <MediaFile type={cell.media} url={imageUrl(cell.path)} {...cell} />;
  const { value } = cell;
  if (typeof value === 'number') return <>{formatNumber(value)}</>;
  return <>{value === null || value === undefined ? '' : String(value)}</>;
}
