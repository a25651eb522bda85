import { useMemo, useRef, useState } from 'preact/hooks';
import type { Json } from '../api/types';
import { isDark } from '../lib/theme';
import { numericColumns } from '../lib/tables';
import type { Table } from '../lib/tables';
import { DataPlot } from './data_plot';
import type { Mark } from './data_plot';
import { useSize } from './element_size';
import { splitTable, withColours } from './plot_groups';
import { PlotLegend } from './plot_legend';

interface Props {
  table: Table;
  /** What the run asked for: kind, x, y, series, title. The reader can choose otherwise. */
  body: { [key: string]: Json };
}

const KINDS: Mark[] = ['line', 'point', 'bar'];
const HEIGHT = 260;

/** A plot of any table: pick the columns. */
export function TablePlot({ table, body }: Props) {
  const numeric = useMemo(() => numericColumns(table), [table]);
  const asked = (key: string, fallback: string) =>
    typeof body[key] === 'string' ? String(body[key]) : fallback;
  const first = asked('kind', 'point');
  const [kind, setKind] = useState<Mark>(KINDS.find((k) => first.startsWith(k)) ?? 'point');
  const [x, setX] = useState(asked('x', numeric[0] ?? table.columns[0] ?? ''));
  const [y, setY] = useState(asked('y', numeric[1] ?? numeric[0] ?? ''));
  const [by, setBy] = useState(asked('series', ''));
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const groups = useMemo(() => splitTable(table, x, y, by), [table, x, y, by]);
  const drawn = withColours(groups, isDark.value);
  const choose = (value: string, set: (v: string) => void, label: string, none = false) => (
    <label class="pair">
      {label}
      <select class="field" value={value} onChange={(event) => set(event.currentTarget.value)}>
        {none && <option value="">one colour</option>}
        {table.columns.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
  return (
    <div ref={box}>
      <div class="row wrap" style={{ padding: '4px 0' }}>
        {choose(x, setX, 'x')}
        {choose(y, setY, 'y')}
        {choose(by, setBy, 'colour', true)}
        <select
          class="field"
          aria-label="Kind of plot"
          value={kind}
          onChange={(event) => setKind(event.currentTarget.value as Mark)}
        >
          {KINDS.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      {width > 0 && (
        <DataPlot groups={drawn} kind={kind} xName={x} yName={y} width={width} height={HEIGHT} />
      )}
      {by && <PlotLegend groups={drawn} />}
    </div>
  );
}
