import type { Fields } from '../api/fields';
import { DEFAULT_COLUMNS } from '../lib/view';
import type { View } from '../lib/view';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';
import { KeyPicker } from '../ui/key_picker';
import { Menu } from '../ui/menu';
import type { SetView } from './use_view';

interface Props {
  view: View;
  setView: SetView;
  fields: Fields | undefined;
  count: number; // of runs that match
  groups: number | undefined; // of groups, where there are any
  plotted: number; // runs, or groups
  isLoading: boolean;
}

const FACTS = [
  'state',
  'created',
  'duration',
  'last_step',
  'user',
  'host',
  'tags',
  'group',
  'job_type',
  'notes',
  'attempt',
  'source',
  'id',
];
const GROUPS = ['group', 'job_type', 'user', 'host', 'state', 'sweep', 'source'];

export function TableToolbar({
  view,
  setView,
  fields,
  count,
  groups: groupCount,
  plotted,
  isLoading,
}: Props) {
  const config = (fields?.config ?? []).map((key) => `config.${key}`);
  const summary = (fields?.summary ?? []).map((key) => `summary.${key}`);
  const labels = (fields?.labels ?? []).map((name) => `label.${name}`);
  const differing = config.slice(0, fields?.differing ?? 0);
  const same = config.slice(fields?.differing ?? 0);
  const groups = view.group ? view.group.split(',') : [];
  return (
    <div class="toolbar" role="toolbar" aria-label="Table settings">
      <span>
        <b>{isLoading ? '' : count.toLocaleString('en')}</b>
        <span class="faint">
          {isLoading ? 'loading runs' : ` runs${ofGroups(groupCount)}, ${plotted} plotted`}
        </span>
      </span>
      {view.selected.length + view.groups.length > 0 && (
        <Button
          kind="plain"
          label="Plot what is plotted without a choice"
          onClick={() => setView({ selected: [], groups: [] })}
        >
          <Icon name="close" /> choice
        </Button>
      )}
      <span class="push row" style={{ gap: 4 }}>
        <Menu
          label="Group runs"
          plain
          width={280}
          face={
            <>
              <Icon name="group" />{' '}
              {groups.length > 0 ? `by ${groups.map(short).join(', ')}` : 'Group'}
            </>
          }
        >
          {() => (
            <KeyPicker
              placeholder="Group by"
              chosen={groups}
              groups={[
                { label: 'Config, where runs differ', keys: differing },
                { label: 'Facts', keys: GROUPS },
                { label: 'Labels', keys: labels },
                { label: 'Config, the same in all', keys: same },
              ]}
              title={short}
              onToggle={(key) => setView({ group: toggle(groups, key).join(',') })}
            />
          )}
        </Menu>
        <Menu
          label="Choose columns"
          plain
          width={300}
          face={
            <>
              <Icon name="columns" /> Columns
            </>
          }
        >
          {() => (
            <>
              <KeyPicker
                placeholder="Columns"
                chosen={view.columns}
                groups={[
                  { label: 'Shown', keys: view.columns },
                  { label: 'Metrics: last value', keys: summary.filter(notIn(view.columns)) },
                  {
                    label: 'Config, where runs differ',
                    keys: differing.filter(notIn(view.columns)),
                  },
                  { label: 'Facts', keys: FACTS.filter(notIn(view.columns)) },
                  { label: 'Labels', keys: labels.filter(notIn(view.columns)) },
                  {
                    label: 'Metrics: least and greatest',
                    keys: extremes(summary).filter(notIn(view.columns)),
                  },
                  { label: 'Config, the same in all', keys: same.filter(notIn(view.columns)) },
                ]}
                title={short}
                onToggle={(key) => setView({ columns: toggle(view.columns, key) })}
              />
              <hr />
              <button
                type="button"
                class="item"
                onClick={() => setView({ columns: DEFAULT_COLUMNS })}
              >
                As at the start
              </button>
              <label class="item">
                <input
                  type="checkbox"
                  checked={view.archived}
                  onChange={() => setView({ archived: !view.archived })}
                />
                Show archived runs
              </label>
            </>
          )}
        </Menu>
        <Menu label="Colour runs" plain width={260} face={<i class="hue" aria-hidden="true" />}>
          {(close) => (
            <KeyPicker
              placeholder="Colour by"
              chosen={[view.colourBy]}
              groups={[
                {
                  label: 'Colour by',
                  keys: ['run', 'group', ...differing, 'state', 'user', 'host'],
                },
              ]}
              title={short}
              onToggle={(key) => {
                setView({ colourBy: key });
                close();
              }}
            />
          )}
        </Menu>
      </span>
    </div>
  );
}

function ofGroups(count: number | undefined): string {
  return count === undefined ? '' : ` in ${count.toLocaleString('en')} groups`;
}

function short(key: string): string {
  return key.replace(/^(config|summary|label)\./, '');
}

function toggle(list: readonly string[], key: string): string[] {
  return list.includes(key) ? list.filter((k) => k !== key) : [...list, key];
}

function notIn(list: readonly string[]): (key: string) => boolean {
  return (key) => !list.includes(key);
}

function extremes(summary: readonly string[]): string[] {
  return summary.flatMap((key) => [`${key}.min`, `${key}.max`]);
}
