import { columnTitle } from '../../lib/columns';

interface Props {
  label: string;
  value: string;
  config: string[];
  summary: string[];
  none?: string; // a first choice that stands for nothing
  onPick: (column: string) => void;
}

const FACTS = ['created', 'duration', 'last_step', 'state', 'host', 'user'];

export function ColumnSelect({ label, value, config, summary, none, onPick }: Props) {
  return (
    <label class="pair">
      {label}
      <select class="field" value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {[
          { name: 'Metrics', columns: summary },
          { name: 'Config, where runs differ', columns: config },
          { name: 'Facts', columns: FACTS },
        ].map((group) => (
          <optgroup key={group.name} label={group.name}>
            {group.columns.map((column) => (
              <option key={column} value={column}>
                {columnTitle(column)}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}
