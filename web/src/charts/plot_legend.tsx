import type { DataGroup } from './data_plot';

const MAX_NAMES = 20;

export function PlotLegend({ groups }: { groups: DataGroup[] }) {
  return (
    <div class="row wrap legend">
      {groups.slice(0, MAX_NAMES).map((g) => (
        <span key={g.name} class="glance">
          <i style={{ background: g.colour }} />
          {g.name}
        </span>
      ))}
      {groups.length > MAX_NAMES && <span class="faint">and {groups.length - MAX_NAMES} more</span>}
    </div>
  );
}
