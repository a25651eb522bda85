import { loadProjects } from '../api/runs';
import { now } from '../lib/clock';
import { formatAgo } from '../lib/numbers';
import { useResource } from '../lib/resource';
import { linkTo } from '../lib/router';
import { Empty } from '../ui/empty';
import { ErrorNote } from '../ui/error_note';
import { StateMark } from '../ui/state_mark';

export function Projects() {
  const projects = useResource('projects', (signal) => loadProjects(signal));
  if (projects.error && !projects.data) {
    return <ErrorNote error={projects.error} onRetry={projects.reload} />;
  }
  if (projects.data?.length === 0) {
    return (
      <Empty
        title="An empty server"
        command={`kedge init demo && cd demo\nkedge train config.yaml track.server=${location.origin}`}
      >
        <p>Nothing has been logged to it yet. This makes a first run:</p>
      </Empty>
    );
  }
  const sorted = [...(projects.data ?? [])].sort((a, b) => b.last_us - a.last_us);
  return (
    <div class="scroll">
      <div class="leaf">
        <h1>Projects</h1>
        <table class="plain-table">
          <thead>
            <tr>
              <th>project</th>
              <th class="num">runs</th>
              <th>running</th>
              <th>last seen</th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((project) => (
              <tr key={project.name}>
                <td>
                  <a href={linkTo(['p', project.name, 'runs'])}>{project.name}</a>
                </td>
                <td class="num">{project.run_count.toLocaleString('en')}</td>
                <td>
                  {project.running_count > 0 && (
                    <span class="row">
                      <StateMark state="running" /> {project.running_count}
                    </span>
                  )}
                </td>
                <td class="muted">{formatAgo(project.last_us, now.value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
