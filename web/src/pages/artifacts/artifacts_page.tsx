import { loadArtifacts } from '../../api/artifacts';
import { now } from '../../lib/clock';
import { formatAgo, formatBytes } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { linkTo } from '../../lib/router';
import { Empty } from '../../ui/empty';
import { ErrorNote } from '../../ui/error_note';

export function ArtifactsPage({ project }: { project: string }) {
  const list = useResource(project, (signal) => loadArtifacts(project, signal));
  if (list.error && !list.data) return <ErrorNote error={list.error} onRetry={list.reload} />;
  if (list.data?.length === 0) {
    return (
      <Empty
        title="No artifacts yet"
        command={`kedge artifact put model.safetensors --name resnet --type model --project ${project}`}
      >
        <p>Data sets, checkpoints and models, with their versions and where they came from:</p>
      </Empty>
    );
  }
  const types = [...new Set(list.data?.map((a) => a.type))].sort();
  return (
    <div class="scroll">
      <div class="leaf">
        <h1>Artifacts</h1>
        {types.map((type) => (
          <section key={type} style={{ marginTop: 18 }}>
            <h2>{type}</h2>
            <table class="plain-table">
              <thead>
                <tr>
                  <th>name</th>
                  <th class="num">versions</th>
                  <th>newest</th>
                  <th class="num">size</th>
                  <th>changed</th>
                </tr>
              </thead>
              <tbody>
                {list.data
                  ?.filter((a) => a.type === type)
                  .map((a) => (
                    <tr key={a.name}>
                      <td>
                        <a href={linkTo(['p', project, 'artifacts', a.name])}>{a.name}</a>
                      </td>
                      <td class="num">{a.version_count}</td>
                      <td>{a.latest}</td>
                      <td class="num">{formatBytes(a.size)}</td>
                      <td class="muted">{formatAgo(a.last_us, now.value)}</td>
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
