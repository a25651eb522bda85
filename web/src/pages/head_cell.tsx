import { useRef } from 'preact/hooks';
import { columnTitle } from '../lib/columns';
import { LEAST_WIDTH } from './column_widths';

interface Props {
  column: string;
  isNumber: boolean;
  order: string;
  onOrder: (column: string) => void;
  /** While the edge is dragged; 0 gives the column back its usual width. */
  onWidth: (column: string, width: number, isDone: boolean) => void;
}

/** The title of a column: a click orders by it, its right edge is dragged to make it wider. */
export function HeadCell({ column, isNumber, order, onOrder, onWidth }: Props) {
  const isSorted = order.replace(/^-/, '') === column;
  const isFalling = order.startsWith('-');
  const sort = isSorted ? (isFalling ? 'descending' : 'ascending') : 'none';
  return (
    <div class="cell" role="columnheader" aria-sort={sort}>
      <button
        type="button"
        class={isNumber ? 'num' : ''}
        title={`${column}: sort`}
        onClick={() => onOrder(column)}
      >
        <span class="clip">{columnTitle(column)}</span>
        {isSorted && <span aria-hidden="true">{isFalling ? '\u2193' : '\u2191'}</span>}
      </button>
      <Edge column={column} onWidth={onWidth} />
    </div>
  );
}

const KEY_STEP = 16;

function Edge({ column, onWidth }: Pick<Props, 'column' | 'onWidth'>) {
  const start = useRef<{ at: number; width: number } | null>(null);
  const widthOf = (edge: HTMLElement) => edge.parentElement?.getBoundingClientRect().width ?? 0;
  const report = (width: number, isDone: boolean) =>
    onWidth(column, Math.round(Math.max(LEAST_WIDTH, width)), isDone);
  return (
    <div
      class="edge"
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${columnTitle(column)}`}
      title="Drag to change the width; double click for the usual one"
      tabIndex={0}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { at: event.clientX, width: widthOf(event.currentTarget) };
      }}
      onPointerMove={(event) => {
        if (start.current) report(start.current.width + event.clientX - start.current.at, false);
      }}
      onPointerUp={(event) => {
        const from = start.current;
        start.current = null;
        if (from && event.clientX !== from.at) report(from.width + event.clientX - from.at, true);
      }}
      onDblClick={() => onWidth(column, 0, true)}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        report(widthOf(event.currentTarget) + by, true);
      }}
    />
  );
}
