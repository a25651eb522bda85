import { useMemo } from 'preact/hooks';
import { ScatterPlot } from '../../charts/scatter_plot';
import { makeAxis } from '../../lib/axes';
import { route, setQuery } from '../../lib/router';
import { ColumnSelect } from './column_select';
import type { CompareProps } from './compare_page';
import { defaultMetric } from './parallel';

export function Scatter({ runs, config, summary }: CompareProps) {
  const query = route.value.query;
  const x = query.get('sx') ?? config[0] ?? 'created';
  const y = query.get('sy') ?? (defaultMetric(summary) || 'last_step');
  const hue = query.get('sc') ?? '';
  const axes = useMemo(
    () => ({
      x: makeAxis(runs, x, 8),
      y: makeAxis(runs, y),
      hue: hue ? makeAxis(runs, hue) : null,
    }),
    [runs, x, y, hue],
  );
  const columns = { config, summary };
  return (
    <>
      <div class="row wrap">
        <ColumnSelect label="x" value={x} {...columns} onPick={(c) => setQuery({ sx: c })} />
        <ColumnSelect label="y" value={y} {...columns} onPick={(c) => setQuery({ sy: c })} />
        <ColumnSelect
          label="colour"
          value={hue}
          none="one colour"
          {...columns}
          onPick={(c) => setQuery({ sc: c })}
        />
      </div>
      <ScatterPlot runs={runs} x={axes.x} y={axes.y} colour={axes.hue} />
    </>
  );
}
