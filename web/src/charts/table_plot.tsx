import { useMemo, useRef, useState } from 'preact/hooks';
import type { Json } from '../api/types';
import { assignColours, colourAt } from '../lib/colours';
import { isDark } from '../lib/theme';
import { numericColumns, valueOf } from '../lib/tables';
import type { Table } from '../lib/tables';
import { DataPlot } from './data_plot';
import type { Mark } from './data_plot';
import { useSize } from './element_size';

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
  const groups = useMemo(() => split(table, x, y, by), [table, x, y, by]);
  const slots = assignColours(groups.map((g) => g.name));
  const drawn = groups.map((g) => ({
    ...g,
    colour: colourAt(slots.get(g.name) ?? 0, isDark.value),
  }));
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
      {by && (
        <div class="row wrap legend">
          {drawn.slice(0, 20).map((g) => (
            <span key={g.name} class="glance">
              <i style={{ background: g.colour }} />
              {g.name}
            </span>
          ))}
        </div>
      )}
    </div>
  );
}

function split(table: Table, x: string, y: string, by: string) {
  const [xi, yi, bi] = [x, y, by].map((name) => table.columns.indexOf(name));
  const groups = new Map<string, { x: number | string; y: number }[]>();
  for (const row of table.rows) {
    const name = by ? String(valueOf(row[bi ?? -1])) : '';
    const px = valueOf(row[xi ?? -1]);
    const py = valueOf(row[yi ?? -1]);
    if (typeof py !== 'number' || px === null || px === undefined) continue;
    const list = groups.get(name) ?? [];
    list.push({ x: typeof px === 'number' ? px : String(px), y: py });
    groups.set(name, list);
  }
  return [...groups].map(([name, points]) => ({ name, points }));
}
