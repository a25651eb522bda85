import { loadDatasets } from '../../api/datasets';
import type { Run } from '../../api/types';
import { useResource } from '../../lib/resource';

/** What an MLflow run was given to learn from; nothing for other runs. */
export function Datasets({ run }: { run: Run }) {
  const key = run.source === 'mlflow' ? JSON.stringify(['datasets', run.id]) : '';
  const loaded = useResource(key, (signal) => loadDatasets(run.id, signal));
  const inputs = loaded.data ?? [];
  if (inputs.length === 0) return null;
  return (
    <section>
      <h2>Data sets</h2>
      <table class="plain-table">
        <thead>
          <tr>
            <th>name</th>
            <th>used for</th>
            <th class="num">rows</th>
            <th>digest</th>
            <th>from</th>
          </tr>
        </thead>
        <tbody>
          {inputs.map((input) => (
            <tr key={`${input.name} ${input.digest} ${input.context}`}>
              <td>{input.name}</td>
              <td>{input.context}</td>
              <td class="num">{input.rows}</td>
              <td class="mono">{input.digest}</td>
              <td class="muted">{input.source || input.sourceType}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
