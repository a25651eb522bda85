// The pages of a project, in the order of the bar at the top, and the keys that lead there.
export interface ProjectPage {
  name: string; // in the address
  title: string;
  keys: string;
}

export const PROJECT_PAGES: readonly ProjectPage[] = [
  { name: 'runs', title: 'Runs', keys: 'g r' },
  { name: 'compare', title: 'Compare', keys: 'g c' },
  { name: 'artifacts', title: 'Artifacts', keys: 'g a' },
  { name: 'models', title: 'Models', keys: 'g m' },
  { name: 'alerts', title: 'Alerts', keys: 'g l' },
];
