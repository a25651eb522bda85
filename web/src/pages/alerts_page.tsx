import { loadAlerts } from '../api/alerts';
import type { Alert } from '../api/alerts';
import { now } from '../lib/clock';
import { useLive } from '../lib/live';
import { formatAgo, formatDate } from '../lib/numbers';
import { useResource } from '../lib/resource';
import { linkTo } from '../lib/router';
import { Empty } from '../ui/empty';
import { ErrorNote } from '../ui/error_note';

export function AlertsPage({ project }: { project: string }) {
  const alerts = useResource(project, (signal) => loadAlerts(project, signal));
  useLive(project, (changes) => {
    if (changes.everything || changes.what.has('records')) alerts.reload();
  });
  if (alerts.error && !alerts.data) {
    return <ErrorNote error={alerts.error} onRetry={alerts.reload} />;
  }
  if (alerts.data?.length === 0) {
    return (
      <Empty title="Nothing to report">
        <p>
          Runs raise alerts by themselves (a loss that is not a number, a starving loader) or when
          told to.
        </p>
      </Empty>
    );
  }
  return (
    <div class="scroll">
      <div class="leaf">
        <h1>Alerts</h1>
        <ol class="alerts">
          {alerts.data?.map((alert, i) => (
            <AlertLine key={i} alert={alert} />
          ))}
        </ol>
      </div>
    </div>
  );
}

function AlertLine({ alert }: { alert: Alert }) {
  const { title, text, level } = alert.body;
  return (
    <li class={`alert ${String(level ?? 'info')}`}>
      <div class="row">
        <b>{String(title ?? '')}</b>
        <span class="faint">{String(level ?? '')}</span>
        <span class="faint push" title={formatDate(alert.time_us)}>
          {formatAgo(alert.time_us, now.value)}
        </span>
      </div>
      <p>{String(text ?? '')}</p>
      <a href={linkTo(['p', alert.project, 'run', alert.id])} title={alert.id}>
        {alert.name || alert.id}
      </a>
      <span class="faint">
        {alert.step < 0 ? ' before the first step' : ` at step ${alert.step}`}
      </span>
    </li>
  );
}
