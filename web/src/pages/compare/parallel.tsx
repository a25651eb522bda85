import { useMemo } from 'preact/hooks';
import { ParallelPlot } from '../../charts/parallel_plot';
import { litRun } from '../../charts/hover';
import { makeAxis, passes, readBrushes, writeBrushes } from '../../lib/axes';
import { cellOf } from '../../lib/flatten';
import { linkTo, route, setQuery } from '../../lib/router';
import { Icon } from '../../ui/icon';
import { KeyPicker } from '../../ui/key_picker';
import { Menu } from '../../ui/menu';
import { RunMark } from '../../ui/run_mark';
import { formatCell } from '../cell';
import type { CompareProps } from './compare_page';

const AUTO_CONFIG = 5;
const MAX_LISTED = 100;

export function defaultMetric(summary: readonly string[]): string {
  return (
    summary.find((c) => /summary\.(val|test|eval)\/.*acc/.test(c)) ??
    summary.find((c) => /summary\.(val|test|eval)\//.test(c)) ??
    summary[0] ??
    ''
  );
}

/** Brush an axis, and only the runs that pass stay lit; below, those runs. */
export function Parallel({
  runs,
  config,
  summary,
  hasTable = true,
  axesMax = AUTO_CONFIG,
}: CompareProps & { hasTable?: boolean; axesMax?: number }) {
  const query = route.value.query;
  const stored = query.get('ax');
  const columns = useMemo(
    () =>
      stored
        ? stored.split('|')
        : [...config.slice(0, axesMax), defaultMetric(summary)].filter(Boolean),
    [stored, config, summary, axesMax],
  );
  const brushText = query.get('br') ?? '';
  const brushes = useMemo(() => readBrushes(brushText), [brushText]);
  const axes = useMemo(() => columns.map((column) => makeAxis(runs, column)), [runs, columns]);
  const inside = useMemo(
    () => runs.filter((run) => passes(run, axes, brushes)),
    [runs, axes, brushes],
  );
  const setColumns = (next: string[]) => setQuery({ ax: next.join('|') });
  const brush = (column: string, range: [number, number] | null) => {
    const rest = Object.fromEntries(Object.entries(brushes).filter(([key]) => key !== column));
    setQuery({ br: writeBrushes(range ? { ...rest, [column]: range } : rest) }, true);
  };
  const move = (column: string, by: number) => {
    const at = columns.indexOf(column);
    const next = [...columns];
    next.splice(at, 1);
    next.splice(Math.max(0, Math.min(next.length, at + by)), 0, column);
    setColumns(next);
  };
  const chosen = new URLSearchParams({ sel: inside.map((run) => run.id).join(',') });
  const isBrushed = Object.keys(brushes).length > 0;
  return (
    <>
      <div class="row wrap">
        <Menu
          label="Choose axes"
          width={290}
          face={
            <>
              <Icon name="columns" /> Axes
            </>
          }
        >
          {() => (
            <KeyPicker
              placeholder="Axes"
              chosen={columns}
              groups={[
                { label: 'Shown', keys: columns },
                {
                  label: 'Config, where runs differ',
                  keys: config.filter((c) => !columns.includes(c)),
                },
                { label: 'Metrics', keys: summary.filter((c) => !columns.includes(c)) },
                { label: 'Facts', keys: ['duration', 'last_step', 'state', 'host', 'user'] },
              ]}
              onToggle={(key) =>
                setColumns(
                  columns.includes(key) ? columns.filter((c) => c !== key) : [...columns, key],
                )
              }
            />
          )}
        </Menu>
        <span class="muted" role="status">
          {inside.length} of {runs.length} runs {isBrushed ? 'inside the brushes' : ''}
        </span>
        {isBrushed && (
          <>
            <button type="button" class="button plain" onClick={() => setQuery({ br: null }, true)}>
              <Icon name="close" /> brushes
            </button>
            <a href={linkTo(['p', runs[0]?.project ?? '', 'runs'], chosen)}>plot these runs</a>
          </>
        )}
        <span class="faint push">drag along an axis to brush; the last axis gives the colour</span>
      </div>
      <ParallelPlot runs={runs} axes={axes} brushes={brushes} onBrush={brush} onMove={move} />
      {hasTable && (
        <table class="plain-table">
          <thead>
            <tr>
              <th>run</th>
              {columns.map((column) => (
                <th key={column}>{column.replace(/^(config|summary)\./, '')}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {inside.slice(0, MAX_LISTED).map((run) => (
              <tr
                key={run.id}
                onMouseEnter={() => (litRun.value = run.id)}
                onMouseLeave={() => (litRun.value = '')}
              >
                <td>
                  <RunMark id={run.id} />
                  <a href={linkTo(['p', run.project, 'run', run.id])}>{run.name || run.id}</a>
                </td>
                {columns.map((column) => (
                  <td key={column}>{formatCell(cellOf(run, column), column)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
