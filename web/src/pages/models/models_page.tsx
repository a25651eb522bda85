import { loadModels } from '../../api/models';
import type { Model } from '../../api/models';
import { now } from '../../lib/clock';
import { formatAgo, formatDate } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { linkTo } from '../../lib/router';
import { Empty } from '../../ui/empty';
import { ErrorNote } from '../../ui/error_note';

/** The model registry: names that stay while the versions behind them change. */
export function ModelsPage({ project }: { project: string }) {
  const models = useResource('models', (signal) => loadModels(signal));
  if (models.error && !models.data) {
    return <ErrorNote error={models.error} onRetry={models.reload} />;
  }
  if (models.data?.length === 0) {
    return (
      <Empty title="No registered models">
        <p>
          A registered model is a name with versions, aliases and stages, each version pointing at
          an artifact. Open an <a href={linkTo(['p', project, 'artifacts'])}>artifact</a> and
          register one of its versions.
        </p>
      </Empty>
    );
  }
  return (
    <div class="scroll">
      <div class="leaf">
        <h1>Models</h1>
        <table class="plain-table">
          <thead>
            <tr>
              <th>model</th>
              <th class="num">versions</th>
              <th>aliases</th>
              <th>in production</th>
              <th>changed</th>
            </tr>
          </thead>
          <tbody>
            {models.data?.map((model) => (
              <ModelRow key={model.name} model={model} project={project} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function ModelRow({ model, project }: { model: Model; project: string }) {
  const inProduction = model.versions.filter((v) => v.stage === 'Production');
  return (
    <tr>
      <td>
        <a href={linkTo(['p', project, 'models', model.name])}>{model.name}</a>
        {model.description && <div class="faint">{model.description}</div>}
      </td>
      <td class="num">{model.versions.length}</td>
      <td>
        <span class="tags wrap">
          {Object.entries(model.aliases).map(([alias, version]) => (
            <span key={alias} class="tag">
              {alias} <span class="faint">v{version}</span>
            </span>
          ))}
        </span>
      </td>
      <td>{inProduction.map((v) => `v${v.version}`).join(', ')}</td>
      <td class="muted" title={formatDate(model.changed_us)}>
        {formatAgo(model.changed_us, now.value)}
      </td>
    </tr>
  );
}
