import { loadTrash, removeRun, restoreRun } from '../api/runs';
import type { Run } from '../api/types';
import { attempt } from '../lib/attempt';
import { now } from '../lib/clock';
import { useLive } from '../lib/live';
import { formatAgo, formatDate } from '../lib/numbers';
import { useResource } from '../lib/resource';
import { linkTo } from '../lib/router';
import { mayWrite } from '../lib/session';
import { ask } from '../ui/ask';
import { Button } from '../ui/button';
import { Empty } from '../ui/empty';
import { ErrorNote } from '../ui/error_note';
import { StateMark } from '../ui/state_mark';

const DAY_US = 86_400e6;

/** Deleted runs, until the server removes them. */
export function TrashPage({ project }: { project: string }) {
  const trash = useResource(project, (signal) => loadTrash(project, signal));
  useLive(project, trash.reload);
  if (trash.error && !trash.data) return <ErrorNote error={trash.error} onRetry={trash.reload} />;
  if (!trash.data) return null;
  const { runs, total, trash_days: days } = trash.data;
  if (runs.length === 0) {
    return (
      <Empty title="The trash is empty">
        <p>A deleted run stays here for {inDays(days)}, and can be restored.</p>
      </Empty>
    );
  }
  const sorted = [...runs].sort((a, b) => (b.deleted_us ?? 0) - (a.deleted_us ?? 0));
  return (
    <div class="scroll">
      <div class="leaf">
        <h1>Trash</h1>
        <p class="muted">
          Deleted runs are removed with their files after {inDays(days)}.
          {total > runs.length && ` The first ${runs.length} of ${total} are shown.`}
        </p>
        <table class="plain-table" aria-label="Deleted runs">
          <thead>
            <tr>
              <th>run</th>
              <th>state</th>
              <th>deleted</th>
              <th>removed</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {sorted.map((run) => (
              <TrashRow key={run.id} {...{ run, days }} onChanged={trash.reload} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function inDays(days: number): string {
  return days === 1 ? 'a day' : `${days} days`;
}

function TrashRow({ run, days, onChanged }: { run: Run; days: number; onChanged: () => void }) {
  const name = run.name || run.id;
  const since = run.deleted_us ?? 0;
  const left = Math.max(0, Math.round(days + (since - now.value * 1e3) / DAY_US));
  const remove = async () => {
    const isSure = await ask({
      title: `Remove ${name} for good?`,
      text: 'Its metrics, media, console and files are gone then, and nobody can restore them.',
      action: 'Remove for good',
    });
    if (isSure && (await attempt(() => removeRun(run), `${name} is removed`))) onChanged();
  };
  return (
    <tr>
      <td>
        <a href={linkTo(['p', run.project, 'run', run.id])}>{name}</a>
      </td>
      <td>
        <StateMark state={run.state} word />
      </td>
      <td class="muted" title={formatDate(since)}>
        {formatAgo(since, now.value)}
      </td>
      <td class="muted">{left === 0 ? 'soon' : `in ${inDays(left)}`}</td>
      <td>
        {mayWrite.value && (
          <span class="row">
            <Button
              onClick={() =>
                void attempt(() => restoreRun(run), `${name} is restored`).then(onChanged)
              }
            >
              Restore
            </Button>
            <Button kind="danger" onClick={() => void remove()}>
              Remove for good
            </Button>
          </span>
        )}
      </td>
    </tr>
  );
}
