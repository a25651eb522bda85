// The pages of a project, in the order of the bar at the top, and the keys that lead there.
import { carriedQuery } from './view';

export interface ProjectPage {
  name: string; // in the address
  title: string;
  keys: string;
  isOfRuns?: boolean; // shows the runs of a filter or a choice
}

/** A page's query as far as it is about the same runs as the one that is open. */
export function queryFor(name: string, open: string, query: URLSearchParams): URLSearchParams {
  const isOfRuns = (wanted: string) =>
    PROJECT_PAGES.some((page) => page.name === wanted && page.isOfRuns);
  return isOfRuns(name) && isOfRuns(open) ? carriedQuery(query) : new URLSearchParams();
}

export const PROJECT_PAGES: readonly ProjectPage[] = [
  { name: 'runs', title: 'Runs', keys: 'g r', isOfRuns: true },
  { name: 'compare', title: 'Compare', keys: 'g c', isOfRuns: true },
  { name: 'sweeps', title: 'Sweeps', keys: 'g s' },
  { name: 'artifacts', title: 'Artifacts', keys: 'g a' },
  { name: 'models', title: 'Models', keys: 'g m' },
  { name: 'alerts', title: 'Alerts', keys: 'g l' },
  { name: 'trash', title: 'Trash', keys: 'g t' },
];
