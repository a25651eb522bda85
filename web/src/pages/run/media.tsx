import { useMemo } from 'preact/hooks';
import { loadRecordKeys } from '../../api/records';
import type { RecordKey } from '../../api/records';
import type { Run } from '../../api/types';
import { loadPanels } from '../../api/wandb';
import { matches } from '../../charts/sections';
import { SECTIONS, sectionOf } from '../../lib/media_types';
import { useResource } from '../../lib/resource';
import { route, setQuery } from '../../lib/router';
import { parsePanels } from '../../lib/wandb_panels';
import type { Panel } from '../../lib/wandb_panels';
import { Empty } from '../../ui/empty';
import { Icon } from '../../ui/icon';
import { MediaFrame } from './media_frame';

interface Shown {
  type: string;
  key: string;
  panel?: Panel | undefined;
}

/** Everything a run logged that is not a number. */
export function Media({ run, turn }: { run: Run; turn: number }) {
  const find = route.value.query.get('q') ?? '';
  const key = `${run.project}/${run.id}/${Math.floor(turn / 10)}`;
  const index = useResource(key, async (signal) => {
    const panels = run.source === 'wandb' ? await loadPanels(run, signal) : {};
    return intoSections(await loadRecordKeys(run, signal), parsePanels(panels));
  });
  const shown = useMemo(
    () =>
      (index.data ?? [])
        .map((section) => ({
          ...section,
          items: section.items.filter((item) => matches(item.panel?.key ?? item.key, find)),
        }))
        .filter(({ items }) => items.length > 0),
    [index.data, find],
  );
  if (index.data && shown.length === 0 && !find) {
    return (
      <Empty title="No media">
        <p>
          Images, tables, plots, confusion matrices, histograms, texts, pages, sounds and films
          appear here as they are logged; <code>track.watch</code> logs histograms of weights and
          gradients.
        </p>
      </Empty>
    );
  }
  return (
    <div class="pane charts" style={{ height: '100%' }}>
      <div class="toolbar">
        <span class="find">
          <Icon name="search" />
          <input
            class="field"
            type="search"
            placeholder="Part of a name"
            aria-label="Find media"
            value={find}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
        </span>
      </div>
      <div class="under">
        {shown.map(({ name, title, items }) => (
          <section key={name} class="section">
            <div class="section-head">
              <h2>{title}</h2>
              <span class="faint">{items.length}</span>
            </div>
            <div class={`media-grid ${name}`}>
              {items.map(({ type, key, panel }) => (
                <MediaFrame key={`${type} ${key}`} {...{ run, type, panel, turn }} name={key} />
              ))}
            </div>
          </section>
        ))}
      </div>
    </div>
  );
}

/** A table that a panel draws stands among the plots. */
function intoSections(keys: RecordKey[], panels: Panel[]) {
  const byTable = new Map(panels.map((panel) => [panel.table, panel]));
  const items = new Map<string, Shown[]>();
  for (const { type, key } of keys) {
    const panel = sectionOf(type) === 'table' ? byTable.get(key) : undefined;
    const section = panel ? 'plot' : sectionOf(type);
    if (section) items.set(section, [...(items.get(section) ?? []), { type, key, panel }]);
  }
  return [...SECTIONS, { name: 'other', title: 'other files' }].map(({ name, title }) => ({
    name,
    title,
    items: items.get(name) ?? [],
  }));
}
