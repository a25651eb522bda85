import type { ArtifactLink } from '../../api/artifacts';
import { linkTo } from '../../lib/router';

/** What is linked into a collection, and where each version comes from. */
export function Collection({ name, links }: { name: string; links: ArtifactLink[] }) {
  return (
    <div class="scroll">
      <div class="leaf">
        <h1>{name}</h1>
        <p class="muted">A collection: versions of artifacts that were linked into it.</p>
        <table class="plain-table">
          <thead>
            <tr>
              <th>here</th>
              <th>version of</th>
            </tr>
          </thead>
          <tbody>
            {links.map(({ version, aliases, source }) => (
              <tr key={version}>
                <td>
                  <b>{version}</b>{' '}
                  {aliases.map((alias) => (
                    <span key={alias} class="tag">
                      {alias}
                    </span>
                  ))}
                </td>
                <td>
                  <a href={linkTo(['p', source.project, 'artifacts', source.name, source.version])}>
                    {source.name}:{source.version}
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
