import { Empty } from '../ui/empty';
import { SettingsPage } from './access/settings_page';
import { AdminPage } from './admin/admin_page';
import { AlertsPage } from './alerts_page';
import { ArtifactPage } from './artifacts/artifact_page';
import { ArtifactsPage } from './artifacts/artifacts_page';
import { ComparePage } from './compare/compare_page';
import { ForeignPage } from './foreign_page';
import { ModelPage } from './models/model_page';
import { ModelsPage } from './models/models_page';
import { Projects } from './projects';
import { RunPage } from './run/run_page';
import { SweepPage } from './sweeps/sweep_page';
import { SweepsPage } from './sweeps/sweeps_page';
import { TrashPage } from './trash_page';
import { Workspace } from './workspace';

/** The page for an address. */
export function PageOf({ path }: { path: string[] }) {
  const [first, project = '', page = 'runs', name = '', part = ''] = path;
  if (first === undefined) return <Projects />;
  if (first === 'settings') return <SettingsPage />;
  if (first === 'admin') return <AdminPage tab={project || 'users'} />;
  if (first === 'at' || first === 'experiments' || first === 'models') {
    return <ForeignPage key={path.join('/')} path={path} />;
  }
  if (first === 'p' && project) {
    switch (page) {
      case 'runs':
        return <Workspace key={project} project={project} />;
      case 'compare':
        return <ComparePage key={project} project={project} />;
      case 'sweeps':
        return name ? (
          <SweepPage key={name} project={project} id={name} />
        ) : (
          <SweepsPage project={project} />
        );
      case 'artifacts':
        return name ? (
          <ArtifactPage project={project} name={name} version={part} />
        ) : (
          <ArtifactsPage project={project} />
        );
      case 'models':
        return name ? (
          <ModelPage key={name} project={project} name={name} />
        ) : (
          <ModelsPage project={project} />
        );
      case 'alerts':
        return <AlertsPage project={project} />;
      case 'trash':
        return <TrashPage key={project} project={project} />;
      case 'run':
        return <RunPage key={name} project={project} id={name} tab={part || 'overview'} />;
    }
  }
  return (
    <Empty title="No such page">
      <p>
        The address leads nowhere. <a href="#/">All projects</a>
      </p>
    </Empty>
  );
}
