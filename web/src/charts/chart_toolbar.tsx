import type { ComponentChildren } from 'preact';
import type { Spread, View } from '../lib/view';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';

interface Props {
  view: View;
  metrics: string[];
  isFull?: boolean; // one chart: nothing to find, no rows
  children?: ComponentChildren; // settings of this page alone
  onView: (patch: Partial<View>, push?: boolean) => void;
}

const AXES = ['step', 'relative', 'time', 'epoch'];
const AXIS_NAMES: Record<string, string> = {
  step: 'step',
  relative: 'time since start',
  time: 'clock time',
  epoch: 'epoch',
};

/** Every setting of the charts, one click away and in one line. */
export function ChartToolbar({ view, metrics, isFull = false, children, onView }: Props) {
  return (
    <div class="toolbar" role="toolbar" aria-label="Chart settings">
      {!isFull && (
        <span class="find">
          <Icon name="search" />
          <input
            id="find-charts"
            class="field"
            type="search"
            placeholder="Charts: part of a name"
            aria-label="Find charts by name"
            value={view.find}
            onInput={(event) => onView({ find: event.currentTarget.value })}
          />
        </span>
      )}
      <label class="pair">
        x
        <select
          class="field"
          aria-label="The x axis"
          value={view.x}
          onChange={(event) => onView({ x: event.currentTarget.value, range: null })}
        >
          {AXES.map((axis) => (
            <option key={axis} value={axis}>
              {AXIS_NAMES[axis]}
            </option>
          ))}
          {!AXES.includes(view.x) && !metrics.includes(view.x) && <option>{view.x}</option>}
          <optgroup label="a metric">
            {metrics.map((metric) => (
              <option key={metric}>{metric}</option>
            ))}
          </optgroup>
        </select>
      </label>
      <span class="joined">
        <Button
          pressed={view.logX}
          label="Logarithmic x"
          onClick={() => onView({ logX: !view.logX })}
        >
          log x
        </Button>
        <Button
          pressed={view.logY}
          label="Logarithmic y"
          onClick={() => onView({ logY: !view.logY })}
        >
          log y
        </Button>
        <Button
          pressed={!view.outliers}
          label="Leave the most extreme percent out of the y range"
          onClick={() => onView({ outliers: !view.outliers })}
        >
          clip
        </Button>
      </span>
      <label class="pair" title="Exponential moving average, debiased">
        smooth
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={view.smooth}
          onInput={(event) => onView({ smooth: Number(event.currentTarget.value) })}
        />
        <output>{view.smooth.toFixed(2)}</output>
      </label>
      {children}
      {view.group && <SpreadChoice value={view.spread} onPick={(spread) => onView({ spread })} />}
      {view.range && (
        <Button kind="plain" onClick={() => onView({ range: null }, true)}>
          <Icon name="close" /> zoom
        </Button>
      )}
      {!isFull && (
        <label class="pair push">
          per row
          <select
            class="field"
            value={view.perRow}
            onChange={(event) => onView({ perRow: Number(event.currentTarget.value) })}
          >
            <option value="0">fit</option>
            {[1, 2, 3, 4, 5].map((n) => (
              <option key={n} value={n}>
                {n}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

function SpreadChoice({ value, onPick }: { value: Spread; onPick: (spread: Spread) => void }) {
  return (
    <label class="pair">
      groups
      <select
        class="field"
        value={value}
        onChange={(event) => onPick(event.currentTarget.value as Spread)}
      >
        <option value="range">mean, min to max</option>
        <option value="std">mean, one deviation</option>
        <option value="none">mean</option>
        <option value="lines">every run</option>
      </select>
    </label>
  );
}
