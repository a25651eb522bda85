import { useMemo } from 'preact/hooks';
import { loadRecords } from '../../api/records';
import type { Run } from '../../api/types';
import { matches } from '../../charts/sections';
import { useResource } from '../../lib/resource';
import { route, setQuery } from '../../lib/router';
import { Empty } from '../../ui/empty';
import { Icon } from '../../ui/icon';
import { MediaFrame } from './media_frame';

export const MEDIA_TYPES = ['image', 'plot', 'table', 'confusion', 'histogram', 'text', 'html'];

const TITLES: Record<string, string> = {
  image: 'images',
  plot: 'plots',
  table: 'tables',
  confusion: 'confusion matrices',
  histogram: 'histograms',
  text: 'texts',
  html: 'pages',
};

/** Everything a run logged that is not a number. */
export function Media({ run, turn }: { run: Run; turn: number }) {
  const find = route.value.query.get('q') ?? '';
  const key = `${run.project}/${run.id}/${Math.floor(turn / 10)}`;
  const index = useResource(key, async (signal) =>
    Promise.all(
      MEDIA_TYPES.map(async (type) => ({
        type,
        keys: (await loadRecords(run, { type, limit: 1 }, signal)).keys,
      })),
    ),
  );
  const shown = useMemo(
    () =>
      (index.data ?? [])
        .map(({ type, keys }) => ({ type, keys: keys.filter((k) => matches(k, find)).sort() }))
        .filter(({ keys }) => keys.length > 0),
    [index.data, find],
  );
  if (index.data && shown.length === 0 && !find) {
    return (
      <Empty title="No media">
        <p>
          Images, tables, confusion matrices, histograms, texts, pages and plots appear here as they
          are logged; <code>track.watch</code> logs histograms of weights and gradients.
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
        {shown.map(({ type, keys }) => (
          <section key={type} class="section">
            <div class="section-head">
              <h2>{TITLES[type]}</h2>
              <span class="faint">{keys.length}</span>
            </div>
            <div class={`media-grid ${type}`}>
              {keys.map((name) => (
                <MediaFrame key={name} run={run} type={type} name={name} turn={turn} />
              ))}
            </div>
          </section>
        ))}
      </div>
    </div>
  );
}
