// What the addresses that clients of other tools print mean on this page. A path of W&B's comes as
// "#/at/ENTITY/PROJECT/..." (the server puts it behind '#'), one of MLflow's as it is printed:
// "#/experiments/1/runs/ID".
import { linkTo } from './router';

/** Where W&B's words for the parts of a run lead. */
const RUN_TABS: Record<string, string> = {
  workspace: 'charts',
  system: 'system',
  logs: 'console',
  files: 'files',
  artifacts: 'attempts',
};

/** The address on this page for a path of W&B's. What names no project leads to all of them. */
export function fromWandb(path: readonly string[], query: URLSearchParams): string {
  const [entity = '', project = '', part = '', ...names] = path;
  if (entity === 'authorize' || entity === 'settings') return linkTo(['settings']);
  // "lab/registry/model?selectionPath=lab/PROJECT/COLLECTION&version=v2"
  const chosen = query.get('selectionPath')?.split('/') ?? [];
  if (chosen.length === 3) {
    return pageLink(chosen[1] ?? '', 'artifacts', chosen[2] ?? '', query.get('version') ?? '');
  }
  if (!project) return linkTo([]);
  switch (part) {
    case 'runs': {
      const [run = '', tab = ''] = names;
      return pageLink(project, run ? 'run' : '', run, RUN_TABS[tab] ?? '');
    }
    case 'groups':
      return groupLink(project, names[0] ?? '');
    case 'sweeps':
      return pageLink(project, 'sweeps', names[0] ?? '');
    case 'artifacts': // TYPE/NAME/VERSION
      return pageLink(project, 'artifacts', names[1] ?? '', names[2] ?? '');
    default:
      return pageLink(project);
  }
}

function pageLink(project: string, ...parts: string[]): string {
  return linkTo(['p', project, ...parts.filter(Boolean)]);
}

function groupLink(project: string, group: string): string {
  const filter = `group = ${JSON.stringify(group)}`;
  return linkTo(['p', project], new URLSearchParams(group ? { f: filter } : {}));
}

/** The address for what MLflow says behind "experiments/NUMBER". */
export function fromExperiment(project: string, rest: readonly string[]): string {
  const [part = '', name = ''] = rest;
  return part === 'runs' && name ? pageLink(project, 'run', name) : pageLink(project);
}
