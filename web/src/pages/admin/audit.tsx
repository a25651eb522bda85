import { useState } from 'preact/hooks';
import { loadAudit } from '../../api/users';
import type { AuditLine } from '../../api/users';
import { flatten, plain } from '../../lib/flatten';
import { formatDate } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { Button } from '../../ui/button';
import { Empty } from '../../ui/empty';
import { ErrorNote } from '../../ui/error_note';

const AT_ONCE = 200;
const MOST = 10000; // that the server gives

/** Who changed what, the newest first. */
export function Audit() {
  const [limit, setLimit] = useState(AT_ONCE);
  const [find, setFind] = useState('');
  const audit = useResource(`audit/${limit}`, (signal) => loadAudit(limit, signal));
  if (audit.error && !audit.data) return <ErrorNote error={audit.error} onRetry={audit.reload} />;
  if (audit.data?.length === 0) {
    return (
      <Empty title="Nothing has been changed">
        <p>Users, tokens, deleted runs and refused logins leave a line here.</p>
      </Empty>
    );
  }
  const words = find.toLowerCase().split(/\s+/);
  const shown = (audit.data ?? []).filter((line) => {
    const text = `${line.who} ${line.what} ${line.target} ${detailOf(line)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <>
      <div class="row">
        <input
          class="field"
          type="search"
          placeholder="Name, action, target"
          aria-label="Find audit lines"
          value={find}
          onInput={(event) => setFind(event.currentTarget.value)}
        />
        <span class="faint">
          {shown.length === audit.data?.length
            ? `the newest ${shown.length}`
            : `${shown.length} of the newest ${audit.data?.length ?? 0}`}
        </span>
      </div>
      <table class="plain-table">
        <thead>
          <tr>
            <th>when</th>
            <th>who</th>
            <th>what</th>
            <th>target</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {shown.map((line, i) => (
            <tr key={i}>
              <td class="muted nowrap">{formatDate(line.time_us)}</td>
              <td>{line.who || <span class="faint">nobody</span>}</td>
              <td class={line.what.endsWith('refused') ? 'bad' : ''}>{line.what}</td>
              <td class="mono break">{line.target}</td>
              <td class="muted break">{detailOf(line)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {audit.data?.length === limit && limit < MOST && (
        <p>
          <Button onClick={() => setLimit(Math.min(limit * 5, MOST))}>Show older ones</Button>
        </p>
      )}
    </>
  );
}

function detailOf(line: AuditLine): string {
  return Object.entries(flatten(line.detail))
    .filter(([, value]) => value !== '')
    .map(([key, value]) => `${key}: ${String(plain(value))}`)
    .join(', ');
}
