import { artifactFileUrl, loadLineage, loadVersion, loadVersions } from '../../api/artifacts';
import type { ArtifactVersion } from '../../api/artifacts';
import { LineageGraph } from '../../charts/lineage_graph';
import { now } from '../../lib/clock';
import { flatten, plain } from '../../lib/flatten';
import { formatAgo, formatBytes, formatDate } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { linkTo } from '../../lib/router';
import { ErrorNote } from '../../ui/error_note';

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
  const chosen = version || (versions.data?.[0]?.version ?? '');
  const key = chosen ? `${project}/${name}/${chosen}` : '';
  const detail = useResource(key, (signal) => loadVersion(project, name, chosen, signal));
  const lineage = useResource(key, (signal) => loadLineage(project, name, chosen, signal));
  if (versions.error && !versions.data) {
    return <ErrorNote error={versions.error} onRetry={versions.reload} />;
  }
  return (
    <div class="scroll">
      <div class="artifact">
        <nav aria-label="Versions">
          <h1>{name}</h1>
          <p class="muted">{versions.data?.[0]?.type}</p>
          <ol class="versions">
            {versions.data?.map((v) => (
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
          {detail.data && <VersionFacts version={detail.data} project={project} />}
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

function VersionFacts({ version, project }: { version: ArtifactVersion; project: string }) {
  const madeBy = version.made_by;
  return (
    <section>
      <h2>
        {version.name}:{version.version}
      </h2>
      <dl class="facts">
        <Fact name="made">{formatDate(version.created_us)}</Fact>
        <Fact name="size">{formatBytes(version.size)}</Fact>
        {version.digest && (
          <Fact name="digest">
            <span class="mono">{version.digest}</span>
          </Fact>
        )}
        {madeBy && (
          <Fact name="made by">
            <a href={linkTo(['p', madeBy.project, 'run', madeBy.id])}>{madeBy.name ?? madeBy.id}</a>
          </Fact>
        )}
        {Object.entries(flatten(version.metadata ?? {})).map(([key, value]) => (
          <Fact key={key} name={key}>
            {String(plain(value))}
          </Fact>
        ))}
        <Fact name="to get it">
          <code>
            kedge artifact get {project}/{version.name}:{version.version}
          </code>
        </Fact>
      </dl>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
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
