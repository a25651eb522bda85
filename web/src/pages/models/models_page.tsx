import { loadModels } from '../api/artifacts';
import { formatDate } from '../lib/numbers';
import { useResource } from '../lib/resource';
import { linkTo } from '../lib/router';
import { Empty } from '../ui/empty';
import { ErrorNote } from '../ui/error_note';

/** The model registry: names that stay while the versions behind them change. */
export function ModelsPage() {
  const models = useResource('models', (signal) => loadModels(signal));
  if (models.error && !models.data) {
    return <ErrorNote error={models.error} onRetry={models.reload} />;
  }
  if (models.data?.length === 0) {
    return (
      <Empty title="No registered models">
        <p>
          A registered model is a name with versions, aliases and stages, each version pointing at
          an artifact. Register one from an artifact, or through the API at{' '}
          <code>/api/v1/models</code>.
        </p>
      </Empty>
    );
  }
  return (
    <div class="scroll">
      <div class="leaf">
        <h1>Models</h1>
        {models.data?.map((model) => (
          <section key={model.name} style={{ marginTop: 18 }}>
            <h2>{model.name}</h2>
            {model.description && <p class="muted">{model.description}</p>}
            <table class="plain-table">
              <thead>
                <tr>
                  <th class="num">version</th>
                  <th>stage</th>
                  <th>aliases</th>
                  <th>artifact</th>
                  <th>registered</th>
                </tr>
              </thead>
              <tbody>
                {model.versions.map((v) => (
                  <tr key={v.version}>
                    <td class="num">{v.version}</td>
                    <td>{v.stage}</td>
                    <td>
                      <span class="tags">
                        {v.aliases.map((alias) => (
                          <span key={alias} class="tag">
                            {alias}
                          </span>
                        ))}
                      </span>
                    </td>
                    <td>
                      {!v.source && <span class="mono">{v.source_uri}</span>}
                      {v.source && (
                        <a
                          href={linkTo([
                            'p',
                            v.source.project,
                            'artifacts',
                            v.source.artifact,
                            v.source.version,
                          ])}
                        >
                          {v.source.artifact}:{v.source.version}
                        </a>
                      )}
                    </td>
                    <td class="muted">{formatDate(v.created_us)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        ))}
      </div>
    </div>
  );
}
