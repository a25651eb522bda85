import { useEffect } from 'preact/hooks';
import { loadModel } from '../api/models';
import { loadProjects } from '../api/runs';
import { fromExperiment, fromWandb } from '../lib/foreign_addresses';
import { useResource } from '../lib/resource';
import { linkTo, route } from '../lib/router';
import { Empty } from '../ui/empty';
import { ErrorNote } from '../ui/error_note';

/** Leads from an address that a client of another tool printed to what it means here. */
export function ForeignPage({ path }: { path: string[] }) {
  const place = useResource(path.join('/'), (signal) => findPlace(path, signal));
  useEffect(() => {
    // Not into the history: "back" must not end up here again.
    if (place.data) location.replace(place.data);
  }, [place.data]);
  if (place.error) return <ErrorNote error={place.error} onRetry={place.reload} />;
  if (place.data !== null) return null;
  return (
    <Empty title="No such experiment">
      <p>
        There is no experiment {path[1]} that you may see. <a href="#/">All projects</a>
      </p>
    </Empty>
  );
}

/** null: nobody knows it. */
async function findPlace(path: string[], signal: AbortSignal): Promise<string | null> {
  const [kind, name = '', ...rest] = path;
  if (kind === 'at') return fromWandb(path.slice(1), route.value.query);
  const projects = await loadProjects(signal);
  if (kind === 'experiments') {
    const project = projects.find(({ id }) => String(id) === name);
    return name && !project ? null : project ? fromExperiment(project.name, rest) : linkTo([]);
  }
  // Models belong to no project, but are shown inside of one: best the one that they come from.
  const model = name ? await loadModel(name, signal) : undefined;
  const home = model?.versions.map(({ source }) => source?.project).find(Boolean);
  const project = home ?? projects[0]?.name;
  return project ? linkTo(['p', project, 'models', ...(name ? [name] : [])]) : linkTo([]);
}
