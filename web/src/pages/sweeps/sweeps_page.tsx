import { loadSweeps } from '../../api/sweeps';
import { now } from '../../lib/clock';
import { formatAgo, formatNumber } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { linkTo } from '../../lib/router';
import { Empty } from '../../ui/empty';
import { ErrorNote } from '../../ui/error_note';

/** The sweeps of a project, the newest first. */
export function SweepsPage({ project }: { project: string }) {
  const sweeps = useResource(project, (signal) => loadSweeps(project, signal));
  if (sweeps.error && !sweeps.data) {
    return <ErrorNote error={sweeps.error} onRetry={sweeps.reload} />;
  }
  if (sweeps.data?.length === 0) {
    return (
      <Empty title="No sweeps" command="kedge sweep sweep.yaml --server ADDRESS --agents 4">
        <p>
          A sweep searches over configs: agents anywhere take its trials from this server. Sweeps
          made by <code>wandb sweep</code> are shown here too.
        </p>
      </Empty>
    );
  }
  return (
    <div class="scroll">
      <div class="leaf">
        <h1>Sweeps</h1>
        <table class="plain-table">
          <thead>
            <tr>
              <th>sweep</th>
              <th>method</th>
              <th>state</th>
              <th class="num">trials</th>
              <th class="num">best</th>
              <th>metric</th>
              <th>created</th>
            </tr>
          </thead>
          <tbody>
            {sweeps.data?.map((sweep) => (
              <tr key={sweep.id}>
                <td>
                  <a href={linkTo(['p', project, 'sweeps', sweep.id])}>{sweep.name || sweep.id}</a>
                </td>
                <td>{sweep.method}</td>
                <td>{sweep.state}</td>
                <td class="num">
                  {sweep.trials}
                  {sweep.expected_runs !== null && (
                    <span class="faint"> of {sweep.expected_runs}</span>
                  )}
                </td>
                <td class="num">{sweep.best === null ? '' : formatNumber(sweep.best)}</td>
                <td>{sweep.metric.name}</td>
                <td class="muted">{formatAgo(Date.parse(sweep.created) * 1000, now.value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
