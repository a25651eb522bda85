import { useEffect } from 'preact/hooks';
import { loadRunArtifacts } from '../../api/artifacts';
import type { ArtifactVersion } from '../../api/artifacts';
import type { Run } from '../../api/types';
import { formatBytes, formatDate } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { linkTo } from '../../lib/router';
import { ErrorNote } from '../../ui/error_note';

/** Which versions of artifacts the run used, and which it made. */
export function RunArtifactTable({ run, turn }: { run: Run; turn: number }) {
  const loaded = useResource(`${run.project}/${run.id}`, (signal) => loadRunArtifacts(run, signal));
  useEffect(() => {
    if (turn > 0) loaded.reload();
  }, [turn]);
  if (loaded.error && !loaded.data) return <ErrorNote error={loaded.error} />;
  if (!loaded.data) return null;
  const { made, used } = loaded.data;
  if (made.length + used.length === 0) {
    return <p class="faint">The run has neither used nor made one.</p>;
  }
  return (
    <table class="plain-table" aria-label="Artifacts">
      <thead>
        <tr>
          <th>role</th>
          <th>artifact</th>
          <th>type</th>
          <th class="num">size</th>
          <th>made</th>
        </tr>
      </thead>
      <tbody>
        {used.map((version) => artifactRow('used', version))}
        {made.map((version) => artifactRow('made', version))}
      </tbody>
    </table>
  );
}

function artifactRow(role: string, version: ArtifactVersion) {
  const { project, name } = version;
  return (
    <tr key={`${role} ${project}/${name}:${version.version}`}>
      <td class="muted">{role}</td>
      <td>
        <a href={linkTo(['p', project, 'artifacts', name, version.version])}>
          {name}:{version.version}
        </a>{' '}
        {version.aliases.map((alias) => (
          <span key={alias} class="tag">
            {alias}
          </span>
        ))}
      </td>
      <td class="muted">{version.type}</td>
      <td class="num">{formatBytes(version.size)}</td>
      <td class="muted">{formatDate(version.created_us)}</td>
    </tr>
  );
}
