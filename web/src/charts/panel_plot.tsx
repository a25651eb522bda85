import { useRef } from 'preact/hooks';
import type { Table } from '../lib/tables';
import { isDark } from '../lib/theme';
import { binsOf, confusionOf } from '../lib/wandb_panels';
import type { Panel } from '../lib/wandb_panels';
import { ConfusionMatrix } from './confusion_matrix';
import { DataPlot } from './data_plot';
import type { Mark } from './data_plot';
import { useSize } from './element_size';
import { splitTable, withColours } from './plot_groups';
import { PlotLegend } from './plot_legend';
import { TablePlot } from './table_plot';

const HEIGHT = 260;

/** What each preset of wandb.plot is: a mark, and which of its fields are x, y and the colour. */
const PRESETS: Record<string, { mark: Mark; x: string; y: string; by: string }> = {
  'wandb/line/v0': { mark: 'line', x: 'x', y: 'y', by: 'stroke' },
  'wandb/lineseries/v0': { mark: 'line', x: 'step', y: 'lineVal', by: 'lineKey' },
  'wandb/scatter/v0': { mark: 'point', x: 'x', y: 'y', by: '' },
  'wandb/bar/v0': { mark: 'bar', x: 'label', y: 'value', by: '' },
  'wandb/area-under-curve/v0': { mark: 'line', x: 'x', y: 'y', by: 'class' },
};

/** A plot of wandb.plot, drawn from its table. */
export function PanelPlot({ panel, table }: { panel: Panel; table: Table }) {
  const { preset, fields, texts } = panel;
  if (preset === 'wandb/confusion_matrix/v1' || preset === 'wandb/confusion_matrix/v0') {
    return <ConfusionMatrix body={confusionOf(table, panel)} />;
  }
  if (preset === 'wandb/histogram/v0') {
    const column = fields['value'] ?? '';
    const bins = binsOf(table, column);
    return (
      <Marks table={bins} mark="bar" x={column} y="count" by="" xName={column} yName="count" />
    );
  }
  const known = PRESETS[preset];
  if (!known) {
    return (
      <>
        <p class="faint">
          {preset} is a drawing of your own, which is not known here: choose the columns.
        </p>
        <TablePlot table={table} body={fields} />
      </>
    );
  }
  const column = (role: string) => fields[role] ?? '';
  const [x, y, by] = [column(known.x), column(known.y), column(known.by)];
  return (
    <Marks
      {...{ table, mark: known.mark, x, y, by }}
      xName={texts['x-axis-title'] || texts['xname'] || x}
      yName={texts['y-axis-title'] || y}
    />
  );
}

interface MarksProps {
  table: Table;
  mark: Mark;
  x: string;
  y: string;
  by: string;
  xName: string;
  yName: string;
}

function Marks({ table, mark, x, y, by, xName, yName }: MarksProps) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const groups = withColours(splitTable(table, x, y, by), isDark.value);
  return (
    <div ref={box}>
      <div class="faint axis-above">{yName}</div>
      {width > 0 && <DataPlot {...{ groups, width, xName, yName }} kind={mark} height={HEIGHT} />}
      {by && <PlotLegend groups={groups} />}
    </div>
  );
}
