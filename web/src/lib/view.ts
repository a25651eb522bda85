// What the reader has set up on a page of runs, and its short form in the address. Defaults are
// left out, so that a fresh page has a clean address.
export type XAxis = string; // step | time | relative | epoch | the name of a metric
export type Spread = 'none' | 'range' | 'std' | 'lines';
export type Layout = 'split' | 'table' | 'charts';

export interface View {
  filter: string;
  order: string;
  columns: string[];
  group: string;
  colourBy: string; // run | group
  selected: string[]; // empty: the first runs of the table
  groups: string[]; // that the charts show; empty: the largest
  pinned: string[]; // runs that stay at the top of the table
  x: XAxis;
  logX: boolean;
  logY: boolean;
  smooth: number;
  spread: Spread;
  find: string; // which charts to show
  range: [number, number] | null;
  layout: Layout;
  perRow: number; // 0: as many as fit
  closed: string[]; // closed sections
  full: string; // the chart that fills the screen
  archived: boolean;
  outliers: boolean; // false: the y range leaves out the most extreme values
  widths: Record<string, number>; // of columns, in pixels, where the reader has set one
  attempt: string; // of one run: as it counts, one number, or each
}

export const DEFAULT_COLUMNS = ['created', 'duration', 'last_step'];

export const DEFAULT_VIEW: View = {
  filter: '',
  order: '-created',
  columns: DEFAULT_COLUMNS,
  group: '',
  colourBy: 'run',
  selected: [],
  groups: [],
  pinned: [],
  x: 'step',
  logX: false,
  logY: false,
  smooth: 0,
  spread: 'range',
  find: '',
  range: null,
  layout: 'split',
  perRow: 0,
  closed: [],
  full: '',
  archived: false,
  outliers: true,
  widths: {},
  attempt: '',
};

type Code = { key: string; write(value: never): string; read(text: string): unknown };

const text = (key: string): Code => ({ key, write: (v: string) => v, read: (t) => t });
const flag = (key: string): Code => ({
  key,
  write: (v: boolean) => (v ? '1' : '0'),
  read: (t) => t === '1',
});
const number = (key: string): Code => ({
  key,
  write: (v: number) => String(v),
  read: (t) => (Number.isFinite(Number(t)) ? Number(t) : undefined),
});
const list = (key: string): Code => ({
  key,
  write: (v: string[]) => writeList(v) || ',',
  read: (t) => (t === ',' ? [] : splitList(t)),
});
const oneOf = (key: string, values: readonly string[]): Code => ({
  key,
  write: (v: string) => v,
  read: (t) => (values.includes(t) ? t : undefined),
});
const range = (key: string): Code => ({
  key,
  write: (v: [number, number] | null) => (v ? v.join('~') : ''),
  read: (t) => {
    const [from = NaN, to = NaN] = t.split('~').map(Number);
    return from < to ? [from, to] : undefined;
  },
});

const widths = (key: string): Code => ({
  key,
  write: (v: Record<string, number>) =>
    writeList(Object.entries(v).map(([column, width]) => `${column}:${width}`)),
  read: (t) =>
    Object.fromEntries(
      splitList(t)
        .map((s): [string, number] => [
          s.slice(0, s.lastIndexOf(':')),
          Number(s.slice(s.lastIndexOf(':') + 1)),
        ])
        .filter(([, width]) => width > 0),
    ),
});

const CODES: Record<keyof View, Code> = {
  filter: text('f'),
  order: text('o'),
  columns: list('c'),
  group: text('g'),
  colourBy: text('cb'),
  selected: list('sel'),
  groups: list('gs'),
  pinned: list('pin'),
  x: text('x'),
  logX: flag('lx'),
  logY: flag('ly'),
  smooth: number('s'),
  spread: oneOf('sp', ['none', 'range', 'std', 'lines']),
  find: text('q'),
  range: range('r'),
  layout: oneOf('l', ['split', 'table', 'charts']),
  perRow: number('n'),
  closed: list('cl'),
  full: text('full'),
  archived: flag('arch'),
  outliers: flag('out'),
  widths: widths('w'),
  attempt: text('at'),
};

function writeList(v: string[]): string {
  return v.map((s) => s.replace(/[\\,]/g, '\\$&')).join(',');
}

function splitList(t: string): string[] {
  const out: string[] = [''];
  for (let i = 0; i < t.length; i += 1) {
    const c = t.charAt(i);
    if (c === ',') out.push('');
    else out[out.length - 1] += c === '\\' ? t.charAt((i += 1)) : c;
  }
  return out;
}

export function readView(query: URLSearchParams, defaults: View = DEFAULT_VIEW): View {
  const view: Record<string, unknown> = { ...defaults };
  for (const [field, code] of Object.entries(CODES)) {
    const raw = query.get(code.key);
    const value = raw === null ? undefined : code.read(raw);
    if (value !== undefined) view[field] = value;
  }
  return view as unknown as View;
}

/** The changes to the query that a change of the view asks for; null means "leave it out". */
export function writeView(
  patch: Partial<View>,
  defaults: View = DEFAULT_VIEW,
): Record<string, string | null> {
  const out: Record<string, string | null> = {};
  for (const [field, value] of Object.entries(patch) as [keyof View, never][]) {
    const code = CODES[field];
    const isDefault = JSON.stringify(value) === JSON.stringify(defaults[field]);
    out[code.key] = isDefault ? null : code.write(value);
  }
  return out;
}

/** Which runs it is about: what goes along from the table to a comparison and back. */
export function carriedQuery(query: URLSearchParams): URLSearchParams {
  const codes = [CODES.filter, CODES.order, CODES.selected, CODES.archived];
  return new URLSearchParams([...query].filter(([key]) => codes.some((code) => code.key === key)));
}
