import { artifactFileUrl, loadLineage, loadVersion, loadVersions } from '../../api/artifacts';
import type { ArtifactVersion } from '../../api/artifacts';
import { LineageGraph } from '../../charts/lineage_graph';
import { now } from '../../lib/clock';
import { formatAgo, formatBytes } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { linkTo } from '../../lib/router';
import { ErrorNote } from '../../ui/error_note';
import { Collection } from './collection';
import { VersionFacts } from './version_facts';

interface Props {
  project: string;
  name: string;
  version: string; // or an alias; empty: the newest
}

/** One artifact: its versions at the left, the chosen one with its lineage at the right. */
export function ArtifactPage({ project, name, version }: Props) {
  const versions = useResource(`${project}/${name}`, (signal) =>
    loadVersions(project, name, signal),
  );
  const links = versions.data?.links ?? [];
  const chosen = links.length > 0 ? '' : version || (versions.data?.versions[0]?.version ?? '');
  const key = chosen ? `${project}/${name}/${chosen}` : '';
  const detail = useResource(key, (signal) => loadVersion(project, name, chosen, signal));
  const lineage = useResource(key, (signal) => loadLineage(project, name, chosen, signal));
  if (versions.error && !versions.data) {
    return <ErrorNote error={versions.error} onRetry={versions.reload} />;
  }
  if (links.length > 0) return <Collection name={name} links={links} />;
  return (
    <div class="scroll">
      <div class="artifact">
        <nav aria-label="Versions">
          <h1>{name}</h1>
          <p class="muted">{versions.data?.versions[0]?.type}</p>
          <ol class="versions">
            {versions.data?.versions.map((v) => (
              <li key={v.version}>
                <a
                  href={linkTo(['p', project, 'artifacts', name, v.version])}
                  aria-current={v.version === detail.data?.version ? 'page' : undefined}
                >
                  <b>{v.version}</b>
                  {v.aliases.map((alias) => (
                    <span key={alias} class="tag">
                      {alias}
                    </span>
                  ))}
                  <span class="faint push">{formatAgo(v.created_us, now.value)}</span>
                </a>
              </li>
            ))}
          </ol>
        </nav>
        <div>
          {detail.error && <ErrorNote error={detail.error} />}
          {detail.data && (
            <VersionFacts
              version={detail.data}
              project={project}
              onChanged={() => {
                versions.reload();
                detail.reload();
              }}
            />
          )}
          <section>
            <h2>Lineage</h2>
            {lineage.data && (
              <LineageGraph
                lineage={lineage.data}
                project={project}
                current={`${name}:${detail.data?.version ?? chosen}`}
              />
            )}
            {lineage.data?.cut && <p class="faint">The graph goes on; this is the nearest part.</p>}
            {lineage.error && <p class="bad">{lineage.error.message}</p>}
          </section>
          {detail.data?.files && <FileList version={detail.data} project={project} />}
        </div>
      </div>
    </div>
  );
}

function FileList({ version, project }: { version: ArtifactVersion; project: string }) {
  return (
    <section>
      <h2>Files</h2>
      <table class="plain-table">
        <tbody>
          {version.files?.map((file) => (
            <tr key={file.path}>
              <td>
                <a
                  href={artifactFileUrl(project, version, file.path)}
                  download={file.path.split('/').pop()}
                >
                  {file.path}
                </a>
              </td>
              <td class="num">{formatBytes(file.size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
