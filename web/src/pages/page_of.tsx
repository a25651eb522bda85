import { Empty } from '../ui/empty';
import { ComparePage } from './compare/compare_page';
import { Projects } from './projects';
import { RunPage } from './run/run_page';
import { Workspace } from './workspace';

/** The page for an address. */
export function PageOf({ path }: { path: string[] }) {
  const [first, project = '', page = 'runs', name = '', part = 'overview'] = path;
  if (first === undefined) return <Projects />;
  if (first === 'p' && project) {
    switch (page) {
      case 'runs':
        return <Workspace key={project} project={project} />;
      case 'compare':
        return <ComparePage key={project} project={project} />;
      case 'run':
        return <RunPage key={name} project={project} id={name} tab={part} />;
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
